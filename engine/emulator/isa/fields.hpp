// Inside the decoder: one function per group of encodings, and what they share. The formats are CDNA's ("Microcode
// Formats" of the MI200, MI300 and CDNA4 instruction set documents).
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/emulator/core/wave.hpp"
#include "engine/emulator/isa/instruction.hpp"

namespace kiln::emulator::fields {

// `count` bits of a word from bit `first`.
constexpr std::uint32_t bits(std::uint32_t word, int first, int count) { return (word >> first) & ((1u << count) - 1); }
// The low `count` bits as a signed number.
constexpr std::int32_t sign_extended(std::uint32_t value, int count) {
  return static_cast<std::int32_t>(value << (32 - count)) >> (32 - count);
}

// By the instruction's name.
inline bool named(const Instruction& instruction, std::string_view name) { return name == instruction.name; }
inline bool name_starts(const Instruction& instruction, std::string_view start) {
  return std::string_view(instruction.name).starts_with(start);
}
inline bool name_contains(const Instruction& instruction, std::string_view part) {
  return std::string_view(instruction.name).find(part) != std::string_view::npos;
}

// A scalar or vector operand code of 9 bits; 255 takes `literal`. False: a code that means nothing.
bool source_of(std::uint32_t code, std::uint32_t literal, Source& source);
Source vector_register(std::uint32_t index, bool accumulation = false);
Source scalar_register(std::uint32_t code);

// Whether the dwords start with one of the encodings that the formats reserve and that LLVM's disassembler does not
// refuse but crashes on: a literal as a source of VOP3, VOP3P or as a buffer's scalar offset, selectors of SDWA that do
// not exist, numbers of scalar results that are no registers, and more of that kind.
bool is_reserved(const std::uint32_t (&words)[5]);

// Each fills format, opcode, operands and modifiers. False: the words do not fit.
bool decode_scalar(Instruction& instruction);              // SOP1, SOP2, SOPK, SOPC, SOPP
bool decode_scalar_memory(Instruction& instruction);       // SMEM
bool decode_vector_short(Instruction& instruction);        // VOP1, VOP2, VOPC with literal, SDWA, DPP
bool decode_vop3(Instruction& instruction);                // VOP3A, VOP3B
bool decode_vop3p(Instruction& instruction);               // VOP3P, VOP3P-MAI, VOP3PX
bool decode_lds(Instruction& instruction);                 // DS
bool decode_flat(Instruction& instruction, Family family); // FLAT, GLOBAL, SCRATCH
bool decode_buffer(Instruction& instruction, Family family);  // MUBUF, MTBUF

}  // namespace kiln::emulator::fields
