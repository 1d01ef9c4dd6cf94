#include "engine/emulator/hip/stream.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

#include "engine/emulator/machine/memory.hpp"

namespace kiln::emulator {
namespace {

thread_local const Stream* own_stream = nullptr;

}  // namespace

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Stream::submit(Work work, std::vector<Mark> after, bool always) {
  const std::lock_guard lock(mutex_);
  queue_.push_back({std::move(work), std::move(after), always});
  ++submitted_;
  changed_.notify_all();
}

std::uint64_t Stream::submitted() const {
  const std::lock_guard lock(mutex_);
  return submitted_;
}

void Stream::wait_for(std::uint64_t ticket) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return completed_ >= ticket; });
}

hip::Code Stream::query() const {
  const std::lock_guard lock(mutex_);
  return completed_ < submitted_ ? hip::not_ready : error_;
}

hip::Code Stream::synchronize() const {
  std::unique_lock lock(mutex_);
  const auto until = submitted_;
  changed_.wait(lock, [&] { return completed_ >= until; });
  return error_;
}

hip::Code Stream::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

void Stream::clear_error() {
  const std::lock_guard lock(mutex_);
  error_ = hip::success;
  report_.clear();
}

std::string Stream::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

void Stream::keep_report(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (report_.empty()) report_ = text;
}

hip::Code Stream::error_here() { return own_stream == nullptr ? hip::success : own_stream->error(); }

void Stream::cancel_behind(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  const bool older = completed_ < cancelled_until_;   // one that is not over yet
  cancelled_from_ = older ? std::min(cancelled_from_, count) : count;
  cancelled_until_ = submitted_;
  if (next_is_cancelled()) cancelled_.store(true);
}

void Stream::serve() {
  own_stream = this;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Item item = std::move(queue_.front());
    queue_.pop_front();
    cancelled_.store(next_is_cancelled());
    lock.unlock();
    for (const auto& mark : item.after) mark.stream->wait_for(mark.ticket);
    item.after.clear();
    lock.lock();
    const bool skipped = error_ != hip::success && !item.always;
    lock.unlock();
    const hip::Code code = skipped ? hip::success : item.work();
    item.work = nullptr;                 // what it holds is let go before anybody hears of the end
    lock.lock();
    if (code != hip::success && error_ == hip::success) error_ = code;
    ++completed_;
    cancelled_.store(false);
    changed_.notify_all();
  }
}

// ---- events --------------------------------------------------------------------------------------------------------
namespace {

std::uint64_t own_start_time() {
  static const std::uint64_t time = process_start_time(::getpid());
  return time;
}

bool reached(std::uint32_t completed, std::uint32_t wanted) {
  return static_cast<std::int32_t>(completed - wanted) >= 0;
}

constexpr auto look_again = std::chrono::milliseconds(20);

bool is_set(const std::atomic<bool>* flag) { return flag != nullptr && flag->load(); }

// A look at the recorder fifty times a second: its end must not hold us up for ever.
hip::Code wait_shared(SharedEvent& shared, std::uint32_t wanted, const std::atomic<bool>* cancelled) {
  for (int gone = 0;;) {
    const std::uint32_t completed = shared.completed.load(std::memory_order_acquire);
    if (reached(completed, wanted)) return hip::success;
    if (is_set(cancelled)) return hip::launch_failure;
    // Twice: the two values may just be changing hands.
    gone = process_start_time(shared.pid.load()) == shared.start_time.load() ? 0 : gone + 1;
    if (gone > 1) return hip::operating_system;
    const timespec limit{0, std::chrono::nanoseconds(look_again).count()};
    ::syscall(SYS_futex, &shared.completed, FUTEX_WAIT, completed, &limit, nullptr, 0);
  }
}

void complete_shared(SharedEvent& shared, std::uint32_t number) {
  auto completed = shared.completed.load();
  while (!reached(completed, number) && !shared.completed.compare_exchange_weak(completed, number)) {
  }
  ::syscall(SYS_futex, &shared.completed, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

std::shared_ptr<Event::Record> Event::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

Stream::Work Event::record() {
  const auto record = std::make_shared<Record>();
  {
    const std::lock_guard lock(mutex_);
    last_ = record;
  }
  std::uint32_t number = 0;
  if (shared_ != nullptr) {
    shared_->start_time.store(own_start_time());
    shared_->pid.store(::getpid());
    number = shared_->recorded.fetch_add(1) + 1;
  }
  return [record, shared = shared_, number] {
    {
      const std::lock_guard lock(record->mutex);
      record->done = true;
      record->error = Stream::error_here();
      record->time = std::chrono::steady_clock::now();
      record->changed.notify_all();
    }
    if (shared != nullptr) complete_shared(*shared, number);
    return hip::success;
  };
}

Event::Waiter Event::waiter() const {
  if (shared_ != nullptr) {
    return [shared = shared_, wanted = shared_->recorded.load()](const std::atomic<bool>* cancelled) {
      return wait_shared(*shared, wanted, cancelled);
    };
  }
  return [record = last()](const std::atomic<bool>* cancelled) {
    if (record == nullptr) return hip::success;
    std::unique_lock lock(record->mutex);
    while (!record->changed.wait_for(lock, look_again, [&] { return record->done; }))
      if (is_set(cancelled)) return hip::launch_failure;
    return cancelled == nullptr ? record->error : hip::success;
  };
}

hip::Code Event::query() const {
  if (shared_ != nullptr)
    return reached(shared_->completed.load(), shared_->recorded.load()) ? hip::success : hip::not_ready;
  const auto record = last();
  if (record == nullptr) return hip::success;
  const std::lock_guard lock(record->mutex);
  return record->done ? record->error : hip::not_ready;
}

hip::Code Event::elapsed(const Event& from, const Event& to, float& milliseconds) {
  const auto first = from.last(), second = to.last();
  if (first == nullptr || second == nullptr || !from.timed() || !to.timed()) return hip::invalid_handle;
  const auto time_of = [](Record& record, std::chrono::steady_clock::time_point& time) {
    const std::lock_guard lock(record.mutex);
    time = record.time;
    return record.done;
  };
  std::chrono::steady_clock::time_point begin, end;
  if (!time_of(*first, begin) || !time_of(*second, end)) return hip::not_ready;
  milliseconds = std::chrono::duration<float, std::milli>(end - begin).count();
  return hip::success;
}

}  // namespace kiln::emulator
