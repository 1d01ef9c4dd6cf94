// Private memory of a wave's lanes (Wave::scratch): swizzled by dwords, so that one dword of all lanes is one row.
#pragma once

#include "engine/emulator/core/memory_table.hpp"

namespace kiln::emulator {

struct alignas(64) PrivateAddresses {
  std::uint32_t at[lanes];         // byte offsets in the lane's memory
  std::uint64_t active = 0;
};

// Moves the lanes that take part; `rows`: the registers. A lane outside its memory is a fault, its address being the
// private aperture's.
void move_private(Wave& wave, const Instruction& instruction, const PrivateAddresses& addresses,
                  const Transfer& transfer, Move move, Row rows);
// Where accesses of `bytes` (at most 4, not across a dword) of the lanes lie in the host's memory. False: not all of
// them are of that kind, or one is outside: then the wave has stopped.
bool host_addresses(Wave& wave, const Instruction& instruction, const PrivateAddresses& from, std::uint32_t bytes,
                    bool store, Addresses& to);

}  // namespace kiln::emulator
