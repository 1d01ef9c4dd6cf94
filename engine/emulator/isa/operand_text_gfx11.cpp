// operand_text of RDNA3, in LLVM's dialect for gfx1100 with waves of 32 lanes.
#include <cstdlib>
#include <string_view>

#include "engine/emulator/isa/fields_gfx11.hpp"
#include "engine/emulator/isa/operand_list.hpp"

namespace kiln::emulator {
namespace {

std::string_view name_of(const Instruction& instruction) { return instruction.name; }

std::string scalar_text(int code) {
  if (code < code::vcc) return "s" + std::to_string(code);
  if (code >= code::trap_temps && code < code::m0) return "ttmp" + std::to_string(code - code::trap_temps);
  switch (code) {
    case code::vcc: return "vcc";
    case code::vcc + 1: return "vcc_hi";
    case code::m0: return "m0";
    case code::null: return "null";
    case code::exec: return "exec";
    default: return "exec_hi";
  }
}

std::string special_text(int code) {
  switch (code) {
    case code::shared_base: return "src_shared_base";
    case code::shared_limit: return "src_shared_limit";
    case code::private_base: return "src_private_base";
    case code::private_limit: return "src_private_limit";
    case code::vccz: return "src_vccz";
    case code::execz: return "src_execz";
    default: return "src_scc";
  }
}

std::string source_text(const Source& source) {
  switch (source.kind) {
    case Source::Kind::vector: return "v" + std::to_string(source.index);
    case Source::Kind::scalar: return scalar_text(source.index);
    case Source::Kind::constant: return constant_text(source.index);
    case Source::Kind::literal: return hex_text(source.literal);
    case Source::Kind::special: return special_text(source.index);
    case Source::Kind::none: break;
  }
  return "none";
}

class Text : public OperandList {
 public:
  using OperandList::operand;
  void operand(const Source& source) {
    if (source.kind != Source::Kind::none) operand(source_text(source));
  }
};

// ---- scalar --------------------------------------------------------------------------------------------------------
std::string hardware_register(std::uint16_t immediate) {
  struct Name {
    unsigned id;
    const char* name;
  };
  static constexpr Name names[] = {{1, "MODE"}, {2, "STATUS"}, {3, "TRAPSTS"}, {5, "GPR_ALLOC"}, {6, "LDS_ALLOC"},
                                   {7, "IB_STS"}, {15, "SH_MEM_BASES"}, {18, "PERF_SNAPSHOT_PC_LO"},
                                   {19, "PERF_SNAPSHOT_PC_HI"}, {20, "FLAT_SCR_LO"}, {21, "FLAT_SCR_HI"},
                                   {23, "HW_ID1"}, {24, "HW_ID2"}, {27, "PERF_SNAPSHOT_DATA"}, {29, "SHADER_CYCLES"}};
  const unsigned id = immediate & 63, offset = immediate >> 6 & 31, size = (immediate >> 11 & 31) + 1u;
  std::string text = std::to_string(id);
  for (const Name& name : names)
    if (name.id == id) text = std::string("HW_REG_") + name.name;
  if (offset != 0 || size != 32) text += ", " + std::to_string(offset) + ", " + std::to_string(size);
  return "hwreg(" + text + ")";
}

std::string sopk_text(const Instruction& instruction) {
  Text text;
  switch (instruction.opcode) {
    case 1: return hex_text(instruction.immediate);
    case 17:
      text.operand(instruction.dst);
      text.operand(hardware_register(instruction.immediate));
      break;
    case 18:
    case 19:
      text.operand(hardware_register(instruction.immediate));
      if (instruction.opcode == 18) text.operand(instruction.src[0]);
      else text.operand(literal_as_constant(instruction.src[0].literal));
      break;
    case 20:
    case 22:
    case 23:
      text.operand(instruction.dst);
      text.operand(std::to_string(instruction.immediate));
      break;
    default:
      text.operand(instruction.opcode >= 24 ? instruction.src[0] : instruction.dst);
      text.operand(hex_text(instruction.immediate));
  }
  return text.take();
}

// vmcnt bits 10..15, lgkmcnt 4..9, expcnt 0..2; those at their maximum are not printed, unless all are.
std::string wait_text(std::uint16_t immediate) {
  const unsigned vm = immediate >> 10 & 63u, exp = immediate & 7u, lgkm = immediate >> 4 & 63u;
  const bool all = vm == 63 && exp == 7 && lgkm == 63;
  Text text;
  if (all || vm != 63) text.modifier("vmcnt(" + std::to_string(vm) + ")");
  if (all || exp != 7) text.modifier("expcnt(" + std::to_string(exp) + ")");
  if (all || lgkm != 63) text.modifier("lgkmcnt(" + std::to_string(lgkm) + ")");
  return text.take();
}

std::string sopp_text(const Instruction& instruction) {
  const auto name = name_of(instruction);
  for (const std::string_view without : {"s_barrier", "s_wakeup", "s_icache_inv", "s_ttracedata", "s_endpgm_saved",
                                         "s_endpgm_ordered_ps_done", "s_code_end", "s_wait_idle"}) {
    if (name == without) return "";
  }
  if (name == "s_waitcnt") return wait_text(instruction.immediate);
  if (name == "s_endpgm" && instruction.immediate == 0) return "";
  const bool plain = name.starts_with("s_cbranch") || name == "s_branch" || name == "s_endpgm";
  if (plain) return std::to_string(instruction.immediate);
  const bool hex = name == "s_set_inst_prefetch_distance" || name == "s_clause" || name == "s_wait_event" ||
                   name == "s_round_mode" || name == "s_ttracedata_imm";
  return hex ? hex_text(instruction.immediate) : number_text(instruction.immediate);
}

std::string scalar_alu_text(const Instruction& instruction) {
  Text text;
  text.operand(instruction.dst);
  text.operand(instruction.src[0]);
  text.operand(instruction.src[1]);
  return text.take();
}

std::string offset_text(std::int32_t offset) {
  return (offset < 0 ? "-" : "") + hex_text(static_cast<std::uint64_t>(std::abs(offset)));
}

std::string scalar_memory_text(const Instruction& instruction) {
  Text text;
  if (instruction.src[2].kind == Source::Kind::none) return "";
  if (instruction.dst.kind == Source::Kind::none) text.operand(number_text(instruction.immediate));
  text.operand(instruction.dst);
  text.operand(instruction.src[2]);
  if (instruction.scalar_base) {
    text.operand(instruction.src[3]);
    if (instruction.offset != 0) text.modifier("offset:" + offset_text(instruction.offset));
  } else if (instruction.offset != 0) {
    text.operand(offset_text(instruction.offset));
  } else {
    text.operand("null");
  }
  text.flag(instruction.glc, "glc");
  text.flag(instruction.dlc, "dlc");
  return text.take();
}

// ---- vector --------------------------------------------------------------------------------------------------------
std::string with_modifiers(const Instruction& instruction, int i) {
  const Source& source = instruction.src[i];
  std::string text = source_text(source);
  if ((fields::gfx11::half_operands(instruction.name) >> i & 1) != 0 && source.kind == Source::Kind::vector) {
    text += (instruction.op_sel >> i & 1) != 0 ? ".h" : ".l";
  }
  return with_signs(instruction, i, std::move(text));
}

std::string dpp_control(int control) {
  const std::string low = std::to_string(control & 15);
  if (control < 0x100) {
    std::string text = "quad_perm:[";
    for (int i = 0; i < 4; ++i) text += (i == 0 ? "" : ",") + std::to_string(control >> 2 * i & 3);
    return text + "]";
  }
  if (control < 0x110) return "row_shl:" + low;
  if (control < 0x120) return "row_shr:" + low;
  if (control < 0x130) return "row_ror:" + low;
  if (control == 0x140) return "row_mirror";
  if (control == 0x141) return "row_half_mirror";
  if (control >= 0x150 && control < 0x160) return "row_share:" + low;
  if (control >= 0x160 && control < 0x170) return "row_xmask:" + low;
  return "dpp_ctrl:" + hex_text(static_cast<std::uint64_t>(control));
}

void dpp_modifiers(Text& text, const Dpp& dpp) {
  if (dpp.is_dpp8) {
    std::string lanes = "dpp8:[";
    for (unsigned i = 0; i < 8; ++i) lanes += (i == 0 ? "" : ",") + std::to_string(dpp.lanes8 >> 3 * i & 7);
    text.modifier(lanes + "]");
  } else {
    text.modifier(dpp_control(dpp.control));
    text.modifier("row_mask:" + hex_text(dpp.row_mask));
    text.modifier("bank_mask:" + hex_text(dpp.bank_mask));
    text.flag(dpp.bound_control, "bound_ctrl:1");
  }
  text.flag(dpp.fetch_inactive, "fi:1");
}

std::string vector_text(const Instruction& instruction) {
  Text text;
  if (instruction.dst.kind == Source::Kind::vector && (fields::gfx11::half_operands(instruction.name) & 8) != 0) {
    text.operand(source_text(instruction.dst) + ((instruction.op_sel & 8) != 0 ? ".h" : ".l"));
  } else {
    text.operand(instruction.dst);
  }
  text.operand(instruction.scalar_dst);
  for (int i = 0; i < source_count(instruction); ++i) text.operand(with_modifiers(instruction, i));
  if (name_of(instruction).starts_with("v_permlane")) {
    text.bit_list("op_sel", unsigned(instruction.dpp.fetch_inactive) | unsigned(instruction.dpp.bound_control) << 1, 2);
    return text.take();
  }
  // The destination's half stands behind those of the sources.
  const int sources = source_count(instruction);
  const unsigned selected = (instruction.op_sel & 7u) | (instruction.op_sel >> 3 & 1u) << sources;
  if (instruction.format == Format::vop3) text.bit_list("op_sel", selected, sources + 1);
  output_modifiers(text, instruction);
  if (instruction.dpp.used) dpp_modifiers(text, instruction.dpp);
  return text.take();
}

std::string packed_text(const Instruction& instruction) {
  Text text;
  const auto name = name_of(instruction);
  const int sources = source_count(instruction);
  const bool mixed = name.starts_with("v_fma_mix");
  // The dot products of bytes and nibbles have no halves to choose from; WMMA's results of 16 bits have one.
  const bool matrix = name.starts_with("v_wmma_"), half_result = matrix && !name.starts_with("v_wmma_f32") &&
                                                                 !name.starts_with("v_wmma_i32");
  const bool chooses = !name.starts_with("v_dot4") && !name.starts_with("v_dot8") && !matrix;
  text.operand(instruction.dst);
  for (int i = 0; i < sources; ++i) text.operand(with_modifiers(instruction, i));
  if (chooses || half_result) text.bit_list("op_sel", instruction.op_sel, sources);
  if (chooses || half_result) text.bit_list("op_sel_hi", instruction.op_sel_hi, sources, !mixed);
  if (!mixed) {
    text.bit_list("neg_lo", instruction.neg, sources);
    text.bit_list("neg_hi", instruction.neg_hi, sources);
  }
  output_modifiers(text, instruction);
  if (instruction.dpp.used) dpp_modifiers(text, instruction.dpp);
  return text.take();
}

// "v2, v1, v3 :: v_dual_mul_f32 v7, v5, v7".
std::string dual_text(const Instruction& instruction) {
  static constexpr std::array<const char*, 32> names = {
      "fmac_f32", "fmaak_f32", "fmamk_f32", "mul_f32", "add_f32", "sub_f32", "subrev_f32", "mul_dx9_zero_f32",
      "mov_b32", "cndmask_b32", "max_f32", "min_f32", "dot2acc_f32_f16", "dot2acc_f32_bf16", "14", "15",
      "add_nc_u32", "lshlrev_b32", "and_b32"};
  const auto one = [&](unsigned op, const Source& destination, const Source (&sources)[2]) {
    Text text;
    text.operand(destination);
    text.operand(sources[0]);
    if (op == 2) text.operand(instruction.src[2]);
    text.operand(sources[1]);
    if (op == 1) text.operand(instruction.src[2]);
    return text.take();
  };
  const unsigned x = instruction.opcode & 15u, y = instruction.opcode >> 4 & 31u;
  const Source first[2] = {instruction.src[0], instruction.src[1]};
  const char* const second = names[y] != nullptr ? names[y] : "none";
  return one(x, instruction.dst, first) + " :: v_dual_" + second + " " +
         one(y, instruction.scalar_dst, instruction.scale);
}

// ---- memory --------------------------------------------------------------------------------------------------------
void cache_flags(Text& text, const Instruction& instruction) {
  text.flag(instruction.glc, "glc");
  text.flag(instruction.slc, "slc");
  text.flag(instruction.dlc, "dlc");
}

std::string lds_text(const Instruction& instruction) {
  Text text;
  text.operand(instruction.dst);
  text.operand(instruction.src[0]);
  text.operand(instruction.src[1]);
  text.operand(instruction.src[3]);
  if (name_of(instruction).find("_2addr") != std::string_view::npos) {
    text.number("offset0", instruction.offset & 255);
    text.number("offset1", instruction.offset >> 8);
  } else {
    text.number("offset", instruction.offset);
  }
  return text.take();
}

std::string flat_text(const Instruction& instruction) {
  Text text;
  text.operand(instruction.dst);
  text.operand(instruction.vector_address ? source_text(instruction.src[0]) : "off");
  text.operand(instruction.src[1]);
  if (instruction.format != Format::flat) {
    text.operand(instruction.scalar_base ? source_text(instruction.src[2]) : "off");
  }
  text.number("offset", instruction.offset);
  cache_flags(text, instruction);
  return text.take();
}

std::string typed_format(const Instruction& instruction) {
  static constexpr std::array<const char*, 15> data = {
      "INVALID", "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2", "2_10_10_10", "8_8_8_8",
      "32_32", "16_16_16_16", "32_32_32", "32_32_32_32"};
  static constexpr std::array<const char*, 8> number = {"UNORM", "SNORM", "USCALED", "SSCALED",
                                                        "UINT", "SINT", "6", "FLOAT"};
  const unsigned shape = instruction.data_format & 15u, meaning = instruction.number_format & 7u;
  const unsigned code = fields::bits(instruction.words[0], 19, 7);
  if (shape == 0) return code == 0 ? "format:[BUF_FMT_INVALID]" : "format:" + std::to_string(code);
  if (shape == 1 && meaning == 0) return "";
  return std::string("format:[BUF_FMT_") + data[shape] + "_" + number[meaning] + "]";
}

std::string buffer_text(const Instruction& instruction) {
  Text text;
  if (instruction.src[2].kind == Source::Kind::none) return "";
  text.operand(instruction.src[1].kind != Source::Kind::none ? instruction.src[1] : instruction.dst);
  text.operand(instruction.vector_address ? source_text(instruction.src[0]) : "off");
  text.operand(instruction.src[2]);
  text.operand(instruction.src[3]);
  if (instruction.format == Format::mtbuf) {
    const std::string format = typed_format(instruction);
    if (!format.empty()) text.modifier(format);
  }
  text.flag(instruction.idxen, "idxen");
  text.flag(instruction.offen, "offen");
  text.number("offset", instruction.offset);
  cache_flags(text, instruction);
  text.flag(instruction.tfe, "tfe");
  return text.take();
}

}  // namespace

std::string operand_text_gfx11(const Instruction& instruction) {
  switch (instruction.format) {
    case Format::sop1:
    case Format::sop2:
    case Format::sopc: return scalar_alu_text(instruction);
    case Format::sopk: return sopk_text(instruction);
    case Format::sopp: return instruction.opcode == 0xffff ? "" : sopp_text(instruction);
    case Format::smem: return scalar_memory_text(instruction);
    case Format::vop1:
    case Format::vop2:
    case Format::vopc:
    case Format::vop3: return vector_text(instruction);
    case Format::vop3p: return packed_text(instruction);
    case Format::vopd: return dual_text(instruction);
    case Format::ds: return lds_text(instruction);
    case Format::flat:
    case Format::global:
    case Format::scratch: return flat_text(instruction);
    case Format::mubuf:
    case Format::mtbuf: return buffer_text(instruction);
    case Format::mai: break;  // CDNA's
  }
  return "";
}

}  // namespace kiln::emulator
