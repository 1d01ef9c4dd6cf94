// What an emulated card counted, read from its JSON (engine/emulator/machine/counters.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"

namespace kiln::profile {

struct CountedInstruction {
  std::uint64_t offset = 0;       // bytes from the kernel's first instruction
  std::string text;
  std::uint64_t executed = 0;     // by waves
  std::uint64_t lds_cycles = 0, lds_conflicts = 0;
  std::uint64_t bytes = 0, segments = 0;  // of device memory; 64-byte segments
  std::string file;               // of the source, "" where the object does not say
  std::uint32_t line = 0;
};
// The model that the card's L2 counters come from.
struct CacheModelNote {
  std::string text;               // what is modelled
  std::uint64_t line_bytes = 0, bytes = 0, ways = 0, caches = 0;  // bytes: of each cache
  bool complete = false;          // false: the launch was too large for it, and there are no counters of it
};
struct LaunchCounters {
  std::string kernel, target;
  std::array<std::uint64_t, 3> blocks{}, threads{};
  std::uint64_t waves = 0, instructions = 0, lds_bytes = 0;
  double duration_ms = 0;         // on the processor that emulated it
  std::map<std::string, std::uint64_t> counters;   // by rocprof's names
  std::vector<std::string> modelled;               // those of them that a model gave, and no count
  std::optional<CacheModelNote> l2_model;
  std::vector<CountedInstruction> rows;            // executed ones, by offset
  [[nodiscard]] std::uint64_t counter(const std::string& name) const {
    const auto found = counters.find(name);
    return found == counters.end() ? 0 : found->second;
  }
};
// `corrupt` for anything else than an array of such objects.
Result<std::vector<LaunchCounters>> read_launch_counters(std::string_view json);

}  // namespace kiln::profile
