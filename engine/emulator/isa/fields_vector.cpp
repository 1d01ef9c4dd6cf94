#include <cstring>

#include "engine/emulator/isa/fields.hpp"

namespace kiln::emulator::fields {
namespace {

constexpr std::uint32_t sdwa_code = 249, dpp_code = 250, literal_code = 255;

// VOP2's v_addc_co_u32, v_subb_co_u32, v_subbrev_co_u32 read a carry; those and the three before them write one.
constexpr bool carries_in(std::uint32_t op) { return op >= 0x1c && op <= 0x1e; }
constexpr bool carries_out(std::uint32_t op) { return op >= 0x19 && op <= 0x1e; }

void set_modifiers(Instruction& instruction, int source, std::uint32_t neg, std::uint32_t abs) {
  instruction.neg = static_cast<std::uint8_t>(instruction.neg | neg << source);
  instruction.abs = static_cast<std::uint8_t>(instruction.abs | abs << source);
}

// The second word of SDWA: SDWA for VOP1 and VOP2, SDWAB for VOPC.
bool decode_sdwa(Instruction& instruction, bool compare) {
  const std::uint32_t word = instruction.words[1];
  Sdwa& sdwa = instruction.sdwa;
  sdwa.used = true;
  const std::uint32_t code = bits(word, 0, 8) + (bits(word, 23, 1) != 0 ? 0 : 256);
  if (!source_of(code, 0, instruction.src[0]) || code == literal_code) return false;
  if (compare) {
    instruction.scalar_dst = scalar_register(bits(word, 15, 1) != 0 ? bits(word, 8, 7) : code::vcc);
  } else {
    sdwa.destination_select = static_cast<std::uint8_t>(bits(word, 8, 3));
    sdwa.destination_unused = static_cast<std::uint8_t>(bits(word, 11, 2));
    instruction.clamp = bits(word, 13, 1) != 0;
    instruction.omod = static_cast<std::uint8_t>(bits(word, 14, 2));
  }
  for (int i = 0; i < 2; ++i) {
    const int at = 16 + 8 * i;
    sdwa.source_select[i] = static_cast<std::uint8_t>(bits(word, at, 3));
    sdwa.sign_extend[i] = bits(word, at + 3, 1) != 0;
    set_modifiers(instruction, i, bits(word, at + 4, 1), bits(word, at + 5, 1));
  }
  if (instruction.format == Format::vop1) return true;
  const std::uint32_t second = bits(instruction.words[0], 9, 8);
  const bool scalar = bits(word, 31, 1) != 0;
  return !(scalar && second == literal_code) && source_of(second + (scalar ? 0 : 256), 0, instruction.src[1]);
}

void decode_dpp(Instruction& instruction) {
  const std::uint32_t word = instruction.words[1];
  instruction.src[0] = vector_register(bits(word, 0, 8));
  Dpp& dpp = instruction.dpp;
  dpp.used = true;
  dpp.control = static_cast<std::uint16_t>(bits(word, 8, 9));
  dpp.bound_control = bits(word, 19, 1) != 0;
  dpp.bank_mask = static_cast<std::uint8_t>(bits(word, 24, 4));
  dpp.row_mask = static_cast<std::uint8_t>(bits(word, 28, 4));
  set_modifiers(instruction, 0, bits(word, 20, 1), bits(word, 21, 1));
  set_modifiers(instruction, 1, bits(word, 22, 1), bits(word, 23, 1));
}

// SRC0 of the short forms, which also says whether a second word follows and what it is.
bool decode_first_source(Instruction& instruction, bool compare) {
  const std::uint32_t code = bits(instruction.words[0], 0, 9);
  if (code == sdwa_code || code == dpp_code || code == literal_code) {
    if (instruction.bytes != 8) return false;
    if (code == sdwa_code) return decode_sdwa(instruction, compare);
    if (code == dpp_code) {
      decode_dpp(instruction);
      return true;
    }
  }
  return source_of(code, instruction.words[1], instruction.src[0]);
}

bool decode_vop1(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0];
  instruction.format = Format::vop1;
  instruction.opcode = static_cast<std::uint16_t>(bits(word, 9, 8));
  if (named(instruction, "v_nop") || named(instruction, "v_clrexcp")) return true;
  const std::uint32_t destination = bits(word, 17, 8);
  const bool accumulation = named(instruction, "v_accvgpr_mov_b32");
  if (named(instruction, "v_readfirstlane_b32")) {
    if (destination > 127) return false;
    instruction.dst = scalar_register(destination);
  } else {
    instruction.dst = vector_register(destination, accumulation);
  }
  if (!decode_first_source(instruction, false)) return false;
  if (accumulation && instruction.src[0].kind == Source::Kind::vector) instruction.src[0].index |= 256;
  return true;
}

bool decode_vopc(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0];
  instruction.format = Format::vopc;
  instruction.opcode = static_cast<std::uint16_t>(bits(word, 17, 8));
  instruction.src[1] = vector_register(bits(word, 9, 8));
  instruction.scalar_dst = scalar_register(code::vcc);
  return decode_first_source(instruction, true);
}

bool decode_vop2(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0], op = bits(word, 25, 6);
  instruction.format = Format::vop2;
  instruction.opcode = static_cast<std::uint16_t>(op);
  instruction.dst = vector_register(bits(word, 17, 8));
  instruction.src[1] = vector_register(bits(word, 9, 8));
  if (op == 0x17 || op == 0x18 || op == 0x24 || op == 0x25) {  // madmk, madak and their fma and f16 forms
    if (instruction.bytes != 8) return false;
    const int literal = op == 0x17 || op == 0x24 ? 1 : 2;
    if (literal == 1) instruction.src[2] = instruction.src[1];
    instruction.src[literal] = {};
    instruction.src[literal].kind = Source::Kind::literal;
    instruction.src[literal].literal = instruction.words[1];
    return source_of(bits(word, 0, 9), instruction.words[1], instruction.src[0]);
  }
  if (carries_out(op)) instruction.scalar_dst = scalar_register(code::vcc);
  if (op == 0 || carries_in(op)) instruction.src[2] = scalar_register(code::vcc);
  return decode_first_source(instruction, false);
}

// VOP3-only operations below 0x280 have three sources but for these, those from there on two but for two.
int sources_of_vop3(std::uint32_t op) {
  if (op < 0x100) return 2;
  if (op < 0x140) return op == 0x100 || carries_in(op - 0x100) ? 3 : 2;
  if (op < 0x1c0) return 1;
  if (op >= 0x280) return op == 0x2a8 || op == 0x2a9 ? 3 : 2;  // v_minimum3_f32, v_maximum3_f32
  if (op == 0x1f0) return 2;                                   // v_cvt_pkaccum_u8_f32
  if (op < 0x239) return 3;
  // gfx950's conversions with a scale: those that round stochastically or read two registers of f32 have three.
  const bool three = op == 0x23d || op == 0x23e || op == 0x242 || op == 0x243 || op == 0x246 || op == 0x247 ||
                     op == 0x24e || op == 0x24f || (op >= 0x252 && op <= 0x255) || (op >= 0x25c && op <= 0x25f) ||
                     op == 0x265 || op == 0x266;
  return three ? 3 : 2;
}

// VOP3B: a scalar destination in the place of abs and op_sel. v_div_scale, v_mad_u64_u32, v_mad_i64_i32, the carries.
constexpr bool is_vop3b(std::uint32_t op) {
  return op == 0x1e0 || op == 0x1e1 || op == 0x1e8 || op == 0x1e9 || (op >= 0x100 && carries_out(op - 0x100));
}

// Operations that take halves of registers, or put their result into one, by op_sel; the others ignore its bits.
constexpr bool selects_halves(std::uint32_t op) {
  return op == 0x1ce || op == 0x1cf || op == 0x1f1 || op == 0x1f2 || (op >= 0x1f4 && op <= 0x1fc) ||
         (op >= 0x203 && op <= 0x207) || op == 0x233 || (op >= 0x235 && op <= 0x251) || op == 0x265 || op == 0x266 ||
         op == 0x269 || op == 0x26a || op == 0x299 || op == 0x29a || (op >= 0x29e && op <= 0x2a0) ||
         (op >= 0x2a2 && op <= 0x2a7);
}

bool set_vop3_destination(Instruction& instruction, std::uint32_t op) {
  const std::uint32_t code = bits(instruction.words[0], 0, 8);
  const bool scalar = op < 0x100 || named(instruction, "v_readlane_b32") || named(instruction, "v_readfirstlane_b32");
  if (scalar && code > 127) return false;
  if (op < 0x100) {
    instruction.scalar_dst = scalar_register(code);
  } else {
    instruction.dst = scalar ? scalar_register(code) : vector_register(code);
  }
  return true;
}

}  // namespace

bool decode_vector_short(Instruction& instruction) {
  const std::uint32_t op = bits(instruction.words[0], 25, 6);
  if (op == 0x3f) return decode_vop1(instruction);
  return op == 0x3e ? decode_vopc(instruction) : decode_vop2(instruction);
}

bool decode_vop3(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0], more = instruction.words[1], op = bits(word, 16, 10);
  instruction.format = Format::vop3;
  instruction.opcode = static_cast<std::uint16_t>(op);
  if (op >= 0x140 && op < 0x1c0 && (named(instruction, "v_nop") || named(instruction, "v_clrexcp"))) return true;
  if (!set_vop3_destination(instruction, op)) return false;
  const int sources = sources_of_vop3(op);
  for (int i = 0; i < sources; ++i) {
    const std::uint32_t code = bits(more, 9 * i, 9);
    if (code == literal_code || !source_of(code, 0, instruction.src[i])) return false;
  }
  if (selects_halves(op)) instruction.op_sel = static_cast<std::uint8_t>(bits(word, 11, 4));
  if (name_starts(instruction, "v_permlane")) {  // no halves, DPP's flags instead
    instruction.dpp.fetch_inactive = bits(word, 11, 1) != 0;
    instruction.dpp.bound_control = bits(word, 12, 1) != 0;
    return true;
  }
  if (name_starts(instruction, "v_bitop3_")) {
    instruction.immediate =
        static_cast<std::uint16_t>(bits(more, 27, 2) << 6 | bits(word, 8, 3) << 3 | bits(more, 29, 3));
    return true;
  }
  if (is_vop3b(op)) {
    instruction.scalar_dst = scalar_register(bits(word, 8, 7));
  } else {
    instruction.abs = static_cast<std::uint8_t>(bits(word, 8, 3));
  }
  instruction.clamp = bits(word, 15, 1) != 0;
  instruction.omod = static_cast<std::uint8_t>(bits(more, 27, 2));
  instruction.neg = static_cast<std::uint8_t>(bits(more, 29, 3));
  return true;
}

namespace {

// Matrix operations: bits 27 and 28 of the second word put the first two sources into the accumulation registers, bit
// 15 of the first the destination and the addend.
bool decode_mai(Instruction& instruction, std::uint32_t word, std::uint32_t more) {
  instruction.format = Format::mai;
  const bool read = named(instruction, "v_accvgpr_read_b32"), write = named(instruction, "v_accvgpr_write_b32");
  const bool sparse = name_starts(instruction, "v_smfmac_");
  const bool accumulation = bits(word, 15, 1) != 0;
  instruction.dst = vector_register(bits(word, 0, 8), write || (accumulation && !read));
  const int sources = read || write ? 1 : 3;
  for (int i = 0; i < sources; ++i) {
    const std::uint32_t code = bits(more, 9 * i, 9);
    if (code == literal_code || !source_of(code, 0, instruction.src[i])) return false;
    const bool in_accumulation = i == 2 ? accumulation && !sparse : !write && (read || bits(more, 27 + i, 1) != 0);
    if (in_accumulation && instruction.src[i].kind == Source::Kind::vector) instruction.src[i].index |= 256;
  }
  if (read || write) return true;
  instruction.cbsz = static_cast<std::uint8_t>(bits(word, 8, 3));
  instruction.abid = static_cast<std::uint8_t>(bits(word, 11, 4));
  instruction.blgp = static_cast<std::uint8_t>(bits(more, 29, 3));
  return true;
}

// VOP3PX: an instruction that names the scales, and the matrix operation in the second 8 bytes.
bool decode_scaled_mai(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0], more = instruction.words[1];
  if (instruction.bytes != 16 || !decode_mai(instruction, instruction.words[2], instruction.words[3])) return false;
  instruction.opcode = static_cast<std::uint16_t>(bits(instruction.words[2], 16, 7));
  instruction.op_sel = static_cast<std::uint8_t>(bits(word, 11, 2));
  instruction.op_sel_hi = static_cast<std::uint8_t>(bits(more, 27, 2));
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t code = bits(more, 9 * i, 9);
    if (code == literal_code || !source_of(code, 0, instruction.scale[i])) return false;
  }
  return true;
}

// Packed operations with two sources: 16-bit arithmetic but for mad and fma, and v_pk_mul_f32, v_pk_add_f32, v_pk_mov.
constexpr bool has_two_sources(std::uint32_t op) {
  return (op <= 0x12 && op != 0 && op != 9 && op != 0xe) || (op >= 0x31 && op <= 0x33) || op == 0x2c;
}

}  // namespace

bool decode_vop3p(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0], more = instruction.words[1], op = bits(word, 16, 7);
  instruction.opcode = static_cast<std::uint16_t>(op);
  if (name_starts(instruction, "v_mfma_scale_")) return decode_scaled_mai(instruction);
  if (!named(instruction, "v_mfma_ld_scale_b32") &&
      (name_starts(instruction, "v_mfma_") || name_starts(instruction, "v_smfmac_") ||
       name_starts(instruction, "v_accvgpr_"))) {
    return decode_mai(instruction, word, more);
  }
  instruction.format = Format::vop3p;
  if (op != 0x2c) instruction.dst = vector_register(bits(word, 0, 8));
  const int sources = has_two_sources(op) ? 2 : 3;
  for (int i = 0; i < sources; ++i) {
    const std::uint32_t code = bits(more, 9 * i, 9);
    if (code == literal_code || !source_of(code, 0, instruction.src[i])) return false;
  }
  instruction.neg_hi = static_cast<std::uint8_t>(bits(word, 8, 3));
  instruction.op_sel = static_cast<std::uint8_t>(bits(word, 11, 3));
  instruction.op_sel_hi = static_cast<std::uint8_t>(bits(more, 27, 2) | bits(word, 14, 1) << 2);
  instruction.clamp = bits(word, 15, 1) != 0;
  instruction.neg = static_cast<std::uint8_t>(bits(more, 29, 3));
  // The mixing operations read single values: the second set of signs means absolute values there.
  if (name_starts(instruction, "v_fma_mix") || name_starts(instruction, "v_mad_mix")) {
    instruction.abs = instruction.neg_hi;
    instruction.neg_hi = 0;
  }
  return true;
}

}  // namespace kiln::emulator::fields
