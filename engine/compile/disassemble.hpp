// Disassembly of AMD machine code by comgr, the library that hipRTC brings and loads. Own declarations, found in this
// process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"

namespace kiln::compile {

struct Instruction {
  std::uint64_t address = 0;   // from the function's start
  int bytes = 0;
  std::string text;            // "v_mfma_f32_32x32x8_f16 v[0:15], v[0:1], v[2:3], 0"
  std::uint32_t line = 0;      // of the source, where the caller looked it up; 0: not known
  [[nodiscard]] std::string mnemonic() const { return text.substr(0, text.find(' ')); }
};

// The instructions of one function's machine code, in order. `isa` as in the object's note
// ("amdgcn-amd-amdhsa--gfx942"). Needs a comgr in this process (after the first hipRTC compile) or on the loader's
// path: else no_compiler. Errors: compile_failed, with the offset of what does not decode. One thread at a time.
Result<std::vector<Instruction>> disassemble(ByteView code, const std::string& isa);

// v_mfma*, v_smfmac*, v_wmma*, v_swmmac*.
bool is_matrix_instruction(const std::string& mnemonic);

}  // namespace kiln::compile
