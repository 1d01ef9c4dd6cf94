// Expressions that lowering makes itself.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/ir/bound/program.hpp"

namespace kiln::lower::amd {

// One node, taken as given: nothing is folded or checked.
inline bound::ExprPtr make_node(bound::Expr::Kind kind, DType type, std::vector<bound::ExprPtr> args,
                                std::int64_t integer = 0, Op op = Op::add, double real = 0) {
  bound::Expr made;
  made.kind = kind;
  made.type = type;
  made.args = std::move(args);
  made.integer = integer;
  made.op = op;
  made.real = real;
  return std::make_shared<const bound::Expr>(std::move(made));
}

}  // namespace kiln::lower::amd
