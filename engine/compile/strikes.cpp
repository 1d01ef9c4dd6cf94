#include "engine/compile/strikes.hpp"

#include <algorithm>

namespace kiln::compile {

std::optional<Error> Strikes::refusal(const Digest& input, Time now) {
  const std::lock_guard lock(mutex_);
  const auto it = struck_.find(input);
  if (it == struck_.end()) return std::nullopt;
  if (now - it->second.last > life) {
    struck_.erase(it);
    return std::nullopt;
  }
  if (it->second.count < 2) return std::nullopt;
  return Error(ErrorCode::worker_died,
               "refused: this kernel ended two compile workers, and is not tried again for 10 minutes")
      .with("the last time: " + it->second.cause);
}

void Strikes::add(const Digest& input, const std::string& cause, Time now) {
  const std::lock_guard lock(mutex_);
  if (struck_.size() >= inputs_max && !struck_.contains(input))
    struck_.erase(std::min_element(struck_.begin(), struck_.end(),
                                   [](const auto& a, const auto& b) { return a.second.last < b.second.last; }));
  auto& strike = struck_[input];
  if (now - strike.last > life) strike.count = 0;  // also a new one's
  ++strike.count;
  strike.cause = cause;
  strike.last = now;
}

}  // namespace kiln::compile
