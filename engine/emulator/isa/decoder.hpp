// From machine code to instructions. The name and the length of each instruction come from LLVM's MC disassembler; its
// fields are read from the encoding by ourselves (isa/fields.cpp), by the formats of AMD's documents.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"
#include "engine/emulator/core/wave.hpp"
#include "engine/emulator/isa/instruction.hpp"

namespace kiln::emulator {

struct Code {
  std::vector<Instruction> instructions;   // in order of address; not bound yet
  std::vector<std::uint32_t> index_of;     // dword offset from `begin` -> index; ~0u inside an instruction
  std::vector<std::string> text;           // by index: as LLVM prints it, "v_add_f32_e32 v0, v1, v2"
  std::uint64_t begin = 0;                 // address of the first byte
  std::shared_ptr<const std::deque<std::string>> names;  // what Instruction::name points into
};

// Sweeps `code` (a multiple of 4 bytes) from its start. `address`: of its first byte as kernels see it. `isa`:
// "gfx942:sramecc+:xnack-". A dword that is no instruction becomes one named "(undecodable)" of 4 bytes, so that data
// and padding among code do no harm until they are executed. Errors: unsupported (unknown isa, LLVM built without
// AMDGPU), corrupt (size). One thread at a time per call; calls are independent.
Result<Code> decode(ByteView code, std::uint64_t address, const std::string& isa);

// The family of an isa name, for the core. Errors: unsupported.
Result<Family> family_of(const std::string& isa);

// Fills the operand and modifier fields of `instruction` from its words and format (isa/fields*.cpp). False: the format
// does not fit the words.
bool decode_fields(Instruction& instruction, Family family);

// The operands as assembly text, from the fields, for the test that compares them with LLVM's text of the same
// instruction: "v0, v1, v2".
std::string operand_text(const Instruction& instruction, Family family);

}  // namespace kiln::emulator
