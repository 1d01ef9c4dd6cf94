// The threads that run blocks. Work of several launches is shared out block by block.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/base/result.hpp"

namespace kiln::device::host {

// Blocks 0 … count-1 of one grid. `run` is called for each by some pool thread, with that thread's scratch; false ends
// the grid early (blocks that run already go on to their own end). `finished` is called once, by a pool thread, after
// the last.
struct Grid {
  std::uint64_t launch = 0;  // what withdraw knows it by
  std::int64_t count = 0;
  std::size_t arena_bytes = 0;
  std::function<bool(std::int64_t block, std::uint8_t* arena)> run;
  std::function<void(Status)> finished;  // the status: out_of_memory when a thread got no scratch
};

class BlockPool {
 public:
  explicit BlockPool(int threads);
  ~BlockPool();            // waits for blocks that run; grids not finished are never finished
  void submit(Grid grid);  // any thread, also from `finished`
  // Takes back the grid of a launch when no thread has begun it; true: it is never run and never finished. Any thread.
  bool withdraw(std::uint64_t launch);
  [[nodiscard]] int threads() const { return static_cast<int>(threads_.size()); }

 private:
  struct Job {
    Grid grid;
    std::atomic<std::int64_t> next{0};
    std::atomic<int> workers{0};  // threads at it; the last to leave an exhausted job finishes it
    std::atomic<bool> failed{false};
    bool listed = true;  // in jobs_, under mutex_
  };
  void work();
  std::shared_ptr<Job> take();
  void run(Job& job);
  void leave(const std::shared_ptr<Job>& job);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace kiln::device::host
