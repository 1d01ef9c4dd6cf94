// How far an index reaches in terms of dynamic symbols: upper bounds that are sums of multiples of symbols, so that what
// depends on the same symbol cancels. A block's rows bid.x * 64 … + 64 stay below M when there are ceildiv(M, 64) blocks
// and M is promised to be a multiple of 64.
#include <algorithm>
#include <numeric>
#include <optional>

#include "engine/ir/bound/symbols.hpp"
#include "engine/lower/bounds.hpp"

namespace kiln::lower {
namespace {

using bound::Expr;
using Wide = __int128;

constexpr std::int64_t multiple_max = std::int64_t(1) << 40;
constexpr int steps_max = 2000;

// Σ multiple[i] * symbol i + constant.
struct Sum {
  std::vector<Wide> multiple;
  Wide constant = 0;
};

class Reach {
 public:
  explicit Reach(const Facts& facts) : facts_(facts), none_{std::vector<Wide>(facts.symbols().size(), 0), 0} {}

  // An upper bound of `by` times the expression; by is not 0.
  std::optional<Sum> most(const Expr& expr, std::int64_t by) {
    if (++steps_ > steps_max || by > multiple_max || by < -multiple_max) return std::nullopt;
    switch (expr.kind) {
      case Expr::Kind::integer: return constant(Wide(expr.integer) * by);
      case Expr::Kind::symbol: {
        Sum sum = none_;
        sum.multiple[static_cast<std::size_t>(expr.integer)] = by;
        return sum;
      }
      case Expr::Kind::block: return of_block(static_cast<int>(expr.integer), by);
      case Expr::Kind::variable: return of_variable(expr, by);
      case Expr::Kind::unary:
        return expr.op == Op::neg ? most(*expr.args[0], -by) : of_interval(expr, by);
      case Expr::Kind::binary: case Expr::Kind::call: return of_operation(expr, by);
      default: return of_interval(expr, by);
    }
  }

  // Over all values of the symbols.
  [[nodiscard]] Wide largest(const Sum& sum) const {
    Wide value = sum.constant;
    for (std::size_t i = 0; i < sum.multiple.size(); ++i) {
      const auto range = bound::range_of(facts_.symbols()[i]);
      value += std::max(sum.multiple[i] * range.lo, sum.multiple[i] * range.hi);
    }
    return value;
  }

 private:
  std::optional<Sum> constant(Wide value) const {
    Sum sum = none_;
    sum.constant = value;
    return sum;
  }
  static std::optional<Sum> plus(std::optional<Sum> a, const std::optional<Sum>& b) {
    if (!a || !b) return std::nullopt;
    for (std::size_t i = 0; i < a->multiple.size(); ++i) a->multiple[i] += b->multiple[i];
    a->constant += b->constant;
    return a;
  }
  std::optional<Sum> of_interval(const Expr& expr, std::int64_t by) const {
    const Interval interval = interval_of(expr, facts_);
    const std::int64_t end = by > 0 ? interval.hi : interval.lo;
    if (end >= unbounded || end <= -unbounded) return std::nullopt;
    return constant(Wide(end) * by);
  }
  std::optional<Sum> of_block(int axis, std::int64_t by) {
    if (by < 0) return constant(0);
    return plus(most(*facts_.grid_extent(axis).expr(), by), constant(-Wide(by)));
  }
  std::optional<Sum> of_variable(const Expr& expr, std::int64_t by) {
    const auto& origin = facts_.origin_of(static_cast<int>(expr.integer));
    if (origin.value) return most(*origin.value, by);
    if (!origin.to) return of_interval(expr, by);
    if (by < 0) return most(*origin.from, by);
    const std::int64_t divisor = std::gcd(divisor_of(*origin.from, facts_), divisor_of(*origin.to, facts_));
    const std::int64_t behind = divisor % origin.step == 0 ? origin.step : 1;  // the last value is this far from `to`
    return plus(most(*origin.to, by), constant(-Wide(by) * behind));
  }
  // a // c and ceildiv(a, c), c positive and a divisor of `by`.
  std::optional<Sum> of_quotient(const Expr& expr, std::int64_t by, std::int64_t c) {
    const std::int64_t share = by / c;
    const bool exact = divisor_of(*expr.args[0], facts_) % c == 0;
    const bool away = (expr.op == Op::ceildiv) == (by > 0);  // rounding makes it larger
    const Wide rounded = exact || !away ? 0 : Wide(share > 0 ? share : -share) * (c - 1);
    return plus(most(*expr.args[0], share), constant(rounded));
  }
  std::optional<Sum> of_operation(const Expr& expr, std::int64_t by) {
    if (expr.type != DType::index || expr.args.size() != 2) return of_interval(expr, by);
    const Expr &a = *expr.args[0], &b = *expr.args[1];
    switch (expr.op) {
      case Op::add: return plus(most(a, by), most(b, by));
      case Op::sub: return plus(most(a, by), most(b, -by));
      case Op::mul:
        for (const auto* pair : {&expr.args[0], &expr.args[1]}) {
          const auto factor = constant_of(**pair);
          if (!factor || *factor == 0 || *factor > multiple_max || *factor < -multiple_max) continue;
          const Wide product = Wide(by) * *factor;
          if (product > multiple_max || product < -multiple_max) return std::nullopt;
          return most(pair == &expr.args[0] ? b : a, static_cast<std::int64_t>(product));
        }
        return of_interval(expr, by);
      case Op::floordiv: case Op::ceildiv: {
        const auto c = constant_of(b);
        return c && *c > 0 && by % *c == 0 ? of_quotient(expr, by, *c) : of_interval(expr, by);
      }
      case Op::min: case Op::max:
        return (expr.op == Op::min) == (by > 0) ? better(most(a, by), most(b, by)) : of_interval(expr, by);
      default: return of_interval(expr, by);
    }
  }
  // Both bound it: the one that is less at the most.
  std::optional<Sum> better(std::optional<Sum> a, std::optional<Sum> b) const {
    if (!a || !b) return a ? a : b;
    return largest(*a) <= largest(*b) ? a : b;
  }

  const Facts& facts_;
  const Sum none_;
  int steps_ = 0;
};

}  // namespace

bool stays_below(const Expr& start, std::int64_t extent, const Expr& limit, const Facts& facts) {
  Reach reach(facts);
  auto first = reach.most(start, 1), last = reach.most(limit, -1);
  if (!first || !last) return false;
  for (std::size_t i = 0; i < first->multiple.size(); ++i) first->multiple[i] += last->multiple[i];
  first->constant += last->constant + extent;
  return reach.largest(*first) <= 0;
}

}  // namespace kiln::lower
