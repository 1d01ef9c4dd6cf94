// RDNA3: operand codes, scalar formats, and which format a word has.
#include "engine/emulator/isa/fields_gfx11.hpp"

namespace kiln::emulator::fields {
namespace gfx11 {

Source scalar_register(std::uint32_t code) {
  if (code == null_code) code = code::null;
  else if (code == m0_code) code = code::m0;
  return fields::scalar_register(code);
}

bool source_of(std::uint32_t code, std::uint32_t literal, Source& source) {
  if (code < 128) {
    source = scalar_register(code);
    return true;
  }
  return fields::source_of(code, literal, source);
}

namespace {

// SOPK. Opcodes: 0 movk, 1 version, 2 cmovk, 3..14 cmpk, 15 addk, 16 mulk, 17 getreg, 18 setreg, 19 setreg_imm32,
// 20 call, 22 and 23 subvector loops, 24..27 waits.
bool decode_sopk(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0];
  instruction.format = Format::sopk;
  instruction.opcode = static_cast<std::uint16_t>(bits(word, 23, 5));
  instruction.immediate = static_cast<std::uint16_t>(bits(word, 0, 16));
  const int op = instruction.opcode;
  if (op == 1) return true;
  if (op == 19) {
    instruction.src[0].kind = Source::Kind::literal;
    instruction.src[0].literal = instruction.words[1];
    return instruction.bytes == 8;
  }
  const Source operand = scalar_register(bits(word, 16, 7));
  const bool waits = op >= 24;
  if (waits || op == 18 || (op >= 3 && op <= 14)) {
    instruction.src[0] = operand;
    if (!waits) instruction.dst = operand;  // as CDNA's: the field is the destination's
    return true;
  }
  instruction.dst = operand;
  if (op == 2 || op == 15 || op == 16) instruction.src[0] = operand;
  return true;
}

// SOP1 without a destination: s_setpc, s_rfe; without a source: s_getpc; with a message's number: s_sendmsg_rtn.
bool decode_sop1(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0];
  instruction.format = Format::sop1;
  instruction.opcode = static_cast<std::uint16_t>(bits(word, 8, 8));
  const int op = instruction.opcode;
  if (op != 0x48 && op != 0x4a) instruction.dst = scalar_register(bits(word, 16, 7));
  if (op == 0x47) return true;
  if (op == 0x4c || op == 0x4d) {
    instruction.immediate = static_cast<std::uint16_t>(bits(word, 0, 8));
    return true;
  }
  return source_of(bits(word, 0, 8), instruction.words[1], instruction.src[0]);
}

bool decode_scalar(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0], top = bits(word, 23, 9);
  if (top == 0b101111101) return decode_sop1(instruction);
  if (top == 0b101111111) {
    instruction.format = Format::sopp;
    instruction.opcode = static_cast<std::uint16_t>(bits(word, 16, 7));
    instruction.immediate = static_cast<std::uint16_t>(bits(word, 0, 16));
    return true;
  }
  const bool compare = top == 0b101111110;
  if (!compare && bits(word, 28, 4) == 0b1011) return decode_sopk(instruction);
  instruction.format = compare ? Format::sopc : Format::sop2;
  instruction.opcode = static_cast<std::uint16_t>(compare ? bits(word, 16, 7) : bits(word, 23, 7));
  if (!compare) instruction.dst = scalar_register(bits(word, 16, 7));
  return source_of(bits(word, 0, 8), instruction.words[1], instruction.src[0]) &&
         source_of(bits(word, 8, 8), instruction.words[1], instruction.src[1]);
}

}  // namespace
}  // namespace gfx11

// What LLVM's disassembler does not refuse but crashes on: numbers of scalar results and offsets that are no registers.
bool is_reserved_gfx11(const std::uint32_t (&words)[5]) {
  constexpr std::uint32_t scalar_registers = 128, readfirstlane = 2;
  const std::uint32_t word = words[0];
  if (bits(word, 25, 7) == 0x3f) return bits(word, 9, 8) == readfirstlane && bits(word, 17, 8) >= scalar_registers;
  // v_fmamk_f16 and v_fmaak_f16 with a literal beside their constant end LLVM 22's decoder.
  if (bits(word, 25, 7) == 0x37 || bits(word, 25, 7) == 0x38) return bits(word, 0, 9) == gfx11::literal_code;
  if (bits(word, 26, 6) == 0b110101) {
    const std::uint32_t op = bits(word, 16, 10);
    const bool scalar_result = op < 0x100 || op == 0x180 + readfirstlane || op == 0x360;
    return scalar_result && bits(word, 0, 8) >= scalar_registers;
  }
  const std::uint32_t format = bits(word, 26, 6);
  return (format == 0b111000 || format == 0b111010) && bits(words[1], 24, 8) == gfx11::literal_code;
}

bool decode_gfx11(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0];
  if (named(instruction, "v_illegal")) return false;
  if (bits(word, 31, 1) == 0) return gfx11::decode_vector_short(instruction);
  if (bits(word, 30, 2) == 0b10) return gfx11::decode_scalar(instruction);
  if (instruction.bytes < 8) return false;
  switch (bits(word, 26, 6)) {
    case 0b110010: return gfx11::decode_vopd(instruction);
    case 0b110011: return bits(word, 24, 2) == 0 && gfx11::decode_vop3p(instruction);  // else VINTERP, LDSDIR
    case 0b110101: return gfx11::decode_vop3(instruction);
    case 0b110110: return gfx11::decode_lds(instruction);
    case 0b110111: return gfx11::decode_flat(instruction);
    case 0b111000:
    case 0b111010: return gfx11::decode_buffer(instruction);
    case 0b111101: return gfx11::decode_scalar_memory(instruction);
    default: return false;  // images, exports
  }
}

}  // namespace kiln::emulator::fields
