#include "engine/device/plan_chains.hpp"

namespace kiln::device {

std::string step_of_plan(std::size_t step) { return "it is launch " + std::to_string(step) + " of the plan"; }

void PlanChains::make(PlanId plan, std::vector<PlanStep> steps) {
  const std::lock_guard lock(mutex_);
  plans_[plan] = std::make_shared<const std::vector<PlanStep>>(std::move(steps));
}

Status PlanChains::drop(PlanId plan) {
  const std::lock_guard lock(mutex_);
  return plans_.erase(plan) != 0 ? Status() : Status(Error(ErrorCode::not_found, "no such plan on the device"));
}

void PlanChains::run(LaunchId run, PlanId plan, std::uint64_t stream, LaunchDone done) {
  auto made = std::make_shared<Run>();
  made->stream = stream;
  made->done = std::move(done);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = plans_.find(plan); found != plans_.end()) made->steps = found->second;
    if (made->steps) runs_[run] = made;
  }
  if (!made->steps) return made->done(Error(ErrorCode::not_found, "no such plan on the device"));
  if (made->steps->empty()) return end(run, made, LaunchReport{});
  give_step(run, made, 0);
}

void PlanChains::give_step(LaunchId id, const RunPtr& run, std::size_t step) {
  const auto& [kernel, arguments] = (*run->steps)[step];
  const auto launch = device_.launch(kernel, arguments, LaunchSettings(run->stream),
                                     [this, id, run](Result<LaunchReport> report) {
                                       step_ended(id, run, std::move(report));
                                     });
  bool stop = false;
  {
    const std::lock_guard lock(mutex_);
    if (run->step != step || !runs_.contains(id)) return;   // it has ended already
    run->launch = launch;
    stop = run->cancelled;
  }
  if (stop) device_.cancel(launch);   // whoever cancelled the run did not know the launch
}

void PlanChains::step_ended(LaunchId id, const RunPtr& run, Result<LaunchReport> report) {
  if (!report) {
    auto error = std::move(report).error();
    if (error.code != ErrorCode::cancelled) error.context.push_back(step_of_plan(run->step));
    return end(id, run, std::move(error));
  }
  if (!report->records.empty()) run->report.steps.push_back({run->step, std::move(report->records)});
  std::size_t next = 0;
  bool cancelled = false;
  {
    const std::lock_guard lock(mutex_);
    next = ++run->step;
    run->launch = 0;
    cancelled = run->cancelled;
  }
  if (cancelled) return end(id, run, Error(ErrorCode::cancelled, "the launch was cancelled"));
  if (next == run->steps->size()) return end(id, run, std::move(run->report));
  give_step(id, run, next);
}

void PlanChains::end(LaunchId id, const RunPtr& run, Result<LaunchReport> report) {
  {
    const std::lock_guard lock(mutex_);
    runs_.erase(id);
  }
  if (report)
    report->duration_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - run->began).count();
  run->done(std::move(report));
}

bool PlanChains::cancel(LaunchId run) {
  LaunchId launch = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(run);
    if (found == runs_.end()) return false;
    found->second->cancelled = true;
    launch = found->second->launch;
  }
  if (launch != 0) device_.cancel(launch);
  return true;
}

}  // namespace kiln::device
