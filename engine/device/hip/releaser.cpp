#include "engine/device/hip/releaser.hpp"

namespace kiln::device::hip {
namespace {

constexpr auto caller_waits = std::chrono::milliseconds(20), look_again = std::chrono::milliseconds(10);
// A card that always runs something has to be waited for in the end.
constexpr auto patience = std::chrono::seconds(1);

}  // namespace

Releaser::~Releaser() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Releaser::let_go(std::shared_ptr<const void> last) {
  std::unique_lock lock(mutex_);
  queue_.push_back({std::move(last), std::chrono::steady_clock::now()});
  const auto mine = ++added_;
  changed_.notify_all();
  changed_.wait_for(lock, caller_waits, [&] { return gone_ >= mine; });
}

void Releaser::leave(std::shared_ptr<const void> last) {
  const std::lock_guard lock(mutex_);
  queue_.push_back({std::move(last), std::chrono::steady_clock::now()});
  ++added_;
  changed_.notify_all();
}

void Releaser::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const bool soon = std::chrono::steady_clock::now() - queue_.front().added > patience;
    lock.unlock();
    const bool now = quick_(soon);
    lock.lock();
    if (!now && !closing_) {
      changed_.wait_for(lock, look_again, [&] { return closing_; });
      continue;
    }
    auto last = std::move(queue_.front().last);
    queue_.pop_front();
    lock.unlock();
    begin_();
    last.reset();
    lock.lock();
    ++gone_;
    changed_.notify_all();
  }
}

}  // namespace kiln::device::hip
