// Calls back in order from a thread of its own, so that a callback may use the device again.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace kiln::device {

class Completions {
 public:
  Completions() : thread_([this] { serve(); }) {}
  ~Completions();  // after all that were added
  Completions(const Completions&) = delete;
  void add(std::function<void()> completion);  // any thread

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool closing_ = false;
  std::thread thread_;  // last
};

}  // namespace kiln::device
