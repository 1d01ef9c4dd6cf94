// The decoder's fields against LLVM's text, for tests.
#pragma once

#include <set>
#include <string>

#include "engine/base/bytes.hpp"

namespace kiln::emulator {

// Decodes machine code and expects of every instruction in it that the operands which the decoder read, printed, are
// those of LLVM's text. The differences that are allowed, and why, stand in the implementation. Returns the names met.
std::set<std::string> expect_llvm_operands(ByteView code, const std::string& isa);

}  // namespace kiln::emulator
