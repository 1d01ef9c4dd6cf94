#include "engine/emulator/core/memory_table.hpp"

#include <bit>

#include "engine/emulator/core/lds.hpp"
#include "engine/emulator/core/memory_atomic.hpp"
#include "engine/emulator/core/names_rdna.hpp"
#include "engine/emulator/core/memory_races.hpp"
#include "engine/emulator/core/rounding.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr MoveRow unsorted[] = {
    {"load_ubyte", Move::load, {1}},
    {"load_sbyte", Move::load, {1, true}},
    {"load_ushort", Move::load, {2}},
    {"load_sshort", Move::load, {2, true}},
    {"load_dword", Move::load, {4}},
    {"load_dwordx2", Move::load, {8}},
    {"load_dwordx3", Move::load, {12}},
    {"load_dwordx4", Move::load, {16}},
    {"load_ubyte_d16", Move::load, {1, false, Half::low}},
    {"load_ubyte_d16_hi", Move::load, {1, false, Half::high}},
    {"load_sbyte_d16", Move::load, {1, true, Half::low}},
    {"load_sbyte_d16_hi", Move::load, {1, true, Half::high}},
    {"load_short_d16", Move::load, {2, false, Half::low}},
    {"load_short_d16_hi", Move::load, {2, false, Half::high}},
    {"store_byte", Move::store, {1}},
    {"store_byte_d16_hi", Move::store, {1, false, Half::high}},
    {"store_short", Move::store, {2}},
    {"store_short_d16_hi", Move::store, {2, false, Half::high}},
    {"store_dword", Move::store, {4}},
    {"store_dwordx2", Move::store, {8}},
    {"store_dwordx3", Move::store, {12}},
    {"store_dwordx4", Move::store, {16}},
    {"load_lds_ubyte", Move::load_lds, {1}, targets_cdna3},
    {"load_lds_sbyte", Move::load_lds, {1, true}, targets_cdna3},
    {"load_lds_ushort", Move::load_lds, {2}, targets_cdna3},
    {"load_lds_sshort", Move::load_lds, {2, true}, targets_cdna3},
    {"load_lds_dword", Move::load_lds, {4}, targets_cdna3},
    {"load_lds_dwordx3", Move::load_lds, {12}, target_gfx950},
    {"load_lds_dwordx4", Move::load_lds, {16}, target_gfx950},
};
constexpr SortedTable table(unsorted);

template <class T>
void update_lanes(Wave& wave, const Instruction& instruction, const Addresses& addresses,
                  const AtomicOperation& operation) {
  constexpr int registers = sizeof(T) / 4;
  const Row data = wave.vector + instruction.src[1].index;
  const auto value = [&](int first, int lane) {
    T result = data[first][lane];
    if constexpr (registers == 2) result |= T(data[first + 1][lane]) << 32;
    return result;
  };
  const bool returns = instruction.dst.kind == Source::Kind::vector;
  for (u64 left = addresses.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const T second = operation.compares ? value(registers, lane) : 0;
    const T before = update(reinterpret_cast<T*>(addresses.at[lane]), operation, value(0, lane), second);
    if (!returns) continue;
    const Row result = wave.vector + instruction.dst.index;
    result[0][lane] = static_cast<u32>(before);
    if constexpr (registers == 2) result[1][lane] = static_cast<u32>(before >> 32);
  }
}

}  // namespace

const MoveRow* find_move(std::string_view name, Family family) {
  const MoveRow* row = table.find(name);
  return row && has_target(row->targets, family) ? row : nullptr;
}

bool bind_memory(Instruction& instruction, Family family) {
  const std::string_view name = instruction.name;
  const std::size_t underscore = name.find('_');
  if (underscore == std::string_view::npos || instruction.tfe) return false;
  const std::string_view rest = memory_name(name.substr(underscore + 1), family);
  Source& offset = instruction.src[3];
  if (offset.kind == Source::Kind::constant) offset.value = constant_value(offset, Type::b32);
  switch (instruction.format) {
    case Format::flat:
    case Format::global: return bind_flat(instruction, rest, family);
    case Format::scratch: return bind_scratch(instruction, rest, family);
    case Format::mubuf: return bind_buffer(instruction, rest, family) || bind_format(instruction, rest, family);
    case Format::mtbuf: return bind_format(instruction, rest, family);
    default: return false;
  }
}

void load_to_lds(Wave& wave, const Instruction& instruction, const Addresses& addresses, const Transfer& transfer,
                 u64 zero) {
  const u32 stride = transfer.bytes < 4 ? 4 : transfer.bytes;
  // M0 holds 16 bits of the address; gfx950's LDS needs 18.
  const u32 mask = wave.execution->family == Family::gfx950 ? 0x3ffff : 0xffff;
  const u32 base = (wave.scalar[code::m0] & mask) + static_cast<u32>(instruction.offset);
  LdsAddresses to;
  to.active = addresses.active | zero;
  for (int lane = 0; lane < lanes; ++lane) to.at[lane] = base + static_cast<u32>(lane) * stride;
  if (!check_lds(wave, instruction, to, stride, LdsUse::store)) return;
  alignas(64) u32 values[4][lanes] = {};
  if (addresses.active != 0) load_lanes(values, addresses, transfer);
  for (u64 left = to.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    for (u32 n = 0; n < stride / 4; ++n) {
      std::memcpy(wave.group->lds + to.at[lane] + n * 4, &values[n][lane], 4);
    }
  }
}

bool check_alignment(Wave& wave, const Instruction& instruction, const Addresses& addresses, u32 bytes) {
  u64 low = 0;
  for (int lane = 0; lane < lanes; ++lane) low |= addresses.at[lane];
  if (low % bytes == 0) return true;
  for (u64 left = addresses.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (addresses.at[lane] % bytes == 0) continue;
    stop_access(wave, instruction, FaultKind::misaligned, lane, addresses.at[lane], bytes, true);
    return false;
  }
  return true;
}

void execute_atomic_lanes(Wave& wave, const Instruction& instruction, Addresses& addresses,
                          const AtomicOperation& operation) {
  const u32 bytes = operation.apply64 ? 8 : 4;
  if (addresses.active == 0 || !check_alignment(wave, instruction, addresses, bytes)) return;
  if (!check_addresses(wave, instruction, addresses, bytes, true)) return;
  Transfer whole;
  whole.bytes = static_cast<std::uint8_t>(bytes);
  if (!check_races(wave, instruction, addresses, whole, GlobalUse::atomic)) return;
  count_traffic(wave, instruction, addresses, bytes);
  execute_atomic_host(wave, instruction, addresses, operation);
}

void execute_atomic_host(Wave& wave, const Instruction& instruction, const Addresses& addresses,
                         const AtomicOperation& operation) {
  if (!operation.floating) {
    if (operation.apply64) return update_lanes<u64>(wave, instruction, addresses, operation);
    return update_lanes<u32>(wave, instruction, addresses, operation);
  }
  const Rounding nearest(0);  // the caches round to the nearest even, whatever MODE says
  if (operation.apply64) update_lanes<u64>(wave, instruction, addresses, operation);
  else update_lanes<u32>(wave, instruction, addresses, operation);
}

bool atomic_fits(const Instruction& instruction, const AtomicOperation& operation) {
  const int registers = operation.apply64 ? 2 : 1;
  const bool result = instruction.dst.kind == Source::Kind::none || rows_fit(instruction.dst, registers);
  return result && rows_fit(instruction.src[1], registers * (operation.compares ? 2 : 1));
}

}  // namespace kiln::emulator
