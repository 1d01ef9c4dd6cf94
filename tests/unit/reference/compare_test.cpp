#include "tests/unit/reference/builder.hpp"
#include "tests/unit/reference/programs.hpp"

namespace kiln::test {
namespace {

using reference::compare;
using reference::ToleranceClass;
using reference::ToleranceSpec;

Bytes bytes_of(DType type, const std::vector<double>& values) {
  Bytes bytes(values.size() * dtype_bytes(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto v = is_float(type) ? bound::real_value(bound::round_real(type, values[i]))
                                  : bound::integer_value(static_cast<std::int64_t>(values[i]));
    bound::store_function(type)(bytes.data() + i * dtype_bytes(type), v);
  }
  return bytes;
}
ToleranceSpec spec_of(ToleranceClass kind, std::int64_t k = 0) {
  ToleranceSpec spec;
  spec.kind = kind;
  spec.k = k;
  return spec;
}
const double nan_value = std::numeric_limits<double>::quiet_NaN();
const double infinity = std::numeric_limits<double>::infinity();

TEST(Compare, ExactTakesNothingElse) {
  const auto same = compare(DType::f32, bytes_of(DType::f32, {1, nan_value, -0.0, infinity}),
                            bytes_of(DType::f32, {1, nan_value, 0.0, infinity}), {}, spec_of(ToleranceClass::exact));
  EXPECT_EQ(same.elements, 4u);
  EXPECT_EQ(same.wrong, 0u);
  EXPECT_EQ(same.first_wrong, -1);
  EXPECT_EQ(same.ratio_max, 0);
  const auto other = compare(DType::f32, bytes_of(DType::f32, {1, 2}), bytes_of(DType::f32, {1, 2 + 0x1p-22}), {},
                             spec_of(ToleranceClass::exact));
  EXPECT_EQ(other.wrong, 1u);
  EXPECT_EQ(other.first_wrong, 1);
  EXPECT_EQ(other.error_max, 0x1p-22);
  EXPECT_GT(other.ratio_max, 1);
}

TEST(Compare, IntegersAreExactWhateverTheClass) {
  const auto c = compare(DType::i32, bytes_of(DType::i32, {1, 5}), bytes_of(DType::i32, {1, 6}), {},
                         spec_of(ToleranceClass::rowwise));
  EXPECT_EQ(c.wrong, 1u);
  EXPECT_EQ(c.error_max, 1);
}

TEST(Compare, GemmTolerance) {
  // 2·u·|ref| with u = 2^-11, and 2·(K+8)·2^-24·S.
  const std::vector<double> scale = {0, 1024};
  const auto spec = spec_of(ToleranceClass::gemm, 56);
  const auto one_apart =
      compare(DType::f16, bytes_of(DType::f16, {1 + 0x1p-10, 0}), bytes_of(DType::f16, {1, 0}), scale, spec);
  EXPECT_EQ(one_apart.wrong, 0u);
  EXPECT_DOUBLE_EQ(one_apart.ratio_max, 1);
  const auto two_apart =
      compare(DType::f16, bytes_of(DType::f16, {1 + 0x1p-9, 0}), bytes_of(DType::f16, {1, 0}), scale, spec);
  EXPECT_EQ(two_apart.wrong, 1u);
  const double term = 2 * 64 * 0x1p-24 * 1024;
  const auto within = compare(DType::f32, bytes_of(DType::f32, {0, term}), bytes_of(DType::f32, {0, 0}), scale, spec);
  EXPECT_EQ(within.wrong, 0u);
  const auto beyond =
      compare(DType::f32, bytes_of(DType::f32, {0, 1.01 * term}), bytes_of(DType::f32, {0, 0}), scale, spec);
  EXPECT_EQ(beyond.wrong, 1u);
  EXPECT_EQ(beyond.first_wrong, 1);
  auto flushing = spec;
  flushing.flushes_denormals = true;
  flushing.operand_max = 4;
  const double flush = 56 * 0x1p-126 * 4;
  EXPECT_EQ(compare(DType::f32, bytes_of(DType::f32, {flush}), bytes_of(DType::f32, {0}), {}, flushing).wrong, 0u);
  EXPECT_EQ(compare(DType::f32, bytes_of(DType::f32, {flush}), bytes_of(DType::f32, {0}), {}, spec).wrong, 1u);
}

TEST(Compare, RowwiseTolerance) {
  const auto spec = spec_of(ToleranceClass::rowwise);
  const double tolerance = 4 * 0x1p-8 * 2 + 1e-5;
  EXPECT_EQ(compare(DType::bf16, bytes_of(DType::bf16, {2 + 0x1p-5}), bytes_of(DType::bf16, {2}), {}, spec).wrong, 0u);
  const auto far = compare(DType::bf16, bytes_of(DType::bf16, {2 + 0x1p-4}), bytes_of(DType::bf16, {2}), {}, spec);
  EXPECT_EQ(far.wrong, 1u);
  EXPECT_DOUBLE_EQ(far.tolerance_at_max, tolerance);
  EXPECT_DOUBLE_EQ(far.ratio_max, 0x1p-4 / tolerance);
}

TEST(Compare, NanAndInfinity) {
  const auto spec = spec_of(ToleranceClass::rowwise);
  const auto got_nan = compare(DType::f32, bytes_of(DType::f32, {nan_value}), bytes_of(DType::f32, {1}), {}, spec);
  EXPECT_EQ(got_nan.wrong, 1u);
  EXPECT_EQ(got_nan.error_max, infinity);
  EXPECT_EQ(compare(DType::f32, bytes_of(DType::f32, {1}), bytes_of(DType::f32, {nan_value}), {}, spec).wrong, 1u);
  EXPECT_EQ(compare(DType::f16, bytes_of(DType::f16, {65504}), bytes_of(DType::f16, {infinity}), {}, spec).wrong, 0u);
  EXPECT_EQ(compare(DType::f16, bytes_of(DType::f16, {60000}), bytes_of(DType::f16, {infinity}), {}, spec).wrong, 1u);
  EXPECT_EQ(compare(DType::f16, bytes_of(DType::f16, {-infinity}), bytes_of(DType::f16, {infinity}), {}, spec).wrong,
            1u);
}

TEST(ToleranceOf, FollowsTheProgram) {
  EXPECT_EQ(reference::tolerance_of(gemm_program(9, 8, 7, 8, DType::i8, DType::i32)).kind, ToleranceClass::exact);
  auto gemm = gemm_program(40, 30, 200, 16, DType::bf16, DType::f32);
  EXPECT_EQ(reference::tolerance_of(gemm).kind, ToleranceClass::gemm);
  EXPECT_GE(reference::tolerance_of(gemm).k, 200);
  EXPECT_FALSE(reference::tolerance_of(gemm).flushes_denormals);
  gemm.target = "gfx90a:sramecc+:xnack-";
  EXPECT_TRUE(reference::tolerance_of(gemm).flushes_denormals);
  EXPECT_EQ(reference::tolerance_of(attention_program(1, 16, 4, 8, DType::f16)).kind, ToleranceClass::rowwise);

  Builder b;
  const int x = b.tile("x", DType::f32, {4}), i = b.variable("i");
  b.add(bound::Fill{x, real(1)});
  b.add(bound::Map{{i}, {4}, {Builder::set(x, {b.var(i)}, b.at(x, {b.var(i)}) * real(3) + real(1))}});
  EXPECT_EQ(reference::tolerance_of(b.program).kind, ToleranceClass::exact);
  b.add(bound::Map{{i}, {4}, {Builder::set(x, {b.var(i)}, operation(Op::exp, {b.at(x, {b.var(i)})}))}});
  EXPECT_EQ(reference::tolerance_of(b.program).kind, ToleranceClass::rowwise);
}

}  // namespace
}  // namespace kiln::test
