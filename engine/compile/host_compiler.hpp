// The host compiler: LLVM IR text to a relocatable x86-64 object. No LLVM type shows here.
#pragma once

#include <memory>
#include <string>

#include "engine/compile/compiler.hpp"
#include "engine/lower/lower.hpp"

namespace kiln::compile {

struct HostObject {
  Bytes object;                 // ELF, relocatable; undefined symbols: memcpy and memset at most
  std::int64_t code_bytes = 0;  // of all functions
  std::string log;              // warnings, may be empty
};
// Parses, verifies, optimizes and compiles one module for the target's features. Errors: compile_failed, with LLVM's
// words and the line of the text. One thread at a time.
Result<HostObject> compile_llvm_text(const std::string& text, const target::Target& target);

std::unique_ptr<Compiler> make_host_compiler();

// Everything in a host kernel's metadata that does not need the object.
Metadata host_metadata(const bound::Program& program, const lower::Lowered& lowered, const std::string& text);

}  // namespace kiln::compile
