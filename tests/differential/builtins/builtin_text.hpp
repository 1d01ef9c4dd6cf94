// C text with a kernel for each of clang's built-ins of a target.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.hpp"

namespace kiln::test {

struct Builtin {
  std::string name;                    // without __builtin_amdgcn_
  std::vector<std::string> arguments;  // types, or constants with '=' before them
  bool has_result = true;
  std::vector<std::string> targets;
};

// Reads builtins.txt. Errors: io_error; parse_error with the line.
Result<std::vector<Builtin>> read_builtins(const std::string& path);

// The kernel of the n-th of `builtins` is "k<n>"; those that the target lacks have none.
std::string text_of(const std::vector<Builtin>& builtins, const std::string& target);

}  // namespace kiln::test
