// One thread that repeats small checks which nothing can wait on: cancellations, deadlines, locks of other processes.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kiln::jit {

class Poller {
 public:
  Poller();
  ~Poller() { stop(); }
  // Calls `step` on the poller's thread every 2 ms until it gives true. Any thread. Steps must be quick.
  void until(std::function<bool()> step);
  // Ends the thread; what was not done is dropped, and so is what comes later. Not from a step.
  void stop();

 private:
  void run();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::function<bool()>> added_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace kiln::jit
