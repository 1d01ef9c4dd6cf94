// Assembly text from the decoded fields alone, in LLVM's dialect, so that a test can hold the two decoders against each
// other.
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "engine/emulator/isa/decoder.hpp"
#include "engine/emulator/isa/fields.hpp"
#include "engine/emulator/isa/operand_list.hpp"

namespace kiln::emulator {
namespace {

constexpr std::array<const char*, 9> floats = {"0.5",  "-0.5", "1.0",  "-1.0",      "2.0",
                                               "-2.0", "4.0",  "-4.0", "0.15915494"};
constexpr std::array<const char*, 4> apertures = {"src_shared_base", "src_shared_limit", "src_private_base",
                                                  "src_private_limit"};

}  // namespace

std::string hex_text(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string number_text(std::uint32_t value) { return value <= 64 ? std::to_string(value) : hex_text(value); }

std::string constant_text(int code) {
  if (code >= code::float_first) return floats[static_cast<std::size_t>(code - code::float_first)];
  return std::to_string(code <= 192 ? code - 128 : 192 - code);
}

std::string literal_as_constant(std::uint32_t value) {
  static constexpr std::array<std::uint32_t, 9> patterns = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                                            0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
  for (std::size_t i = 0; i < patterns.size(); ++i)
    if (patterns[i] == value) return floats[i];
  const bool negative = value >= static_cast<std::uint32_t>(-16);
  return negative ? std::to_string(static_cast<std::int32_t>(value)) : number_text(value);
}

int source_count(const Instruction& instruction) {
  int count = 0;
  while (count < 3 && instruction.src[count].kind != Source::Kind::none) ++count;
  return count;
}

std::string with_signs(const Instruction& instruction, int i, std::string text) {
  const auto kind = instruction.src[i].kind;
  const bool number = kind == Source::Kind::constant || kind == Source::Kind::literal;
  if ((instruction.abs >> i & 1) != 0) text = "|" + text + "|";
  const bool negated = instruction.format != Format::vop3p || fields::name_starts(instruction, "v_fma_mix");
  if (negated && (instruction.neg >> i & 1) != 0) {
    const bool call = number && (instruction.abs >> i & 1) == 0;
    text = call ? "neg(" + text + ")" : "-" + text;
  }
  return text;
}

void output_modifiers(OperandList& text, const Instruction& instruction) {
  text.flag(instruction.clamp, "clamp");
  static constexpr std::array<const char*, 4> names = {"", "mul:2", "mul:4", "div:2"};
  text.flag(instruction.omod != 0, names[instruction.omod & 3]);
}

namespace {

std::string scalar_text(int code) {
  if (code < 102) return "s" + std::to_string(code);
  if (code >= 108 && code < 124) return "ttmp" + std::to_string(code - 108);
  switch (code) {
    case 102: return "flat_scratch";
    case 103: return "flat_scratch_hi";
    case 104: return "xnack_mask";
    case 105: return "xnack_mask_hi";
    case 106: return "vcc";
    case 107: return "vcc_hi";
    case 124: return "m0";
    case 125: return "null";
    case 126: return "exec";
    default: return "exec_hi";
  }
}

std::string source_text(const Source& source) {
  const int index = source.index;
  switch (source.kind) {
    case Source::Kind::vector:
      return (index < 256 ? "v" : "a") + std::to_string(index & 255);
    case Source::Kind::scalar: return scalar_text(index);
    case Source::Kind::constant:
      return constant_text(index);
    case Source::Kind::literal: return hex_text(source.literal);
    case Source::Kind::special:
      if (index == code::vccz) return "src_vccz";
      if (index == code::execz) return "src_execz";
      if (index == code::scc) return "src_scc";
      return apertures[static_cast<std::size_t>(index - code::shared_base)];
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

std::string_view name_of(const Instruction& instruction) { return instruction.name; }

// ---- scalar --------------------------------------------------------------------------------------------------------
std::string hardware_register(std::uint16_t immediate, Family family) {
  static constexpr std::array<const char*, 8> names = {nullptr, "MODE", "STATUS", "TRAPSTS", "HW_ID",
                                                       "GPR_ALLOC", "LDS_ALLOC", "IB_STS"};
  const unsigned id = immediate & 63, offset = immediate >> 6 & 31, size = (immediate >> 11 & 31) + 1u;
  std::string text = std::to_string(id);
  if (id < names.size() && names[id] != nullptr) text = std::string("HW_REG_") + names[id];
  if (id == 15) text = "HW_REG_SH_MEM_BASES";
  if (id >= 16 && id <= 19) {
    static constexpr std::array<const char*, 4> trap = {"TBA_LO", "TBA_HI", "TMA_LO", "TMA_HI"};
    text = std::string("HW_REG_") + trap[id - 16];
  }
  if (family != Family::gfx90a && id == 20) text = "HW_REG_XCC_ID";
  if (family != Family::gfx90a && id >= 21 && id <= 24) {
    static constexpr std::array<const char*, 4> debug = {"SQ_PERF_SNAPSHOT_DATA", "SQ_PERF_SNAPSHOT_DATA1",
                                                         "SQ_PERF_SNAPSHOT_PC_LO", "SQ_PERF_SNAPSHOT_PC_HI"};
    text = std::string("HW_REG_") + debug[id - 21];
  }
  if (offset != 0 || size != 32) text += ", " + std::to_string(offset) + ", " + std::to_string(size);
  return "hwreg(" + text + ")";
}

std::string index_mode(unsigned mode) {
  static constexpr std::array<const char*, 4> names = {"SRC0", "SRC1", "SRC2", "DST"};
  if (mode > 15) return hex_text(mode);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    if ((mode >> i & 1) != 0) text += std::string(text.empty() ? "" : ",") + names[i];
  return "gpr_idx(" + text + ")";
}

std::string sopk_text(const Instruction& instruction, Family family) {
  Text text;
  switch (instruction.opcode) {
    case 17:
      text.operand(instruction.dst);
      text.operand(hardware_register(instruction.immediate, family));
      break;
    case 18:
      text.operand(hardware_register(instruction.immediate, family));
      text.operand(instruction.src[0]);
      break;
    case 20:
      text.operand(hardware_register(instruction.immediate, family));
      text.operand(literal_as_constant(instruction.src[0].literal));
      break;
    case 16:
    case 21:
      text.operand(instruction.dst);
      text.operand(std::to_string(instruction.immediate));
      break;
    default:
      text.operand(instruction.dst);
      text.operand(hex_text(instruction.immediate));
  }
  return text.take();
}

// GFX9's counters: vmcnt bits 0..3 and 14..15, expcnt 4..6, lgkmcnt 8..11; those at their maximum are not printed,
// unless all are.
std::string wait_text(std::uint16_t immediate) {
  const unsigned vm = (immediate & 15u) | (immediate >> 14 & 3u) << 4, exp = immediate >> 4 & 7u,
                 lgkm = immediate >> 8 & 15u;
  const bool all = vm == 63 && exp == 7 && lgkm == 15;
  Text text;
  if (all || vm != 63) text.modifier("vmcnt(" + std::to_string(vm) + ")");
  if (all || exp != 7) text.modifier("expcnt(" + std::to_string(exp) + ")");
  if (all || lgkm != 15) text.modifier("lgkmcnt(" + std::to_string(lgkm) + ")");
  return text.take();
}

std::string sopp_text(const Instruction& instruction) {
  const auto name = name_of(instruction);
  for (const std::string_view without : {"s_barrier", "s_wakeup", "s_icache_inv", "s_ttracedata", "s_endpgm_saved",
                                         "s_set_gpr_idx_off", "s_endpgm_ordered_ps_done"}) {
    if (name == without) return "";
  }
  if (name == "s_waitcnt") return wait_text(instruction.immediate);
  if (name == "s_set_gpr_idx_mode") return index_mode(instruction.immediate);
  if (name == "s_endpgm" && instruction.immediate == 0) return "";
  const bool plain = name.starts_with("s_cbranch") || name == "s_branch" || name == "s_endpgm";
  return plain ? std::to_string(instruction.immediate) : number_text(instruction.immediate);
}

std::string scalar_alu_text(const Instruction& instruction) {
  Text text;
  text.operand(instruction.dst);
  text.operand(instruction.src[0]);
  text.operand(instruction.src[1]);
  if (instruction.format == Format::sopc && instruction.opcode == 0x11) text.operand(index_mode(instruction.immediate));
  return text.take();
}

std::string scalar_memory_text(const Instruction& instruction) {
  Text text;
  const bool probe = name_of(instruction).starts_with("s_atc_probe");
  if (probe) text.operand(number_text(instruction.immediate));
  if (instruction.src[1].kind != Source::Kind::none) {
    text.operand(instruction.src[1]);  // an atomic that returns has its data in the same register
  } else {
    text.operand(instruction.dst);
  }
  text.operand(instruction.src[2]);
  if (instruction.src[2].kind != Source::Kind::none) {
    const bool negative = instruction.offset < 0;
    const std::string size = hex_text(static_cast<std::uint64_t>(std::abs(instruction.offset)));
    const std::string offset = (negative ? "-" : "") + size;
    if (instruction.scalar_base) text.operand(instruction.src[3]);
    if (!instruction.scalar_base) text.operand(offset);
    // Bit 17: an immediate beside the register.
    if (instruction.scalar_base && fields::bits(instruction.words[0], 17, 1) != 0) text.modifier("offset:" + offset);
  }
  const bool control = probe || name_of(instruction).starts_with("s_dcache");
  const bool cached = instruction.src[2].kind != Source::Kind::none && !control;
  text.flag(cached && instruction.glc, "glc");
  return text.take();
}

// ---- vector --------------------------------------------------------------------------------------------------------
std::string with_modifiers(const Instruction& instruction, int i) {
  const Source& source = instruction.src[i];
  std::string text = source_text(source);
  if (instruction.sdwa.used && i < 2 && instruction.sdwa.sign_extend[i]) text = "sext(" + text + ")";
  return with_signs(instruction, i, std::move(text));
}

void sdwa_modifiers(Text& text, const Instruction& instruction) {
  static constexpr std::array<const char*, 8> selects = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                                         "WORD_0", "WORD_1", "DWORD", "7"};
  static constexpr std::array<const char*, 4> unused = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "3"};
  const Sdwa& sdwa = instruction.sdwa;
  const auto select = [&](const char* name, int value) { text.modifier(name + std::string(selects[value & 7])); };
  // The conversions from 8-bit floats fill their result.
  const auto name = name_of(instruction);
  const bool whole = name.starts_with("v_cvt_f32_fp8") || name.starts_with("v_cvt_f32_bf8") ||
                     name.starts_with("v_cvt_pk_f32_");
  if (instruction.format != Format::vopc && !whole) {
    select("dst_sel:", sdwa.destination_select);
    text.modifier(std::string("dst_unused:") + unused[sdwa.destination_unused & 3]);
  }
  select("src0_sel:", sdwa.source_select[0]);
  if (instruction.format != Format::vop1) select("src1_sel:", sdwa.source_select[1]);
}

// dpp_ctrl of GFX9; 0x150..0x15f (row_newbcast) since gfx90a.
std::string dpp_control(int control) {
  if (control < 0x100) {
    std::string text = "quad_perm:[";
    for (int i = 0; i < 4; ++i) text += (i == 0 ? "" : ",") + std::to_string(control >> 2 * i & 3);
    return text + "]";
  }
  const std::string low = std::to_string(control & 15);
  if (control > 0x100 && control < 0x110) return "row_shl:" + low;
  if (control > 0x110 && control < 0x120) return "row_shr:" + low;
  if (control > 0x120 && control < 0x130) return "row_ror:" + low;
  if (control >= 0x150 && control < 0x160) return "row_newbcast:" + low;
  switch (control) {
    case 0x130: return "wave_shl:1";
    case 0x134: return "wave_rol:1";
    case 0x138: return "wave_shr:1";
    case 0x13c: return "wave_ror:1";
    case 0x140: return "row_mirror";
    case 0x141: return "row_half_mirror";
    case 0x142: return "row_bcast:15";
    case 0x143: return "row_bcast:31";
    default: return "dpp_ctrl:" + hex_text(static_cast<std::uint64_t>(control));
  }
}

void dpp_modifiers(Text& text, const Dpp& dpp) {
  text.modifier(dpp_control(dpp.control));
  text.modifier("row_mask:" + hex_text(dpp.row_mask));
  text.modifier("bank_mask:" + hex_text(dpp.bank_mask));
}

std::string vector_text(const Instruction& instruction) {
  Text text;
  const int sources = source_count(instruction);
  text.operand(instruction.dst);
  text.operand(instruction.scalar_dst);
  for (int i = 0; i < sources; ++i) text.operand(with_modifiers(instruction, i));
  if (instruction.immediate != 0) {
    const bool small = instruction.immediate <= 10;
    text.modifier("bitop3:" + (small ? std::to_string(instruction.immediate) : hex_text(instruction.immediate)));
  }
  // op_sel has a bit for the destination after those of the sources; two where the result is one of four bytes.
  const auto name = name_of(instruction);
  const bool byte_result = name.starts_with("v_cvt_sr_fp8") || name.starts_with("v_cvt_sr_bf8") ||
                           name.starts_with("v_cvt_scalef32_pk_fp4");
  const unsigned source_bits = (1u << sources) - 1;
  if (byte_result) {
    text.bit_list("op_sel", instruction.op_sel, 4);
  } else {
    const unsigned destination = (instruction.op_sel >> 3 & 1u) << sources;
    text.bit_list("op_sel", (instruction.op_sel & source_bits) | destination, sources + 1);
  }
  output_modifiers(text, instruction);
  if (instruction.sdwa.used) sdwa_modifiers(text, instruction);
  if (instruction.dpp.used) dpp_modifiers(text, instruction.dpp);
  text.flag(instruction.dpp.bound_control, "bound_ctrl:1");
  text.flag(instruction.dpp.fetch_inactive, "fi:1");
  return text.take();
}

std::string packed_text(const Instruction& instruction) {
  Text text;
  const auto name = name_of(instruction);
  const int sources = source_count(instruction);
  const bool mixed = name.starts_with("v_fma_mix") || name.starts_with("v_mad_mix");
  // The dot products of bytes and nibbles have no halves to choose from.
  const bool chooses = !name.starts_with("v_dot4") && !name.starts_with("v_dot8");
  text.operand(instruction.dst);
  for (int i = 0; i < sources; ++i) text.operand(with_modifiers(instruction, i));
  if (chooses) {
    text.bit_list("op_sel", instruction.op_sel, sources);
    text.bit_list("op_sel_hi", instruction.op_sel_hi, sources, !mixed);
  }
  if (!mixed) {
    text.bit_list("neg_lo", instruction.neg, sources);
    text.bit_list("neg_hi", instruction.neg_hi, sources);
  }
  output_modifiers(text, instruction);
  return text.take();
}

std::string matrix_text(const Instruction& instruction, Family family) {
  Text text;
  text.operand(instruction.dst);
  for (int i = 0; i < source_count(instruction); ++i) text.operand(instruction.src[i]);
  const bool scaled = instruction.scale[0].kind != Source::Kind::none;
  if (scaled) {
    for (const Source& scale : instruction.scale) text.operand(scale);
    text.bit_list("op_sel", instruction.op_sel, 3);
    text.bit_list("op_sel_hi", instruction.op_sel_hi, 3, true);
  }
  text.number("cbsz", instruction.cbsz);
  if (!scaled) text.number("abid", instruction.abid);
  // From gfx942 on the field holds the signs of the sources of f64.
  if (family != Family::gfx90a && name_of(instruction).starts_with("v_mfma_f64")) {
    text.bit_list("neg", instruction.blgp, 3);
  } else {
    text.number("blgp", instruction.blgp);
  }
  return text.take();
}

// ---- memory --------------------------------------------------------------------------------------------------------
void cache_flags(Text& text, const Instruction& instruction, Family family) {
  const bool old = family == Family::gfx90a;
  // Cache control knows no temporal hint, and on gfx90a no scope.
  const bool control = instruction.format == Format::mubuf && instruction.src[2].kind == Source::Kind::none;
  if (control && old) return;
  text.flag(instruction.glc, old ? "glc" : "sc0");
  text.flag(instruction.slc && !control, old ? "slc" : "nt");
  text.flag(instruction.dlc, old ? "scc" : "sc1");
}

std::string lds_text(const Instruction& instruction) {
  Text text;
  const auto name = name_of(instruction);
  text.operand(instruction.dst);
  text.operand(instruction.src[0]);
  text.operand(instruction.src[1]);
  text.operand(instruction.src[3]);
  const bool pair = name.starts_with("ds_read2") || name.starts_with("ds_write2") || name.starts_with("ds_wrxchg2");
  if (pair) {
    text.number("offset0", instruction.offset & 255);
    text.number("offset1", instruction.offset >> 8);
  } else {
    text.number("offset", instruction.offset);
  }
  text.flag(instruction.gds, "gds");
  return text.take();
}

std::string flat_text(const Instruction& instruction, Family family) {
  Text text;
  text.operand(instruction.dst);
  if (instruction.vector_address) {
    text.operand(instruction.src[0]);
  } else {
    text.operand("off");
  }
  text.operand(instruction.src[1]);
  if (instruction.format != Format::flat) {
    if (instruction.scalar_base) {
      text.operand(instruction.src[2]);
    } else {
      text.operand("off");
    }
  }
  text.number("offset", instruction.offset);
  cache_flags(text, instruction, family);
  text.flag(instruction.lds && family == Family::gfx90a, "lds");
  return text.take();
}

std::string typed_format(const Instruction& instruction) {
  static constexpr std::array<const char*, 16> data = {
      "INVALID", "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2", "2_10_10_10", "8_8_8_8",
      "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"};
  static constexpr std::array<const char*, 8> number = {"UNORM", "SNORM", "USCALED", "SSCALED",
                                                        "UINT", "SINT", "RESERVED_6", "FLOAT"};
  const std::string data_text = std::string("BUF_DATA_FORMAT_") + data[instruction.data_format & 15];
  const std::string number_text = std::string("BUF_NUM_FORMAT_") + number[instruction.number_format & 7];
  const bool usual_data = instruction.data_format == 1, usual_number = instruction.number_format == 0;
  if (usual_data && usual_number) return "";
  if (usual_number) return "format:[" + data_text + "]";
  return usual_data ? "format:[" + number_text + "]" : "format:[" + data_text + "," + number_text + "]";
}

std::string buffer_text(const Instruction& instruction, Family family) {
  Text text;
  const bool moves = instruction.src[2].kind != Source::Kind::none;
  text.operand(instruction.src[1].kind != Source::Kind::none ? instruction.src[1] : instruction.dst);
  if (moves && instruction.vector_address) text.operand(instruction.src[0]);
  if (moves && !instruction.vector_address) text.operand("off");
  text.operand(instruction.src[2]);
  text.operand(instruction.src[3]);
  if (instruction.format == Format::mtbuf) {
    const std::string format = typed_format(instruction);
    if (!format.empty()) text.modifier(format);
  }
  text.flag(instruction.idxen, "idxen");
  text.flag(instruction.offen, "offen");
  text.number("offset", instruction.offset);
  cache_flags(text, instruction, family);
  text.flag(instruction.lds, "lds");
  return text.take();
}

}  // namespace

std::string operand_text(const Instruction& instruction, Family family) {
  if (family == Family::gfx11) return operand_text_gfx11(instruction);
  switch (instruction.format) {
    case Format::sop1:
    case Format::sop2:
    case Format::sopc: return scalar_alu_text(instruction);
    case Format::sopk: return sopk_text(instruction, family);
    case Format::sopp: return instruction.opcode == 0xffff ? "" : sopp_text(instruction);
    case Format::smem: return scalar_memory_text(instruction);
    case Format::vop1:
    case Format::vop2:
    case Format::vopc:
    case Format::vop3: return vector_text(instruction);
    case Format::vop3p: return packed_text(instruction);
    case Format::mai: return matrix_text(instruction, family);
    case Format::vopd: return "";  // CDNA has none
    case Format::ds: return lds_text(instruction);
    case Format::flat:
    case Format::global:
    case Format::scratch: return flat_text(instruction, family);
    case Format::mubuf:
    case Format::mtbuf: return buffer_text(instruction, family);
  }
  return "";
}

}  // namespace kiln::emulator
