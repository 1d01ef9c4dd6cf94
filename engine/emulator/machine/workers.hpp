// Host threads that run work groups, shared by all launches of a process.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace kiln::emulator {

class Workers {
 public:
  // `threads` of them in all, callers of run included: none is started for 1. 0: one a core that this process may use.
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  [[nodiscard]] int threads() const { return threads_; }

  // Calls work(0) on this thread and work(1), … work(n - 1) on others as they are free. Indices that nobody has begun
  // when work(0) is done are never called: work takes its share from a common counter. Any thread; may be called by
  // several at once.
  void run(int n, const std::function<void(int)>& work);

 private:
  struct Job {
    const std::function<void(int)>* work = nullptr;
    int next = 1, limit = 1, active = 0;
  };
  void serve();

  const int threads_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::deque<std::shared_ptr<Job>> jobs_;
  bool closing_ = false;
  std::vector<std::thread> pool_;
};

// Cores that this process may use, at least 1.
int usable_cores();

}  // namespace kiln::emulator
