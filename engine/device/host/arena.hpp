// Scratch of one thread: what the tiles of the block that it runs live in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/result.hpp"

namespace kiln::device::host {

// Starts on a huge page where the system has them, a guard page on each side. Contents survive nothing: growing gives
// zeros.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  ~Arena() { release(); }
  // At least `bytes`; out_of_memory when the system has none.
  Result<std::uint8_t*> reserve(std::size_t bytes);

 private:
  void release();
  std::uint8_t* mapped_ = nullptr;
  std::uint8_t* begin_ = nullptr;
  std::size_t mapped_bytes_ = 0, bytes_ = 0;
};

}  // namespace kiln::device::host
