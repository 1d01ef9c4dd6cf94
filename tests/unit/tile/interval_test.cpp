// Intervals against sampled values: every result of an operation lies in the range that was predicted.
#include <random>

#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/bound/interval.hpp"
#include "tests/unit/tile/support.hpp"

namespace kiln::test {
namespace {

using bound::Range;
constexpr std::int64_t least = INT64_MIN, most = INT64_MAX;

std::int64_t random_integer(std::mt19937_64& random) {
  const std::int64_t extremes[] = {0, 1, -1, 2, 63, 64, least, least + 1, most, most - 1};
  if (random() % 4 == 0) return extremes[random() % 10];
  return static_cast<std::int64_t>(random()) >> (random() % 64);
}

Range random_range(std::mt19937_64& random) {
  const std::int64_t a = random_integer(random), b = random() % 3 ? random_integer(random) : a;
  return {std::min(a, b), std::max(a, b)};
}

std::int64_t member(std::mt19937_64& random, const Range& range) {
  const auto span = static_cast<std::uint64_t>(range.hi) - static_cast<std::uint64_t>(range.lo);
  const std::uint64_t step = span == UINT64_MAX ? random() : random() % (span + 1);
  const std::uint64_t offset = random() % 3 ? step : random() % 2 ? span : 0;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(range.lo) + offset);
}

TEST(Interval, HoldsEveryValue) {
  const Op ops[] = {Op::add,    Op::sub,     Op::mul,     Op::floordiv, Op::mod, Op::shl, Op::shr, Op::bit_and,
                    Op::bit_or, Op::bit_xor, Op::ceildiv, Op::min,      Op::max, Op::neg, Op::abs, Op::bit_not,
                    Op::lt,     Op::le,      Op::gt,      Op::ge,       Op::eq,  Op::ne};
  for (std::uint64_t seed = 1; seed <= 20000; ++seed) {
    std::mt19937_64 random(seed);
    const Op op = ops[seed % std::size(ops)];
    const Range a = random_range(random), b = random_range(random);
    const bool compares = op >= Op::lt && op <= Op::ne;
    const Range range = compares ? Range{} : bound::range_of(op, a, b).value_or(Range{});
    const auto decided = compares ? bound::decide(op, a, b) : std::nullopt;
    for (int i = 0; i < 20; ++i) {
      const std::int64_t x = member(random, a), y = member(random, b);
      const auto result =
          bound::function(op, DType::index)(bound::integer_value(x), bound::integer_value(y), bound::integer_value(0))
              .integer;
      ASSERT_TRUE(result >= range.lo && result <= range.hi)
          << "seed " << seed << ": " << op_text(op) << " of " << x << " and " << y << " is " << result << ", not in "
          << range.lo << " … " << range.hi;
      if (decided) {
        ASSERT_EQ(result != 0, *decided) << "seed " << seed << ": " << x << " " << op_text(op) << " " << y;
      }
    }
  }
}

TEST(Interval, SeesWhatLeaves64Bits) {
  EXPECT_FALSE(bound::range_of(Op::add, {0, most}, {1, 1}));
  EXPECT_TRUE(bound::range_of(Op::add, {0, most - 1}, {1, 1}));
  EXPECT_FALSE(bound::range_of(Op::mul, {0, std::int64_t(1) << 32}, {0, std::int64_t(1) << 31}));
  EXPECT_FALSE(bound::range_of(Op::floordiv, {least, 0}, {-1, 1}));
  EXPECT_FALSE(bound::range_of(Op::neg, {least, 0}, {}));
  EXPECT_FALSE(bound::range_of(Op::abs, {least, 0}, {}));
  EXPECT_FALSE(bound::range_of(Op::shl, {1, 1}, {0, 63}));
  EXPECT_EQ(bound::range_of(Op::mod, {0, 1000}, {7, 7}), (Range{0, 6}));
  EXPECT_EQ(bound::range_of(Op::mod, {0, 5}, {7, 7}), (Range{0, 5}));
  EXPECT_EQ(bound::range_of(Op::floordiv, {-7, 7}, {2, 2}), (Range{-4, 3}));
  EXPECT_EQ(bound::range_of(Op::floordiv, {1, 9}, {0, 0}), (Range{0, 0}));
}

}  // namespace
}  // namespace kiln::test
