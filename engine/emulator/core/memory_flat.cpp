// GLOBAL and FLAT.
#include <bit>

#include "engine/emulator/core/lds.hpp"
#include "engine/emulator/core/memory_atomic.hpp"
#include "engine/emulator/core/memory_private.hpp"
#include "engine/emulator/core/memory_races.hpp"
#include "engine/emulator/core/memory_table.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// A scalar base of 64 bits and an offset of 32 in the vector register, or the whole address there.
void lane_addresses(const Wave& wave, const Instruction& instruction, Addresses& addresses) {
  addresses.active = wave.exec();
  const u64 offset = static_cast<u64>(std::int64_t{instruction.offset});
  const u32* low = wave.vector[instruction.src[0].index];
  if (instruction.scalar_base) {
    const u64 base = wave.scalar64(instruction.src[2].index) + offset;
    for (int lane = 0; lane < lanes; ++lane) addresses.at[lane] = base + low[lane];
    return;
  }
  const u32* high = low + lanes;
  for (int lane = 0; lane < lanes; ++lane) addresses.at[lane] = (low[lane] | u64(high[lane]) << 32) + offset;
}

const MoveRow& row_of(const Instruction& instruction) { return *static_cast<const MoveRow*>(instruction.operation); }

void load_checked(Wave& wave, const Instruction& instruction, Addresses& addresses, const Transfer& transfer) {
  if (addresses.active == 0 || !check_addresses(wave, instruction, addresses, transfer.bytes, false)) return;
  if (!check_races(wave, instruction, addresses, transfer, GlobalUse::load)) return;
  count_traffic(wave, instruction, addresses, transfer.bytes);
  load_lanes(wave.vector + instruction.dst.index, addresses, transfer);
}
void store_checked(Wave& wave, const Instruction& instruction, Addresses& addresses, const Transfer& transfer) {
  if (addresses.active == 0 || !check_addresses(wave, instruction, addresses, transfer.bytes, true)) return;
  const Row rows = wave.vector + instruction.src[1].index;
  if (!check_races(wave, instruction, addresses, transfer, GlobalUse::store, rows)) return;
  count_traffic(wave, instruction, addresses, transfer.bytes);
  store_lanes(rows, addresses, transfer);
}

void execute_global_load(Wave& wave, const Instruction& instruction) {
  Addresses addresses;
  lane_addresses(wave, instruction, addresses);
  load_checked(wave, instruction, addresses, row_of(instruction).transfer);
}
void execute_global_store(Wave& wave, const Instruction& instruction) {
  Addresses addresses;
  lane_addresses(wave, instruction, addresses);
  store_checked(wave, instruction, addresses, row_of(instruction).transfer);
}
void execute_global_to_lds(Wave& wave, const Instruction& instruction) {
  const Transfer& transfer = row_of(instruction).transfer;
  Addresses addresses;
  lane_addresses(wave, instruction, addresses);
  if (addresses.active == 0 || !check_addresses(wave, instruction, addresses, transfer.bytes, false)) return;
  if (!check_races(wave, instruction, addresses, transfer, GlobalUse::load)) return;
  count_traffic(wave, instruction, addresses, transfer.bytes);
  load_to_lds(wave, instruction, addresses, transfer, 0);
}
void execute_global_atomic(Wave& wave, const Instruction& instruction) {
  Addresses addresses;
  lane_addresses(wave, instruction, addresses);
  execute_atomic_lanes(wave, instruction, addresses, *static_cast<const AtomicOperation*>(instruction.operation));
}

// FLAT: the upper half of an address says which memory a lane means.
struct Spaces {
  u64 shared = 0, own = 0, device = 0;
};
Spaces spaces_of(const Wave& wave, const Addresses& addresses) {
  const u64 shared = wave.execution->shared_base >> 32, own = wave.execution->private_base >> 32;
  Spaces spaces;
  u64 any = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    const u64 half = addresses.at[lane] >> 32;
    any |= u64(half == shared) | u64(half == own);
  }
  if (any == 0) {
    spaces.device = addresses.active;
    return spaces;
  }
  for (int lane = 0; lane < lanes; ++lane) {
    spaces.shared |= u64(addresses.at[lane] >> 32 == shared) << lane;
    spaces.own |= u64(addresses.at[lane] >> 32 == own) << lane;
  }
  spaces.shared &= addresses.active;
  spaces.own &= addresses.active;
  spaces.device = addresses.active & ~(spaces.shared | spaces.own);
  return spaces;
}

// The LDS lanes' places in the host's memory. Beyond the group's LDS there is nothing: a fault here, unlike DS's rule.
bool shared_addresses(Wave& wave, const Instruction& instruction, const Addresses& addresses, u64 mask, u32 bytes,
                      LdsUse use, Addresses& to, Row rows = nullptr, u32 shift = 0) {
  LdsAddresses offsets;
  offsets.active = mask;
  for (int lane = 0; lane < lanes; ++lane) offsets.at[lane] = static_cast<u32>(addresses.at[lane]);
  if (!check_lds(wave, instruction, offsets, bytes, use, rows, shift)) return false;
  if (const u64 outside = mask & ~offsets.active) {
    const int lane = std::countr_zero(outside);
    stop_access(wave, instruction, FaultKind::lds_out_of_range, lane, offsets.at[lane], bytes, use != LdsUse::load);
    return false;
  }
  to.active = mask;
  for (int lane = 0; lane < lanes; ++lane) to.at[lane] = reinterpret_cast<u64>(wave.group->lds) + offsets.at[lane];
  fill_inactive(to);
  return true;
}

PrivateAddresses own_addresses(const Addresses& addresses, u64 mask) {
  PrivateAddresses own;
  own.active = mask;
  for (int lane = 0; lane < lanes; ++lane) own.at[lane] = static_cast<u32>(addresses.at[lane]);
  return own;
}

void execute_flat_move(Wave& wave, const Instruction& instruction) {
  const MoveRow& row = row_of(instruction);
  const Transfer& transfer = row.transfer;
  const bool store = row.move == Move::store;
  Addresses addresses;
  lane_addresses(wave, instruction, addresses);
  const Spaces spaces = spaces_of(wave, addresses);
  const Row rows = wave.vector + (store ? instruction.src[1].index : instruction.dst.index);
  if (spaces.shared != 0) {
    Addresses shared;
    const LdsUse use = store ? LdsUse::store : LdsUse::load;
    const u32 shift = transfer.half == Half::high ? 16 : 0;
    if (!shared_addresses(wave, instruction, addresses, spaces.shared, transfer.bytes, use, shared,
                          store ? rows : nullptr, shift)) {
      return;
    }
    if (store) store_lanes(rows, shared, transfer);
    else load_lanes(rows, shared, transfer);
  }
  if (spaces.own != 0) {
    move_private(wave, instruction, own_addresses(addresses, spaces.own), transfer, row.move, rows);
    if (wave.status != WaveStatus::running) return;
  }
  addresses.active = spaces.device;
  if (store) store_checked(wave, instruction, addresses, transfer);
  else load_checked(wave, instruction, addresses, transfer);
}

// LDS and private memory as ranges of the host, for the atomics: an atomic operation on them is one of the host too.
void execute_flat_atomic(Wave& wave, const Instruction& instruction) {
  const auto& operation = *static_cast<const AtomicOperation*>(instruction.operation);
  const u32 bytes = operation.apply64 ? 8 : 4;
  Addresses addresses;
  lane_addresses(wave, instruction, addresses);
  if (!check_alignment(wave, instruction, addresses, bytes)) return;
  const Spaces spaces = spaces_of(wave, addresses);
  if (spaces.shared != 0) {
    Addresses shared;
    if (!shared_addresses(wave, instruction, addresses, spaces.shared, bytes, LdsUse::atomic, shared)) return;
    execute_atomic_host(wave, instruction, shared, operation);
  }
  if (spaces.own != 0) {
    Addresses own;
    if (bytes == 8) return execute_not_covered(wave, instruction);  // two places that are not neighbours
    if (!host_addresses(wave, instruction, own_addresses(addresses, spaces.own), bytes, true, own)) return;
    execute_atomic_host(wave, instruction, own, operation);
  }
  if (wave.status != WaveStatus::running) return;
  addresses.active = spaces.device;
  execute_atomic_lanes(wave, instruction, addresses, operation);
}

}  // namespace

bool bind_flat(Instruction& instruction, std::string_view rest, Family family) {
  const bool flat = instruction.format == Format::flat;
  if (!rows_fit(instruction.src[0], instruction.scalar_base ? 1 : 2)) return false;
  if (instruction.scalar_base && instruction.src[2].index > 126) return false;
  if (rest.starts_with("atomic_")) {
    const AtomicOperation* operation = find_atomic(rest.substr(7), family);
    if (!operation || !atomic_fits(instruction, *operation)) return false;
    instruction.execute = flat ? execute_flat_atomic : execute_global_atomic;
    instruction.operation = operation;
    return true;
  }
  const MoveRow* row = find_move(rest, family);
  if (!row || (flat && row->move == Move::load_lds)) return false;
  instruction.operation = row;
  // gfx90a's loads into LDS are the usual ones with a bit.
  if (instruction.lds && row->move == Move::load) {
    instruction.execute = execute_global_to_lds;
    return row->transfer.bytes <= 4 && row->transfer.half == Half::whole;
  }
  if (row->move == Move::load && !rows_fit(instruction.dst, dwords(row->transfer))) return false;
  if (row->move == Move::store && !rows_fit(instruction.src[1], dwords(row->transfer))) return false;
  if (flat) instruction.execute = execute_flat_move;
  else if (row->move == Move::load) instruction.execute = execute_global_load;
  else instruction.execute = row->move == Move::store ? execute_global_store : execute_global_to_lds;
  return true;
}

}  // namespace kiln::emulator
