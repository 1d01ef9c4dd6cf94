#include "engine/ir/kernel/evaluate.hpp"

#include <algorithm>
#include <array>

#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/bound/symbols.hpp"

namespace kiln::kernel {
namespace {

using bound::Expr;
using Kind = Expr::Kind;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }

std::optional<std::int64_t> checked(Op op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
    case Op::add: return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::sub: return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::mul: return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::floordiv: if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt; return floor_div(a, b);
    case Op::mod: if (b == 0) return std::nullopt; return b == -1 ? 0 : a - b * floor_div(a, b);
    case Op::ceildiv: if (b == 0 || b == -1) return std::nullopt; return floor_div(a, b) + (a % b != 0 ? 1 : 0);
    case Op::min: return std::min(a, b);
    case Op::max: return std::max(a, b);
    default: return std::nullopt;
  }
}

bool is_checked(Op op) {
  return op == Op::add || op == Op::sub || op == Op::mul || op == Op::floordiv || op == Op::mod || op == Op::ceildiv;
}

std::optional<std::int64_t> compute(const Expr& expr, const std::array<std::int64_t, 3>& args) {
  const DType type = expr.args[0]->type;
  if (is_float(type) || expr.op == Op::bitcast) return std::nullopt;
  if (type == DType::index && expr.args.size() == 2 && expr.type == DType::index) {
    if (const auto exact = checked(expr.op, args[0], args[1])) return exact;
    if (is_checked(expr.op)) return std::nullopt;
  }
  const auto function = bound::function(expr.op, type);
  if (function == nullptr) return std::nullopt;
  return function(bound::integer_value(args[0]), bound::integer_value(args[1]), bound::integer_value(args[2])).integer;
}

std::optional<Interval> corners(Op op, const Interval& a, const Interval& b) {
  std::optional<Interval> result;
  for (const auto x : {a.lo, a.hi}) {
    for (const auto y : {b.lo, b.hi}) {
      const auto value = checked(op, x, y);
      if (!value) return std::nullopt;
      if (!result) result = Interval{*value, *value};
      result = Interval{std::min(result->lo, *value), std::max(result->hi, *value)};
    }
  }
  return result;
}

// What an integer of a width that fits 64 bits may be.
std::optional<Interval> range_of_type(DType type) {
  if (type == DType::boolean) return Interval{0, 1};
  const int bits = dtype_bits(type);
  if (!is_integer(type) || type == DType::index || bits > 32) return std::nullopt;
  if (!is_signed(type)) return Interval{0, (std::int64_t(1) << bits) - 1};
  return Interval{-(std::int64_t(1) << (bits - 1)), (std::int64_t(1) << (bits - 1)) - 1};
}

std::optional<Interval> range_of_binary(Op op, const std::optional<Interval>& a, const std::optional<Interval>& b) {
  if (op == Op::mod && b && b->lo > 0) {
    if (a && a->lo >= 0 && a->hi < b->lo) return a;
    return Interval{0, b->hi - 1};
  }
  if (op == Op::bit_and && b && b->lo >= 0) return Interval{0, b->hi};
  if (op == Op::bit_and && a && a->lo >= 0) return Interval{0, a->hi};
  if (!a || !b) return std::nullopt;
  if ((op == Op::floordiv || op == Op::ceildiv) && b->lo <= 0) return std::nullopt;
  switch (op) {
    case Op::add: case Op::sub: case Op::mul: case Op::floordiv: case Op::ceildiv: case Op::min: case Op::max:
      return corners(op, *a, *b);
    case Op::bit_xor: case Op::bit_or: {
      if (a->lo < 0 || b->lo < 0) return std::nullopt;
      std::int64_t top = 1;
      while (top <= std::max(a->hi, b->hi) && top < (std::int64_t(1) << 61)) top *= 2;
      return Interval{0, top - 1};
    }
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<std::int64_t> evaluate(const Expr& expr, const Known& known) {
  switch (expr.kind) {
    case Kind::integer: return expr.integer;
    case Kind::variable: {
      const auto at = known.find(static_cast<int>(expr.integer));
      return at == known.end() ? std::nullopt : std::optional(at->second);
    }
    case Kind::select: {
      const auto condition = evaluate(*expr.args[0], known);
      if (!condition) return std::nullopt;
      return evaluate(*expr.args[*condition != 0 ? 1 : 2], known);
    }
    case Kind::cast: {
      if (is_float(expr.type) || is_float(expr.args[0]->type)) return std::nullopt;
      const auto value = evaluate(*expr.args[0], known);
      if (!value) return std::nullopt;
      return bound::convert(bound::integer_value(*value), expr.args[0]->type, expr.type).integer;
    }
    case Kind::unary: case Kind::binary: case Kind::call: {
      if (expr.args.empty() || expr.args.size() > 3) return std::nullopt;
      std::array<std::int64_t, 3> values{};
      for (std::size_t i = 0; i < expr.args.size(); ++i) {
        const auto value = evaluate(*expr.args[i], known);
        if (!value) return std::nullopt;
        values[i] = *value;
      }
      return compute(expr, values);
    }
    default: return std::nullopt;
  }
}

Ranges ranges_of(const std::vector<bound::Symbol>& symbols, const bound::Extents& grid) {
  Ranges ranges;
  for (const auto& symbol : symbols) {
    const auto range = bound::range_of(symbol);
    ranges.symbols.push_back({range.lo, range.hi});
  }
  for (const auto& extent : grid) {
    const auto range = bound::range_of(extent, symbols);
    ranges.grid.push_back(range ? std::min(range->hi, bound::grid_extent_max) : bound::grid_extent_max);
  }
  return ranges;
}

namespace {

// Arithmetic of an element type wraps: what leaves the type may be anything of it. Of 64 bits only what cannot leave is
// known.
std::optional<Interval> range_of_elements(const Expr& expr, const Ranges& ranges) {
  if (!is_integer(expr.type) || expr.args[0]->type != expr.type || expr.args[1]->type != expr.type) return std::nullopt;
  const auto of = [&](const Expr& arg) {
    const auto range = range_of(arg, ranges);
    return range ? range : range_of_type(arg.type);
  };
  const auto result = range_of_binary(expr.op, of(*expr.args[0]), of(*expr.args[1]));
  const auto type = range_of_type(expr.type);
  if (type) return result && result->lo >= type->lo && result->hi <= type->hi ? result : type;
  const bool stays = expr.op == Op::mod || expr.op == Op::bit_and || expr.op == Op::min || expr.op == Op::max;
  return stays && expr.type != DType::u64 ? result : std::nullopt;
}

std::optional<Interval> range_by_kind(const Expr& expr, const Ranges& ranges) {
  switch (expr.kind) {
    case Kind::integer: return Interval{expr.integer, expr.integer};
    case Kind::block: {
      const auto axis = static_cast<std::size_t>(expr.integer);
      if (axis >= ranges.grid.size()) return std::nullopt;
      return Interval{0, std::max<std::int64_t>(ranges.grid[axis] - 1, 0)};
    }
    case Kind::variable: {
      const auto at = ranges.variables.find(static_cast<int>(expr.integer));
      return at == ranges.variables.end() ? std::nullopt : std::optional(at->second);
    }
    case Kind::symbol: {
      const auto number = static_cast<std::size_t>(expr.integer);
      return number < ranges.symbols.size() ? std::optional(ranges.symbols[number]) : std::nullopt;
    }
    case Kind::select: {
      const auto a = range_of(*expr.args[1], ranges), b = range_of(*expr.args[2], ranges);
      if (!a || !b) return std::nullopt;
      return Interval{std::min(a->lo, b->lo), std::max(a->hi, b->hi)};
    }
    case Kind::cast: {
      if (expr.type != DType::index) return std::nullopt;
      const auto range = range_of(*expr.args[0], ranges);
      return range ? range : range_of_type(expr.args[0]->type);
    }
    case Kind::unary: {
      if (expr.op != Op::neg) return std::nullopt;
      return range_of_binary(Op::sub, Interval{0, 0}, range_of(*expr.args[0], ranges));
    }
    case Kind::binary: case Kind::call: {
      if (expr.args.size() != 2) return std::nullopt;
      if (expr.type != DType::index) return range_of_elements(expr, ranges);
      return range_of_binary(expr.op, range_of(*expr.args[0], ranges), range_of(*expr.args[1], ranges));
    }
    default: return std::nullopt;
  }
}

bound::Bounds open_bounds(const std::optional<Interval>& range) {
  return range ? bound::Bounds{range->lo, range->hi} : bound::Bounds{};
}

}  // namespace

std::optional<Interval> range_of(const Expr& expr, const Ranges& ranges) {
  const auto range = range_by_kind(expr, ranges);
  if (ranges.assumptions.empty()) return range;
  const bound::Bounds narrowed = ranges.assumptions.narrowed(expr, open_bounds(range));
  if (narrowed.lo == bound::Bounds{}.lo || narrowed.hi == bound::Bounds{}.hi) return range;
  return Interval{narrowed.lo, narrowed.hi};
}

void assume(Ranges& ranges, const Expr& condition) {
  ranges.assumptions.assume(condition, [&](const Expr& expr) {
    const auto range = range_of(expr, ranges);
    return open_bounds(range ? range : range_of_type(expr.type));
  });
}

void for_each_node(const Expr& expr, const std::function<void(const Expr&)>& visit) {
  for (const auto& arg : expr.args) for_each_node(*arg, visit);
  visit(expr);
}

bool is_uniform(const Expr& expr, const std::function<bool(int)>& is_register) {
  bool uniform = true;
  for_each_node(expr, [&](const Expr& node) {
    if (node.kind == Kind::tile && is_register(static_cast<int>(node.integer))) uniform = false;
  });
  return uniform;
}

}  // namespace kiln::kernel
