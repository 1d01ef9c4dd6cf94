// Memory for registers and LDS: page-aligned, zeroed, grown only.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace kiln::emulator {

class Pages {
 public:
  Pages() = default;
  ~Pages() { reset(); }
  Pages(const Pages&) = delete;
  // At least `bytes`; what was held is lost when it grows. False: no memory.
  bool reserve(std::size_t bytes) {
    if (bytes <= bytes_) return true;
    reset();
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) return false;
    ::madvise(data, bytes, MADV_HUGEPAGE);  // registers of one group would take hundreds of entries of the TLB
    data_ = static_cast<std::uint8_t*>(data);
    bytes_ = bytes;
    return true;
  }
  [[nodiscard]] std::uint8_t* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void reset() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
    data_ = nullptr;
    bytes_ = 0;
  }
  std::uint8_t* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace kiln::emulator
