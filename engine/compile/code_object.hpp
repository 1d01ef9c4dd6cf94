// AMD code objects (ELF), read without a library: flags, metadata note, functions. Bytes may be hostile: every offset
// is checked, nesting and counts are limited, nothing throws. Formats: LLVM's AMDGPUUsage, "Code Object" and "Code
// Object Metadata".
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"
#include "engine/compile/metadata.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::compile {

struct CodeFunction {
  std::string name;
  std::uint64_t address = 0;        // virtual
  std::uint64_t offset = 0, size = 0;  // in the object's bytes
};
struct CodeKernel {
  std::string name, symbol;         // symbol: of the kernel descriptor, "<name>.kd"
  Resources resources;  // as the note says; agprs 0 where it has no such field; instruction counts not filled
  std::vector<KernelArgument> arguments;
  std::int64_t wave = 0, threads_max = 0;
  std::vector<std::int64_t> block;  // x y z that it must be launched with; empty: any
};
struct CodeObject {
  std::uint32_t elf_flags = 0;
  std::string isa;                  // "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
  std::vector<CodeKernel> kernels;
  std::vector<std::string> print_formats;  // "amdhsa.printf": NUMBER:ARGUMENTS:SIZE:…:FORMAT, or 0:0:HASH,FORMAT
  std::vector<CodeFunction> functions;  // from the symbol table, kernels and others
  std::uint64_t lines_offset = 0, lines_size = 0;  // of .debug_line in the object's bytes; 0 without
  std::vector<std::pair<std::uint64_t, std::uint64_t>> debug_sections;  // offset, size: .debug_str, .debug_line_str
};
// Errors: corrupt, with what is wrong.
Result<CodeObject> read_code_object(ByteView bytes);

// Whether the object may be loaded as a kernel for `target`: ELF machine and e_flags. Errors: corrupt, with both flags.
Status check_code_object(const CodeObject& object, const target::Target& target);

}  // namespace kiln::compile
