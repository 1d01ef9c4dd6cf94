#include "tests/unit/emulator/decoder_comparison.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <regex>
#include <vector>

#include "engine/emulator/isa/decoder.hpp"

namespace kiln::emulator {
namespace {

// The operands of LLVM's text. A tuple of registers is named by its first one: how many there are is the operation's
// and not in the encoding. The same for pairs of special registers and the 64-bit constant 1/(2 pi).
std::string operands_of(const std::string& text) {
  static const std::regex tuple(R"(\b(ttmp|[vsa])\[(\d+):\d+\])"), low(R"(\b(vcc|exec|flat_scratch|xnack_mask)_lo\b)"),
      wide("0\\.15915494309189532");
  const auto name_end = text.find_first_of(" \t");
  if (name_end == std::string::npos) return "";
  const std::string operands = text.substr(text.find_first_not_of(" \t", name_end));
  const std::string narrow = std::regex_replace(std::regex_replace(operands, tuple, "$1$2"), low, "$1");
  return std::regex_replace(narrow, wide, "0.15915494");
}

std::vector<std::string> tokens_of(const std::string& text) {
  std::vector<std::string> tokens(1);
  for (const char c : text) {
    if (c != ' ' && c != ',') {
      tokens.back() += c;
    } else if (!tokens.back().empty()) {
      tokens.emplace_back();
    }
  }
  if (tokens.back().empty()) tokens.pop_back();
  return tokens;
}

// Without signs and absolute values, and without the call that marks a literal that could have been a constant.
std::string bare(std::string token) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view call : {"neg(", "sext(", "lit("}) {
      if (!token.starts_with(call) || !token.ends_with(")")) continue;
      token = token.substr(call.size(), token.size() - call.size() - 1);
      again = true;
    }
    if (token.starts_with("-|")) token.erase(0, 1);
    if (token.starts_with("|") && token.ends_with("|")) {
      token = token.substr(1, token.size() - 2);
      again = true;
    }
  }
  return token;
}
std::string unsigned_part(const std::string& token) {
  const std::string inner = bare(token);
  return inner.starts_with("-") ? inner.substr(1) : inner;
}

// 16-bit operations: LLVM shows the half of a literal that they use, and the bits of a float constant that an integer
// operation reads.
bool same_half(const std::string& llvm, const std::string& ours) {
  static const std::map<std::string, std::string> constants = {
      {"0.5", "0x3800"}, {"-0.5", "0xb800"}, {"1.0", "0x3c00"}, {"-1.0", "0xbc00"}, {"2.0", "0x4000"},
      {"-2.0", "0xc000"}, {"4.0", "0x4400"}, {"-4.0", "0xc400"}, {"0.15915494", "0x3118"}};
  const auto constant = constants.find(ours);
  if (constant != constants.end()) return constant->second == llvm;
  if (!ours.starts_with("0x") || llvm.empty() || (llvm[0] < '0' || llvm[0] > '9')) return false;
  return std::strtoul(llvm.c_str(), nullptr, 0) == (std::strtoul(ours.c_str(), nullptr, 16) & 0xffff);
}

// Operations with integer operands beside floats (and RDNA3's on 16-bit integers): the encoding has bits for their
// sign, which mean nothing, and LLVM leaves them out.
bool ignores_signs(std::string_view name) {
  for (const std::string_view start : {"v_cvt_", "v_ldexp_", "v_trig_preop", "v_dot2c_i32", "v_dot4c_i32",
                                       "v_dot8c_i32", "v_pk_fmac_f16", "v_ashr_pk_", "v_cmp_class_", "v_cmpx_class_"}) {
    if (name.starts_with(start)) return true;
  }
  return false;
}

// RDNA3's operations on halves of registers. LLVM says which half in the registers' names, by OP_SEL, or by neither.
bool same_without_half(std::string llvm, std::string ours) {
  for (std::string* token : {&llvm, &ours}) {
    for (std::size_t at = 0; at + 1 < token->size(); ++at) {
      const bool half = (*token)[at] == '.' && ((*token)[at + 1] == 'l' || (*token)[at + 1] == 'h');
      if (half) token->erase(at, 2);
    }
  }
  return llvm == ours;
}
bool names_halves(const std::vector<std::string>& tokens) {
  for (const std::string& token : tokens)
    if (token.find(".l") != std::string::npos || token.find(".h") != std::string::npos) return true;
  return false;
}
bool is_packed(std::string_view name) {
  for (const std::string_view start : {"v_pk_", "v_dot2_f32", "v_fma_mix", "v_wmma_", "v_permlane"})
    if (name.starts_with(start)) return true;
  return false;
}
std::string without_selection(const std::string& text) {
  static const std::regex selection(R"( ?op_sel:\[[01,]*\])");
  return std::regex_replace(text, selection, "");
}

bool same_operands(const std::string& llvm, const std::string& ours, std::string_view name, Family family) {
  if (llvm == ours) return true;
  // Messages, swizzle patterns and what the scheduler is told have names in LLVM's text for what is one number in the
  // encoding; v_nop's DPP is not read; v_mfma_ld_scale is never an instruction of its own.
  for (const std::string_view other : {"s_sendmsg", "ds_swizzle_b32", "v_nop", "v_mfma_ld_scale_b32", "s_delay_alu",
                                       "s_waitcnt_depctr", "s_version"})
    if (name.starts_with(other)) return true;
  // LLVM prints the last lane of these as 0 where it is 2, whatever their words say.
  if (name.starts_with("v_fma_mixlo") && llvm.find("quad_perm") != llvm.npos) return true;
  if (name.starts_with("v_fma_mixhi") && llvm.find("quad_perm") != llvm.npos) return true;
  const bool halves = family == Family::gfx11 && !is_packed(name);
  auto expected = tokens_of(halves ? without_selection(llvm) : llvm);
  for (std::string& token : expected) {  // two ways to mark the same negated literal
    if (token.starts_with("-lit(")) token = "neg(" + token.substr(5);
    else if (const auto mark = token.find("|lit("); mark != token.npos && token.ends_with(")|"))  // |lit(x)| is |x|
      token = token.substr(0, mark + 1) + token.substr(mark + 5, token.size() - mark - 7) + "|";
  }
  const auto found = tokens_of(halves ? without_selection(ours) : ours);
  const bool says_half = !halves || names_halves(expected);
  if (expected.size() != found.size()) return false;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (expected[i] == found[i]) continue;
    if (bare(expected[i]) != expected[i] && bare(expected[i]) == found[i] && expected[i].starts_with("lit(")) continue;
    if (!says_half && same_without_half(bare(expected[i]), bare(found[i]))) continue;
    const bool integers = (name.find("16") != name.npos && !name.ends_with("f16")) || name.starts_with("v_alignb");
    const bool no_signs = ignores_signs(name) || (halves && integers);
    if (no_signs && unsigned_part(expected[i]) == unsigned_part(found[i])) continue;
    if (no_signs && !says_half && same_without_half(unsigned_part(expected[i]), unsigned_part(found[i]))) continue;
    const bool half = name.find("16") != std::string_view::npos || name.starts_with("v_fma_mix") ||
                      (halves && name.starts_with("v_alignb"));
    if (half && same_half(bare(expected[i]), bare(found[i]))) continue;
    return false;
  }
  return true;
}

}  // namespace

std::set<std::string> expect_llvm_operands(ByteView bytes, const std::string& isa) {
  std::set<std::string> names;
  const auto code = decode(bytes, 0, isa);
  const auto family = family_of(isa);
  if (!code || !family) {
    ADD_FAILURE() << "nothing decoded for " << isa;
    return names;
  }
  int shown = 0;
  for (const auto& instruction : code->instructions) {
    constexpr std::uint32_t no_operation = 0xbf800000;  // what sweeps are padded with
    if (instruction.opcode == 0xffff || instruction.words[0] == no_operation) continue;
    names.insert(instruction.name);
    const std::string& text = code->text[instruction.index];
    const std::string ours = operand_text(instruction, *family);
    if (same_operands(operands_of(text), ours, instruction.name, *family)) continue;
    if (++shown > 20) continue;
    ADD_FAILURE() << std::hex << instruction.words[0] << " " << instruction.words[1] << ": " << text << "\nours: "
                  << ours;
  }
  return names;
}

}  // namespace kiln::emulator
