// Reads of registers that nothing has written (CheckState::vector_written, scalar_written).
#pragma once

#include "engine/emulator/core/wave.hpp"

namespace kiln::emulator {

// Checks the first register of every source in the active lanes, then marks what the instruction writes; before it is
// executed. Moves to and from private memory are not checked: spills save lanes that were never written. False: the
// wave has stopped with FaultKind::uninitialised_register, address = the register (scalar: 1000 + its code).
bool check_registers(Wave& wave, const Instruction& instruction);

}  // namespace kiln::emulator
