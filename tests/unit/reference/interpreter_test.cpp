// Known answers for every statement.
#include <chrono>
#include <random>

#include "tests/unit/reference/builder.hpp"
#include "tests/unit/reference/programs.hpp"

namespace kiln::test {
namespace {

using reference::run;
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

TEST(Copy, ZeroOutsideFillAndDroppedWrites) {
  Builder b;
  const int X = b.tensor("X", DType::f32, {3, 3}), Y = b.tensor("Y", DType::f32, {4, 4}, Access::write);
  const int Z = b.tensor("Z", DType::f32, {3, 3}, Access::write);
  const int t = b.tile("t", DType::f32, {4, 4});
  b.add(b.load(X, {integer(-1), integer(1)}, t)).add(b.store(t, Y, {integer(0), integer(0)}));
  auto filled = b.load(X, {integer(1), integer(1)}, t);
  filled.fill = real(7);
  b.add(std::move(filled)).add(b.store(t, Z, {integer(1), integer(-1)}));
  Buffers buffers(b.program);
  buffers.set(X, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  ASSERT_TRUE(buffers.run()) << text_of(buffers.run());
  EXPECT_EQ(buffers.all(Y), (std::vector<double>{0, 0, 0, 0, 2, 3, 0, 0, 5, 6, 0, 0, 8, 9, 0, 0}));
  EXPECT_EQ(buffers.all(Z), (std::vector<double>{0, 0, 0, 6, 7, 7, 9, 7, 7}));
}

TEST(Copy, LimitsEndInsideTheTensor) {
  Builder b;
  const int X = b.tensor("X", DType::i32, {6}), Y = b.tensor("Y", DType::i32, {6}, Access::readwrite);
  const int t = b.tile("t", DType::i32, {4});
  auto in = b.load(X, {integer(1)}, t);
  in.limit = {integer(3)};
  in.fill = integer(-1, DType::i32);
  auto out = b.store(t, Y, {integer(2)});
  out.limit = {integer(5)};
  b.add(std::move(in)).add(std::move(out));
  Buffers buffers(b.program);
  buffers.set(X, {10, 11, 12, 13, 14, 15});
  buffers.set(Y, {1, 1, 1, 1, 1, 1});
  ASSERT_TRUE(buffers.run());
  EXPECT_EQ(buffers.all(Y), (std::vector<double>{1, 1, 11, 12, -1, 1}));
}

TEST(Copy, IndexedAxesConvertAndStride) {
  Builder b;
  const int X = b.tensor("X", DType::f32, {2, 3, 2}), Y = b.tensor("Y", DType::i8, {3}, Access::write);
  b.program.tensors[X].strides = {1, 4, 2};  // some other order, with room
  const int t = b.tile("t", DType::i8, {3});
  bound::Copy in;
  in.from = {true, X, {integer(1), integer(0), integer(1)}, {false, true, false}};
  in.to = Builder::whole(t);
  in.shape = {3};
  b.add(std::move(in)).add(b.store(t, Y, {integer(0)}));
  Buffers buffers(b.program);
  buffers.set(X, 1 + 2 + 0, 300);
  buffers.set(X, 1 + 2 + 4, -2.75);
  buffers.set(X, 1 + 2 + 8, nan_value);
  ASSERT_TRUE(buffers.run());
  EXPECT_EQ(buffers.all(Y), (std::vector<double>{127, -2, 0}));
}

TEST(Copy, OneElementByIndices) {
  Builder b;
  const int X = b.tensor("X", DType::f32, {4}), Y = b.tensor("Y", DType::f32, {1}, Access::write);
  const int t = b.tile("t", DType::f32, {1});
  b.add(bound::Copy{{true, X, {integer(2)}, {false}}, {false, t, {integer(0)}, {false}}, {}, nullptr, {}});
  b.add(b.store(t, Y, {integer(0)}));
  Buffers buffers(b.program);
  buffers.set(X, {1, 2, 3, 4});
  ASSERT_TRUE(buffers.run());
  EXPECT_EQ(buffers.get(Y, 0), 3);
}

TEST(Copy, BetweenTilesByRegion) {
  Builder b;
  const int X = b.tensor("X", DType::f32, {2, 4}), Y = b.tensor("Y", DType::f16, {2, 2}, Access::write);
  const int a = b.tile("a", DType::f32, {2, 4}), c = b.tile("c", DType::f16, {2, 2});
  b.add(b.load(X, {integer(0), integer(0)}, a));
  b.add(bound::Copy{{false, a, {integer(0), integer(1)}, {true, true}}, Builder::whole(c), {2, 2}, nullptr, {}});
  b.add(b.store(c, Y, {integer(0), integer(0)}));
  Buffers buffers(b.program);
  buffers.set(X, {1, 2, 3, 4, 5, 2049, 7, 8});
  ASSERT_TRUE(buffers.run());
  EXPECT_EQ(buffers.all(Y), (std::vector<double>{2, 3, 2048, 7}));
}

TEST(Gemm, AllFourTranspositions) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      Builder b;
      const int A = b.tensor("A", DType::f32, ta ? Shape{3, 5} : Shape{5, 3}),
                B = b.tensor("B", DType::f32, tb ? Shape{6, 3} : Shape{3, 6});
      const int C = b.tensor("C", DType::f32, {5, 6}, Access::write);
      const int at = b.tile("a", DType::f32, bound::values(b.program.tensors[A].shape)),
                bt = b.tile("b", DType::f32, bound::values(b.program.tensors[B].shape));
      const int ct = b.tile("c", DType::f32, {5, 6});
      b.add(b.load(A, {integer(0), integer(0)}, at))
          .add(b.load(B, {integer(0), integer(0)}, bt))
          .add(bound::Fill{ct, real(100)});
      b.add(bound::Gemm{at, bt, ct, ta, tb, false}).add(bound::Gemm{at, bt, ct, ta, tb, false});
      b.add(b.store(ct, C, {integer(0), integer(0)}));
      Buffers buffers(b.program);
      const auto a_of = [](int m, int k) { return m + 10.0 * k; };
      const auto b_of = [](int k, int n) { return 1.0 + k - 2 * n; };
      for (int m = 0; m < 5; ++m)
        for (int k = 0; k < 3; ++k) buffers.set(A, ta ? k * 5 + m : m * 3 + k, a_of(m, k));
      for (int k = 0; k < 3; ++k)
        for (int n = 0; n < 6; ++n) buffers.set(B, tb ? n * 3 + k : k * 6 + n, b_of(k, n));
      std::vector<std::vector<double>> scale;
      ASSERT_TRUE(buffers.run({}, &scale));
      for (int m = 0; m < 5; ++m)
        for (int n = 0; n < 6; ++n) {
          double sum = 0, magnitude = 0;
          for (int k = 0; k < 3; ++k) sum += a_of(m, k) * b_of(k, n), magnitude += std::fabs(a_of(m, k) * b_of(k, n));
          EXPECT_EQ(buffers.get(C, m * 6 + n), 100 + 2 * sum);
          EXPECT_EQ(scale[C][m * 6 + n], 2 * magnitude);
        }
      EXPECT_TRUE(scale[A].empty());
    }
}

TEST(Gemm, RoundsOnceAndIntegersWrap) {
  Builder b;
  const int A = b.tensor("A", DType::f16, {1, 3}), B = b.tensor("B", DType::f16, {3, 1}),
            C = b.tensor("C", DType::f16, {1, 1}, Access::write);
  const int a = b.tile("a", DType::f16, {1, 3}), bt = b.tile("b", DType::f16, {3, 1}),
            c = b.tile("c", DType::f16, {1, 1});
  const int I = b.tensor("I", DType::i8, {1, 2}), J = b.tensor("J", DType::i32, {1, 1}, Access::write);
  const int i = b.tile("i", DType::i8, {1, 2}), j = b.tile("j", DType::i32, {1, 1});
  b.add(b.load(A, {integer(0), integer(0)}, a)).add(b.load(B, {integer(0), integer(0)}, bt));
  b.add(bound::Gemm{a, bt, c, false, false, true}).add(b.store(c, C, {integer(0), integer(0)}));
  b.add(b.load(I, {integer(0), integer(0)}, i)).add(bound::Fill{j, integer(0x7fffffff, DType::i32)});
  const int i2 = b.tile("i2", DType::i8, {1, 2});
  b.add(b.load(I, {integer(0), integer(0)}, i2));
  b.add(bound::Gemm{i, i2, j, false, true, false}).add(b.store(j, J, {integer(0), integer(0)}));
  Buffers buffers(b.program);
  buffers.set(A, {2048, 1, 1});
  buffers.set(B, {1, 1, 0.5});
  buffers.set(I, {-128, 3});
  ASSERT_TRUE(buffers.run());
  EXPECT_EQ(buffers.get(C, 0), 2050);  // 2049.5; rounding after each product would give 2048
  EXPECT_EQ(buffers.get(J, 0), -0x80000000ll + 128 * 128 + 9 - 1);
}

// The gemm of the built-in, sizes that are no multiple of the tile, against sums in double here.
TEST(Gemm, WholeProgram) {
  const std::int64_t m = 300, n = 257, k = 129;
  const auto program = gemm_program(m, n, k, 64, DType::f32, DType::f32);
  Buffers buffers(program);
  const auto seed = 3u;
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  for (std::int64_t i = 0; i < m * k; ++i) buffers.set(0, i, normal(random));
  for (std::int64_t i = 0; i < k * n; ++i) buffers.set(1, i, normal(random));
  std::vector<std::vector<double>> scale;
  ASSERT_TRUE(buffers.run({}, &scale));
  const auto spec = reference::tolerance_of(program);
  EXPECT_EQ(spec.kind, reference::ToleranceClass::gemm);
  EXPECT_GE(spec.k, k);
  EXPECT_LE(spec.k, k + 2 * 64);
  const auto a = buffers.all(0), b = buffers.all(1);
  for (std::int64_t i = 0; i < m; i += 7)
    for (std::int64_t j = 0; j < n; j += 5) {
      double sum = 0, magnitude = 0;
      for (std::int64_t x = 0; x < k; ++x)
        sum += a[i * k + x] * b[x * n + j], magnitude += std::fabs(a[i * k + x] * b[x * n + j]);
      EXPECT_NEAR(buffers.get(2, i * n + j), sum, 4 * 0x1p-24 * std::fabs(sum) + 1e-6) << "seed " << seed;
      EXPECT_NEAR(scale[2][i * n + j], magnitude, 1e-9 * magnitude);
    }
}

TEST(Map, ElementwiseInDeclaredTypes) {
  Builder b;
  const int X = b.tensor("X", DType::f32, {4}), Y = b.tensor("Y", DType::f16, {4}, Access::write),
            K = b.scalar("k", DType::i32);
  const int x = b.tile("x", DType::f32, {4}), y = b.tile("y", DType::f16, {4});
  const int i = b.variable("i"), v = b.variable("v", DType::f16);
  const auto I = b.var(i);
  b.add(b.load(X, {integer(0)}, x));
  b.add(bound::Map{
      {i},
      {4},
      {Builder::let(v, cast(b.at(x, {I}), DType::f16)),
       Builder::set(y, {I}, b.var(v) * real(2, DType::f16) + cast(b.arg(K) + cast(I, DType::i32), DType::f16))}});
  b.add(b.store(y, Y, {integer(0)}));
  Buffers buffers(b.program);
  buffers.set(X, {1, 2049, -0.5, 1e9});
  buffers.set(K, 0, 10);
  ASSERT_TRUE(buffers.run());
  EXPECT_EQ(buffers.all(Y),
            (std::vector<double>{12, 4108, 11, std::numeric_limits<double>::infinity()}));  // 4107: a tie, to even
}

TEST(Map, EvaluatesOnlyWhatItNeeds) {
  Builder b;
  const int X = b.tensor("X", DType::f32, {4}), Y = b.tensor("Y", DType::f32, {6}, Access::write);
  const int i = b.variable("i");
  const auto I = b.var(i);
  const auto inside = operation(Op::lt, {I, integer(4)});
  const auto positive = operation(Op::gt, {b.global(X, {I}), real(2)});
  const auto both = operation(Op::logical_and, {inside, positive});
  const auto either = operation(Op::logical_or, {operation(Op::ge, {I, integer(4)}), positive});
  b.add(bound::Map{{i},
                   {6},
                   {Builder::set_global(Y, {I},
                                        select(inside, b.global(X, {I}), real(-1)) +
                                            cast(cast(both, DType::i32), DType::f32) * real(100) +
                                            cast(cast(either, DType::i32), DType::f32) * real(1000))}});
  Buffers buffers(b.program);
  buffers.set(X, {1, 2, 3, 4});
  ASSERT_TRUE(buffers.run()) << text_of(buffers.run());
  EXPECT_EQ(buffers.all(Y), (std::vector<double>{1, 2, 1103, 1104, 999, 999}));
}

TEST(Reduce, EveryOperation) {
  using tile::ReduceOp;
  const auto reduced = [](ReduceOp op, DType type, std::vector<double> values, bool accumulate = false, int axis = 1) {
    Builder b;
    const int X = b.tensor("X", type, {2, 3}), Y = b.tensor("Y", type, {axis == 1 ? 2 : 3}, Access::write);
    const int x = b.tile("x", type, {2, 3}), y = b.tile("y", type, {axis == 1 ? 2 : 3});
    b.add(b.load(X, {integer(0), integer(0)}, x));
    if (accumulate) b.add(bound::Fill{y, is_float(type) ? real(5, type) : integer(1, type)});
    b.add(bound::Reduce{op, x, y, axis, accumulate}).add(b.store(y, Y, {integer(0)}));
    Buffers buffers(b.program);
    buffers.set(X, values);
    const auto status = buffers.run();
    EXPECT_TRUE(status) << text_of(status);
    return buffers.all(Y);
  };
  using V = std::vector<double>;
  const V f = {1, -4, 2, 3, 0.5, -1};
  EXPECT_EQ(reduced(ReduceOp::sum, DType::f32, f), (V{-1, 2.5}));
  EXPECT_EQ(reduced(ReduceOp::sum, DType::f32, f, true), (V{4, 7.5}));
  EXPECT_EQ(reduced(ReduceOp::sum, DType::f32, f, false, 0), (V{4, -3.5, 1}));
  EXPECT_EQ(reduced(ReduceOp::prod, DType::f32, f), (V{-8, -1.5}));
  EXPECT_EQ(reduced(ReduceOp::max, DType::f32, f), (V{2, 3}));
  EXPECT_EQ(reduced(ReduceOp::max, DType::f32, f, true), (V{5, 5}));
  EXPECT_EQ(reduced(ReduceOp::min, DType::f16, f), (V{-4, -1}));
  EXPECT_EQ(reduced(ReduceOp::absmax, DType::bf16, f), (V{4, 3}));
  EXPECT_EQ(reduced(ReduceOp::sum, DType::f16, {2048, 1, 1, 1, 1, 1}), (V{2050, 3}));  // one rounding
  EXPECT_EQ(reduced(ReduceOp::sum, DType::i8, {100, 100, 1, -1, -2, -3}), (V{-55, -6}));
  EXPECT_EQ(reduced(ReduceOp::absmax, DType::i32, {1, -4, 2, 3, 0, -1}), (V{4, 3}));
  EXPECT_EQ(reduced(ReduceOp::max, DType::u8, {1, 200, 2, 3, 0, 255}, true), (V{200, 255}));
  EXPECT_EQ(reduced(ReduceOp::any, DType::boolean, {0, 0, 0, 0, 1, 0}), (V{0, 1}));
  EXPECT_EQ(reduced(ReduceOp::all, DType::boolean, {1, 1, 1, 0, 1, 1}), (V{1, 0}));
  const auto with_nan = reduced(ReduceOp::max, DType::f32, {1, nan_value, 2, 3, 4, 5});
  EXPECT_TRUE(std::isnan(with_nan[0]));
  EXPECT_EQ(with_nan[1], 5);
}

TEST(Control, LoopsConditionsAndLets) {
  Builder b({3, 1, 1});
  const int N = b.tensor("N", DType::i32, {3}), Y = b.tensor("Y", DType::i32, {3, 2}, Access::write);
  const int t = b.tile("t", DType::i32, {2}), u = b.tile("u", DType::i32, {1, 2});
  const int k = b.variable("k"), n = b.variable("n"), i = b.variable("i");
  b.add(bound::Let{n, cast(b.global(N, {block(0)}), DType::index)});
  b.add(bound::Fill{t, integer(0, DType::i32)});
  bound::For loop;
  loop.var = k;
  loop.from = integer(1), loop.to = b.var(n), loop.step = integer(2);
  const auto I = b.var(i);
  bound::If odd;
  odd.condition = operation(Op::lt, {b.var(k), integer(4)});
  odd.then.push_back(
      Builder::stmt(bound::Map{{i}, {2}, {Builder::set(t, {I}, b.at(t, {I}) + cast(b.var(k), DType::i32))}}));
  odd.otherwise.push_back(
      Builder::stmt(bound::Map{{i}, {2}, {Builder::set(t, {I}, b.at(t, {I}) + integer(100, DType::i32))}}));
  loop.body.push_back(Builder::stmt(std::move(odd)));
  b.add(std::move(loop));
  b.add(bound::Copy{Builder::whole(t), {false, u, {integer(0), integer(0)}, {false, true}}, {2}, nullptr, {}});
  b.add(b.store(u, Y, {block(0), integer(0)}));
  Buffers buffers(b.program);
  buffers.set(N, {0, 4, 8});
  ASSERT_TRUE(buffers.run()) << text_of(buffers.run());
  EXPECT_EQ(buffers.all(Y), (std::vector<double>{0, 0, 4, 4, 204, 204}));
}

TEST(Control, SeveralLaunchesRunInOrder) {
  Builder b({2, 1, 1});
  const int Y = b.tensor("Y", DType::f32, {2}, Access::readwrite);
  for (int l = 0; l < 2; ++l) {
    if (l == 1) {
      b.program.launches.emplace_back();
      b.launch().grid = {2, 1, 1};
      b.launch().threads = 64;
    }
    const int t = b.tile("t", DType::f32, {1}), i = b.variable("i");
    // The second launch reads what the other block wrote in the first: launches are ordered.
    b.add(b.load(Y, {l == 0 ? block(0) : integer(1) - block(0)}, t));
    b.add(bound::Map{{i}, {1}, {Builder::set(t, {b.var(i)}, b.at(t, {b.var(i)}) * real(3) + real(l))}});
    if (l == 0) b.add(b.store(t, Y, {block(0)}));
  }
  Buffers buffers(b.program);
  buffers.set(Y, {1, 2});
  ASSERT_TRUE(buffers.run()) << text_of(buffers.run());
  EXPECT_EQ(buffers.all(Y), (std::vector<double>{3, 6}));
}

TEST(Control, EmptyGridsAndTensors) {
  Builder b({0, 3, 1});
  const int Y = b.tensor("Y", DType::f32, {0, 4}, Access::write);
  const int t = b.tile("t", DType::f32, {2, 2});
  b.add(bound::Fill{t, real(1)}).add(b.store(t, Y, {integer(0), integer(0)}));
  Buffers buffers(b.program);
  EXPECT_TRUE(buffers.run());
  b.launch().grid = {1, 1, 1};
  EXPECT_TRUE(buffers.run());
}

TEST(Attention, WholeProgram) {
  const std::int64_t heads = 2, seq = 50, d = 16;
  const auto program = attention_program(heads, seq, d, 16, DType::f32);
  Buffers buffers(program);
  const auto seed = 11u;
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  for (int p = 0; p < 3; ++p)
    for (std::int64_t i = 0; i < heads * seq * d; ++i) buffers.set(p, i, normal(random));
  std::vector<std::vector<double>> scale;
  ASSERT_TRUE(buffers.run({}, &scale));
  const auto q = buffers.all(0), k = buffers.all(1), v = buffers.all(2);
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t i = 0; i < seq; ++i) {
      std::vector<double> weight(seq);
      double total = 0;
      for (std::int64_t j = 0; j < seq; ++j) {
        double s = 0;
        for (std::int64_t x = 0; x < d; ++x) s += q[(h * seq + i) * d + x] * k[(h * seq + j) * d + x];
        total += weight[j] = std::exp(s / std::sqrt(static_cast<double>(d)));
      }
      for (std::int64_t x = 0; x < d; ++x) {
        double want = 0;
        for (std::int64_t j = 0; j < seq; ++j) want += weight[j] / total * v[(h * seq + j) * d + x];
        EXPECT_NEAR(buffers.get(3, (h * seq + i) * d + x), want, 1e-5) << "seed " << seed;
        EXPECT_GT(scale[3][(h * seq + i) * d + x], 0);
      }
    }
  const auto spec = reference::tolerance_of(program);
  EXPECT_EQ(spec.kind, reference::ToleranceClass::rowwise);
  EXPECT_EQ(spec.k, 0);  // it normalises
  EXPECT_GE(reference::longest_contraction(program), seq);
}

TEST(Budget, StepsDeadlineAndCancellation) {
  Builder b;
  const int k = b.variable("k");
  bound::For forever;
  forever.var = k;
  forever.from = integer(0), forever.to = integer(std::numeric_limits<std::int64_t>::max()), forever.step = integer(1);
  b.add(std::move(forever));
  Buffers buffers(b.program);
  reference::RunOptions options;
  options.steps_max = 1000;
  auto status = buffers.run(options);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::resource_limit);
  options.steps_max = 0;
  options.deadline = Deadline::after(std::chrono::milliseconds(1));
  status = buffers.run(options);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::deadline_exceeded);
  options.deadline = {};
  options.cancel.cancel();
  status = buffers.run(options);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::cancelled);
}

TEST(Scale, GoesThroughAnEpilogue) {
  Builder b;
  const int A = b.tensor("A", DType::f32, {1, 2}), C = b.tensor("C", DType::f16, {1, 1}, Access::write);
  const int a = b.tile("a", DType::f32, {1, 2}), a2 = b.tile("a2", DType::f32, {1, 2}),
            c = b.tile("c", DType::f32, {1, 1});
  const int i = b.variable("i");
  const auto e = b.at(c, {integer(0), b.var(i)});
  b.add(b.load(A, {integer(0), integer(0)}, a))
      .add(b.load(A, {integer(0), integer(0)}, a2))
      .add(bound::Gemm{a, a2, c, false, true, true});
  b.add(bound::Map{{i}, {1}, {Builder::set(c, {integer(0), b.var(i)}, e * real(3) + real(1))}})
      .add(b.store(c, C, {integer(0), integer(0)}));
  Buffers buffers(b.program);
  buffers.set(A, {1, -2});
  std::vector<std::vector<double>> scale;
  ASSERT_TRUE(buffers.run({}, &scale));
  EXPECT_EQ(buffers.get(C, 0), 16);
  EXPECT_EQ(scale[C][0], 15);
  EXPECT_EQ(reference::tolerance_of(b.program).kind, reference::ToleranceClass::rowwise);
  EXPECT_EQ(reference::tolerance_of(b.program).k, 2);
}

}  // namespace
}  // namespace kiln::test
