// What the host device runs: launches and plans from their arguments to their blocks. Internal to the host device.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <vector>

#include "engine/base/fd.hpp"
#include "engine/device/device.hpp"
#include "engine/device/host/object_loader.hpp"
#include "engine/device/launch_arguments.hpp"

namespace kiln::device::host {

struct Buffer {
  Mapping mapping;
  std::uint8_t* data = nullptr;
  std::uint64_t size = 0;
  bool writable = false;
};

struct Kernel {
  compile::Metadata metadata;
  std::unique_ptr<LoadedObject> object;
  LaunchSizesPtr sizes;  // null: each launch's own
};

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Workspace = std::unique_ptr<void, Free>;

// Of a grid whose blocks can be numbered in 64 bits.
std::int64_t block_count(const std::vector<std::int64_t>& grid);

// A launch whose arguments are known: what stays the same however often it runs.
struct Step {
  std::shared_ptr<const Kernel> kernel;
  LaunchSizesPtr sizes;
  std::vector<std::shared_ptr<const Buffer>> buffers;  // kept mapped
  std::vector<Bytes> scalars;
  std::vector<void*> arguments;  // the tensors', null for each workspace, then the symbols'
};
struct Steps {
  std::vector<Step> list;      // one for a launch
  std::size_t arena_bytes = 0; // the most that a block of theirs takes
  bool small = true;           // no grid has more than one block
};
using StepsPtr = std::shared_ptr<const Steps>;

// A launch, or a plan's run, from submission to completion; its grids run one after the other.
struct Order {
  Order() = default;
  explicit Order(std::atomic<std::uint8_t>& flag) : cancelled(&flag) {}
  LaunchId id = 0;
  std::uint64_t stream = 0;
  StepsPtr steps;
  bool is_plan = false;
  std::size_t step = 0, grid = 0;      // what runs
  bool entered = false;                // the step has its arguments
  bool passed = false;                 // `grid` is the next one already, not the one that has ended
  std::vector<Workspace> workspaces;   // of the step
  std::vector<void*> arguments;
  Status failure;
  LaunchReport report;
  std::atomic<std::uint8_t> own_flag{0};
  std::atomic<std::uint8_t>* const cancelled = &own_flag;
  std::chrono::steady_clock::time_point submitted;
  LaunchDone done;

  [[nodiscard]] bool over() const { return step == steps->list.size(); }
  [[nodiscard]] const Step& now() const { return steps->list[step]; }
  [[nodiscard]] const std::vector<std::int64_t>& blocks() const { return now().sizes->grids[grid]; }
  // Goes on to the next grid that has blocks, through as many steps as that takes.
  Status find_grid();
  // Runs the block with this number of the grid.
  bool run_block(std::int64_t block, std::uint8_t* arena);
  // Runs the grid, of one block, and such that follow, for a while: they need not go through the pool one by one.
  bool run_small_grids(std::uint8_t* arena);

 private:
  Status enter_step();
  void leave_step();
};

}  // namespace kiln::device::host
