// One thread that repeats small checks which nothing can wait on: cancellations, deadlines, locks of other processes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kiln::jit {

// How often, at last, a lock of another process is tried, and cancellations and deadlines are looked for.
inline constexpr std::chrono::milliseconds lock_interval_max{8}, watch_interval_max{25};

class Poller {
 public:
  Poller();
  ~Poller() { stop(); }
  // Calls `step` on the poller's thread until it gives true: after 1 ms, then at intervals that double up to
  // `interval_max`, since what has taken long is noticed late at a small part of that. Any thread. Steps must be quick.
  void until(std::function<bool()> step, std::chrono::milliseconds interval_max);
  // Ends the thread; what was not done is dropped, and so is what comes later. Not from a step.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Step {
    std::function<bool()> done;
    std::chrono::milliseconds interval, interval_max;
    Clock::time_point due;
  };

  void run();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Step> added_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace kiln::jit
