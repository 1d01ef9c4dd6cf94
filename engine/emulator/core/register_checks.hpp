// Reads of registers that nothing has written (CheckState::vector_written, scalar_written).
#pragma once

#include "engine/emulator/core/wave.hpp"

namespace kiln::emulator {

// Checks every register that the instruction reads, in the active lanes (matrix instructions: in all), then marks what
// it writes; before it is executed. A copy of an undefined value is no use of it: plain moves hand on whether their
// source was written, and moves to and from private memory are not checked, for spills save lanes that were never
// written. A register that the wave wrote for another use before counts as written: that what stands in it is left over
// cannot be seen. False: the wave has stopped with FaultKind::uninitialised_register, address = the register (scalar:
// 1000 + its code).
bool check_registers(Wave& wave, const Instruction& instruction);

}  // namespace kiln::emulator
