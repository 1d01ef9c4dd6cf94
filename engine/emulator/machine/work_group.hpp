// One work group on its way: its waves take turns on one host thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/emulator/core/checks.hpp"
#include "engine/emulator/core/core.hpp"
#include "engine/emulator/core/wave.hpp"
#include "engine/emulator/machine/global_races.hpp"
#include "engine/emulator/machine/hostcall_services.hpp"
#include "engine/emulator/machine/initial_state.hpp"
#include "engine/emulator/machine/options.hpp"
#include "engine/emulator/machine/pages.hpp"

namespace kiln::emulator {

// What all work groups of a launch have in common.
struct GroupPlan {
  const Core* core = nullptr;
  const InitialState* state = nullptr;
  const Options* options = nullptr;
  GlobalRaces* races = nullptr;                        // null: races on global memory are not checked
  const std::atomic<bool>* cancelled = nullptr;        // null: never
  HostServices* services = nullptr;                    // answers what kernels ask of their host; null: nobody does
  Geometry geometry;
  std::uint32_t waves = 1, lds_bytes = 0, first = 0;   // first: index of the kernel's first instruction
  std::uint64_t wave_scratch_bytes = 0;                // of one wave
};

enum class Progress : std::uint8_t {
  finished,
  faulted,   // fault() says which wave
  waiting,   // every wave that could run sleeps: for another work group, most likely
  quantum,   // the number of instructions is used up
};

class RunningGroup {
 public:
  // Room for a plan's groups. False: no memory.
  bool prepare(const GroupPlan& plan);
  // Starts block `id`, number `linear` of the launch. `scratch`: the launch's private memory at `scratch_address`, of
  // which this group's waves use [scratch_offset, …).
  void begin(const GroupPlan& plan, Execution& execution, const std::uint32_t id[3], std::uint64_t linear,
             std::uint64_t scratch_address, std::uint64_t scratch_offset);
  // Runs on, at most about `instructions`, and until the plan's `cancelled` is set; adds what was executed to
  // `executed`.
  Progress advance(const GroupPlan& plan, std::uint64_t instructions, std::uint64_t& executed);
  // The wave that stopped, or that ran last.
  [[nodiscard]] Wave& current() { return waves_[current_]; }
  [[nodiscard]] const WorkGroup& group() const { return group_; }
  [[nodiscard]] std::uint64_t linear() const { return linear_; }
  // Index into the launch's private memory, in work groups; kept while the object is used by one launch.
  std::uint32_t slot = 0;
  // Where the group's accesses to device memory are recorded from now on; null: nowhere.
  void record(LineLog* lines) { group_.lines = lines; }
  std::uint64_t turn = 0;    // begun as the launch's how-manieth; the caller's
  std::uint64_t spent = 0;   // instructions since it last let others begin; the caller's

 private:
  void begin_wave(const GroupPlan& plan, Execution& execution, std::uint32_t index, std::uint64_t scratch_address,
                  std::uint64_t scratch_offset);
  void begin_checks(const GroupPlan& plan);
  void order_waves(const GroupPlan& plan);
  static bool run_turn(const GroupPlan& plan, Wave& wave, std::uint64_t instructions);
  bool release_barrier(const GroupPlan& plan);

  Pages registers_, lds_, race_shadow_, written_shadow_, vector_shadow_, scalar_shadow_;
  std::vector<Wave> waves_;
  std::vector<std::uint32_t> order_;
  WorkGroup group_;
  CheckState checks_;
  std::uint64_t linear_ = 0, random_ = 0;
  std::uint32_t current_ = 0;
};

// A well mixed number of a counter (splitmix64).
inline std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

}  // namespace kiln::emulator
