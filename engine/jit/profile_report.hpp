// What a profiled launch says about its kernel.
#pragma once

#include <string>
#include <vector>

#include "engine/jit/session.hpp"
#include "engine/profile/report.hpp"

namespace kiln::jit {

// A shared tile whose accesses conflict, and what to do about it.
struct LayoutAdvice {
  std::string tile, instruction, statement;   // the instruction that loses most cycles, and the statement it is of
  std::uint64_t offset = 0;                   // of that instruction
  std::uint64_t conflict_cycles = 0;          // counted, of all accesses to the tile
  std::string layout;                         // as it is
  std::string better;                         // what the chooser takes, "" where that is no other one
  std::int64_t better_conflicts = 0;          // of it, by the static count: each instruction once, one wave
  std::string text;                           // the whole advice as one sentence
};
struct KernelProfile {
  std::vector<profile::Report> launches;      // empty where the device counts nothing
  std::vector<LayoutAdvice> advice;
};
// `program` names tiles and statements; null: the kernel's own names, and no statements. Errors: corrupt (counters that
// do not belong to the kernel).
Result<KernelProfile> make_kernel_profile(const Kernel& kernel, const bound::Program* program,
                                          const device::LaunchReport& launch);

}  // namespace kiln::jit
