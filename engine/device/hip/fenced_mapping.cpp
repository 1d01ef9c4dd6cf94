#include "engine/device/hip/fenced_mapping.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "engine/base/os.hpp"

namespace kiln::device::hip {

FencedMapping::FencedMapping(FencedMapping&& other) noexcept
    : reserved_(std::exchange(other.reserved_, nullptr)),
      reserved_bytes_(std::exchange(other.reserved_bytes_, 0)),
      data_(std::exchange(other.data_, nullptr)) {}

FencedMapping& FencedMapping::operator=(FencedMapping&& other) noexcept {
  std::swap(reserved_, other.reserved_);
  std::swap(reserved_bytes_, other.reserved_bytes_);
  std::swap(data_, other.data_);
  return *this;
}

FencedMapping::~FencedMapping() {
  if (reserved_ != nullptr) os::munmap(reserved_, reserved_bytes_);
}

Result<FencedMapping> FencedMapping::map(int fd, std::uint64_t size, bool writable, std::uint64_t offset) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  const int protection = PROT_READ | (writable ? PROT_WRITE : 0);
  const auto whole = (size + page - 1) / page * page + 2 * gap_bytes;
  FencedMapping mapping;
  void* const place = os::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const bool fenced = place != MAP_FAILED;
  void* wanted = nullptr;
  if (fenced) {
    mapping.reserved_ = place;
    mapping.reserved_bytes_ = whole;
    wanted = static_cast<std::uint8_t*>(place) + gap_bytes;
  }
  void* const at = os::mmap(wanted, size, protection, MAP_SHARED | (fenced ? MAP_FIXED : 0), fd, static_cast<off_t>(offset));
  if (at == MAP_FAILED) return errno_error(errno, "cannot map " + std::to_string(size) + " bytes");
  mapping.data_ = static_cast<std::uint8_t*>(at);
  if (!fenced) {
    mapping.reserved_ = at;
    mapping.reserved_bytes_ = size;
  }
  return mapping;
}

}  // namespace kiln::device::hip
