// Lets go of a card's memory and modules on a thread of its own, when that is quick.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace kiln::device::hip {

// HIP frees memory behind everything that runs on the card, and that may be a launch that waits for ever. What is to be
// let go is kept until that is quick; whoever needs the same memory meanwhile finds it still there.
class Releaser {
 public:
  // `quick`: whether HIP frees memory at once, or, when that is asked for, soon; `begin`: called before each release.
  // Both on the thread.
  Releaser(std::function<bool(bool soon)> quick, std::function<void()> begin)
      : quick_(std::move(quick)), begin_(std::move(begin)), thread_([this] { serve(); }) {}
  ~Releaser();   // after all that were added
  Releaser(const Releaser&) = delete;
  // Any thread. Waits until it is gone, but not for long.
  void let_go(std::shared_ptr<const void> last);
  // The same without waiting.
  void leave(std::shared_ptr<const void> last);

 private:
  void serve();

  const std::function<bool(bool)> quick_;
  const std::function<void()> begin_;
  std::mutex mutex_;
  std::condition_variable changed_;
  struct Item {
    std::shared_ptr<const void> last;
    std::chrono::steady_clock::time_point added;
  };
  std::deque<Item> queue_;
  std::uint64_t added_ = 0, gone_ = 0;
  bool closing_ = false;
  std::thread thread_;   // last
};

}  // namespace kiln::device::hip
