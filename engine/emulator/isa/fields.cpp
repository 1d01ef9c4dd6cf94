#include "engine/emulator/isa/fields.hpp"

#include "engine/emulator/isa/decoder.hpp"
#include "engine/emulator/isa/fields_gfx11.hpp"

namespace kiln::emulator {
namespace fields {

bool source_of(std::uint32_t code, std::uint32_t literal, Source& source) {
  source = {};
  if (code >= 256) {
    source = vector_register(code - 256);
  } else if (code < 128) {
    source = scalar_register(code);
  } else if (code <= 208 || (code >= 240 && code <= 248)) {
    source.kind = Source::Kind::constant;
    source.index = static_cast<std::uint16_t>(code);
  } else if (code == 255) {
    source.kind = Source::Kind::literal;
    source.literal = literal;
  } else if ((code >= 235 && code <= 238) || (code >= 251 && code <= 253)) {
    source.kind = Source::Kind::special;
    source.index = static_cast<std::uint16_t>(code);
  } else {
    return false;
  }
  return true;
}

Source vector_register(std::uint32_t index, bool accumulation) {
  Source source;
  source.kind = Source::Kind::vector;
  source.index = static_cast<std::uint16_t>((index & 255) + (accumulation ? 256 : 0));
  return source;
}

Source scalar_register(std::uint32_t code) {
  Source source;
  source.kind = Source::Kind::scalar;
  source.index = static_cast<std::uint16_t>(code & 127);
  return source;
}

namespace {

// gfx950's matrix operations with a format for each operand: registers that do not exist, formats beyond the five.
bool is_impossible_f8f6f4(std::uint32_t first, std::uint32_t second) {
  const std::uint32_t op = bits(first, 16, 7), results = op == 0x2d ? 4 : 16;
  if (bits(first, 23, 9) != 0b110100111 || (op != 0x2d && op != 0x2e)) return false;
  const auto registers_missing = [](std::uint32_t code, std::uint32_t count) {
    return code < 256 || code + count > 512;
  };
  constexpr std::uint32_t registers_of[] = {8, 8, 6, 6, 4};  // fp8, bf8, fp6, bf6, fp4: 32 values a lane
  const std::uint32_t format_a = bits(first, 8, 3), format_b = bits(second, 29, 3), addend = bits(second, 18, 9);
  if (format_a > 4 || format_b > 4 || bits(first, 0, 8) + results > 256) return true;
  return registers_missing(bits(second, 0, 9), registers_of[format_a]) ||
         registers_missing(bits(second, 9, 9), registers_of[format_b]) ||
         (addend >= 256 && registers_missing(addend, results));
}

bool is_reserved_pair(std::uint32_t first, std::uint32_t second) {
  constexpr std::uint32_t literal = 255, scalar_registers = 128, readfirstlane = 2;
  if (bits(first, 31, 1) == 0) {
    const std::uint32_t op = bits(first, 25, 6);
    if (op == 0x3f && bits(first, 9, 8) == readfirstlane && bits(first, 17, 8) >= scalar_registers) return true;
    // v_madmk_f16 and v_madak_f16 with a literal beside their constant end LLVM 22's decoder.
    if ((op == 0x24 || op == 0x25) && bits(first, 0, 9) == literal) return true;
    if (bits(first, 0, 9) != 249) return false;
    const bool compare = op == 0x3e, second_source = op != 0x3f;
    if (bits(second, 23, 1) != 0 && bits(second, 0, 8) == literal) return true;
    if (second_source && bits(second, 31, 1) != 0 && bits(first, 9, 8) == literal) return true;
    if (!compare && (bits(second, 8, 3) == 7 || bits(second, 11, 2) == 3)) return true;
    return bits(second, 16, 3) == 7 || (second_source && bits(second, 24, 3) == 7);
  }
  switch (bits(first, 26, 6)) {
    case 0b110100: {
      const std::uint32_t op = bits(first, 16, 10);
      const bool scalar_result = op < 0x100 || op == 0x140 + readfirstlane || op == 0x289;
      if (scalar_result && bits(first, 0, 8) >= scalar_registers) return true;
      if (is_impossible_f8f6f4(first, second)) return true;
      return bits(second, 0, 9) == literal || bits(second, 9, 9) == literal || bits(second, 18, 9) == literal;
    }
    case 0b111000:
    case 0b111010: return bits(second, 24, 8) == literal;
    default: return false;
  }
}

}  // namespace

bool is_reserved(const std::uint32_t (&words)[5]) {
  constexpr std::uint32_t scaled = 0xd3ac;  // VOP3PX: two instructions in one
  return is_reserved_pair(words[0], words[1]) || (words[0] >> 16 == scaled && is_reserved_pair(words[2], words[3]));
}

namespace {

// SOPK. Opcodes: 0 movk, 1 cmovk, 2..13 cmpk, 14 addk, 15 mulk, 16 cbranch_i_fork, 17 getreg, 18 setreg,
// 20 setreg_imm32, 21 call.
bool decode_sopk(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0];
  instruction.format = Format::sopk;
  instruction.opcode = static_cast<std::uint16_t>(bits(word, 23, 5));
  instruction.immediate = static_cast<std::uint16_t>(bits(word, 0, 16));
  const int op = instruction.opcode;
  if (op == 20) {
    instruction.src[0].kind = Source::Kind::literal;
    instruction.src[0].literal = instruction.words[1];
    return instruction.bytes == 8;
  }
  instruction.dst = scalar_register(bits(word, 16, 7));
  if (op != 0 && op != 17 && op != 21) instruction.src[0] = instruction.dst;
  return true;
}

// SOP1 without a destination: s_setpc, s_rfe, s_cbranch_join, s_set_gpr_idx_idx; without a source: s_getpc.
bool decode_sop1(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0];
  instruction.format = Format::sop1;
  instruction.opcode = static_cast<std::uint16_t>(bits(word, 8, 8));
  const int op = instruction.opcode;
  if (op != 0x1d && op != 0x1f && op != 0x2e && op != 0x32) instruction.dst = scalar_register(bits(word, 16, 7));
  return op == 0x1c || source_of(bits(word, 0, 8), instruction.words[1], instruction.src[0]);
}

}  // namespace

bool decode_scalar(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0];
  const std::uint32_t top = bits(word, 23, 9);
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
  // s_cbranch_g_fork and s_rfe_restore have no destination, s_set_gpr_idx_on's second source is an immediate.
  if (!compare && instruction.opcode != 0x29 && instruction.opcode != 0x2b)
    instruction.dst = scalar_register(bits(word, 16, 7));
  if (compare && instruction.opcode == 0x11) {
    instruction.immediate = static_cast<std::uint16_t>(bits(word, 8, 8));
    return source_of(bits(word, 0, 8), instruction.words[1], instruction.src[0]);
  }
  return source_of(bits(word, 0, 8), instruction.words[1], instruction.src[0]) &&
         source_of(bits(word, 8, 8), instruction.words[1], instruction.src[1]);
}

// Opcodes: 0..12 loads, 16..26 stores, 32..35 cache control, 36 and 37 clocks, 38 and 39 probes, 40 and 41 discards,
// 64 and more atomics.
bool decode_scalar_memory(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0], more = instruction.words[1];
  instruction.format = Format::smem;
  instruction.opcode = static_cast<std::uint16_t>(bits(word, 18, 8));
  instruction.glc = bits(word, 16, 1) != 0;
  const int op = instruction.opcode;
  const bool store = op >= 0x10 && op < 0x20, atomic = op >= 0x40;
  const Source data = scalar_register(bits(word, 6, 7));
  if (op < 0x10 || op == 0x24 || op == 0x25 || (atomic && instruction.glc)) instruction.dst = data;
  if (store || atomic) instruction.src[1] = data;
  if (op == 0x26 || op == 0x27) instruction.immediate = data.index;
  if (op >= 0x20 && op < 0x26) return true;
  instruction.src[2] = scalar_register(bits(word, 0, 6) * 2);
  const bool immediate = bits(word, 17, 1) != 0, with_register = bits(word, 14, 1) != 0;
  if (immediate) instruction.offset = sign_extended(bits(more, 0, 21), 21);
  if (immediate && !with_register) return true;
  // Without both bits the register's number stands where the immediate would.
  instruction.scalar_base = true;
  return source_of(with_register ? bits(more, 25, 7) : bits(more, 0, 7), 0, instruction.src[3]);
}

}  // namespace fields

bool decode_fields(Instruction& instruction, Family family) {
  if (family == Family::gfx11) return fields::decode_gfx11(instruction);
  const std::uint32_t word = instruction.words[0];
  if (fields::bits(word, 31, 1) == 0) return fields::decode_vector_short(instruction);
  if (fields::bits(word, 30, 2) == 0b10) return fields::decode_scalar(instruction);
  if (instruction.bytes < 8) return false;
  switch (fields::bits(word, 26, 6)) {
    case 0b110000: return fields::decode_scalar_memory(instruction);
    case 0b110100:
      return fields::bits(word, 23, 3) == 0b111 ? fields::decode_vop3p(instruction) : fields::decode_vop3(instruction);
    case 0b110110: return fields::decode_lds(instruction);
    case 0b110111: return fields::decode_flat(instruction, family);
    case 0b111000:
    case 0b111010: return fields::decode_buffer(instruction, family);
    default: return false;
  }
}

}  // namespace kiln::emulator
