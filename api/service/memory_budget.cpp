#include "api/service/memory_budget.hpp"

#include <string>
#include <utility>

namespace kiln::service {

MemoryShare::MemoryShare(std::shared_ptr<MemoryBudget> budget, std::uint64_t bytes) : budget_(std::move(budget)), bytes_(bytes) {}

MemoryShare::MemoryShare(MemoryShare&& other) noexcept
    : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}

MemoryShare& MemoryShare::operator=(MemoryShare&& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MemoryShare::~MemoryShare() {
  if (budget_) budget_->used_ -= bytes_;
}

Result<MemoryShare> MemoryBudget::take(std::uint64_t bytes) {
  auto used = used_.load();
  do {
    if (bytes > bytes_max_ - used)
      return Error(ErrorCode::resource_limit, "all clients' buffers together may have " + std::to_string(bytes_max_) + " bytes; " +
                   std::to_string(used) + " are taken", bytes <= bytes_max_);
  } while (!used_.compare_exchange_weak(used, used + bytes));
  return MemoryShare(shared_from_this(), bytes);
}

}  // namespace kiln::service
