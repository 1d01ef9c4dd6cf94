#include "engine/jit/poller.hpp"

#include <chrono>
#include <iterator>

namespace kiln::jit {
namespace {
constexpr auto period = std::chrono::milliseconds(2);
}

Poller::Poller() : thread_([this] { run(); }) {}

void Poller::until(std::function<bool()> step) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  added_.push_back(std::move(step));
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
  std::vector<std::function<bool()>> steps;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (steps.empty()) wake_.wait(lock, [&] { return stopping_ || !added_.empty(); });
    else wake_.wait_for(lock, period, [&] { return stopping_; });
    std::move(added_.begin(), added_.end(), std::back_inserter(steps));
    added_.clear();
    if (stopping_) return;
    lock.unlock();
    std::erase_if(steps, [](const std::function<bool()>& step) { return step(); });
    lock.lock();
  }
}

}  // namespace kiln::jit
