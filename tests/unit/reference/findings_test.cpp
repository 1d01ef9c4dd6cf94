// Mistakes planted in bound programs: each is found, at its statement, with block, element and iteration.
#include "tests/unit/reference/builder.hpp"

namespace kiln::test {
namespace {

struct Found {
  ErrorCode code = ErrorCode::internal;
  std::string pointer, message, expected;
};
Found found_in(Buffers& buffers, const reference::RunOptions& options = {}) {
  const auto status = buffers.run(options);
  if (status) return {ErrorCode::internal, "", "nothing was found", ""};
  const auto& error = status.error();
  if (error.diagnostics.size() != 1) return {error.code, "", to_text(error), ""};
  return {error.code, error.diagnostics[0].pointer, error.diagnostics[0].message, error.diagnostics[0].expected};
}
#define EXPECT_FOUND(buffers, at, what)                              \
  do {                                                               \
    const auto found_ = found_in(buffers);                           \
    EXPECT_EQ(found_.code, ErrorCode::program_invalid);              \
    EXPECT_EQ(found_.pointer, at);                                   \
    EXPECT_EQ(found_.message, what);                                 \
  } while (false)

TEST(Findings, OneElementWrittenByTwoIterations) {
  Builder b;
  const int t = b.tile("t", DType::f32, {4}), i = b.variable("i"), j = b.variable("j");
  b.add(bound::Fill{t, real(0)});
  b.add(bound::Map{{i, j}, {4, 2}, {Builder::set(t, {b.var(i)}, real(1))}});
  Buffers buffers(b.program);
  EXPECT_FOUND(buffers, "/launches/0/body/1",
               "race in a map: iteration (i = 0, j = 1) writes t[0], which iteration (i = 0, j = 0) reads or writes, "
               "in block (0, 0, 0)");
  reference::RunOptions unchecked;
  unchecked.check_races = false;
  EXPECT_TRUE(buffers.run(unchecked));
}

TEST(Findings, AnElementThatAnotherIterationWrites) {
  for (const int direction : {-1, 1}) {  // reads what an earlier, and what a later iteration writes
    Builder b({2, 1, 1});
    const int t = b.tile("t", DType::f32, {4}), i = b.variable("i");
    const auto I = b.var(i);
    const auto neighbour = operation(Op::mod, {I + integer(direction), integer(4)});
    b.add(bound::Fill{t, real(0)});
    b.add(bound::Map{{i}, {4}, {Builder::set(t, {I}, b.at(t, {neighbour}) + real(1))}});
    Buffers buffers(b.program);
    EXPECT_FOUND(buffers, "/launches/0/body/1",
                 direction < 0
                     ? "race in a map: iteration (i = 1) reads t[0], which iteration (i = 0) writes, in block (0, 0, 0)"
                     : "race in a map: iteration (i = 1) writes t[1], which iteration (i = 0) reads or writes, in "
                       "block (0, 0, 0)");
  }
}

TEST(Findings, AWriteOfWhatSeveralRead) {
  Builder b;
  const int t = b.tile("t", DType::f32, {4}), u = b.tile("u", DType::f32, {4}), i = b.variable("i");
  const auto I = b.var(i);
  b.add(bound::Fill{t, real(0)});
  const auto last = operation(Op::eq, {I, integer(3)});
  b.add(bound::Map{{i},
                   {4},
                   {Builder::set(u, {I}, b.at(t, {integer(0)})),
                    Builder::set(t, {select(last, integer(0), I + integer(1))}, real(1))}});
  Buffers buffers(b.program);
  EXPECT_FOUND(
      buffers, "/launches/0/body/1",
      "race in a map: iteration (i = 3) writes t[0], which iteration (i = 0) reads or writes, in block (0, 0, 0)");
}

TEST(Findings, OwnElementsAndOtherMapsAreFine) {
  Builder b;
  const int t = b.tile("t", DType::f32, {4}), i = b.variable("i");
  const auto I = b.var(i);
  b.add(bound::Fill{t, real(0)});
  for (int n = 0; n < 3; ++n)
    b.add(bound::Map{{i},
                     {4},
                     {Builder::set(t, {n % 2 ? I : integer(3) - I}, real(n)),
                      Builder::set(t, {n % 2 ? I : integer(3) - I}, b.at(t, {n % 2 ? I : integer(3) - I}) + real(1))}});
  Buffers buffers(b.program);
  EXPECT_TRUE(buffers.run()) << text_of(buffers.run());
}

TEST(Findings, ATensorElementWrittenByTwoIterations) {
  Builder b({1, 2, 1});
  const int Y = b.tensor("Y", DType::f32, {2, 8}, Access::write), i = b.variable("i");
  b.add(bound::Map{
      {i}, {8}, {Builder::set_global(Y, {block(1), operation(Op::floordiv, {b.var(i), integer(2)})}, real(1))}});
  Buffers buffers(b.program);
  EXPECT_FOUND(
      buffers, "/launches/0/body/0",
      "race in a map: iteration (i = 1) writes Y[0, 0], which iteration (i = 0) reads or writes, in block (0, 0, 0)");
}

TEST(Findings, TwoBlocksWriteOneElement) {
  Builder b({3, 2, 1});
  const int Y = b.tensor("Y", DType::f32, {2, 9}, Access::write), t = b.tile("t", DType::f32, {4});
  b.add(bound::Fill{t, real(0)});
  bound::Copy out;
  out.from = Builder::whole(t);
  out.to = {true, Y, {block(1), block(0) * integer(3)}, {false, true}};
  out.shape = {4};
  b.add(std::move(out));
  Buffers buffers(b.program);
  EXPECT_FOUND(buffers, "/launches/0/body/1",
               "race between blocks: block (1, 0, 0) writes Y[0, 3], which block (0, 0, 0) reads or writes");
}

TEST(Findings, ABlockReadsWhatAnotherWrites) {
  Builder b({1, 1, 4});
  const int Y = b.tensor("Y", DType::f32, {8}, Access::readwrite), t = b.tile("t", DType::f32, {2});
  b.add(b.load(Y, {block(2) * integer(2) - integer(1)}, t)).add(b.store(t, Y, {block(2) * integer(2)}));
  Buffers buffers(b.program);
  EXPECT_FOUND(buffers, "/launches/0/body/0",
               "race between blocks: block (0, 0, 1) reads Y[1], which block (0, 0, 0) writes");
  Builder reader({2, 1, 1});
  const int Z = reader.tensor("Z", DType::f32, {2}, Access::readwrite), i = reader.variable("i");
  reader.add(bound::Map{{i}, {1}, {Builder::set_global(Z, {block(0)}, reader.global(Z, {integer(1)}))}});
  Buffers other(reader.program);
  EXPECT_FOUND(other, "/launches/0/body/0",
               "race between blocks: block (1, 0, 0) writes Z[1], which block (0, 0, 0) reads or writes");
}

TEST(Findings, UninitialisedElements) {
  Builder b({1, 2, 1});
  const int X = b.tensor("X", DType::f32, {4}), Y = b.tensor("Y", DType::f32, {2, 4}, Access::write);
  const int a = b.tile("a", DType::f32, {4}), i = b.variable("i");
  const auto I = b.var(i);
  // The first block fills the tile, the second does not: what the first left must not be seen.
  bound::If first;
  first.condition = operation(Op::eq, {block(1), integer(0)});
  first.then.push_back(Builder::stmt(bound::Fill{a, real(1)}));
  b.add(std::move(first));
  b.add(bound::Map{{i}, {4}, {Builder::set(a, {I}, b.at(a, {I}) + b.global(X, {I}))}});
  bound::Copy out;
  out.from = Builder::whole(a);
  out.to = {true, Y, {block(1), integer(0)}, {false, true}};
  out.shape = {4};
  b.add(std::move(out));
  Buffers buffers(b.program);
  EXPECT_FOUND(buffers, "/launches/0/body/1",
               "a[0] is read before this block wrote it in block (0, 1, 0), iteration (i = 0)");
}

TEST(Findings, UninitialisedTilesInEveryStatement) {
  const auto plant = [](int which) {
    Builder b;
    const int Y = b.tensor("Y", DType::f32, {4, 4}, Access::write);
    const int a = b.tile("a", DType::f32, {4, 4}), c = b.tile("c", DType::f32, {4, 4}),
              d = b.tile("d", DType::f32, {4, 4}), r = b.tile("r", DType::f32, {4});
    const int i = b.variable("i"), j = b.variable("j");
    // All of `a` but a[2, 3].
    b.add(bound::Map{{i, j},
                     {4, 4},
                     {Builder::set(a,
                                   {b.var(i), select(operation(Op::eq, {b.var(i) * integer(4) + b.var(j), integer(11)}),
                                                     integer(2), b.var(j))},
                                   real(1))}});
    b.launch().body.clear();
    const auto rows = [&](std::int64_t from, std::int64_t count, std::int64_t columns) {
      b.add(bound::Map{{i, j}, {count, columns}, {Builder::set(a, {b.var(i) + integer(from), b.var(j)}, real(1))}});
    };
    rows(0, 2, 4), rows(2, 1, 3), rows(3, 1, 4);
    b.add(bound::Fill{d, real(0)});
    switch (which) {
      case 0: b.add(b.store(a, Y, {integer(0), integer(0)})); break;
      case 1: b.add(bound::Copy{Builder::whole(a), Builder::whole(c), {4, 4}, nullptr, {}}); break;
      case 2: b.add(bound::Gemm{a, d, c, false, false, true}); break;
      case 3: b.add(bound::Gemm{d, a, c, false, false, true}); break;
      case 4: b.add(bound::Reduce{tile::ReduceOp::max, a, r, 0, false}); break;
      default: break;
    }
    Buffers buffers(b.program);
    return found_in(buffers);
  };
  for (int which = 0; which < 5; ++which) {
    const auto found = plant(which);
    EXPECT_EQ(found.code, ErrorCode::program_invalid) << which;
    EXPECT_EQ(found.pointer, "/launches/0/body/4") << which;
    EXPECT_EQ(found.message, "a[2, 3] is read before this block wrote it in block (0, 0, 0)") << which;
  }
}

TEST(Findings, UninitialisedAccumulators) {
  Builder b;
  const int a = b.tile("a", DType::f32, {2, 2}), d = b.tile("d", DType::f32, {2, 2}),
            c = b.tile("c", DType::f32, {2, 2});
  const int r = b.tile("r", DType::f32, {2});
  b.add(bound::Fill{a, real(1)}).add(bound::Fill{d, real(1)}).add(bound::Gemm{a, d, c, false, false, false});
  Buffers buffers(b.program);
  EXPECT_FOUND(buffers, "/launches/0/body/2", "c[0, 0] is read before this block wrote it in block (0, 0, 0)");
  b.launch().body.back() = Builder::stmt(bound::Reduce{tile::ReduceOp::sum, a, r, 1, true}, "/launches/0/body/2");
  EXPECT_FOUND(buffers, "/launches/0/body/2", "r[0] is read before this block wrote it in block (0, 0, 0)");
}

TEST(Findings, DroppedWritesReadNothing) {
  Builder b;
  const int Y = b.tensor("Y", DType::f32, {2}, Access::write), a = b.tile("a", DType::f32, {4}), i = b.variable("i");
  b.add(bound::Map{{i}, {2}, {Builder::set(a, {b.var(i)}, real(1))}}).add(b.store(a, Y, {integer(0)}));
  Buffers buffers(b.program);
  EXPECT_TRUE(buffers.run()) << text_of(buffers.run());
}

TEST(Findings, OutOfRangeElements) {
  Builder b({1, 1, 2});
  const int X = b.tensor("X", DType::f32, {3, 4}), t = b.tile("t", DType::f32, {2, 4}), i = b.variable("i"),
            j = b.variable("j");
  const auto I = b.var(i), J = b.var(j);
  b.add(bound::Map{{i, j}, {2, 4}, {Builder::set(t, {I, J}, b.global(X, {block(2) * integer(2) + I, J}))}});
  Buffers buffers(b.program);
  const auto found = found_in(buffers);
  EXPECT_EQ(found.pointer, "/launches/0/body/0");
  EXPECT_EQ(found.message, "X[3, 0] is out of range in block (0, 0, 1), iteration (i = 1, j = 0)");
  EXPECT_EQ(found.expected, "indices within extents [3, 4]");
}

TEST(Findings, OutOfRangeElementsOfAProgramThatClips) {
  Builder b;
  const int X = b.tensor("X", DType::f32, {3}), N = b.tensor("N", DType::i32, {3}), Y = b.tensor("Y", DType::f32, {3}, Access::write),
            i = b.variable("i");
  const auto I = b.var(i);
  const auto read = b.global(X, {I - integer(1)}) + cast(b.global(N, {I - integer(1)}), DType::f32);
  b.add(bound::Map{{i}, {5}, {Builder::set_global(Y, {I}, read)}});
  Buffers buffers(b.program);
  buffers.set(X, {1, 2, 3});
  buffers.set(N, {10, 20, 30});
  EXPECT_FOUND(buffers, "/launches/0/body/0", "X[-1] is out of range in block (0, 0, 0), iteration (i = 0)");
  b.program.clips = true;
  ASSERT_TRUE(buffers.run()) << text_of(buffers.run());
  EXPECT_EQ(buffers.all(Y), (std::vector<double>{0, 11, 22}));
}

TEST(Findings, OutOfRangeTiles) {
  Builder b;
  const int t = b.tile("t", DType::f32, {2, 4}), u = b.tile("u", DType::f32, {4}), i = b.variable("i");
  const auto I = b.var(i);
  b.add(bound::Fill{t, real(0)});
  b.add(bound::Map{{i}, {4}, {Builder::set(u, {I}, b.at(t, {integer(1), I - integer(1)}))}});
  Buffers buffers(b.program);
  EXPECT_FOUND(buffers, "/launches/0/body/1", "t[1, -1] is out of range in block (0, 0, 0), iteration (i = 0)");
  b.launch().body.back() = Builder::stmt(bound::Map{{i}, {5}, {Builder::set(u, {I}, real(0))}}, "/there");
  EXPECT_FOUND(buffers, "/there", "u[4] is out of range in block (0, 0, 0), iteration (i = 4)");
  b.launch().body.back() = Builder::stmt(
      bound::Copy{{false, t, {integer(1), integer(2)}, {false, true}}, Builder::whole(u), {4}, nullptr, {}}, "/copy");
  EXPECT_FOUND(buffers, "/copy", "the copy reaches outside the tile t in block (0, 0, 0)");
}

TEST(Findings, AnIndexFromData) {
  Builder b;
  const int N = b.tensor("N", DType::i64, {2}), X = b.tensor("X", DType::f32, {4}), t = b.tile("t", DType::f32, {2}),
            i = b.variable("i");
  b.add(
      bound::Map{{i}, {2}, {Builder::set(t, {b.var(i)}, b.global(X, {cast(b.global(N, {b.var(i)}), DType::index)}))}});
  Buffers buffers(b.program);
  buffers.set(N, {3, -9e18});
  EXPECT_FOUND(buffers, "/launches/0/body/0",
               "X[-9000000000000000000] is out of range in block (0, 0, 0), iteration (i = 1)");
  buffers.set(N, {0, 3});
  EXPECT_TRUE(buffers.run());
}

TEST(Findings, Arguments) {
  Builder b;
  const int X = b.tensor("X", DType::f32, {2, 3}), Y = b.tensor("Y", DType::f32, {2, 3}, Access::write);
  b.program.tensors[X].strides = {4, 1};
  const int t = b.tile("t", DType::f32, {2, 3});
  b.add(b.load(X, {integer(0), integer(0)}, t)).add(b.store(t, Y, {integer(0), integer(0)}));
  Buffers buffers(b.program);
  ASSERT_TRUE(buffers.run());
  auto arguments = buffers.arguments();
  arguments[0].size -= 1;
  auto status = reference::run(b.program, arguments);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().diagnostics.at(0).pointer, "/arguments/0");
  EXPECT_EQ(status.error().diagnostics.at(0).expected, "at least 28 bytes");
  EXPECT_EQ(status.error().diagnostics.at(0).found, "27 bytes");

  arguments = buffers.arguments();
  arguments.pop_back();
  EXPECT_FALSE(reference::run(b.program, arguments));

  arguments = buffers.arguments();
  arguments[1] = {arguments[0].data + 4, 24};
  status = reference::run(b.program, arguments);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().diagnostics.at(0).message, "parameters X and Y overlap, and one of them is written");
  b.program.tensors[X].may_alias = b.program.tensors[Y].may_alias = true;
  EXPECT_TRUE(reference::run(b.program, arguments));

  b.program.tensors[Y].strides = {2, 1};
  Buffers overlapping(b.program);
  status = reference::run(b.program, overlapping.arguments());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().diagnostics.at(0).found, "overlapping strides");
}

}  // namespace
}  // namespace kiln::test
