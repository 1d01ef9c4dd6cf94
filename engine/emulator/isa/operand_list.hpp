// What the two writers of operand text share (operand_text.cpp: CDNA, operand_text_gfx11.cpp: RDNA3).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "engine/emulator/isa/instruction.hpp"

namespace kiln::emulator {

std::string hex_text(std::uint64_t value);
// Numbers that an inline constant could hold are decimal.
std::string number_text(std::uint32_t value);
// Inline constants by their code: "-1", "0.5".
std::string constant_text(int code);
// A literal in the text of s_setreg_imm32, which writes it as the constant that it could have been.
std::string literal_as_constant(std::uint32_t value);

// Operands separated by commas, then modifiers by spaces.
class OperandList {
 public:
  void operand(const std::string& text) { (operands_ += operands_.empty() ? "" : ", ") += text; }
  void modifier(const std::string& text) { (modifiers_ += ' ') += text; }
  void flag(bool set, const char* name) {
    if (set) modifier(name);
  }
  // "name:[1,0,1]" of `count` bits, unless all are `usual`.
  void bit_list(const char* name, unsigned bits, int count, bool usual = false) {
    const unsigned all = (1u << count) - 1;
    if ((bits & all) == (usual ? all : 0)) return;
    std::string text = std::string(name) + ":[";
    for (int i = 0; i < count; ++i) text += std::string(i == 0 ? "" : ",") + ((bits >> i & 1) != 0 ? '1' : '0');
    modifier(text + "]");
  }
  void number(const char* name, long long value) {
    if (value != 0) modifier(name + (":" + std::to_string(value)));
  }
  [[nodiscard]] std::string take() const {
    const std::string text = operands_ + modifiers_;
    return text.starts_with(' ') ? text.substr(1) : text;
  }

 private:
  std::string operands_, modifiers_;
};

// Vector instructions: how many sources there are; the text of source `i` with its signs, |x|, -x, neg(1); clamp and
// omod.
int source_count(const Instruction& instruction);
std::string with_signs(const Instruction& instruction, int i, std::string text);
void output_modifiers(OperandList& text, const Instruction& instruction);

// operand_text of RDNA3's instructions.
std::string operand_text_gfx11(const Instruction& instruction);

}  // namespace kiln::emulator
