// Memory that clients' buffers hold, all together, under one limit.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "engine/base/result.hpp"

namespace kiln::service {

class MemoryBudget;

// Bytes that are counted as long as this lives; it belongs to what holds the memory. Move only; may outlive the service.
class MemoryShare {
 public:
  MemoryShare() = default;
  MemoryShare(MemoryShare&& other) noexcept;
  MemoryShare& operator=(MemoryShare&& other) noexcept;
  ~MemoryShare();
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  friend class MemoryBudget;
  MemoryShare(std::shared_ptr<MemoryBudget> budget, std::uint64_t bytes);
  std::shared_ptr<MemoryBudget> budget_;
  std::uint64_t bytes_ = 0;
};

// Thread-safe. Made by make_shared.
class MemoryBudget : public std::enable_shared_from_this<MemoryBudget> {
 public:
  explicit MemoryBudget(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}
  // Error: resource_limit when less is left; retryable unless it is more than there ever is.
  Result<MemoryShare> take(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t used() const { return used_.load(); }
  [[nodiscard]] std::uint64_t bytes_max() const { return bytes_max_; }

 private:
  friend class MemoryShare;
  const std::uint64_t bytes_max_;
  std::atomic<std::uint64_t> used_{0};
};

}  // namespace kiln::service
