// The daemon's counters as Prometheus text, and how long its requests took.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace kiln::service {

struct MethodInfo;
struct ServiceState;

inline constexpr const char* metrics_content_type = "text/plain; version=0.0.4; charset=utf-8";

// A histogram a method, of the time from a request's arrival to its answer. Thread-safe; adding takes no lock.
class RequestTimes {
 public:
  // Upper bounds in seconds; what took longer counts in one more bucket.
  static constexpr std::array bounds_s{0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0};
  struct Histogram {
    std::array<std::atomic<std::uint64_t>, bounds_s.size() + 1> buckets{};
    std::atomic<std::uint64_t> total_us{0};
  };
  RequestTimes();
  // `method` null: requests for methods that there are none of, together.
  void add(const MethodInfo* method, double milliseconds);
  // Of methods(), in that order, and of unknown ones.
  [[nodiscard]] const std::vector<Histogram>& histograms() const { return histograms_; }

 private:
  std::vector<Histogram> histograms_;
};

// The exposition format of Prometheus, version 0.0.4. Says nothing of single clients: no names, no paths.
std::string metrics_text(ServiceState& state);

}  // namespace kiln::service
