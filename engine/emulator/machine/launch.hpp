// One launch of a kernel on an emulated card, from its arguments to its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/emulator/core/core.hpp"
#include "engine/emulator/machine/card.hpp"
#include "engine/emulator/machine/counters.hpp"
#include "engine/emulator/machine/hostcall_output.hpp"
#include "engine/emulator/machine/kernel_arguments.hpp"
#include "engine/emulator/machine/memory.hpp"
#include "engine/emulator/machine/options.hpp"
#include "engine/emulator/machine/report.hpp"
#include "engine/emulator/machine/workers.hpp"

namespace kiln::emulator {

// Code that is bound to a core, and where its object lies in memory. Plain references: the owner outlives the launch.
struct BoundCode {
  const Instruction* code = nullptr;
  std::uint32_t instructions = 0;
  const std::uint32_t* index_of = nullptr;
  std::uint64_t begin = 0, bytes = 0;
  const std::vector<std::string>* assembly = nullptr;
  const std::vector<std::string>* print_formats = nullptr;  // null: none
  const std::vector<ObjectFunction>* functions = nullptr;   // null: none
  std::vector<NamedRange> ranges;          // of the object's image, read-only for kernels
  std::vector<NamedRange> writable_ranges; // its variables
  bool order_matters = false;              // order_may_matter
};

struct LaunchOrder {
  const Core* core = nullptr;
  Workers* workers = nullptr;
  const Memory* memory = nullptr;
  const Card* card = nullptr;
  Options options;
  const BoundCode* code = nullptr;
  const Kernel* kernel = nullptr;
  Geometry geometry;
  Bytes arguments;                         // as gather_arguments gives it
  const std::atomic<bool>* cancelled = nullptr;
  PrintSink print;                         // where printf goes; empty: where the options say
};

struct LaunchResult {
  std::optional<FaultReport> fault;        // the launch was stopped there
  bool cancelled = false;
  std::uint64_t waves = 0, instructions = 0;
  std::uint64_t order_steps = 0;           // what the check of races on global memory searched (global_order.hpp)
  double duration_ms = 0;
  std::shared_ptr<const Profile> profile;  // when it was asked for; also of a launch that was stopped
};

// Whether the card takes a launch of this kernel and shape. Errors: invalid_argument (extents), resource_limit (threads
// of a block, LDS, private memory).
Status check_launch(const Kernel& kernel, const Geometry& geometry, const Card& card);

// Errors say what is wrong with the launch: invalid_argument (geometry), resource_limit (LDS, threads), corrupt.
Result<LaunchResult> run_launch(const LaunchOrder& order);

// Whether an object's result may depend on the order of its work groups: it adds floats in global memory, by an
// instruction for it or, maybe, by compare and swap.
bool order_may_matter(const Instruction* code, std::uint32_t instructions);

}  // namespace kiln::emulator
