// RDNA3: VOP1, VOP2, VOPC, VOP3, VOP3SD, VOP3P with literals, DPP8 and DPP16, and VOPD.
#include "engine/emulator/isa/fields_gfx11.hpp"

namespace kiln::emulator::fields::gfx11 {
namespace {

bool is_dpp(std::uint32_t code) {
  return code == dpp8_code || code == dpp8_fetch_inactive_code || code == dpp16_code;
}

// The word behind the encoding. Signs in it belong to the short forms; the long ones have their own.
void decode_dpp(Instruction& instruction, std::uint32_t code, std::uint32_t word, bool with_signs) {
  instruction.src[0] = vector_register(bits(word, 0, 8));
  Dpp& dpp = instruction.dpp;
  dpp.used = true;
  if (code != dpp16_code) {
    dpp.is_dpp8 = true;
    dpp.lanes8 = bits(word, 8, 24);
    dpp.fetch_inactive = code == dpp8_fetch_inactive_code;
    dpp.bound_control = true;
    return;
  }
  dpp.control = static_cast<std::uint16_t>(bits(word, 8, 9));
  dpp.fetch_inactive = bits(word, 18, 1) != 0;
  dpp.bound_control = bits(word, 19, 1) != 0;
  dpp.bank_mask = static_cast<std::uint8_t>(bits(word, 24, 4));
  dpp.row_mask = static_cast<std::uint8_t>(bits(word, 28, 4));
  if (!with_signs) return;
  instruction.neg = static_cast<std::uint8_t>(bits(word, 20, 1) | bits(word, 22, 1) << 1);
  instruction.abs = static_cast<std::uint8_t>(bits(word, 21, 1) | bits(word, 23, 1) << 1);
}

// SRC0 of the short forms, which also says whether a second word follows and what it is.
bool decode_first_source(Instruction& instruction) {
  const std::uint32_t code = bits(instruction.words[0], 0, 9);
  if (is_dpp(code)) {
    if (instruction.bytes != 8) return false;
    decode_dpp(instruction, code, instruction.words[1], true);
    return true;
  }
  if (code == literal_code && instruction.bytes != 8) return false;
  return source_of(code, instruction.words[1], instruction.src[0]);
}

// The upper half of v5 is v133 in the place of a half operand.
void take_halves(Instruction& instruction) {
  const unsigned halves = half_operands(instruction.name);
  for (unsigned n = 0; n < 4; ++n) {
    Source& operand = n == 3 ? instruction.dst : instruction.src[n];
    if ((halves >> n & 1) == 0 || operand.kind != Source::Kind::vector || operand.index < 128) continue;
    operand.index &= 127;
    instruction.op_sel = static_cast<std::uint8_t>(instruction.op_sel | 1u << n);
  }
}

bool decode_vop1(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0], op = bits(word, 9, 8);
  instruction.format = Format::vop1;
  instruction.opcode = static_cast<std::uint16_t>(op);
  if (named(instruction, "v_nop") || named(instruction, "v_pipeflush")) return true;
  const std::uint32_t destination = bits(word, 17, 8);
  if (named(instruction, "v_readfirstlane_b32")) {
    if (destination > 127) return false;
    instruction.dst = scalar_register(destination);
  } else {
    instruction.dst = vector_register(destination);
  }
  if (!decode_first_source(instruction)) return false;
  take_halves(instruction);
  return true;
}

// v_cmpx writes EXEC alone.
void set_compare_destination(Instruction& instruction, std::uint32_t code) {
  if (!name_starts(instruction, "v_cmpx_")) instruction.scalar_dst = scalar_register(code);
}

bool decode_vopc(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0];
  instruction.format = Format::vopc;
  instruction.opcode = static_cast<std::uint16_t>(bits(word, 17, 8));
  instruction.src[1] = vector_register(bits(word, 9, 8));
  set_compare_destination(instruction, code::vcc);
  if (!decode_first_source(instruction)) return false;
  take_halves(instruction);
  return true;
}

void put_literal(Instruction& instruction, int source, std::uint32_t literal) {
  instruction.src[source] = {};
  instruction.src[source].kind = Source::Kind::literal;
  instruction.src[source].literal = literal;
}

constexpr bool carries(std::uint32_t op) { return op >= 0x20 && op <= 0x22; }   // v_add_co_ci_u32 and its like
constexpr std::uint32_t select_op = 1;                                          // v_cndmask_b32

bool decode_vop2(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0], op = bits(word, 25, 6);
  instruction.format = Format::vop2;
  instruction.opcode = static_cast<std::uint16_t>(op);
  instruction.dst = vector_register(bits(word, 17, 8));
  instruction.src[1] = vector_register(bits(word, 9, 8));
  const bool middle = op == 0x2c || op == 0x37, last = op == 0x2d || op == 0x38;  // fmamk, fmaak of f32 and f16
  if (middle || last) {
    if (instruction.bytes != 8 || is_dpp(bits(word, 0, 9))) return false;
    if (middle) instruction.src[2] = instruction.src[1];
    put_literal(instruction, middle ? 1 : 2, instruction.words[1]);
    if (!source_of(bits(word, 0, 9), instruction.words[1], instruction.src[0])) return false;
    take_halves(instruction);
    return true;
  }
  if (carries(op)) instruction.scalar_dst = scalar_register(code::vcc);
  if (op == select_op || carries(op)) instruction.src[2] = scalar_register(code::vcc);
  if (!decode_first_source(instruction)) return false;
  take_halves(instruction);
  return true;
}

// The sources of the long forms: any of them may be the literal, the first may be a DPP word.
bool decode_long_sources(Instruction& instruction, int count) {
  const std::uint32_t more = instruction.words[1];
  for (int i = 0; i < count; ++i) {
    const std::uint32_t code = bits(more, 9 * i, 9);
    if (i == 0 && is_dpp(code)) {
      if (instruction.bytes != 12) return false;
      decode_dpp(instruction, code, instruction.words[2], false);
      continue;
    }
    if (code == literal_code && (instruction.bytes != 12 || instruction.dpp.used)) return false;
    if (!source_of(code, instruction.words[2], instruction.src[i])) return false;
  }
  return true;
}

int sources_of_vop3(std::uint32_t op) {
  if (op < 0x100) return 2;
  if (op < 0x180) return op - 0x100 == select_op || carries(op - 0x100) ? 3 : 2;
  if (op < 0x200) return 1;
  return op < 0x300 ? 3 : 2;
}

// VOP3SD: v_div_scale, v_mad_u64_u32, v_mad_i64_i32, the carries.
constexpr bool has_scalar_result(std::uint32_t op) {
  return carries(op - 0x100) || (op >= 0x2fc && op <= 0x302);
}

bool set_long_destination(Instruction& instruction, std::uint32_t op) {
  const std::uint32_t code = bits(instruction.words[0], 0, 8);
  const bool scalar = op < 0x100 || named(instruction, "v_readlane_b32") || named(instruction, "v_readfirstlane_b32");
  if (scalar && code > 127) return false;
  if (op < 0x100) {
    set_compare_destination(instruction, code);
  } else {
    instruction.dst = scalar ? scalar_register(code) : vector_register(code);
  }
  return true;
}

}  // namespace

unsigned half_operands(std::string_view name) {
  constexpr unsigned first = 1, sources = 3, third = 4, destination = 8, all = 15;
  if (name.starts_with("v_cmp")) {
    const bool half = name.ends_with("_f16") || name.ends_with("_i16") || name.ends_with("_u16");
    return half ? sources : 0;
  }
  struct Row {
    std::string_view name;
    unsigned operands;
  };
  constexpr Row rows[] = {{"v_cvt_f16_f32", destination},      {"v_cvt_f32_f16", first},
                          {"v_sat_pk_u8_i16", destination},    {"v_cvt_i32_i16", first},
                          {"v_cvt_u32_u16", first},            {"v_mad_u32_u16", sources},
                          {"v_mad_i32_i16", sources},          {"v_pack_b32_f16", sources},
                          {"v_cvt_pk_norm_i16_f16", sources},  {"v_cvt_pk_norm_u16_f16", sources},
                          {"v_dot2_f16_f16", destination | third}, {"v_dot2_bf16_bf16", destination | third},
                          {"v_alignbit_b32", third},           {"v_alignbyte_b32", third},
                          {"v_cndmask_b16", destination | sources},
                          {"v_sad_u16", 0},                    {"v_dot2acc_f32_f16", 0},
                          {"v_dot2_f32_f16", 0},               {"v_dot2_f32_bf16", 0}};
  for (const Row& row : rows)
    if (row.name == name) return row.operands;
  if (name.find("_pk_") != std::string_view::npos || name.starts_with("v_fma_mix") || name.starts_with("v_wmma_") ||
      name.starts_with("v_dual_")) {
    return 0;
  }
  for (const std::string_view type : {"f16", "_i16", "_u16", "_b16"})
    if (name.ends_with(type)) return all;
  return 0;
}

bool decode_vector_short(Instruction& instruction) {
  const std::uint32_t op = bits(instruction.words[0], 25, 6);
  if (op == 0x3f) return decode_vop1(instruction);
  return op == 0x3e ? decode_vopc(instruction) : decode_vop2(instruction);
}

bool decode_vop3(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0], more = instruction.words[1], op = bits(word, 16, 10);
  instruction.format = Format::vop3;
  instruction.opcode = static_cast<std::uint16_t>(op);
  if (named(instruction, "v_nop") || named(instruction, "v_pipeflush")) return true;
  if (!set_long_destination(instruction, op) || !decode_long_sources(instruction, sources_of_vop3(op))) return false;
  if (name_starts(instruction, "v_permlane")) {  // no halves, DPP's flags instead
    instruction.dpp.fetch_inactive = bits(word, 11, 1) != 0;
    instruction.dpp.bound_control = bits(word, 12, 1) != 0;
    return true;
  }
  if (has_scalar_result(op)) {
    instruction.scalar_dst = scalar_register(bits(word, 8, 7));
  } else {
    instruction.op_sel = static_cast<std::uint8_t>(bits(word, 11, 4) & half_operands(instruction.name));
    instruction.abs = static_cast<std::uint8_t>(bits(word, 8, 3));
  }
  instruction.clamp = bits(word, 15, 1) != 0;
  instruction.omod = static_cast<std::uint8_t>(bits(more, 27, 2));
  instruction.neg = static_cast<std::uint8_t>(bits(more, 29, 3));
  return true;
}

bool decode_vop3p(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0], more = instruction.words[1], op = bits(word, 16, 7);
  if (bits(word, 23, 1) != 0) return false;
  instruction.format = Format::vop3p;
  instruction.opcode = static_cast<std::uint16_t>(op);
  instruction.dst = vector_register(bits(word, 0, 8));
  const bool two = op <= 0x12 && op != 0 && op != 9 && op != 0xe;  // all but mad and fma of the packed operations
  if (!decode_long_sources(instruction, two ? 2 : 3)) return false;
  instruction.neg_hi = static_cast<std::uint8_t>(bits(word, 8, 3));
  instruction.op_sel = static_cast<std::uint8_t>(bits(word, 11, 3));
  instruction.op_sel_hi = static_cast<std::uint8_t>(bits(more, 27, 2) | bits(word, 14, 1) << 2);
  instruction.clamp = bits(word, 15, 1) != 0;
  instruction.neg = static_cast<std::uint8_t>(bits(more, 29, 3));
  // The mixing operations read single values: the second set of signs means absolute values there.
  if (name_starts(instruction, "v_fma_mix")) {
    instruction.abs = instruction.neg_hi;
    instruction.neg_hi = 0;
  }
  return true;
}

namespace {

// One of VOPD's two operations: fmaak and fmamk take the literal, the moves one source, v_cndmask the mask in VCC.
bool decode_dual(std::uint32_t op, std::uint32_t first, std::uint32_t second, std::uint32_t literal,
                 Source (&sources)[2]) {
  constexpr std::uint32_t move = 8;
  if (!source_of(first, literal, sources[0])) return false;
  if (op != move) sources[1] = vector_register(second);
  return true;
}

}  // namespace

bool decode_vopd(Instruction& instruction) {
  const std::uint32_t word = instruction.words[0], more = instruction.words[1];
  const std::uint32_t x = bits(word, 22, 4), y = bits(word, 17, 5);
  const auto takes_literal = [](std::uint32_t op) { return op == 1 || op == 2; };
  instruction.format = Format::vopd;
  instruction.opcode = static_cast<std::uint16_t>(x | y << 4);
  const std::uint32_t first_x = bits(word, 0, 9), first_y = bits(more, 0, 9);
  const bool literal = takes_literal(x) || takes_literal(y) || first_x == literal_code || first_y == literal_code;
  if (literal != (instruction.bytes == 12)) return false;
  Source sources[2];
  if (!decode_dual(x, first_x, bits(word, 9, 8), instruction.words[2], sources)) return false;
  instruction.src[0] = sources[0];
  instruction.src[1] = sources[1];
  if (!decode_dual(y, first_y, bits(more, 9, 8), instruction.words[2], instruction.scale)) return false;
  if (takes_literal(x) || takes_literal(y)) put_literal(instruction, 2, instruction.words[2]);
  const std::uint32_t destination = bits(more, 24, 8);
  instruction.dst = vector_register(destination);
  // The second destination's lowest bit is the complement of the first's.
  instruction.scalar_dst = vector_register(bits(more, 17, 7) << 1 | (~destination & 1));
  return true;
}

}  // namespace kiln::emulator::fields::gfx11
