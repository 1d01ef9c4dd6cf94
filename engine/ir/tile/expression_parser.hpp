// The parser behind parse_expression and the region strings of `copy`; used inside engine/ir/tile only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/ir/tile/expression.hpp"

namespace kiln::tile {

// One axis of a region as parsed: `start` and, for ranges, the colon.
struct RegionAxis {
  ExprPtr start;
  bool range = false;
};
struct RegionText {
  std::string name;
  std::vector<RegionAxis> at;  // empty: the whole of a tile
};

// `name` or `name[m, k:, …]`. Offsets of the expressions count in the whole of `source`. Errors as parse_expression's.
Result<RegionText> parse_region(std::string_view source);
// One axis of a region: "m" or "m:".
Result<RegionAxis> parse_region_axis(std::string_view source);

// Whether `name` may be declared: [A-Za-z_][A-Za-z0-9_]{0,63}.
bool is_name(std::string_view name);
// Words of the expression language, type names and functions: they cannot be declared.
bool is_reserved(std::string_view name);
// Binding strength of an infix operator, 1 (weakest) upwards; comparisons are `comparison_level`.
int operator_level(Op op);
inline constexpr int conditional_level = 0, or_level = 1, and_level = 2, not_level = 3, comparison_level = 4,
                     bit_or_level = 5, bit_xor_level = 6, bit_and_level = 7, shift_level = 8, additive_level = 9,
                     multiplicative_level = 10, unary_level = 11, primary_level = 12;

struct Function {
  std::string_view name;
  Op op;
  std::size_t args_min, args_max;
};
const std::vector<Function>& functions();  // all but cast and select, which are expressions of their own

}  // namespace kiln::tile
