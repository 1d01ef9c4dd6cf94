#include "engine/jit/poller.hpp"

#include <algorithm>
#include <iterator>

namespace kiln::jit {
namespace {
constexpr auto first_interval = std::chrono::milliseconds(1);
}

Poller::Poller() : thread_([this] { run(); }) {}

void Poller::until(std::function<bool()> step, std::chrono::milliseconds interval_max) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  added_.push_back({std::move(step), first_interval, interval_max, Clock::now() + first_interval});
  wake_.notify_all();
}

void Poller::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    added_.clear();
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Poller::run() {
  std::vector<Step> steps;
  std::unique_lock lock(mutex_);
  const auto news = [&] { return stopping_ || !added_.empty(); };
  while (!stopping_) {
    const auto next = std::min_element(steps.begin(), steps.end(), [](auto& a, auto& b) { return a.due < b.due; });
    if (next == steps.end()) wake_.wait(lock, news);
    else wake_.wait_until(lock, next->due, news);
    std::move(added_.begin(), added_.end(), std::back_inserter(steps));
    added_.clear();
    if (stopping_) return;
    lock.unlock();
    const auto now = Clock::now();
    std::erase_if(steps, [now](Step& step) {
      if (step.due > now) return false;
      step.interval = std::min(2 * step.interval, step.interval_max);
      step.due = now + step.interval;
      return step.done();
    });
    lock.lock();
  }
}

}  // namespace kiln::jit
