// The threads of a device process that do what may block.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace kiln::device {

// Runs what it is given, in order, on a thread of its own. Never ends.
class Executor {
 public:
  Executor() : thread_([this] { execute(); }) {}
  void add(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    wake_.notify_all();
  }

 private:
  void execute() {
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return !work_.empty(); });
      auto work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> work_;
  std::thread thread_;   // last
};

}  // namespace kiln::device
