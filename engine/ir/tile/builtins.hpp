// The built-in programs: a folder of tile programs (kernels/programs), one file a program, named after it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/ir/tile/program.hpp"

namespace kiln::tile {

// Names of the programs in `folder`, sorted: "flash_attention", "gemm", …. Errors: the folder cannot be read, for want
// of descriptors too.
Result<std::vector<std::string>> list_builtins(const std::string& folder);

// The same; empty when the folder cannot be read.
std::vector<std::string> builtin_names(const std::string& folder);

// The text of one. Errors: not_found with the nearest name as context, io_error. `name` is checked: no path gets
// through.
Result<std::string> builtin_text(const std::string& folder, std::string_view name);

// The program itself. Errors as above, and read_program's.
Result<Program> load_builtin(const std::string& folder, std::string_view name);

}  // namespace kiln::tile
