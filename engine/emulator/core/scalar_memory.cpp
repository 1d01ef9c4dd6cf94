// SMEM: scalar loads, stores and atomics, plain and through a buffer descriptor; clocks and caches.
#include "engine/emulator/core/memory.hpp"
#include "engine/emulator/core/memory_atomic.hpp"
#include "engine/emulator/core/memory_transfer.hpp"
#include "engine/emulator/core/names_rdna.hpp"
#include "engine/emulator/core/memory_races.hpp"
#include "engine/emulator/core/scalar.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct MemoryRow {
  std::string_view name;
  Execute execute;
  std::uint8_t dwords = 0;      // of the data
  bool buffer = false;
  Targets targets = targets_all;
};

u32 dwords_of(const Instruction& instruction) { return static_cast<const MemoryRow*>(instruction.operation)->dwords; }

u64 offset_of(const Wave& wave, const Instruction& instruction) {
  const u64 immediate = static_cast<u64>(std::int64_t{instruction.offset});
  return instruction.scalar_base ? immediate + scalar32(wave, instruction.src[3]) : immediate;
}

// The last two bits of addresses are ignored.
u64 plain_address(const Wave& wave, const Instruction& instruction) {
  return (wave.scalar64(instruction.src[2].index) + offset_of(wave, instruction)) & ~u64(3);
}

struct BufferAccess {
  u64 address = 0;
  u32 dwords = 0;  // how many of the access lie inside
};
// Bounds of a scalar buffer access: records are bytes, or strides where there is one; checked for each dword.
BufferAccess buffer_access(const Wave& wave, const Instruction& instruction, u32 dwords) {
  const BufferDescriptor descriptor = read_descriptor(wave, instruction.src[2].index);
  const u64 limit = descriptor.stride == 0 ? descriptor.records : u64(descriptor.stride) * descriptor.records;
  const u64 offset = offset_of(wave, instruction) & ~u64(3);
  BufferAccess access;
  access.address = (descriptor.base & ~u64(3)) + offset;
  while (access.dwords < dwords && offset + access.dwords * 4 < limit) ++access.dwords;
  return access;
}

void count(Wave& wave, const Instruction& instruction, u64 address, u32 dwords) {
  const Execution& execution = *wave.execution;
  if (!execution.profiled || dwords == 0) return;
  execution.counts.bytes[instruction.index] += dwords * 4;
  const u64 segments[2] = {address / 64, (address + dwords * 4 - 1) / 64};  // at most 64 bytes
  const int touched = segments[1] == segments[0] ? 1 : 2;
  execution.counts.segments[instruction.index] += static_cast<u64>(touched);
  log_lines(wave, segments, touched);
}

void load_into(Wave& wave, const Instruction& instruction, u64 address, u32 inside, u32 dwords) {
  u32 values[16] = {};
  if (inside != 0 && !read_scalar_memory(wave, instruction, address, values, inside * 4)) return;
  count(wave, instruction, address, inside);
  std::memcpy(&wave.scalar[instruction.dst.index], values, dwords * 4);
  wave.scalar[code::null] = 0;
}
void load(Wave& wave, const Instruction& instruction) {
  const u32 dwords = dwords_of(instruction);
  load_into(wave, instruction, plain_address(wave, instruction), dwords, dwords);
}
void buffer_load(Wave& wave, const Instruction& instruction) {
  const u32 dwords = dwords_of(instruction);
  const BufferAccess access = buffer_access(wave, instruction, dwords);
  load_into(wave, instruction, access.address, access.dwords, dwords);
}

void store_from(Wave& wave, const Instruction& instruction, u64 address, u32 dwords) {
  if (dwords == 0 || !check_access(wave, instruction, -1, address, dwords * 4, true)) return;
  if (!check_scalar_race(wave, instruction, address, dwords * 4, GlobalUse::store)) return;
  count(wave, instruction, address, dwords);
  std::memcpy(reinterpret_cast<void*>(address), &wave.scalar[instruction.src[1].index], dwords * 4);
}
void store(Wave& wave, const Instruction& instruction) {
  store_from(wave, instruction, plain_address(wave, instruction), dwords_of(instruction));
}
void buffer_store(Wave& wave, const Instruction& instruction) {
  const BufferAccess access = buffer_access(wave, instruction, dwords_of(instruction));
  store_from(wave, instruction, access.address, access.dwords);
}

// Atomics: the data register holds what is returned where the instruction returns (glc).
template <class T>
void atomic(Wave& wave, const Instruction& instruction, u64 address, const AtomicOperation& operation) {
  if (address % sizeof(T) != 0) {
    return stop_access(wave, instruction, FaultKind::misaligned, -1, address, sizeof(T), true);
  }
  if (!check_access(wave, instruction, -1, address, sizeof(T), true)) return;
  if (!check_scalar_race(wave, instruction, address, sizeof(T), GlobalUse::atomic)) return;
  count(wave, instruction, address, sizeof(T) / 4);
  T data[2] = {};
  std::memcpy(data, &wave.scalar[instruction.src[1].index], operation.compares ? sizeof data : sizeof(T));
  const T before = update(reinterpret_cast<T*>(address), operation, data[0], data[1]);
  if (instruction.glc) std::memcpy(&wave.scalar[instruction.src[1].index], &before, sizeof before);
}

template <class T, bool buffer>
void execute_atomic(Wave& wave, const Instruction& instruction) {
  const auto& operation = *static_cast<const AtomicOperation*>(instruction.operation);
  if (!buffer) return atomic<T>(wave, instruction, plain_address(wave, instruction), operation);
  const u32 dwords = sizeof(T) / 4;
  const BufferAccess access = buffer_access(wave, instruction, dwords);
  if (access.dwords == dwords) return atomic<T>(wave, instruction, access.address, operation);
  const T zero = 0;
  if (instruction.glc) std::memcpy(&wave.scalar[instruction.src[1].index], &zero, sizeof zero);
}

// Both clocks count the wave's instructions, so that a run repeats exactly.
void read_clock(Wave& wave, const Instruction& instruction) { write_scalar64(wave, instruction.dst, wave.executed); }
void nothing(Wave&, const Instruction&) {}

constexpr MemoryRow unsorted[] = {
    {"s_load_dword", load, 1},
    {"s_load_dwordx2", load, 2},
    {"s_load_dwordx4", load, 4},
    {"s_load_dwordx8", load, 8},
    {"s_load_dwordx16", load, 16},
    {"s_buffer_load_dword", buffer_load, 1, true},
    {"s_buffer_load_dwordx2", buffer_load, 2, true},
    {"s_buffer_load_dwordx4", buffer_load, 4, true},
    {"s_buffer_load_dwordx8", buffer_load, 8, true},
    {"s_buffer_load_dwordx16", buffer_load, 16, true},
    {"s_store_dword", store, 1},
    {"s_store_dwordx2", store, 2},
    {"s_store_dwordx4", store, 4},
    {"s_buffer_store_dword", buffer_store, 1, true},
    {"s_buffer_store_dwordx2", buffer_store, 2, true},
    {"s_buffer_store_dwordx4", buffer_store, 4, true},
    {"s_memtime", read_clock, 2},
    {"s_memrealtime", read_clock, 2},
    {"s_dcache_inv", nothing},
    {"s_dcache_inv_vol", nothing},
    {"s_dcache_wb", nothing},
    {"s_dcache_wb_vol", nothing},
    {"s_dcache_discard", nothing},
    {"s_dcache_discard_x2", nothing},
    {"s_atc_probe", nothing},
    {"s_atc_probe_buffer", nothing},
};

constexpr SortedTable table(unsorted);

bool fits(const Source& operand, u32 dwords) {
  return operand.kind == Source::Kind::none ||
         (operand.kind == Source::Kind::scalar && operand.index + dwords <= 128);
}

bool bind_atomic(Instruction& instruction, Family family) {
  const std::string_view name = instruction.name;
  const bool buffer = name.starts_with("s_buffer_atomic_");
  const std::size_t prefix = buffer ? sizeof "s_buffer_atomic_" - 1 : sizeof "s_atomic_" - 1;
  const AtomicOperation* operation = find_atomic(name.substr(prefix), family);
  if (!operation || operation->floating) return false;
  const bool wide = operation->apply64 != nullptr;
  const u32 dwords = (wide ? 2 : 1) * (operation->compares ? 2 : 1);
  if (instruction.src[1].kind != Source::Kind::scalar || !fits(instruction.src[1], dwords)) return false;
  if (!fits(instruction.src[2], buffer ? 4 : 2)) return false;
  instruction.operation = operation;
  if (wide) instruction.execute = buffer ? execute_atomic<u64, true> : execute_atomic<u64, false>;
  else instruction.execute = buffer ? execute_atomic<u32, true> : execute_atomic<u32, false>;
  return true;
}

}  // namespace

bool bind_scalar_memory(Instruction& instruction, Family family) {
  const std::string_view name = scalar_name(instruction.name, family);
  Source& offset = instruction.src[3];
  if (offset.kind == Source::Kind::constant) offset.value = constant_value(offset, Type::b32);
  if (name.starts_with("s_atomic_") || name.starts_with("s_buffer_atomic_")) return bind_atomic(instruction, family);
  const MemoryRow* row = table.find(name);
  if (!row || !has_target(row->targets, family)) return false;
  if (!fits(instruction.dst, row->dwords) || !fits(instruction.src[1], row->dwords)) return false;
  if (!fits(instruction.src[2], row->buffer ? 4 : 2)) return false;
  instruction.execute = row->execute;
  instruction.operation = row;
  return true;
}

}  // namespace kiln::emulator
