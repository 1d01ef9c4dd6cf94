// A client's memory, mapped with nothing near it: a kernel that runs over its end meets no other buffer, whatever lies where.
#pragma once

#include <cstdint>

#include "engine/base/result.hpp"

namespace kiln::device::hip {

// Move only.
class FencedMapping {
 public:
  static constexpr std::uint64_t gap_bytes = std::uint64_t(16) << 20;  // addresses alone, on both sides

  FencedMapping() = default;
  FencedMapping(FencedMapping&& other) noexcept;
  FencedMapping& operator=(FencedMapping&& other) noexcept;
  ~FencedMapping();
  // [offset, offset + size) of `fd`, shared; `offset` a multiple of the page. Where the addresses of the gaps cannot be had (a
  // limit on address space), there are none. Errors: of mmap.
  static Result<FencedMapping> map(int fd, std::uint64_t size, bool writable, std::uint64_t offset);
  [[nodiscard]] std::uint8_t* data() const { return data_; }

 private:
  void* reserved_ = nullptr;
  std::uint64_t reserved_bytes_ = 0;
  std::uint8_t* data_ = nullptr;
};

}  // namespace kiln::device::hip
