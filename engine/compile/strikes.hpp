// The two-strikes rule: an input that killed two workers in a row is refused for a while.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "engine/base/hash.hpp"
#include "engine/base/result.hpp"

namespace kiln::compile {

// Inputs that killed workers, in memory only. A death is forgotten after 10 minutes without another by the same input,
// and the oldest first when there are too many. Thread-safe.
class Strikes {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr auto life = std::chrono::minutes(10);
  static constexpr std::size_t inputs_max = 1024;

  // Why `input` is refused, or nothing.
  std::optional<Error> refusal(const Digest& input, Time now = std::chrono::steady_clock::now());
  // `cause`: what killed the worker, in words.
  void add(const Digest& input, const std::string& cause, Time now = std::chrono::steady_clock::now());

 private:
  struct Strike {
    int count = 0;
    std::string cause;
    Time last;
  };
  std::mutex mutex_;
  std::map<Digest, Strike> struck_;
};

}  // namespace kiln::compile
