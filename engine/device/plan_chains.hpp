// Plans of a device that is given one launch at a time.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/device/device.hpp"

namespace kiln::device {

// How errors name a step of a plan.
std::string step_of_plan(std::size_t step);

// Each step is a launch of its own, given to the device when the one before it is done. Thread-safe; the device lives
// longer.
class PlanChains {
 public:
  explicit PlanChains(Device& device) : device_(device) {}
  // `plan` and `run` are new ids of the device's; the steps were checked.
  void make(PlanId plan, std::vector<PlanStep> steps);
  Status drop(PlanId plan);                     // not_found; runs go on
  // `done` exactly once, on the thread of the last step's `done`. Errors: not_found, the failed step's.
  void run(LaunchId run, PlanId plan, std::uint64_t stream, LaunchDone done);
  // Whether the run is here; its step is cancelled then, and none begins behind it.
  bool cancel(LaunchId run);

 private:
  using Steps = std::shared_ptr<const std::vector<PlanStep>>;
  struct Run {
    Steps steps;
    std::uint64_t stream = 0;
    std::size_t step = 0;                       // that was given last
    LaunchId launch = 0;                        // the device's id of it; 0: not known yet
    bool cancelled = false;
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
    LaunchReport report;
    LaunchDone done;
  };
  using RunPtr = std::shared_ptr<Run>;
  void give_step(LaunchId id, const RunPtr& run, std::size_t step);
  void step_ended(LaunchId id, const RunPtr& run, Result<LaunchReport> report);
  void end(LaunchId id, const RunPtr& run, Result<LaunchReport> report);

  Device& device_;
  std::mutex mutex_;
  std::map<PlanId, Steps> plans_;
  std::map<LaunchId, RunPtr> runs_;
};

}  // namespace kiln::device
