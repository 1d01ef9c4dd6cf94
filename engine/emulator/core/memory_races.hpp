// Where accesses to device memory are shown to the check of races on it.
#pragma once

#include "engine/emulator/core/checks.hpp"
#include "engine/emulator/core/memory_transfer.hpp"

namespace kiln::emulator {

// Whether the access of the lanes that take part is no race; always where that is not checked. Requires: checked
// addresses, and that it is called before the data moves. `rows`: a store's registers, null where its bytes are not
// those of the registers. False: the wave has stopped.
inline bool check_races(Wave& wave, const Instruction& instruction, const Addresses& addresses,
                        const Transfer& transfer, GlobalUse use, const std::uint32_t (*rows)[lanes] = nullptr) {
  const CheckState* checks = wave.group->checks;
  if (!checks || !checks->global || addresses.active == 0) return true;
  const std::uint8_t shift = transfer.half == Half::high ? 16 : 0;
  return checks->global(checks->global_state, wave, instruction,
                        {addresses.at, addresses.active, transfer.bytes, use, rows, shift});
}
// The same of a scalar access.
inline bool check_scalar_race(Wave& wave, const Instruction& instruction, std::uint64_t address, std::uint32_t bytes,
                              GlobalUse use) {
  const CheckState* checks = wave.group->checks;
  if (!checks || !checks->global) return true;
  return checks->global(checks->global_state, wave, instruction, {&address, 1, bytes, use, nullptr, 0});
}

}  // namespace kiln::emulator
