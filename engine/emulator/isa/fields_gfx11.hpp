// Inside the decoder: RDNA3's encodings ("Microcode Formats" of the "RDNA3 Instruction Set Architecture" document).
// Operand codes are translated to CDNA's, as isa/instruction.hpp says.
#pragma once

#include "engine/emulator/isa/fields.hpp"

namespace kiln::emulator::fields {

// As decode_fields, is_reserved.
bool decode_gfx11(Instruction& instruction);
bool is_reserved_gfx11(const std::uint32_t (&words)[5]);

namespace gfx11 {

inline constexpr std::uint32_t literal_code = 255, null_code = 124, m0_code = 125;
inline constexpr std::uint32_t dpp8_code = 233, dpp8_fetch_inactive_code = 234, dpp16_code = 250;

// False: a code that means nothing there.
bool source_of(std::uint32_t code, std::uint32_t literal, Source& source);
Source scalar_register(std::uint32_t code);

bool decode_vector_short(Instruction& instruction);
bool decode_vop3(Instruction& instruction);
bool decode_vop3p(Instruction& instruction);
bool decode_vopd(Instruction& instruction);
bool decode_scalar_memory(Instruction& instruction);
bool decode_lds(Instruction& instruction);
bool decode_flat(Instruction& instruction);
bool decode_buffer(Instruction& instruction);

// Which operands of a vector operation are half a register: bit n of src[n], bit 3 of the destination. In the short
// forms bit 7 of such an operand's number says that it is the upper half, in the long ones OP_SEL does.
unsigned half_operands(std::string_view name);

}  // namespace gfx11
}  // namespace kiln::emulator::fields
