#include "engine/ir/bound/assumptions.hpp"

#include <algorithm>
#include <optional>

namespace kiln::bound {
namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
constexpr int depth_max = 64;                // of named conditions in named conditions
constexpr std::size_t held_max = 64;         // what is asked for every node of every index

// Whether it gives the same value each time while its variables stay as they are.
bool is_steady(const Expr& expr) {
  if (expr.kind == Expr::Kind::tile || expr.kind == Expr::Kind::tensor || expr.kind == Expr::Kind::scalar) return false;
  return std::all_of(expr.args.begin(), expr.args.end(), [](const auto& arg) { return is_steady(*arg); });
}

std::optional<Op> opposite(Op op) {
  switch (op) {
    case Op::lt: return Op::ge;
    case Op::le: return Op::gt;
    case Op::gt: return Op::le;
    case Op::ge: return Op::lt;
    case Op::eq: return Op::ne;
    case Op::ne: return Op::eq;
    default: return std::nullopt;
  }
}

// Ends that are not known stay so.
std::int64_t moved(std::int64_t end, std::int64_t by) {
  std::int64_t result = 0;
  if (end == least || end == greatest) return end;
  if (__builtin_add_overflow(end, by, &result)) return by < 0 ? least : greatest;
  return result;
}
Bounds moved(Bounds bounds, std::int64_t by) { return {moved(bounds.lo, by), moved(bounds.hi, by)}; }

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && a < 0 ? 1 : 0); }
// Of a where a * factor lies in `bounds`; factor > 0.
Bounds divided(Bounds bounds, std::int64_t factor) {
  if (bounds.lo != least) bounds.lo = floor_div(bounds.lo, factor) + (bounds.lo % factor != 0 ? 1 : 0);
  if (bounds.hi != greatest) bounds.hi = floor_div(bounds.hi, factor);
  return bounds;
}

}  // namespace

bool same_expression(const Expr& a, const Expr& b) {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.op != b.op || a.type != b.type || a.integer != b.integer || a.args.size() != b.args.size())
    return false;
  if (a.kind == Expr::Kind::real) return false;
  for (std::size_t i = 0; i < a.args.size(); ++i) {
    if (!same_expression(*a.args[i], *b.args[i])) return false;
  }
  return true;
}

void Assumptions::assume(const Expr& condition, const std::function<Bounds(const Expr&)>& range) {
  assume(condition, true, 0, range);
}

void Assumptions::set_condition(int variable, const Expr& value) {
  if (value.type == DType::boolean) conditions_.insert_or_assign(variable, value);
}

void Assumptions::assume(const Expr& condition, bool holds, int depth,
                         const std::function<Bounds(const Expr&)>& range) {
  if (depth > depth_max) return;
  if (condition.kind == Expr::Kind::variable) {
    const auto named = conditions_.find(static_cast<int>(condition.integer));
    if (named != conditions_.end()) assume(named->second, holds, depth + 1, range);
    return;
  }
  if (condition.kind == Expr::Kind::unary && condition.op == Op::logical_not)
    return assume(*condition.args[0], !holds, depth + 1, range);
  if (condition.kind != Expr::Kind::binary || condition.args.size() != 2) return;
  const bool truths = condition.args[0]->type == DType::boolean;
  const bool both = condition.op == Op::logical_and || (truths && condition.op == Op::bit_and);
  const bool either = condition.op == Op::logical_or || (truths && condition.op == Op::bit_or);
  if ((both && holds) || (either && !holds)) {
    for (const auto& arg : condition.args) assume(*arg, holds, depth + 1, range);
    return;
  }
  const auto other = opposite(condition.op);
  if (other && !truths) compare(condition, holds ? condition.op : *other, range);
}

void Assumptions::compare(const Expr& comparison, Op op, const std::function<Bounds(const Expr&)>& range) {
  const ExprPtr &a = comparison.args[0], &b = comparison.args[1];
  const DType type = a->type;
  if (!is_integer(type) || type == DType::u64) return;
  const Bounds of_a = range(*a), of_b = range(*b);
  switch (op) {
    case Op::lt: hold(a, {least, moved(of_b.hi, -1)}); return hold(b, {moved(of_a.lo, 1), greatest});
    case Op::le: hold(a, {least, of_b.hi}); return hold(b, {of_a.lo, greatest});
    case Op::gt: hold(a, {moved(of_b.lo, 1), greatest}); return hold(b, {least, moved(of_a.hi, -1)});
    case Op::ge: hold(a, {of_b.lo, greatest}); return hold(b, {least, of_a.hi});
    case Op::eq: hold(a, of_b); return hold(b, of_a);
    default: return;
  }
}

void Assumptions::hold(const ExprPtr& expr, Bounds bounds) {
  if (bounds.lo == least && bounds.hi == greatest) return;
  if (expr->kind == Expr::Kind::integer || held_.size() >= held_max || !is_steady(*expr)) return;
  held_.push_back({expr, bounds});
  if (expr->kind == Expr::Kind::cast && is_integer(expr->args[0]->type) && expr->args[0]->type != DType::u64 &&
      expr->type == DType::index)
    return hold(expr->args[0], bounds);
  if (expr->kind != Expr::Kind::binary || expr->type != DType::index) return;  // others wrap
  const ExprPtr &a = expr->args[0], &b = expr->args[1];
  if (expr->op == Op::sub && b->kind == Expr::Kind::integer && b->integer != least)
    return hold(a, moved(bounds, b->integer));
  for (const bool left : {true, false}) {
    const ExprPtr &constant = left ? a : b, &rest = left ? b : a;
    if (constant->kind != Expr::Kind::integer || constant->integer == least) continue;
    if (expr->op == Op::add) return hold(rest, moved(bounds, -constant->integer));
    if (expr->op == Op::mul && constant->integer > 0) return hold(rest, divided(bounds, constant->integer));
  }
}

Bounds Assumptions::narrowed(const Expr& expr, Bounds bounds) const {
  for (const Held& held : held_) {
    if (!same_expression(*held.expr, expr)) continue;
    bounds = {std::max(bounds.lo, held.bounds.lo), std::min(bounds.hi, held.bounds.hi)};
  }
  if (bounds.lo > bounds.hi) bounds.hi = bounds.lo;  // the condition never holds: nobody asks for the value
  return bounds;
}

}  // namespace kiln::bound
