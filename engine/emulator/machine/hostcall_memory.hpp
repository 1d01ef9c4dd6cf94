// Memory that one launch's kernel and its host share.
#pragma once

#include <cstdint>

#include "engine/base/result.hpp"

namespace kiln::emulator {

// Zeroed pages, which take room as they are touched.
class HostPages {
 public:
  HostPages() = default;
  ~HostPages() { reset(); }
  HostPages(const HostPages&) = delete;
  // Errors: out_of_memory.
  Status map(std::uint64_t bytes, const char* what);
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint8_t* at(std::uint64_t offset) const {
    return reinterpret_cast<std::uint8_t*>(begin_) + offset;   // NOLINT: an address of our own mapping
  }

 private:
  void reset();
  std::uint64_t begin_ = 0, bytes_ = 0, mapped_ = 0;
};

}  // namespace kiln::emulator
