// Expressions of kernel programs as text.
#pragma once

#include <functional>
#include <string>

#include "engine/ir/bound/program.hpp"

namespace kiln::kernel {

// Names of what an expression refers to, by id.
struct Names {
  std::vector<std::string> tensors, storages, variables, symbols;  // unique within a launch
};

// Python's operators with the least parentheses; typed constants as "1.5:f16", index constants plain.
std::string print_expression(const bound::Expr& expr, const Names& names);

}  // namespace kiln::kernel
