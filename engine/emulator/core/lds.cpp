#include "engine/emulator/core/lds.hpp"

#include <bit>

#include "engine/emulator/core/bank_cost.hpp"
#include "engine/emulator/core/checks.hpp"
#include "engine/emulator/core/memory.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Checked {
  Wave& wave;
  const Instruction& instruction;
  CheckState& checks;
  LdsUse use;
  u32 bytes;
  const u32 (*rows)[lanes];
  u32 shift;
};

// Whether LDS holds byte `n` of what the lane stores.
bool holds_already(const Checked& checked, int lane, u32 byte, u32 n) {
  if (checked.use != LdsUse::store || checked.rows == nullptr) return false;
  const u32 at = checked.shift / 8 + n;
  return checked.wave.group->lds[byte] == static_cast<std::uint8_t>(checked.rows[at / 4][lane] >> (at % 4 * 8));
}

bool race(const Checked& checked, int lane, u32 byte, u32 other_instruction, int other_wave) {
  Fault fault;
  fault.kind = FaultKind::lds_race;
  fault.instruction = checked.instruction.index;
  fault.lane = lane;
  fault.address = byte;
  fault.bytes = checked.bytes;
  fault.store = checked.use != LdsUse::load;
  fault.other_instruction = other_instruction;
  fault.other_wave = other_wave;
  checked.wave.stop(fault);
  return false;
}

// Races and the record of this access for one byte, the lane's n-th.
bool record(const Checked& checked, int lane, u32 byte, u32 n) {
  LdsAccess& access = checked.checks.lds[byte];
  const u32 epoch = checked.checks.epoch;
  const auto self = static_cast<std::int16_t>(checked.wave.index);
  if (access.store_epoch == epoch && access.store_wave != self && !holds_already(checked, lane, byte, n)) {
    return race(checked, lane, byte, access.store_instruction, access.store_wave);
  }
  const bool loaded = access.load_epoch == epoch;
  if (checked.use == LdsUse::store) {
    if (loaded && access.load_wave != self) return race(checked, lane, byte, access.load_instruction, access.load_wave);
    access.store_epoch = epoch;
    access.store_wave = self;
    access.store_instruction = checked.instruction.index;
    return true;
  }
  access.load_wave = loaded && access.load_wave != self ? std::int16_t(-2) : self;
  access.load_epoch = epoch;
  access.load_instruction = checked.instruction.index;
  return true;
}

bool check_lane(const Checked& checked, int lane, u32 first) {
  const CheckState& checks = checked.checks;
  for (u32 byte = first; byte < first + checked.bytes; ++byte) {
    if (checks.lds && !record(checked, lane, byte, byte - first)) return false;
    if (!checks.lds_written) continue;
    if (checked.use != LdsUse::store && !checks.lds_written[byte]) {
      stop_access(checked.wave, checked.instruction, FaultKind::uninitialised_lds, lane, byte, checked.bytes, false);
      return false;
    }
    checks.lds_written[byte] = 1;
  }
  return true;
}

u64 lanes_outside(const LdsAddresses& addresses, u32 bytes, u32 lds_bytes) {
  u32 most = 0;
  for (int lane = 0; lane < lanes; ++lane) most = addresses.at[lane] > most ? addresses.at[lane] : most;
  if (u64(most) + bytes <= lds_bytes) return 0;
  u64 outside = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    outside |= u64(u64(addresses.at[lane]) + bytes > lds_bytes) << lane;
  }
  return outside & addresses.active;
}

}  // namespace

bool check_lds(Wave& wave, const Instruction& instruction, LdsAddresses& addresses, u32 bytes, LdsUse use,
               const u32 (*rows)[lanes], u32 shift) {
  const WorkGroup& group = *wave.group;
  const u64 outside = lanes_outside(addresses, bytes, group.lds_bytes);
  CheckState* const checks = group.checks;
  if (!checks) {
    addresses.active &= ~outside;
    return true;
  }
  if (outside != 0) {
    const int lane = std::countr_zero(outside);
    const bool store = use != LdsUse::load;
    stop_access(wave, instruction, FaultKind::lds_out_of_range, lane, addresses.at[lane], bytes, store);
    return false;
  }
  const Checked checked{wave, instruction, *checks, use, bytes, rows, shift};
  if (!checks->lds && !checks->lds_written) return true;
  for (u64 left = addresses.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (!check_lane(checked, lane, addresses.at[lane])) return false;
  }
  return true;
}

void count_banks(Wave& wave, const Instruction& instruction, const LdsAddresses& addresses, u32 bytes, bool write) {
  const Execution& execution = *wave.execution;
  if (!execution.profiled || addresses.active == 0) return;
  const BankCost cost = bank_cost(execution.family, write, bytes, addresses);
  execution.counts.lds_cycles[instruction.index] += cost.cycles;
  execution.counts.lds_conflicts[instruction.index] += cost.conflicts;
}

}  // namespace kiln::emulator
