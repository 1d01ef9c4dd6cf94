#include "engine/emulator/core/memory.hpp"

#include "engine/emulator/core/memory_races.hpp"
#include "engine/emulator/isa/buffer_formats_gfx11.hpp"

namespace kiln::emulator {

void stop_access(Wave& wave, const Instruction& instruction, FaultKind kind, int lane, std::uint64_t address,
                 std::uint32_t bytes, bool store) {
  Fault fault;
  fault.kind = kind;
  fault.instruction = instruction.index;
  fault.lane = lane;
  fault.address = address;
  fault.bytes = bytes;
  fault.store = store;
  wave.stop(fault);
}

namespace {

bool holds(const MemoryRange& range, std::uint64_t address, std::uint64_t bytes) {
  return address >= range.begin && address < range.end && bytes <= range.end - address;
}

}  // namespace

const MemoryRange* find_range(Wave& wave, std::uint64_t address, std::uint64_t bytes) {
  if (holds(wave.last_range, address, bytes)) return &wave.last_range;
  const MemoryMap& map = wave.execution->memory;
  std::uint64_t low = 0, high = map.count;  // the last range that begins at or before the address
  while (low < high) {
    const std::uint64_t middle = (low + high) / 2;
    if (map.ranges[middle].begin <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  MemoryRange found;
  if (low > 0) found = map.ranges[low - 1];
  if (!holds(found, address, bytes) && wave.scratch) {
    // gfx90a reaches its private memory through a buffer descriptor with the memory's address.
    found.begin = reinterpret_cast<std::uint64_t>(wave.scratch);
    found.end = found.begin + std::uint64_t(wave.scratch_bytes) * wave.size;
    found.writable = true;
  }
  if (!holds(found, address, bytes)) return nullptr;
  wave.last_range = found;
  return &wave.last_range;
}

bool check_access(Wave& wave, const Instruction& instruction, int lane, std::uint64_t address, std::uint32_t bytes,
                  bool store) {
  const MemoryRange* range = find_range(wave, address, bytes);
  if (range && (!store || range->writable)) return true;
  const FaultKind kind = range ? FaultKind::read_only : FaultKind::out_of_range;
  stop_access(wave, instruction, kind, lane, address, bytes, store);
  return false;
}

bool read_scalar_memory(Wave& wave, const Instruction& instruction, std::uint64_t address, void* into,
                        std::uint32_t bytes) {
  if (!check_access(wave, instruction, -1, address, bytes, false)) return false;
  if (!check_scalar_race(wave, instruction, address, bytes, GlobalUse::load)) return false;
  std::memcpy(into, reinterpret_cast<const void*>(address), bytes);
  return true;
}

namespace {

// "RDNA3 Instruction Set Architecture", "Buffer Resource Descriptor".
BufferDescriptor read_descriptor_gfx11(const std::uint32_t* words) {
  BufferDescriptor descriptor;
  descriptor.base = words[0] | std::uint64_t(words[1] & 0xffff) << 32;
  descriptor.stride = words[1] >> 16 & 0x3fff;
  const std::uint32_t swizzle = words[1] >> 30;
  descriptor.swizzle = swizzle != 0;
  descriptor.element_bytes = 2u << swizzle;
  descriptor.records = words[2];
  for (int n = 0; n < 4; ++n) descriptor.select[n] = static_cast<std::uint8_t>(words[3] >> (n * 3) & 7);
  const BufferFormat format = buffer_format_gfx11(words[3] >> 12 & 63);
  descriptor.data_format = format.data;
  descriptor.number_format = format.number;
  descriptor.index_stride = 8u << (words[3] >> 21 & 3);
  descriptor.add_thread = (words[3] >> 23 & 1) != 0;
  constexpr BufferBounds bounds[4] = {BufferBounds::structure, BufferBounds::index, BufferBounds::none,
                                      BufferBounds::bytes};
  descriptor.bounds = bounds[words[3] >> 28 & 3];
  return descriptor;
}

}  // namespace

BufferDescriptor read_descriptor(const Wave& wave, int first_register) {
  const std::uint32_t* words = wave.scalar + first_register;
  if (wave.execution->family == Family::gfx11) return read_descriptor_gfx11(words);
  BufferDescriptor descriptor;
  descriptor.base = words[0] | std::uint64_t(words[1] & 0xffff) << 32;
  descriptor.stride = words[1] >> 16 & 0x3fff;
  descriptor.swizzle = words[1] >> 31 != 0;
  descriptor.records = words[2];
  for (int n = 0; n < 4; ++n) descriptor.select[n] = static_cast<std::uint8_t>(words[3] >> (n * 3) & 7);
  descriptor.number_format = static_cast<std::uint8_t>(words[3] >> 12 & 7);
  descriptor.data_format = static_cast<std::uint8_t>(words[3] >> 15 & 15);
  descriptor.element_bytes = 2u << (words[3] >> 19 & 3);
  descriptor.index_stride = 8u << (words[3] >> 21 & 3);
  descriptor.add_thread = (words[3] >> 23 & 1) != 0;
  // With the thread's number in the index the data format's bits are the stride's bits 14..17.
  if (descriptor.add_thread) descriptor.stride |= std::uint32_t(descriptor.data_format) << 14;
  return descriptor;
}

}  // namespace kiln::emulator
