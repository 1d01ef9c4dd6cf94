// How many registers each operand of an instruction takes, as LLVM's text of it says: "v[2:5]" are four.
#pragma once

#include <string_view>

#include "engine/emulator/isa/instruction.hpp"

namespace kiln::emulator {

// Sets Source::registers of every register operand that the text names; the others keep what they have.
void set_operand_widths(Instruction& instruction, std::string_view text);

}  // namespace kiln::emulator
