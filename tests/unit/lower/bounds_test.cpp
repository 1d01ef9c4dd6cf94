#include "engine/lower/bounds.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <random>

#include "engine/ir/kernel/evaluate.hpp"

namespace kiln::lower {
namespace {

using bound::Expr;
using bound::ExprPtr;

ExprPtr node(Expr::Kind kind, std::int64_t integer, std::vector<ExprPtr> args = {}, Op op = Op::add) {
  Expr made;
  made.kind = kind;
  made.integer = integer;
  made.args = std::move(args);
  made.op = op;
  return std::make_shared<const Expr>(std::move(made));
}
ExprPtr number(std::int64_t value) { return bound::make_integer(value); }
ExprPtr variable(int id) { return node(Expr::Kind::variable, id); }
ExprPtr block(int axis) { return node(Expr::Kind::block, axis); }
ExprPtr op(Op which, ExprPtr a, ExprPtr b) { return node(Expr::Kind::binary, 0, {std::move(a), std::move(b)}, which); }

TEST(Bounds, BlockTimesTileStaysInsideOrLeaves) {
  const Facts facts({3, 1, 1});
  const auto start = op(Op::mul, block(0), number(128));
  EXPECT_EQ(interval_of(*start, facts), (Interval{0, 256}));
  EXPECT_EQ(divisor_of(*start, facts), 128);
  EXPECT_TRUE(stays_inside(*start, 128, 384, facts));
  EXPECT_FALSE(stays_inside(*start, 128, 300, facts));
  EXPECT_EQ(how_it_leaves(*start, 128, 300, facts), "index may reach 383, extent 300");
}

TEST(Bounds, LoopsEndAtTheirLastStep) {
  Facts facts({1, 1, 1});
  facts.set_loop(4, *number(0), *number(129), *number(64));
  EXPECT_EQ(facts.interval_of(4), (Interval{0, 128}));
  EXPECT_EQ(facts.divisor_of(4), 64);
  const auto next = op(Op::min, op(Op::add, variable(4), number(64)), number(128));
  EXPECT_EQ(interval_of(*next, facts), (Interval{64, 128}));
  EXPECT_EQ(divisor_of(*next, facts), 64);
}

TEST(Bounds, UnknownsAreAnything) {
  const Facts facts({1, 1, 1});
  EXPECT_EQ(interval_of(*variable(7), facts), anything);
  EXPECT_FALSE(stays_inside(*variable(7), 1, std::int64_t(1) << 40, facts));
  const auto loaded = node(Expr::Kind::tensor, 0, {number(0)});
  EXPECT_EQ(interval_of(*loaded, facts), anything);
  EXPECT_FALSE(stays_inside(*op(Op::sub, number(0), number(1)), 1, 10, facts));
  // A known part does not make an unknown one known.
  EXPECT_FALSE(stays_inside(*op(Op::add, variable(7), number(1)), 1, 10, facts));
  EXPECT_TRUE(stays_inside(*op(Op::mod, variable(7), number(10)), 1, 10, facts));
}

// Random expressions: every value that an exact evaluation gives lies in the interval and is a multiple of the divisor.
class Evaluator {
 public:
  std::int64_t x = 0, b = 0;
  std::int64_t value(const Expr& e) const {
    if (e.kind == Expr::Kind::integer) return e.integer;
    if (e.kind == Expr::Kind::variable) return x;
    if (e.kind == Expr::Kind::block) return b;
    const std::int64_t l = value(*e.args[0]), r = value(*e.args[1]);
    const auto floor_div = [](std::int64_t p, std::int64_t q) {
        return q == 0 ? 0 : p / q - ((p % q != 0) && ((p < 0) != (q < 0)) ? 1 : 0); };
    switch (e.op) {
      case Op::add: return l + r;
      case Op::sub: return l - r;
      case Op::mul: return l * r;
      case Op::floordiv: return floor_div(l, r);
      case Op::ceildiv: return r == 0 ? 0 : -floor_div(-l, r);
      case Op::mod: return r == 0 ? 0 : l - floor_div(l, r) * r;
      case Op::min: return std::min(l, r);
      default: return std::max(l, r);
    }
  }
};

TEST(Bounds, IntervalsAndDivisorsHoldForRandomExpressions) {
  const unsigned seed = 20240611;
  std::mt19937 random(seed);
  const Op ops[] = {Op::add, Op::sub, Op::mul, Op::floordiv, Op::ceildiv, Op::mod, Op::min, Op::max};
  for (int round = 0; round < 400; ++round) {
    Facts facts({5, 1, 1});
    facts.set_loop(0, *number(4), *number(40), *number(12));
    std::vector<ExprPtr> pool = {variable(0), block(0), number(static_cast<int>(random() % 9) - 2), number(16),
        number(3)};
    for (int i = 0; i < 5; ++i) {
      const Op which = ops[random() % 8];
      auto left = pool[random() % pool.size()];
      auto right = pool[random() % pool.size()];
      if (which == Op::floordiv || which == Op::ceildiv || which == Op::mod) right =
          number(1 + static_cast<int>(random() % 7));
      pool.push_back(op(which, left, right));
    }
    const auto interval = interval_of(*pool.back(), facts);
    const auto divisor = divisor_of(*pool.back(), facts);
    Evaluator evaluator;
    for (evaluator.x = 4; evaluator.x < 40; evaluator.x += 12) {
      for (evaluator.b = 0; evaluator.b < 5; ++evaluator.b) {
        const auto value = evaluator.value(*pool.back());
        ASSERT_GE(value, interval.lo) << "seed " << seed << " round " << round;
        ASSERT_LE(value, interval.hi) << "seed " << seed << " round " << round;
        ASSERT_EQ(divisor == 0 ? value : value % divisor, 0) << "seed " << seed << " round " << round;
      }
    }
  }
}

// Element types of 32 and 64 bits wrap, and casts reinterpret: whatever values the variables take, the result lies in
// the interval. Ends at 2^62 stand for "not known".
TEST(Bounds, IntervalsHoldForWrappingTypes) {
  const unsigned seed = 20261130;
  std::mt19937_64 random(seed);
  const Op ops[] = {Op::add, Op::sub, Op::mul, Op::min, Op::max, Op::mod, Op::floordiv, Op::shl, Op::shr, Op::bit_and};
  const DType types[] = {DType::i64, DType::u64, DType::i32, DType::u32, DType::index};
  const std::int64_t values[] = {0, 1, -1, 7, 1000, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, std::int64_t(1) << 62, -1000};
  const auto typed = [](ExprPtr expr, DType type) {
    Expr made = *expr;
    made.type = type;
    return std::make_shared<const Expr>(std::move(made));
  };
  for (int round = 0; round < 20000; ++round) {
    Facts facts({1, 1, 1});
    facts.set(1, {0, 1000}, 1);
    std::vector<ExprPtr> pool = {typed(variable(0), types[random() % 4]), typed(variable(1), DType::i64), typed(number(43750174415707), DType::i64)};
    for (int i = 0; i < 5; ++i) {
      const auto left = pool[random() % pool.size()], right = pool[random() % pool.size()];
      if (random() % 3 == 0) {
        pool.push_back(typed(node(Expr::Kind::cast, 0, {left}), types[random() % 5]));
        continue;
      }
      const auto other = right->type == left->type ? right : typed(node(Expr::Kind::cast, 0, {right}), left->type);
      pool.push_back(typed(op(ops[random() % std::size(ops)], left, other), left->type));
    }
    const auto& expr = *pool.back();
    const auto interval = interval_of(expr, facts);
    // The verifier of kernel programs has ranges of its own.
    const auto verified = kernel::range_of(expr, {{{1, {0, 1000}}}, {}, {}, {}});
    for (const auto value : values) {
      const auto first = kernel::evaluate(*typed(node(Expr::Kind::cast, 0, {typed(number(value), DType::i64)}), pool[0]->type), {});
      for (const std::int64_t second : {0, 1, 999, 1000}) {
        const auto found = kernel::evaluate(expr, {{0, *first}, {1, second}});
        if (!found) continue;
        const bool large = expr.type == DType::u64 && *found < 0;  // the bits of 2^63 and more
        ASSERT_TRUE(large || *found >= interval.lo || interval.lo <= -unbounded) << "seed " << seed << " round " << round << " value " << *found;
        ASSERT_TRUE(large ? interval.hi >= unbounded : *found <= interval.hi || interval.hi >= unbounded)
            << "seed " << seed << " round " << round << " value " << *found;
        if (!verified || large) continue;
        ASSERT_GE(*found, verified->lo) << "seed " << seed << " round " << round;
        ASSERT_LE(*found, verified->hi) << "seed " << seed << " round " << round;
      }
    }
  }
}

ExprPtr truth(Op which, ExprPtr a, ExprPtr b) {
  Expr made = *op(which, std::move(a), std::move(b));
  made.type = DType::boolean;
  return std::make_shared<const Expr>(std::move(made));
}

TEST(Bounds, ConditionsNarrowWhatTheyCompare) {
  Facts facts({100, 1, 1});
  facts.set_index(0, 64);
  facts.set(1, anything, 1);
  const auto offset = op(Op::add, op(Op::mul, block(0), number(64)), variable(0));
  const auto below = truth(Op::lt, offset, number(1000));
  EXPECT_FALSE(stays_inside(*offset, 1, 1000, facts));
  Facts held = facts;
  held.assume(*below);
  EXPECT_TRUE(stays_inside(*offset, 1, 1000, held));
  EXPECT_FALSE(stays_inside(*op(Op::add, offset, number(1)), 1, 1000, held));
  // Both ends of what nothing was known of; the variable follows from a sum with it.
  held.assume(*truth(Op::logical_and, truth(Op::le, number(5), op(Op::add, variable(1), number(3))),
                     truth(Op::gt, number(20), op(Op::mul, variable(1), number(2)))));
  EXPECT_EQ(interval_of(*variable(1), held), (Interval{2, 9}));
  // !(a || b) is !a && !b; a || b says nothing.
  Facts neither = facts;
  const auto either =
      truth(Op::logical_or, truth(Op::ge, variable(0), number(10)), truth(Op::lt, variable(0), number(4)));
  neither.assume(*either);
  EXPECT_EQ(interval_of(*variable(0), neither), (Interval{0, 63}));
  Expr negation = *either;
  negation.kind = Expr::Kind::unary;
  negation.op = Op::logical_not;
  negation.args = {either};
  neither.assume(negation);
  EXPECT_EQ(interval_of(*variable(0), neither), (Interval{4, 9}));
}

TEST(Bounds, NamedConditionsHoldForWhatTheyCompared) {
  Facts facts({1, 1, 1});
  facts.set_index(0, 64);
  facts.set_let(1, *truth(Op::lt, variable(0), number(10)));
  Expr named = *variable(1);
  named.type = DType::boolean;
  facts.assume(named);
  EXPECT_EQ(interval_of(*variable(0), facts), (Interval{0, 9}));
}

TEST(Bounds, WhatIsReadAgainIsNotNarrowed) {
  Facts facts({1, 1, 1});
  Expr element = *node(Expr::Kind::tensor, 0, {number(0)});
  element.type = DType::i32;
  Expr cast = *node(Expr::Kind::cast, 0, {std::make_shared<const Expr>(element)});
  const auto index = std::make_shared<const Expr>(cast);
  facts.assume(*truth(Op::logical_and, truth(Op::le, number(0), index), truth(Op::lt, index, number(10))));
  EXPECT_FALSE(stays_inside(*index, 1, 10, facts));
}

TEST(Bounds, SubstituteReplacesAndFolds) {
  const auto expr = bound::make_binary(Op::add, bound::make_binary(Op::mul, variable(2), number(8)), number(1));
  EXPECT_EQ(constant_of(*substitute(expr, 2, number(3))), 25);
  EXPECT_EQ(substitute(expr, 3, number(3)), expr);
  EXPECT_TRUE(uses_variable(*expr, {false, false, true}));
  EXPECT_FALSE(uses_variable(*expr, {true, true}));
}

}  // namespace
}  // namespace kiln::lower
