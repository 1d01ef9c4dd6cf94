// Memory of a wave: what the families that access it share.
#pragma once

#include <cstdint>

#include "engine/emulator/core/families.hpp"

namespace kiln::emulator {

// What stopped an access. `address`: as the kernel sees it. The wave stops.
void stop_access(Wave& wave, const Instruction& instruction, FaultKind kind, int lane, std::uint64_t address,
                 std::uint32_t bytes, bool store);

// Whether [address, address + bytes) is mapped, and writable if it is stored to. False: the wave has stopped.
bool check_access(Wave& wave, const Instruction& instruction, int lane, std::uint64_t address, std::uint32_t bytes,
                  bool store);

// What the records of a buffer count and what is held against them.
enum class BufferBounds : std::uint8_t {
  by_access,        // CDNA: strides where the access has an index and the buffer a stride, else bytes
  structure,        // RDNA, OOB_SELECT 0: strides, and the offset against the stride
  index,            // 1: strides
  none,             // 2: nothing, unless there are 0 records
  bytes,            // 3
};

// Base, bounds and form of a buffer resource descriptor (four scalar registers, "Buffer Resource Descriptor" of AMD's
// instruction set documents).
struct BufferDescriptor {
  std::uint64_t base = 0;
  std::uint32_t stride = 0, records = 0;
  BufferBounds bounds = BufferBounds::by_access;
  bool swizzle = false, add_thread = false;
  std::uint32_t element_bytes = 4, index_stride = 8;     // of the swizzle
  std::uint8_t number_format = 0, data_format = 0;
  std::uint8_t select[4] = {4, 5, 6, 7};                 // 0: 0, 1: 1, 4..7: X, Y, Z, W
};
BufferDescriptor read_descriptor(const Wave& wave, int first_register);

}  // namespace kiln::emulator
