// When to leave a server alone that fails: after some failures in a row for a time that doubles with every further one.
// Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>

namespace kiln::cache {

class Breaker {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int failures_max = 3;  // in a row; the last one turns it off
  static constexpr std::chrono::milliseconds off_min{1000}, off_max{30000};

  // Whether the server may be asked now.
  [[nodiscard]] bool allows(Clock::time_point now) const { return failures_ < failures_max || now >= off_until_; }
  [[nodiscard]] bool off() const { return failures_ >= failures_max; }
  [[nodiscard]] std::chrono::milliseconds off_time() const { return off_time_; }  // the current one; 0 when it is on
  // True when this failure, or success, turned it off, or on again.
  bool failed(Clock::time_point now) {
    if (failures_ < failures_max) ++failures_;
    if (failures_ < failures_max) return false;
    const bool was_on = off_time_ == std::chrono::milliseconds(0);
    off_time_ = std::clamp(2 * off_time_, off_min, off_max);
    off_until_ = now + off_time_;
    return was_on;
  }
  bool succeeded() {
    const bool was_off = off();
    *this = Breaker();
    return was_off;
  }

 private:
  int failures_ = 0;
  std::chrono::milliseconds off_time_{0};
  Clock::time_point off_until_{};
};

}  // namespace kiln::cache
