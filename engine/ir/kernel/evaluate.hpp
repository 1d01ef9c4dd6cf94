// Index expressions of kernel programs, evaluated where their variables are known. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "engine/ir/bound/assumptions.hpp"
#include "engine/ir/bound/program.hpp"

namespace kiln::kernel {

// What is known about variables: exact values.
using Known = std::map<int, std::int64_t>;

// The value of an expression of type index (or boolean), nullopt when it depends on what is not in `known`: block ids,
// scalars, elements. Also nullopt for a division by zero or a result beyond 64 bits.
std::optional<std::int64_t> evaluate(const bound::Expr& expr, const Known& known);

// Inclusive bounds of an expression.
struct Interval { std::int64_t lo = 0, hi = 0; };
// What variables and block ids range over; a variable that is absent may be anything.
struct Ranges {
  std::map<int, Interval> variables;
  std::vector<Interval> symbols;
  std::vector<std::int64_t> grid;  // the most along each axis
  bound::Assumptions assumptions;  // conditions that hold
};
// With those of a launch's block ids and symbols.
Ranges ranges_of(const std::vector<bound::Symbol>& symbols, const bound::Extents& grid);
// From now on the condition holds.
void assume(Ranges& ranges, const bound::Expr& condition);
// Bounds of an index expression's values, nullopt when nothing is known.
std::optional<Interval> range_of(const bound::Expr& expr, const Ranges& ranges);

// Calls `visit` for the expression and all below it, operands before the node itself.
void for_each_node(const bound::Expr& expr, const std::function<void(const bound::Expr&)>& visit);

// Whether all lanes and waves of a block compute the same value: no element of a register array takes part.
// `is_register` says which tile ids are register arrays.
bool is_uniform(const bound::Expr& expr, const std::function<bool(int)>& is_register);

}  // namespace kiln::kernel
