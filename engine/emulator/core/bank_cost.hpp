// Cycles of one LDS instruction by the target's bank phases (design, "LDS bank rules").
#pragma once

#include <cstdint>

#include "engine/emulator/core/lds.hpp"

namespace kiln::emulator {

struct BankCost {
  std::uint32_t cycles = 0;     // sum over the phases with an active lane of the fullest bank's distinct dwords
  std::uint32_t conflicts = 0;  // of it, beyond one a phase
};
BankCost bank_cost(Family family, bool write, std::uint32_t bytes, const LdsAddresses& addresses);

}  // namespace kiln::emulator
