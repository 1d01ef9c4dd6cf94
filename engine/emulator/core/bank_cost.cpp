#include "engine/emulator/core/bank_cost.hpp"

#include <bit>

#include "engine/ir/target/bank_phases.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using target::BankPhases;
using target::LdsGeneration;

constexpr int banks_max = 64;
constexpr int width_count = 5, widths[width_count] = {4, 8, 12, 16, 0};

struct Tables {
  BankPhases phases[3][2][width_count];
  constexpr Tables() {
    for (int generation = 0; generation < 3; ++generation) {
      for (int write = 0; write < 2; ++write) {
        for (int n = 0; n < 4; ++n) {
          phases[generation][write][n] =
              target::bank_phases(static_cast<LdsGeneration>(generation), write != 0, widths[n]);
        }
      }
    }
  }
};
constexpr Tables tables;

LdsGeneration generation_of(Family family) {
  if (family == Family::gfx11) return LdsGeneration::rdna;
  return family == Family::gfx950 ? LdsGeneration::gfx950 : LdsGeneration::gfx942;
}

// Distinct dwords in the fullest bank. A lane's dwords are successive and fewer than banks, so it gives each bank one
// at most.
u32 phase_cycles(u64 members, int banks, u32 bytes, const LdsAddresses& addresses) {
  u32 dwords[banks_max][lanes];
  u32 count[banks_max] = {};
  u32 most = 0;
  for (; members != 0; members &= members - 1) {
    const u32 address = addresses.at[std::countr_zero(members)];
    for (u32 dword = address / 4; dword <= (address + bytes - 1) / 4; ++dword) {
      const u32 bank = dword & static_cast<u32>(banks - 1);
      u32 at = 0;
      while (at < count[bank] && dwords[bank][at] != dword) ++at;
      if (at < count[bank]) continue;
      dwords[bank][at] = dword;
      ++count[bank];
      most = count[bank] > most ? count[bank] : most;
    }
  }
  return most;
}

}  // namespace

BankCost bank_cost(Family family, bool write, u32 bytes, const LdsAddresses& addresses) {
  const u32 width = bytes <= 4 ? 0 : bytes / 4 - 1;
  const BankPhases& phases = tables.phases[static_cast<int>(generation_of(family))][write][width];
  BankCost cost;
  for (int phase = 0; phase < phases.count; ++phase) {
    const u64 members = phases.lanes[phase] & addresses.active;
    if (members == 0) continue;
    const u32 cycles = phase_cycles(members, phases.banks, bytes, addresses);
    cost.cycles += cycles;
    cost.conflicts += cycles - 1;
  }
  return cost;
}

}  // namespace kiln::emulator
