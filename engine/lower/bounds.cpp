#include "engine/lower/bounds.hpp"

#include <algorithm>
#include <numeric>

#include "engine/ir/bound/symbols.hpp"

namespace kiln::lower {
namespace {

using bound::Expr;
using Wide = __int128;

std::int64_t clamp(Wide value) {
  if (value > Wide(unbounded)) return unbounded;
  if (value < -Wide(unbounded)) return -unbounded;
  return static_cast<std::int64_t>(value);
}
bool known(const Interval& i) { return i.lo > -unbounded && i.hi < unbounded; }

Interval type_range(DType type) {
  if (type == DType::boolean) return {0, 1};
  if (!is_integer(type) || type == DType::index) return anything;
  const int bits = dtype_bits(type);
  if (bits >= 62) return is_signed(type) ? anything : Interval{0, unbounded};
  const std::int64_t span = std::int64_t(1) << (is_signed(type) ? bits - 1 : bits);
  return is_signed(type) ? Interval{-span, span - 1} : Interval{0, span - 1};
}
// An operation whose result may leave its operands' type, and then wraps.
bool may_wrap(const Expr& expr) {
  switch (expr.op) {
    case Op::add: case Op::sub: case Op::mul: case Op::shl: case Op::neg: case Op::abs: return true;
    default: return false;
  }
}
// Integer arithmetic of an element type wraps: what leaves the type may be anything of it. Index arithmetic does not.
// Of 64 bits a saturated end says nothing of where the value stays: behind arithmetic that may wrap, and where bits of
// u64 are taken as signed, it may be anything.
Interval wrapped(Interval interval, const Expr& expr) {
  const Interval range = type_range(expr.type);
  const bool operation = expr.kind == Expr::Kind::unary || expr.kind == Expr::Kind::binary || expr.kind == Expr::Kind::call;
  if (operation && expr.type != DType::index && may_wrap(expr) && !known(interval)) return range;
  if (expr.kind == Expr::Kind::cast && expr.args[0]->type == DType::u64 && interval.hi >= unbounded) return range;
  if (expr.type == DType::index) return interval;
  return interval.lo >= range.lo && interval.hi <= range.hi ? interval : range;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

// Of two lower or two upper ends: one that is not known stays so.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  for (const auto end : {a, b})
    if (end >= unbounded || end <= -unbounded) return end;
  return clamp(Wide(a) + b);
}

Interval multiply(const Interval& a, const Interval& b) {
  const std::int64_t products[] = {clamp(Wide(a.lo) * b.lo), clamp(Wide(a.lo) * b.hi), clamp(Wide(a.hi) * b.lo),
                                   clamp(Wide(a.hi) * b.hi)};
  return {*std::min_element(products, products + 4), *std::max_element(products, products + 4)};
}
bound::Bounds open_bounds(const Interval& i) {
  const bound::Bounds open;
  return {i.lo <= -unbounded ? open.lo : i.lo, i.hi >= unbounded ? open.hi : i.hi};
}
Interval hull(const Interval& a, const Interval& b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Interval divide(const Interval& a, const Interval& b, bool up) {
  if (b.lo <= 0 || !known(a) || !known(b)) return b.lo > 0 && a.lo >= 0 ? Interval{0, a.hi} : anything;
  const auto one = [&](std::int64_t x, std::int64_t y) { return up ? -floor_div(-x, y) : floor_div(x, y); };
  const std::int64_t q[] = {one(a.lo, b.lo), one(a.lo, b.hi), one(a.hi, b.lo), one(a.hi, b.hi)};
  return {*std::min_element(q, q + 4), *std::max_element(q, q + 4)};
}

Interval modulo(const Interval& a, const Interval& b) {
  if (b.lo <= 0 || b.hi >= unbounded) return anything;
  if (a.lo >= 0 && a.hi < b.lo) return a;
  return {0, b.hi - 1};
}

Interval binary_interval(const Expr& expr, const Interval& a, const Interval& b) {
  switch (expr.op) {
    case Op::add: return {sum(a.lo, b.lo), sum(a.hi, b.hi)};
    case Op::sub: return {sum(a.lo, -b.hi), sum(a.hi, -b.lo)};
    case Op::mul: return multiply(a, b);
    case Op::floordiv: return divide(a, b, false);
    case Op::ceildiv: return divide(a, b, true);
    case Op::mod: return modulo(a, b);
    case Op::min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case Op::max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case Op::shl:
      return b.lo == b.hi && b.lo >= 0 && b.lo < 62 ? multiply(a, {std::int64_t(1) << b.lo, std::int64_t(1) << b.lo})
                                                    : anything;
    case Op::shr:
      return b.lo == b.hi && b.lo >= 0 && b.lo < 62 && known(a) ? Interval{a.lo >> b.lo, a.hi >> b.lo} : anything;
    case Op::bit_and:
      if (a.lo >= 0 || b.lo >= 0) {
        return {0, a.lo >= 0 && b.lo >= 0 ? std::min(a.hi, b.hi) : a.lo >= 0 ? a.hi : b.hi};
      }
      return anything;
    default: return anything;
  }
}

Interval of_values(const Expr& expr, const Facts& facts) {
  switch (expr.kind) {
    case Expr::Kind::integer: return {expr.integer, expr.integer};
    case Expr::Kind::block: return {0, std::max<std::int64_t>(facts.grid(static_cast<int>(expr.integer)) - 1, 0)};
    case Expr::Kind::variable: return facts.interval_of(static_cast<int>(expr.integer));
    case Expr::Kind::symbol: {
      const auto range = bound::range_of(facts.symbols()[static_cast<std::size_t>(expr.integer)]);
      return {range.lo, range.hi};
    }
    case Expr::Kind::select:
      return hull(interval_of(*expr.args[1], facts), interval_of(*expr.args[2], facts));
    case Expr::Kind::cast:
      return is_float(expr.args[0]->type) ? anything : interval_of(*expr.args[0], facts);
    case Expr::Kind::unary: {
      if (expr.op != Op::neg) return anything;
      const Interval a = interval_of(*expr.args[0], facts);
      return {-a.hi, -a.lo};
    }
    case Expr::Kind::binary:
    case Expr::Kind::call:
      if (expr.op == Op::abs && expr.args.size() == 1) {
        const Interval a = interval_of(*expr.args[0], facts);
        return {a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, std::max(std::abs(a.lo), std::abs(a.hi))};
      }
      if (expr.args.size() == 2 && !is_float(expr.args[0]->type)) {
        return binary_interval(expr, interval_of(*expr.args[0], facts), interval_of(*expr.args[1], facts));
      }
      return anything;
    default: return anything;
  }
}

std::int64_t binary_divisor(const Expr& expr, std::int64_t a, std::int64_t b) {
  switch (expr.op) {
    case Op::add: case Op::sub: case Op::min: case Op::max: return std::gcd(a, b);
    case Op::mul: {
      if (a == 0 || b == 0) return 0;
      const Wide product = Wide(a) * b;
      return product < Wide(unbounded) ? static_cast<std::int64_t>(product) : a;
    }
    case Op::shl: {
      const auto by = constant_of(*expr.args[1]);
      return by && *by >= 0 && *by < 32 && a < (std::int64_t(1) << 30) ? a << *by : 1;
    }
    case Op::mod: return std::gcd(a, b);
    case Op::floordiv: case Op::ceildiv: {
      const auto by = constant_of(*expr.args[1]);
      if (a == 0) return 0;
      return by && *by > 0 && a % *by == 0 ? a / *by : 1;
    }
    default: return 1;
  }
}

}  // namespace

Facts::Facts(bound::Extents grid, std::vector<bound::Symbol> symbols)
    : grid_(std::move(grid)), symbols_(std::move(symbols)) {
  for (const auto& extent : grid_)
    grid_most_.push_back(std::min(lower::interval_of(extent, *this).hi, bound::grid_extent_max));
}
void Facts::set(int variable, Interval interval, std::int64_t divisor) {
  if (variable < 0) return;
  if (static_cast<std::size_t>(variable) >= variables_.size()) variables_.resize(variable + 1);
  variables_[variable] = {true, interval, divisor, {}};
}
void Facts::set_loop(int variable, const Expr& from, const Expr& to, const Expr& step) {
  const Interval first = lower::interval_of(from, *this), end = lower::interval_of(to, *this);
  const std::int64_t by = std::max<std::int64_t>(constant_of(step).value_or(1), 1);
  std::int64_t last = end.hi >= unbounded ? unbounded : end.hi - 1;
  if (first.lo == first.hi && last < unbounded && last >= first.lo) last = first.lo + (last - first.lo) / by * by;
  set(variable, {first.lo, std::max(last, first.lo)}, std::gcd(lower::divisor_of(from, *this), by));
  if (variable < 0 || symbols_.empty()) return;
  variables_[variable].origin = {nullptr, std::make_shared<const Expr>(from), std::make_shared<const Expr>(to), by};
}
void Facts::set_let(int variable, const Expr& value) {
  set(variable, lower::interval_of(value, *this), lower::divisor_of(value, *this));
  assumptions_.set_condition(variable, value);
  if (variable < 0 || symbols_.empty() || value.type != DType::index) return;
  variables_[variable].origin.value = std::make_shared<const Expr>(value);
}
void Facts::assume(const Expr& condition) {
  assumptions_.assume(condition, [&](const Expr& expr) { return open_bounds(lower::interval_of(expr, *this)); });
}
Interval Facts::narrowed(const Expr& expr, Interval interval) const {
  if (assumptions_.empty()) return interval;
  const bound::Bounds bounds = assumptions_.narrowed(expr, open_bounds(interval));
  return {clamp(bounds.lo), clamp(bounds.hi)};
}
void Facts::set_like(int variable, int like, Interval interval) {
  const Origin origin = origin_of(like);
  set(variable, interval, divisor_of(like));
  if (variable >= 0) variables_[variable].origin = origin;
}
const Facts::Origin& Facts::origin_of(int variable) const {
  static const Origin nothing;
  const auto at = static_cast<std::size_t>(variable);
  return variable >= 0 && at < variables_.size() && variables_[at].set ? variables_[at].origin : nothing;
}
bound::Extent Facts::grid_extent(int axis) const {
  return axis >= 0 && static_cast<std::size_t>(axis) < grid_.size() ? grid_[axis] : bound::Extent(1);
}
Interval Facts::interval_of(int variable) const {
  const auto at = static_cast<std::size_t>(variable);
  return variable >= 0 && at < variables_.size() && variables_[at].set ? variables_[at].interval : anything;
}
std::int64_t Facts::divisor_of(int variable) const {
  const auto at = static_cast<std::size_t>(variable);
  return variable >= 0 && at < variables_.size() && variables_[at].set ? variables_[at].divisor : 1;
}
std::int64_t Facts::grid(int axis) const {
  return axis >= 0 && static_cast<std::size_t>(axis) < grid_most_.size() ? grid_most_[axis] : 1;
}

Interval interval_of(const Expr& expr, const Facts& facts) {
  if (is_float(expr.type)) return anything;
  const Interval range = type_range(expr.type), interval = wrapped(of_values(expr, facts), expr);
  return facts.narrowed(expr, {std::max(interval.lo, range.lo), std::min(interval.hi, range.hi)});
}

std::int64_t divisor_of(const Expr& expr, const Facts& facts) {
  if (expr.kind == Expr::Kind::integer) return std::abs(expr.integer);
  if (expr.type != DType::index) return 1;  // wrapping arithmetic keeps no divisors
  switch (expr.kind) {
    case Expr::Kind::block: return facts.grid(static_cast<int>(expr.integer)) <= 1 ? 0 : 1;
    case Expr::Kind::variable: return facts.divisor_of(static_cast<int>(expr.integer));
    case Expr::Kind::symbol: return bound::divisor_of(expr, facts.symbols());
    case Expr::Kind::select: return std::gcd(divisor_of(*expr.args[1], facts), divisor_of(*expr.args[2], facts));
    case Expr::Kind::unary: return expr.op == Op::neg ? divisor_of(*expr.args[0], facts) : 1;
    case Expr::Kind::binary:
    case Expr::Kind::call:
      return expr.args.size() == 2
                 ? binary_divisor(expr, divisor_of(*expr.args[0], facts), divisor_of(*expr.args[1], facts))
                 : 1;
    default: return 1;
  }
}

Interval interval_of(const bound::Extent& extent, const Facts& facts) {
  return extent.is_static() ? Interval{extent.value(), extent.value()} : interval_of(*extent.expr(), facts);
}
std::int64_t divisor_of(const bound::Extent& extent, const Facts& facts) {
  return extent.is_static() ? std::abs(extent.value()) : divisor_of(*extent.expr(), facts);
}

bool stays_inside(const Expr& start, std::int64_t extent, const bound::Extent& limit, const Facts& facts) {
  const Interval at = interval_of(start, facts);
  if (at.lo < 0 || at.hi >= unbounded) return false;
  if (at.hi <= interval_of(limit, facts).lo - extent) return true;
  return !limit.is_static() && stays_below(start, extent, *limit.expr(), facts);
}

std::string how_it_leaves(const Expr& start, std::int64_t extent, const bound::Extent& limit, const Facts& facts) {
  const Interval at = interval_of(start, facts);
  if (at.lo <= -unbounded || at.hi >= unbounded) return "index is not known before the launch";
  if (at.lo < 0) return "index may be " + std::to_string(at.lo);
  if (!limit.is_static()) return "index may reach the extent " + bound::print(limit, facts.symbols());
  return "index may reach " + std::to_string(at.hi + extent - 1) + ", extent " + std::to_string(limit.value());
}

bound::ExprPtr substitute(const bound::ExprPtr& expr, int variable, const bound::ExprPtr& by) {
  if (!expr) return expr;
  if (expr->kind == Expr::Kind::variable) return expr->integer == variable ? by : expr;
  if (expr->args.empty()) return expr;
  std::vector<bound::ExprPtr> args;
  bool changed = false;
  for (const auto& arg : expr->args) {
    args.push_back(substitute(arg, variable, by));
    changed = changed || args.back() != arg;
  }
  if (!changed) return expr;
  if (expr->kind == Expr::Kind::binary && expr->type == DType::index) return bound::make_binary(expr->op, args[0],
      args[1]);
  Expr copy = *expr;
  copy.args = std::move(args);
  return std::make_shared<const Expr>(std::move(copy));
}

bool uses_variable(const Expr& expr, const std::vector<bool>& wanted) {
  if (expr.kind == Expr::Kind::variable) {
    return expr.integer >= 0 && static_cast<std::size_t>(expr.integer) < wanted.size() && wanted[expr.integer];
  }
  return std::any_of(expr.args.begin(), expr.args.end(), [&](const auto& arg) { return uses_variable(*arg, wanted); });
}

std::optional<std::int64_t> constant_of(const Expr& expr) {
  if (expr.kind == Expr::Kind::integer) return expr.integer;
  return std::nullopt;
}

}  // namespace kiln::lower
