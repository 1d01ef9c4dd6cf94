// Addresses of one execution of a buffer instruction.
#pragma once

#include "engine/emulator/core/memory_table.hpp"

namespace kiln::emulator {

struct alignas(64) BufferAccess {
  BufferAccess(const Wave& wave, const Instruction& instruction);

  // Addresses of the bytes [at, at + bytes) of each lane's element; taking part: the lanes where they are in bounds.
  void component(std::uint32_t at, std::uint32_t bytes, Addresses& addresses) const;
  // Whether the bytes [at, at + bytes) of a lane's element lie in two elements of a swizzled buffer, far from each
  // other: private memory that is not aligned.
  bool crosses(std::uint32_t at, std::uint32_t bytes) const;
  // Whether the elements of all lanes lie in one piece and in bounds; then their addresses. Not filled.
  bool linear(std::uint32_t bytes, Addresses& addresses) const;

  std::uint32_t index[lanes];
  std::uint64_t offset[lanes];     // without the scalar offset; with index * stride where memory is not swizzled
  BufferDescriptor descriptor;
  std::uint32_t scalar_offset = 0;
  std::uint64_t active = 0;
  bool structured = false;         // records count strides
  std::uint64_t in_stride = 0;     // lanes whose offset is below the stride, where that counts
};

// Whether the registers that the addresses come from exist.
bool buffer_operands_fit(const Instruction& instruction);

}  // namespace kiln::emulator
