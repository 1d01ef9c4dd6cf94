// Deadlines and cancellation. Monotonic clock throughout; a clock that jumps changes nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "engine/base/result.hpp"

namespace kiln {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  Deadline() = default;  // never
  static Deadline after(std::chrono::milliseconds duration) { Deadline d; d.at_ = Clock::now() + duration; return d; }
  [[nodiscard]] bool never() const { return !at_; }
  [[nodiscard]] bool passed() const { return at_ && Clock::now() >= *at_; }
  // Milliseconds left, at least 0; -1 for never (what poll takes).
  [[nodiscard]] int left_ms() const {
    if (!at_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*at_ - Clock::now()).count();
    return left < 0 ? 0 : left > 1000000000 ? 1000000000 : static_cast<int>(left);
  }
  [[nodiscard]] Deadline earlier(const Deadline& other) const {
    if (!at_) return other;
    if (!other.at_) return *this;
    return *at_ < *other.at_ ? *this : other;
  }

 private:
  std::optional<Clock::time_point> at_;
};

// Shared flag: set once, read from any thread.
class CancelToken {
 public:
  CancelToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
  void cancel() const { flag_->store(true, std::memory_order_release); }
  [[nodiscard]] bool cancelled() const { return flag_->load(std::memory_order_acquire); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
};

// A step's allowance: so many units of work, a deadline and a token. `spend` fails when any of them is used up.
class Budget {
 public:
  Budget(std::int64_t units, Deadline deadline = {}, CancelToken token = {})
      : left_(units), deadline_(deadline), token_(std::move(token)) {}
  Status spend(std::int64_t units = 1) {
    left_ -= units;
    if (left_ < 0) return Error(ErrorCode::resource_limit, "the step's budget of work is used up");
    if ((++calls_ & 1023) == 0) {
      if (token_.cancelled()) return Error(ErrorCode::cancelled, "cancelled");
      if (deadline_.passed()) return Error(ErrorCode::deadline_exceeded, "deadline passed", true);
    }
    return {};
  }

 private:
  std::int64_t left_;
  std::uint64_t calls_ = 0;
  Deadline deadline_;
  CancelToken token_;
};

}  // namespace kiln
