// LDS of a work group: addresses of one instruction's lanes, and what is checked about them.
#pragma once

#include <cstdint>

#include "engine/emulator/core/wave.hpp"

namespace kiln::emulator {

struct alignas(64) LdsAddresses {
  std::uint32_t at[lanes];         // byte offsets
  std::uint64_t active = 0;
};

enum class LdsUse : std::uint8_t { load, store, atomic };

// Takes lanes out of `active` whose [at, at + bytes) does not lie in the group's LDS (their loads give 0, their stores
// are lost); with the checking switches on such a lane is a fault, and so are races and reads of bytes never written.
// An atomic counts as a load that no other atomic collides with. `rows`: a store's registers and how far its data is
// shifted in them; two waves that store the same value are no race, as no order of the two shows (the same rule as for
// device memory). Null where the values are not known. False: the wave has stopped.
bool check_lds(Wave& wave, const Instruction& instruction, LdsAddresses& addresses, std::uint32_t bytes, LdsUse use,
               const std::uint32_t (*rows)[lanes] = nullptr, std::uint32_t shift = 0);

// Adds the cost of the access to the profile's counts, if the launch is profiled. `write`: which bank rule holds.
void count_banks(Wave& wave, const Instruction& instruction, const LdsAddresses& addresses, std::uint32_t bytes,
                 bool write);

}  // namespace kiln::emulator
