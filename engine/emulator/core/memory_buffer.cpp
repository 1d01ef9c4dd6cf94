// MUBUF: addresses and bounds by the buffer's descriptor.
// Source: "AMD Instinct MI200 Instruction Set Architecture", "Buffer Addressing" and "Range Checking"; the units of
// the number of records are GFX9's: strides for structured accesses (IDXEN and a stride), else bytes. RDNA3's
// descriptors say what they are (BufferBounds).
#include "engine/emulator/core/memory_buffer.hpp"

#include <bit>

#include "engine/emulator/core/lds.hpp"
#include "engine/emulator/core/memory_atomic.hpp"
#include "engine/emulator/core/memory_races.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

const MoveRow& row_of(const Instruction& instruction) { return *static_cast<const MoveRow*>(instruction.operation); }

u64 swizzled(const BufferDescriptor& descriptor, u64 index, u64 offset) {
  const u64 strides = descriptor.index_stride, element = descriptor.element_bytes;
  const u64 row = index / strides * descriptor.stride + offset / element * element;
  return row * strides + index % strides * element + offset % element;
}

// Whether [address, address + bytes) is mapped: for the bytes of a dword that the bounds cut.
bool mapped(Wave& wave, u64 address, u32 bytes) { return find_range(wave, address, bytes) != nullptr; }

}  // namespace

BufferAccess::BufferAccess(const Wave& wave, const Instruction& instruction)
    : descriptor(read_descriptor(wave, instruction.src[2].index)) {
  scalar_offset = scalar32(wave, instruction.src[3]);
  active = wave.exec();
  structured = descriptor.bounds == BufferBounds::by_access ? instruction.idxen && descriptor.stride != 0
                                                            : descriptor.bounds <= BufferBounds::index;
  const int registers = instruction.vector_address ? instruction.src[0].index : 0;
  const u32* first = wave.vector[registers];
  const u32* offsets = instruction.idxen ? first + lanes : first;
  const u32 fixed = static_cast<u32>(instruction.offset);
  for (int lane = 0; lane < lanes; ++lane) offset[lane] = fixed;
  if (instruction.offen) {
    for (int lane = 0; lane < lanes; ++lane) offset[lane] += offsets[lane];
  }
  if (descriptor.bounds == BufferBounds::structure) {
    for (int lane = 0; lane < lanes; ++lane) in_stride |= u64(offset[lane] < descriptor.stride) << lane;
  }
  if (!instruction.idxen && !descriptor.add_thread) {
    std::memset(index, 0, sizeof index);
    return;
  }
  for (int lane = 0; lane < lanes; ++lane) {
    index[lane] = (instruction.idxen ? first[lane] : 0) + (descriptor.add_thread ? static_cast<u32>(lane) : 0);
    if (!descriptor.swizzle) offset[lane] += u64(index[lane]) * descriptor.stride;
  }
}

void BufferAccess::component(u32 at, u32 bytes, Addresses& addresses) const {
  const u64 base = descriptor.base + scalar_offset;
  const u64 limit = descriptor.records > scalar_offset ? descriptor.records - scalar_offset : 0;
  u64 places[lanes], inside = 0;
  for (int lane = 0; lane < lanes; ++lane) places[lane] = offset[lane] + at;
  if (descriptor.swizzle) {
    for (int lane = 0; lane < lanes; ++lane) places[lane] = swizzled(descriptor, index[lane], places[lane]);
  }
  for (int lane = 0; lane < lanes; ++lane) addresses.at[lane] = base + places[lane];
  if (structured) {
    for (int lane = 0; lane < lanes; ++lane) inside |= u64(index[lane] < descriptor.records) << lane;
    if (descriptor.bounds == BufferBounds::structure) inside &= in_stride;
  } else if (descriptor.bounds == BufferBounds::none) {
    inside = descriptor.records == 0 ? 0 : ~u64(0);
  } else {
    u64 most = 0;
    for (int lane = 0; lane < lanes; ++lane) most = places[lane] > most ? places[lane] : most;
    inside = ~u64(0);
    if (most + bytes > limit) {
      inside = 0;
      for (int lane = 0; lane < lanes; ++lane) inside |= u64(places[lane] + bytes <= limit) << lane;
    }
  }
  addresses.active = inside & active;
}

bool BufferAccess::crosses(u32 at, u32 bytes) const {
  if (!descriptor.swizzle) return false;
  u64 crossing = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    crossing |= u64((offset[lane] + at) % descriptor.element_bytes + bytes > descriptor.element_bytes) << lane;
  }
  return (crossing & active) != 0;
}

bool BufferAccess::linear(u32 bytes, Addresses& addresses) const {
  if (descriptor.swizzle && (bytes > 4 || crosses(0, bytes))) return false;
  component(0, bytes, addresses);
  return addresses.active == active;
}

namespace {

// A dword or less of each lane, byte by byte: those of one lane are not beside each other. Out of bounds as below.
void move_bytes(Wave& wave, const Instruction& instruction, const BufferAccess& access, u32 at,
                const Transfer& transfer, Move move, Row row) {
  alignas(64) u32 values[lanes] = {};
  const u32 shift = transfer.half == Half::high ? 16 : 0;
  for (u32 n = 0; n < transfer.bytes; ++n) {
    Addresses addresses;
    access.component(at + n, 1, addresses);
    if (addresses.active == 0) continue;
    if (!check_addresses(wave, instruction, addresses, 1, move == Move::store)) return;
    Transfer one;
    one.bytes = 1;
    const GlobalUse use = move == Move::store ? GlobalUse::store : GlobalUse::load;
    if (!check_races(wave, instruction, addresses, one, use)) return;
    count_traffic(wave, instruction, addresses, 1);
    for (u64 left = addresses.active; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      auto* const byte = reinterpret_cast<std::uint8_t*>(addresses.at[lane]);
      if (move == Move::store) *byte = static_cast<std::uint8_t>(row[0][lane] >> (shift + 8 * n));
      else values[lane] |= u32(*byte) << (8 * n);
    }
  }
  if (move == Move::store) return;
  Addresses staged;
  staged.active = access.active;
  for (int lane = 0; lane < lanes; ++lane) staged.at[lane] = reinterpret_cast<u64>(&values[lane]);
  load_lanes(row, staged, transfer);
}

// One dword (or less) of each lane; out of bounds loads give 0, stores are lost. In bounds is a dword whose first byte
// is; what lies behind the bounds is read as it stands in memory, and as 0 where there is no memory.
void move_component(Wave& wave, const Instruction& instruction, const BufferAccess& access, u32 at,
                    const Transfer& transfer, Move move, Row row) {
  if (access.crosses(at, transfer.bytes)) return move_bytes(wave, instruction, access, at, transfer, move, row);
  Addresses addresses;
  access.component(at, 1, addresses);
  if (move == Move::load) zero_lanes(row, access.active & ~addresses.active, transfer);
  if (addresses.active == 0) return;
  if (move == Move::store) {
    if (!check_addresses(wave, instruction, addresses, transfer.bytes, true)) return;
    if (!check_races(wave, instruction, addresses, transfer, GlobalUse::store, row)) return;
    count_traffic(wave, instruction, addresses, transfer.bytes);
    return store_lanes(row, addresses, transfer);
  }
  if (!check_races(wave, instruction, addresses, transfer, GlobalUse::load)) return;
  Addresses whole;
  access.component(at, transfer.bytes, whole);
  for (u64 left = addresses.active & ~whole.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (mapped(wave, addresses.at[lane], transfer.bytes)) continue;
    addresses.active &= ~(u64(1) << lane);
    zero_lanes(row, u64(1) << lane, transfer);
    u32 value = 0, bytes = 0;
    while (bytes < transfer.bytes && mapped(wave, addresses.at[lane] + bytes, 1)) ++bytes;
    std::memcpy(&value, reinterpret_cast<const void*>(addresses.at[lane]), bytes);
    if (transfer.half == Half::high) value <<= 16;
    row[0][lane] |= value;
  }
  if (addresses.active == 0 || !check_addresses(wave, instruction, addresses, transfer.bytes, false)) return;
  count_traffic(wave, instruction, addresses, transfer.bytes);
  load_lanes(row, addresses, transfer);
}

void move_components(Wave& wave, const Instruction& instruction, const BufferAccess& access, const MoveRow& row,
                     Row rows) {
  Transfer dword = row.transfer;
  if (dword.bytes > 4) dword.bytes = 4;
  for (int n = 0; n < dwords(row.transfer) && wave.status == WaveStatus::running; ++n) {
    move_component(wave, instruction, access, static_cast<u32>(n) * 4, dword, row.move, rows + n);
  }
}

void execute_load(Wave& wave, const Instruction& instruction) {
  const MoveRow& row = row_of(instruction);
  const BufferAccess access(wave, instruction);
  if (access.active == 0) return;
  const Row rows = wave.vector + instruction.dst.index;
  Addresses addresses;
  if (!access.linear(row.transfer.bytes, addresses)) return move_components(wave, instruction, access, row, rows);
  if (!check_addresses(wave, instruction, addresses, row.transfer.bytes, false)) return;
  if (!check_races(wave, instruction, addresses, row.transfer, GlobalUse::load)) return;
  count_traffic(wave, instruction, addresses, row.transfer.bytes);
  load_lanes(rows, addresses, row.transfer);
}

void execute_store(Wave& wave, const Instruction& instruction) {
  const MoveRow& row = row_of(instruction);
  const BufferAccess access(wave, instruction);
  if (access.active == 0) return;
  const Row rows = wave.vector + instruction.src[1].index;
  Addresses addresses;
  if (!access.linear(row.transfer.bytes, addresses)) return move_components(wave, instruction, access, row, rows);
  if (!check_addresses(wave, instruction, addresses, row.transfer.bytes, true)) return;
  if (!check_races(wave, instruction, addresses, row.transfer, GlobalUse::store, rows)) return;
  count_traffic(wave, instruction, addresses, row.transfer.bytes);
  store_lanes(rows, addresses, row.transfer);
}

// Lanes out of bounds write zeros to LDS.
void execute_load_to_lds(Wave& wave, const Instruction& instruction) {
  const Transfer& transfer = row_of(instruction).transfer;
  const BufferAccess access(wave, instruction);
  if (access.active == 0) return;
  Addresses addresses;
  if (!access.linear(transfer.bytes, addresses) && access.descriptor.swizzle &&
      (transfer.bytes > 4 || access.crosses(0, transfer.bytes))) {
    return execute_not_covered(wave, instruction);
  }
  const u64 outside = access.active & ~addresses.active;
  if (addresses.active != 0) {
    if (!check_addresses(wave, instruction, addresses, transfer.bytes, false)) return;
    if (!check_races(wave, instruction, addresses, transfer, GlobalUse::load)) return;
    count_traffic(wave, instruction, addresses, transfer.bytes);
  }
  load_to_lds(wave, instruction, addresses, transfer, outside);
}

// Atomics are in bounds as a whole or not at all; those out of bounds return 0.
void execute_atomic(Wave& wave, const Instruction& instruction) {
  const auto& operation = *static_cast<const AtomicOperation*>(instruction.operation);
  const u32 bytes = operation.apply64 ? 8 : 4;
  const BufferAccess access(wave, instruction);
  if (access.crosses(0, bytes)) return execute_not_covered(wave, instruction);
  Addresses addresses;
  access.component(0, bytes, addresses);
  const u64 outside = access.active & ~addresses.active;
  execute_atomic_lanes(wave, instruction, addresses, operation);
  if (wave.status != WaveStatus::running || instruction.dst.kind != Source::Kind::vector) return;
  Transfer result;
  result.bytes = static_cast<std::uint8_t>(bytes);
  zero_lanes(wave.vector + instruction.dst.index, outside, result);
}

void nothing(Wave&, const Instruction&) {}

bool is_cache_control(std::string_view rest) {
  return rest == "wbl2" || rest == "inv" || rest == "invl2" || rest == "wbinvl1" || rest == "wbinvl1_vol";
}

}  // namespace

bool buffer_operands_fit(const Instruction& instruction) {
  const int registers = int(instruction.idxen) + int(instruction.offen);
  return (!instruction.vector_address || rows_fit(instruction.src[0], registers)) && instruction.src[2].index <= 124;
}

bool bind_buffer(Instruction& instruction, std::string_view rest, Family family) {
  if (is_cache_control(rest)) {
    instruction.execute = nothing;
    return true;
  }
  if (!buffer_operands_fit(instruction)) return false;
  if (rest.starts_with("atomic_")) {
    const AtomicOperation* operation = find_atomic(rest.substr(7), family);
    if (!operation || !atomic_fits(instruction, *operation)) return false;
    instruction.execute = execute_atomic;
    instruction.operation = operation;
    return true;
  }
  const MoveRow* row = find_move(rest, family);
  if (!row || row->move == Move::load_lds) return false;
  instruction.operation = row;
  const bool wide = row->transfer.bytes > 4;
  if (instruction.lds) {
    if (row->move != Move::load || (wide && family != Family::gfx950)) return false;
    instruction.execute = execute_load_to_lds;
    return true;
  }
  const Source& data = row->move == Move::load ? instruction.dst : instruction.src[1];
  if (!rows_fit(data, dwords(row->transfer))) return false;
  instruction.execute = row->move == Move::load ? execute_load : execute_store;
  return true;
}

}  // namespace kiln::emulator
