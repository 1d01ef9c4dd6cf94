// DS: loads, stores and atomics.
#include <bit>

#include "engine/emulator/core/lds_table.hpp"
#include "engine/emulator/core/memory_atomic.hpp"
#include "engine/emulator/core/rounding.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

const LdsRow& row_of(const Instruction& instruction) { return *static_cast<const LdsRow*>(instruction.operation); }

// The vector address plus `offset`, 32 bits.
void lane_offsets(const Wave& wave, const Instruction& instruction, u32 offset, LdsAddresses& addresses) {
  addresses.active = wave.exec();
  const u32* from = wave.vector[instruction.src[0].index];
  for (int lane = 0; lane < lanes; ++lane) addresses.at[lane] = from[lane] + offset;
}

void host_addresses(const Wave& wave, const LdsAddresses& from, Addresses& to) {
  const u64 base = reinterpret_cast<u64>(wave.group->lds);
  to.active = from.active;
  for (int lane = 0; lane < lanes; ++lane) to.at[lane] = base + from.at[lane];
  fill_inactive(to);
}

// Loads into the rows; lanes outside of LDS get 0. False: the wave has stopped.
bool load(Wave& wave, const Instruction& instruction, LdsAddresses& offsets, const Transfer& transfer, Row rows) {
  const u64 wanted = offsets.active;
  if (!check_lds(wave, instruction, offsets, transfer.bytes, LdsUse::load)) return false;
  count_banks(wave, instruction, offsets, transfer.bytes, false);
  if (offsets.active != wanted) zero_lanes(rows, wanted & ~offsets.active, transfer);
  if (offsets.active == 0) return true;
  Addresses addresses;
  host_addresses(wave, offsets, addresses);
  load_lanes(rows, addresses, transfer);
  return true;
}

bool store(Wave& wave, const Instruction& instruction, LdsAddresses& offsets, const Transfer& transfer, Row rows) {
  const u32 shift = transfer.half == Half::high ? 16 : 0;
  if (!check_lds(wave, instruction, offsets, transfer.bytes, LdsUse::store, rows, shift)) return false;
  count_banks(wave, instruction, offsets, transfer.bytes, true);
  if (offsets.active == 0) return true;
  Addresses addresses;
  host_addresses(wave, offsets, addresses);
  store_lanes(rows, addresses, transfer);
  return true;
}

u32 first_offset(const Instruction& instruction, u32 scale) {
  return static_cast<u32>(instruction.offset & 255) * scale;
}
u32 second_offset(const Instruction& instruction, u32 scale) {
  return static_cast<u32>(instruction.offset >> 8 & 255) * scale;
}

// --- Atomics ---------------------------------------------------------------------------------------------------------

template <class T>
T value_at(const Row rows, int lane) {
  T value = rows[0][lane];
  if constexpr (sizeof(T) == 8) value |= T(rows[1][lane]) << 32;
  return value;
}
template <class T>
void set_value(const Row rows, int lane, T value) {
  rows[0][lane] = static_cast<u32>(value);
  if constexpr (sizeof(T) == 8) rows[1][lane] = static_cast<u32>(value >> 32);
}

u32 apply(const AtomicOperation& operation, u32 memory, u32 data, u32 second) {
  return operation.apply32(memory, data, second);
}
u64 apply(const AtomicOperation& operation, u64 memory, u64 data, u64 second) {
  return operation.apply64(memory, data, second);
}

u32 flushed(u32 bits) { return (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits; }

// A work group runs on one host thread: nothing else touches its LDS.
template <class T>
void update_lanes(Wave& wave, const Instruction& instruction, const LdsAddresses& offsets,
                  const AtomicOperation& operation) {
  const bool returns = instruction.dst.kind == Source::Kind::vector;
  const Row data = wave.vector + instruction.src[1].index;
  const Row more = wave.vector + (operation.compares ? instruction.src[3].index : instruction.src[1].index);
  const Row result = wave.vector + instruction.dst.index;
  // MODE bits 4 and 5: denormal inputs and results of f32.
  const bool flush_inputs = operation.flushes && (wave.mode >> 4 & 1) == 0;
  const bool flush_result = operation.flushes && (wave.mode >> 5 & 1) == 0;
  for (u64 left = offsets.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    T before, value = value_at<T>(data, lane);
    std::memcpy(&before, wave.group->lds + offsets.at[lane], sizeof before);
    T memory = before;
    if (sizeof(T) == 4 && flush_inputs) {
      value = flushed(static_cast<u32>(value));
      memory = flushed(static_cast<u32>(memory));
    }
    T after = apply(operation, memory, value, value_at<T>(more, lane));
    if (sizeof(T) == 4 && flush_result) after = flushed(static_cast<u32>(after));
    std::memcpy(wave.group->lds + offsets.at[lane], &after, sizeof after);
    if (returns) set_value<T>(result, lane, before);
  }
}

}  // namespace

void execute_lds_load(Wave& wave, const Instruction& instruction) {
  LdsAddresses offsets;
  lane_offsets(wave, instruction, static_cast<u32>(instruction.offset), offsets);
  load(wave, instruction, offsets, row_of(instruction).transfer, wave.vector + instruction.dst.index);
}

void execute_lds_store(Wave& wave, const Instruction& instruction) {
  LdsAddresses offsets;
  lane_offsets(wave, instruction, static_cast<u32>(instruction.offset), offsets);
  store(wave, instruction, offsets, row_of(instruction).transfer, wave.vector + instruction.src[1].index);
}

void execute_lds_load2(Wave& wave, const Instruction& instruction) {
  const LdsRow& row = row_of(instruction);
  LdsAddresses first, second;
  lane_offsets(wave, instruction, first_offset(instruction, row.scale), first);
  lane_offsets(wave, instruction, second_offset(instruction, row.scale), second);
  const Row rows = wave.vector + instruction.dst.index;
  if (load(wave, instruction, first, row.transfer, rows)) {
    load(wave, instruction, second, row.transfer, rows + dwords(row.transfer));
  }
}

void execute_lds_store2(Wave& wave, const Instruction& instruction) {
  const LdsRow& row = row_of(instruction);
  LdsAddresses first, second;
  lane_offsets(wave, instruction, first_offset(instruction, row.scale), first);
  lane_offsets(wave, instruction, second_offset(instruction, row.scale), second);
  if (store(wave, instruction, first, row.transfer, wave.vector + instruction.src[1].index)) {
    store(wave, instruction, second, row.transfer, wave.vector + instruction.src[3].index);
  }
}

void execute_lds_exchange2(Wave& wave, const Instruction& instruction) {
  const LdsRow& row = row_of(instruction);
  const int count = dwords(row.transfer);
  alignas(64) u32 before[4][lanes];
  LdsAddresses at[2];
  lane_offsets(wave, instruction, first_offset(instruction, row.scale), at[0]);
  lane_offsets(wave, instruction, second_offset(instruction, row.scale), at[1]);
  const u64 wanted = at[0].active;
  // Both are read before either is written.
  for (int n = 0; n < 2; ++n) {
    if (!check_lds(wave, instruction, at[n], row.transfer.bytes, LdsUse::atomic)) return;
    count_banks(wave, instruction, at[n], row.transfer.bytes, true);
    zero_lanes(before + n * count, ~u64(0), row.transfer);
    if (at[n].active == 0) continue;
    Addresses addresses;
    host_addresses(wave, at[n], addresses);
    load_lanes(before + n * count, addresses, row.transfer);
  }
  for (int n = 0; n < 2; ++n) {
    if (at[n].active == 0) continue;
    Addresses addresses;
    host_addresses(wave, at[n], addresses);
    store_lanes(wave.vector + instruction.src[n == 0 ? 1 : 3].index, addresses, row.transfer);
  }
  const Row rows = wave.vector + instruction.dst.index;
  for (int n = 0; n < 2 * count; ++n) write_lanes(rows[n], before[n], wanted);
}

void execute_lds_atomic(Wave& wave, const Instruction& instruction) {
  const auto& operation = *static_cast<const AtomicOperation*>(instruction.operation);
  const u32 bytes = operation.apply64 ? 8 : 4;
  LdsAddresses offsets;
  lane_offsets(wave, instruction, static_cast<u32>(instruction.offset), offsets);
  const u64 wanted = offsets.active;
  if (!check_lds(wave, instruction, offsets, bytes, LdsUse::atomic)) return;
  count_banks(wave, instruction, offsets, bytes, true);
  if (bytes == 8) {
    const Rounding by_mode(operation.floating ? wave.mode >> 2 : wave.mode);
    update_lanes<u64>(wave, instruction, offsets, operation);
  } else {
    update_lanes<u32>(wave, instruction, offsets, operation);
  }
  if (offsets.active != wanted && instruction.dst.kind == Source::Kind::vector) {
    Transfer result;
    result.bytes = static_cast<std::uint8_t>(bytes);
    zero_lanes(wave.vector + instruction.dst.index, wanted & ~offsets.active, result);
  }
}

void execute_lds_addtid(Wave& wave, const Instruction& instruction) {
  const LdsRow& row = row_of(instruction);
  const u32 base = static_cast<u32>(instruction.offset) + (wave.scalar[code::m0] & 0xffff);
  LdsAddresses offsets;
  offsets.active = wave.exec();
  for (int lane = 0; lane < lanes; ++lane) offsets.at[lane] = base + static_cast<u32>(lane) * 4;
  if (row.writes) store(wave, instruction, offsets, row.transfer, wave.vector + instruction.src[1].index);
  else load(wave, instruction, offsets, row.transfer, wave.vector + instruction.dst.index);
}

// Every active lane gets what the counter was before the number of active lanes went to or from it.
void execute_lds_count(Wave& wave, const Instruction& instruction) {
  const u64 exec = wave.exec();
  if (exec == 0) return;
  LdsAddresses offsets;
  offsets.active = exec & -exec;
  const u32 at = wave.scalar[code::m0] + static_cast<u32>(instruction.offset);
  for (int lane = 0; lane < lanes; ++lane) offsets.at[lane] = at;
  if (!check_lds(wave, instruction, offsets, 4, LdsUse::atomic)) return;
  u32 before = 0;
  if (offsets.active != 0) {
    const u32 count = static_cast<u32>(std::popcount(exec));
    std::memcpy(&before, wave.group->lds + at, 4);
    const u32 after = row_of(instruction).writes ? before + count : before - count;
    std::memcpy(wave.group->lds + at, &after, 4);
  }
  u32 values[lanes];
  for (u32& value : values) value = before;
  write_lanes(wave.vector[instruction.dst.index], values, exec);
}

// Two dwords of LDS, each replaced by its data without the top bit where the data has it.
void execute_lds_conditional_exchange(Wave& wave, const Instruction& instruction) {
  LdsAddresses offsets;
  lane_offsets(wave, instruction, static_cast<u32>(instruction.offset), offsets);
  for (u32& at : offsets.at) at &= 0xfff8;
  const u64 wanted = offsets.active;
  if (!check_lds(wave, instruction, offsets, 8, LdsUse::atomic)) return;
  count_banks(wave, instruction, offsets, 8, true);
  const Row data = wave.vector + instruction.src[1].index, result = wave.vector + instruction.dst.index;
  for (u64 left = wanted; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    for (int n = 0; n < 2; ++n) {
      u32 before = 0;
      const u32 value = data[n][lane];
      if (offsets.active >> lane & 1) {
        std::uint8_t* const at = wave.group->lds + offsets.at[lane] + n * 4;
        std::memcpy(&before, at, 4);
        const u32 after = value & 0x7fffffff;
        if (value >> 31) std::memcpy(at, &after, 4);
      }
      result[n][lane] = before;
    }
  }
}

// gfx950's transposing loads, on 16 lanes at a time. A lane loads `count` successive elements of a row; 16 / count
// lanes make a row of 16. Lane i of the 16 gets element i of each of the rows.
void execute_lds_transpose(Wave& wave, const Instruction& instruction) {
  const LdsRow& row = row_of(instruction);
  const int element_bits = row.scale, count = row.transfer.bytes * 8 / element_bits;
  const int lanes_a_row = 16 / count, registers = dwords(row.transfer);
  alignas(64) u32 loaded[4][lanes] = {};
  LdsAddresses offsets;
  lane_offsets(wave, instruction, static_cast<u32>(instruction.offset), offsets);
  const u64 wanted = offsets.active;
  if (!load(wave, instruction, offsets, row.transfer, loaded)) return;
  const Row rows = wave.vector + instruction.dst.index;
  const auto element = [&](int lane, int n) {
    const int bit = n * element_bits, word = bit / 32;
    const u64 two = loaded[word][lane] | u64(word + 1 < registers ? loaded[word + 1][lane] : 0) << 32;
    return static_cast<u32>(two >> (bit % 32)) & ((1u << element_bits) - 1);
  };
  for (u64 left = wanted; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left), group = lane & ~15, i = lane & 15;
    u32 result[4] = {};
    for (int j = 0; j < count; ++j) {
      const u64 value = element(group + j * lanes_a_row + i / count, i % count);
      const int bit = j * element_bits, word = bit / 32;
      const u64 shifted = value << (bit % 32);
      result[word] |= static_cast<u32>(shifted);
      if (word + 1 < registers) result[word + 1] |= static_cast<u32>(shifted >> 32);
    }
    for (int n = 0; n < registers; ++n) rows[n][lane] = result[n];
  }
}

}  // namespace kiln::emulator
