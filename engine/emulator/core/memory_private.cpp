// SCRATCH, and private memory as FLAT reaches it.
#include "engine/emulator/core/memory_private.hpp"

#include <bit>

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

std::uint8_t* place(const Wave& wave, int lane, u32 offset) {
  return wave.scratch + (u64(offset / 4) * wave.size + static_cast<u64>(lane)) * 4 + offset % 4;
}

bool inside(Wave& wave, const Instruction& instruction, const PrivateAddresses& addresses, u32 bytes, bool store) {
  u32 most = 0;
  for (int lane = 0; lane < lanes; ++lane) most = addresses.at[lane] > most ? addresses.at[lane] : most;
  if (u64(most) + bytes <= wave.scratch_bytes) return true;
  for (u64 left = addresses.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (u64(addresses.at[lane]) + bytes <= wave.scratch_bytes) continue;
    const u64 address = wave.execution->private_base + addresses.at[lane];
    stop_access(wave, instruction, FaultKind::out_of_range, lane, address, bytes, store);
    return false;
  }
  return true;
}

// Whether no lane's access crosses a dword that it does not fill.
bool aligned(const PrivateAddresses& addresses, u32 bytes) {
  u32 crossing = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    const u32 low = addresses.at[lane] & 3;
    const bool active = addresses.active >> lane & 1;
    crossing |= active ? u32(bytes < 4 ? low + bytes > 4 : low != 0) : 0;
  }
  return crossing == 0;
}

void row_addresses(const Wave& wave, const PrivateAddresses& from, u32 dword, Addresses& to) {
  const u64 base = reinterpret_cast<u64>(wave.scratch);
  to.active = from.active;
  for (int lane = 0; lane < lanes; ++lane) {
    const u32 offset = from.at[lane];
    to.at[lane] = base + (u64(offset / 4 + dword) * wave.size + static_cast<u64>(lane)) * 4 + offset % 4;
  }
  fill_inactive(to);
}

// Byte by byte: accesses across dwords.
void move_bytes(Wave& wave, const PrivateAddresses& addresses, const Transfer& transfer, Move move, Row rows) {
  for (u64 left = addresses.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    alignas(4) std::uint8_t bytes[16] = {};
    const auto copy_row = [&](bool to_register) {
      for (int n = 0; n < dwords(transfer); ++n) {
        if (to_register) std::memcpy(&rows[n][lane], bytes + n * 4, 4);
        else std::memcpy(bytes + n * 4, &rows[n][lane], 4);
      }
    };
    const u32 half = transfer.half == Half::high ? 2 : 0;
    if (move == Move::store) {
      copy_row(false);
      for (u32 n = 0; n < transfer.bytes; ++n) *place(wave, lane, addresses.at[lane] + n) = bytes[half + n];
      continue;
    }
    for (u32 n = 0; n < transfer.bytes; ++n) bytes[n] = *place(wave, lane, addresses.at[lane] + n);
    if (transfer.bytes == 2) {  // the only part of a dword that can cross one
      const u32 unsigned_value = u32(bytes[0]) | u32(bytes[1]) << 8;
      const u32 value = transfer.sign ? u32(std::int32_t{std::int16_t(unsigned_value)}) : unsigned_value;
      u32& target = rows[0][lane];
      if (transfer.half == Half::whole) target = value;
      else if (transfer.half == Half::low) target = (target & 0xffff0000) | (value & 0xffff);
      else target = (target & 0xffff) | value << 16;
      continue;
    }
    copy_row(true);
  }
}

// VADDR, SADDR, both or none, and the offset; 32 bits.
void scratch_addresses(const Wave& wave, const Instruction& instruction, PrivateAddresses& addresses) {
  u32 fixed = static_cast<u32>(instruction.offset);
  if (instruction.scalar_base) fixed += scalar32(wave, instruction.src[2]);
  addresses.active = wave.exec();
  if (!instruction.vector_address) {
    for (int lane = 0; lane < lanes; ++lane) addresses.at[lane] = fixed;
    return;
  }
  const u32* offsets = wave.vector[instruction.src[0].index];
  for (int lane = 0; lane < lanes; ++lane) addresses.at[lane] = offsets[lane] + fixed;
}

void execute_scratch(Wave& wave, const Instruction& instruction) {
  const auto& row = *static_cast<const MoveRow*>(instruction.operation);
  PrivateAddresses addresses;
  scratch_addresses(wave, instruction, addresses);
  const Source& data = row.move == Move::store ? instruction.src[1] : instruction.dst;
  move_private(wave, instruction, addresses, row.transfer, row.move, wave.vector + data.index);
}

void execute_scratch_to_lds(Wave& wave, const Instruction& instruction) {
  const auto& row = *static_cast<const MoveRow*>(instruction.operation);
  PrivateAddresses from;
  Addresses to;
  scratch_addresses(wave, instruction, from);
  if (from.active == 0) return;
  if (!host_addresses(wave, instruction, from, row.transfer.bytes, false, to)) {
    return stop_access(wave, instruction, FaultKind::misaligned, -1, 0, row.transfer.bytes, false);
  }
  load_to_lds(wave, instruction, to, row.transfer, 0);
}

}  // namespace

void move_private(Wave& wave, const Instruction& instruction, const PrivateAddresses& addresses,
                  const Transfer& transfer, Move move, Row rows) {
  if (addresses.active == 0) return;
  if (!inside(wave, instruction, addresses, transfer.bytes, move == Move::store)) return;
  if (!aligned(addresses, transfer.bytes)) return move_bytes(wave, addresses, transfer, move, rows);
  Transfer dword = transfer;
  if (dword.bytes > 4) dword.bytes = 4;
  for (int n = 0; n < dwords(transfer); ++n) {
    Addresses host;
    row_addresses(wave, addresses, static_cast<u32>(n), host);
    if (move == Move::store) store_lanes(rows + n, host, dword);
    else load_lanes(rows + n, host, dword);
  }
}

bool host_addresses(Wave& wave, const Instruction& instruction, const PrivateAddresses& from, u32 bytes, bool store,
                    Addresses& to) {
  if (!inside(wave, instruction, from, bytes, store) || !aligned(from, bytes)) return false;
  row_addresses(wave, from, 0, to);
  return true;
}

bool bind_scratch(Instruction& instruction, std::string_view rest, Family family) {
  const MoveRow* row = find_move(rest, family);
  if (!row) return false;
  if (instruction.vector_address && !rows_fit(instruction.src[0], 1)) return false;
  if (row->move == Move::load && !rows_fit(instruction.dst, dwords(row->transfer))) return false;
  if (row->move == Move::store && !rows_fit(instruction.src[1], dwords(row->transfer))) return false;
  instruction.execute = row->move == Move::load_lds ? execute_scratch_to_lds : execute_scratch;
  instruction.operation = row;
  return true;
}

}  // namespace kiln::emulator
