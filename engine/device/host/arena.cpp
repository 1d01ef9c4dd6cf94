#include "engine/device/host/arena.hpp"

#include <sys/mman.h>

#include <cerrno>

#include "engine/base/os.hpp"

namespace kiln::device::host {
namespace {
constexpr std::size_t huge_page_bytes = std::size_t(2) << 20, guard_bytes = 4096;
}

Result<std::uint8_t*> Arena::reserve(std::size_t bytes) {
  if (bytes <= bytes_ && begin_ != nullptr) return begin_;
  release();
  const std::size_t usable = (bytes / huge_page_bytes + 1) * huge_page_bytes;
  const std::size_t total = usable + 2 * huge_page_bytes;
  void* mapped = os::mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return Error(ErrorCode::out_of_memory, "no memory for a block's tiles", true);
  mapped_ = static_cast<std::uint8_t*>(mapped);
  mapped_bytes_ = total;
  const auto address = reinterpret_cast<std::uintptr_t>(mapped_);
  const std::size_t skip = huge_page_bytes - address % huge_page_bytes;  // never 0: room for the guard
  begin_ = mapped_ + skip;
  bytes_ = usable;
  // Fewer pages to walk for tiles that are streamed row by row; refused where huge pages are off, which is no failure.
  (void)madvise(begin_, usable, MADV_HUGEPAGE);
  (void)mprotect(begin_ - guard_bytes, guard_bytes, PROT_NONE);
  (void)mprotect(begin_ + usable, guard_bytes, PROT_NONE);
  return begin_;
}

void Arena::release() {
  if (mapped_ != nullptr) os::munmap(mapped_, mapped_bytes_);
  mapped_ = begin_ = nullptr;
  mapped_bytes_ = bytes_ = 0;
}

}  // namespace kiln::device::host
