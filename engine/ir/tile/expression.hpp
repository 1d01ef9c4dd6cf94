// Expressions of tile programs: strings with Python's operators and precedence (PROGRAM.md, "Expressions"), as a tree of
// immutable nodes. Names are unresolved here; binding (engine/specialize) resolves and types them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"

namespace kiln {

// Operators of tile expressions and of bound expressions. Append only (encoded in keys).
enum class Op : std::uint8_t {
  add, sub, mul, div, floordiv, mod, shl, shr, bit_and, bit_or, bit_xor,
  lt, le, gt, ge, eq, ne, logical_and, logical_or,
  neg, bit_not, logical_not,
  // calls
  ceildiv, min, max, exp, exp2, log, log2, log1p, expm1, sqrt, rsqrt, tanh, sigmoid, erf, sin, cos, pow, abs,
  floor, ceil, round, fma, isnan, isinf, popcount, clz, mulhi, bitcast,
};
inline constexpr Op op_last = Op::bitcast;
const char* op_text(Op op);  // "+", "//", "ceildiv"

namespace tile {

inline constexpr int expression_depth_max = 64;

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct Expr {
  enum class Kind : std::uint8_t {
    integer,   // integer
    real,      // real
    boolean,   // integer 0 or 1
    name,      // text: a symbol, option, tunable, let, loop variable, "bid.x", "target.wave", a type's name …
    unary,     // op, args[0]
    binary,    // op, args[0], args[1]  (comparisons chain as in Python: a < b < c is (a < b) && (b < c))
    select,    // args: condition, value if true, value if false — both spellings, `a if c else b` and select(c, a, b)
    call,      // op, args
    cast,      // text: the type's or option's name; args[0]      cast(x, f16)
    element,   // text: tile or tensor; args: one index an axis    A[i, j]
  } kind = Kind::integer;
  Op op = Op::add;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<ExprPtr> args;
  std::uint32_t begin = 0, end = 0;  // bytes of the source string
};

// Parses one expression. The error is parse_error with one Diagnostic: offset, length, message, expected, found, hint,
// source; its pointer is "" (the caller knows where the string stood). Unknown functions and wrong argument counts are
// errors here; unknown names are not.
Result<ExprPtr> parse_expression(std::string_view source);

// The canonical spelling: least parentheses, one space around binary operators. parse(print(e)) equals e, and
// print(parse(print(e))) == print(e).
std::string print_expression(const Expr& expr);

}  // namespace tile
}  // namespace kiln
