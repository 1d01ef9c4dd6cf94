// The interpreter and its findings on items that set under a condition.
#include "tests/unit/reference/builder.hpp"

namespace kiln::test {
namespace {

bound::MapItem where(bound::MapItem item, ExprPtr condition) {
  item.where = std::move(condition);
  return item;
}

// Y[i + 2] = X[i + 2] where i + 2 < 4, for i in 0 … 7: neither may be touched elsewhere.
TEST(ConditionalSets, TouchNothingWhereTheyDoNotHold) {
  Builder b;
  const int x = b.tensor("X", DType::f32, {4}), y = b.tensor("Y", DType::f32, {4}, Access::readwrite);
  const int i = b.variable("i");
  const auto at = b.var(i) + integer(2);
  const auto set = Builder::set_global(y, {at}, b.global(x, {at}));
  b.add(bound::Map{{i}, {8}, {where(set, operation(Op::lt, {at, integer(4)}))}});
  Buffers buffers(b.program);
  buffers.set(x, {1, 2, 3, 4});
  buffers.set(y, {9, 9, 9, 9});
  const auto status = buffers.run();
  ASSERT_TRUE(status) << text_of(status);
  EXPECT_EQ(buffers.all(y), (std::vector<double>{9, 9, 3, 4}));
}

TEST(ConditionalSets, AreFoundOutOfRangeWhereTheyHold) {
  Builder b;
  const int y = b.tensor("Y", DType::f32, {4}, Access::readwrite), i = b.variable("i");
  const auto set = Builder::set_global(y, {b.var(i)}, real(1));
  b.add(bound::Map{{i}, {8}, {where(set, operation(Op::le, {b.var(i), integer(4)}))}});
  Buffers buffers(b.program);
  const auto found = text_of(buffers.run());
  EXPECT_NE(found.find("Y[4] is out of range in block (0, 0, 0), iteration (i = 4)"), std::string::npos) << found;
}

TEST(ConditionalSets, RaceWhereTwoHold) {
  for (const std::int64_t step : {4, 3}) {  // of i = 0 … 3: one multiple, two multiples
    Builder b;
    const int t = b.tile("t", DType::f32, {4}), i = b.variable("i");
    const auto chosen = operation(Op::eq, {operation(Op::mod, {b.var(i), integer(step)}), integer(0)});
    b.add(bound::Fill{t, real(0)});
    b.add(bound::Map{{i}, {4}, {where(Builder::set(t, {integer(0)}, real(1)), chosen)}});
    Buffers buffers(b.program);
    const auto status = buffers.run();
    EXPECT_EQ(bool(status), step == 4) << text_of(status);
    const bool told = text_of(status).find("race in a map: iteration (i = 3) writes t[0]") != std::string::npos;
    EXPECT_EQ(told, step == 3) << text_of(status);
  }
}

// Histogram[i % 2] += 1 where i < 5, what it was into Y[i]: 0 where nothing was done, although that element is not.
TEST(ConditionalSets, AtomicsCountWhereTheyHold) {
  Builder b;
  const int counts = b.tensor("Counts", DType::i32, {2}, Access::readwrite);
  const int y = b.tensor("Y", DType::i32, {8}, Access::readwrite), i = b.variable("i");
  const int old = b.variable("old", DType::i32);
  const auto I = b.var(i);
  auto update = Builder::set_global(counts, {operation(Op::mod, {I, integer(2)})}, integer(1, DType::i32));
  update.atomic = tile::AtomicOp::add;
  update.old = old;
  update = where(update, operation(Op::lt, {I, integer(5)}));
  b.add(bound::Map{{i}, {8}, {update, Builder::set_global(y, {I}, b.var(old))}});
  Buffers buffers(b.program);
  buffers.set(counts, {10, 20});
  const auto status = buffers.run();
  ASSERT_TRUE(status) << text_of(status);
  EXPECT_EQ(buffers.all(counts), (std::vector<double>{13, 22}));
  const auto seen = buffers.all(y);
  EXPECT_EQ((std::vector<double>(seen.begin() + 5, seen.end())), (std::vector<double>{0, 0, 0}));
  EXPECT_GE(seen[0], 10);
}

// The condition itself reads: an element that another iteration sets is a race whether or not the item happens.
TEST(ConditionalSets, ConditionsAreReads) {
  Builder b;
  const int t = b.tile("t", DType::f32, {4}), i = b.variable("i");
  const auto next = operation(Op::mod, {b.var(i) + integer(1), integer(4)});
  b.add(bound::Fill{t, real(1)});
  const auto holds = operation(Op::gt, {b.at(t, {next}), real(0)});
  b.add(bound::Map{{i}, {4}, {where(Builder::set(t, {b.var(i)}, real(2)), holds)}});
  Buffers buffers(b.program);
  EXPECT_NE(text_of(buffers.run()).find("race in a map"), std::string::npos);
}

TEST(ConditionalSets, LeaveUnwrittenWhatTheySkip) {
  for (const std::int64_t written : {4, 3}) {
    Builder b;
    const int y = b.tensor("Y", DType::f32, {4}, Access::write), t = b.tile("t", DType::f32, {4}), i = b.variable("i");
    b.add(bound::Map{{i}, {4}, {where(Builder::set(t, {b.var(i)}, real(2)),
                                      operation(Op::lt, {b.var(i), integer(written)}))}});
    b.add(b.store(t, y, {integer(0)}));
    Buffers buffers(b.program);
    const auto status = buffers.run();
    EXPECT_EQ(bool(status), written == 4);
    const bool told = text_of(status).find("t[3]") != std::string::npos;
    EXPECT_EQ(told, written == 3) << text_of(status);
  }
}

TEST(ConditionalSets, ThatAreNoBooleansAreRefused) {
  Builder b;
  const int t = b.tile("t", DType::f32, {4}), i = b.variable("i"), v = b.variable("v");
  b.add(bound::Map{{i}, {4}, {where(Builder::set(t, {b.var(i)}, real(2)), b.var(i))}});
  EXPECT_FALSE(bound::check(b.program));
  b.launch().body.clear();
  const auto holds = operation(Op::lt, {b.var(i), integer(2)});
  b.add(bound::Map{{i}, {4}, {where(Builder::let(v, b.var(i)), holds)}});
  EXPECT_FALSE(bound::check(b.program));
}

}  // namespace
}  // namespace kiln::test
