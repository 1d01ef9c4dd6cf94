#include "engine/device/completions.hpp"

namespace kiln::device {

Completions::~Completions() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    wake_.notify_all();
  }
  thread_.join();
}

void Completions::add(std::function<void()> completion) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(completion));
  wake_.notify_all();
}

void Completions::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    auto completion = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    completion();
    completion = nullptr;  // what it held may call back into the device when it goes: not under the lock
    lock.lock();
  }
}

}  // namespace kiln::device
