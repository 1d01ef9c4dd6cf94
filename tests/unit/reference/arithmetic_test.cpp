// PROGRAM.md, "Arithmetic is defined, everywhere the same".
#include "engine/ir/bound/arithmetic.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace kiln::bound {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan_value = std::numeric_limits<double>::quiet_NaN();

std::int64_t integers(Op op, DType type, std::int64_t a, std::int64_t b = 0) {
  const auto f = function(op, type);
  EXPECT_NE(f, nullptr);
  return f(integer_value(a), integer_value(b), integer_value(0)).integer;
}
double reals(Op op, DType type, double a, double b = 0, double c = 0) {
  const auto f = function(op, type);
  EXPECT_NE(f, nullptr);
  return f(real_value(a), real_value(b), real_value(c)).real;
}

TEST(Arithmetic, IntegersWrap) {
  EXPECT_EQ(integers(Op::add, DType::i32, 0x7fffffff, 1), -0x80000000ll);
  EXPECT_EQ(integers(Op::mul, DType::i8, 100, 3), 44);
  EXPECT_EQ(integers(Op::sub, DType::u8, 1, 2), 255);
  EXPECT_EQ(integers(Op::neg, DType::i16, -32768), -32768);
  EXPECT_EQ(integers(Op::abs, DType::i8, -128), -128);
  EXPECT_EQ(integers(Op::mul, DType::i64, std::numeric_limits<std::int64_t>::max(), 2), -2);
  EXPECT_EQ(integers(Op::mul, DType::u16, 65535, 65535), 1);
  EXPECT_EQ(integers(Op::bit_not, DType::u16, 0), 65535);
}

TEST(Arithmetic, DivisionRoundsDown) {
  EXPECT_EQ(integers(Op::floordiv, DType::i32, -7, 2), -4);
  EXPECT_EQ(integers(Op::mod, DType::i32, -7, 2), 1);
  EXPECT_EQ(integers(Op::mod, DType::i32, 7, -2), -1);
  EXPECT_EQ(integers(Op::floordiv, DType::i32, 7, -2), -4);
  EXPECT_EQ(integers(Op::floordiv, DType::index, 7, 0), 0);
  EXPECT_EQ(integers(Op::mod, DType::index, 7, 0), 0);
  EXPECT_EQ(integers(Op::floordiv, DType::i32, -0x80000000ll, -1), -0x80000000ll);
  EXPECT_EQ(integers(Op::mod, DType::i64, std::numeric_limits<std::int64_t>::min(), -1), 0);
  EXPECT_EQ(integers(Op::ceildiv, DType::index, 7, 2), 4);
  EXPECT_EQ(integers(Op::ceildiv, DType::index, -7, 2), -3);
  EXPECT_EQ(integers(Op::ceildiv, DType::u8, 255, 2), 128);
  EXPECT_EQ(integers(Op::floordiv, DType::u64, -1, 2), std::numeric_limits<std::int64_t>::max());
  for (std::int64_t a = -20; a <= 20; ++a)
    for (std::int64_t b = -5; b <= 5; ++b) {
      if (b == 0) continue;
      const auto q = integers(Op::floordiv, DType::i8, a, b);
      EXPECT_EQ(q, static_cast<std::int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b))))
          << a << " // " << b;
      EXPECT_EQ(integers(Op::mod, DType::i8, a, b), a - q * b);
      EXPECT_EQ(integers(Op::ceildiv, DType::i8, a, b), -integers(Op::floordiv, DType::i8, -a, b));
    }
}

TEST(Arithmetic, ShiftsTakeCountsModuloWidth) {
  EXPECT_EQ(integers(Op::shl, DType::i32, 1, 33), 2);
  EXPECT_EQ(integers(Op::shl, DType::u8, 0x81, 1), 2);
  EXPECT_EQ(integers(Op::shr, DType::i8, -128, 7), -1);
  EXPECT_EQ(integers(Op::shr, DType::u8, 128, 15), 1);
  EXPECT_EQ(integers(Op::shr, DType::i32, -8, -31), -4);  // -31 modulo 32 is 1
  EXPECT_EQ(integers(Op::shl, DType::i64, 1, 64), 1);
}

TEST(Arithmetic, BitCalls) {
  EXPECT_EQ(integers(Op::popcount, DType::i8, -1), 8);
  EXPECT_EQ(integers(Op::clz, DType::u16, 1), 15);
  EXPECT_EQ(integers(Op::clz, DType::i32, 0), 32);
  EXPECT_EQ(integers(Op::mulhi, DType::u32, 0xffffffff, 0xffffffff), 0xfffffffe);
  EXPECT_EQ(integers(Op::mulhi, DType::i32, -1, 1), -1);
  EXPECT_EQ(integers(Op::mulhi, DType::u64, -1, -1), -2);
  EXPECT_EQ(integers(Op::mulhi, DType::i8, -128, -128), 64);
}

TEST(Arithmetic, UnsignedComparesUnsigned) {
  EXPECT_EQ(integers(Op::lt, DType::u64, -1, 1), 0);
  EXPECT_EQ(integers(Op::lt, DType::i64, -1, 1), 1);
  EXPECT_EQ(integers(Op::max, DType::u64, -1, 1), -1);
}

TEST(Arithmetic, MaximumAndMinimumPropagateNan) {
  for (const auto type : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    EXPECT_TRUE(std::isnan(reals(Op::max, type, nan_value, 1)));
    EXPECT_TRUE(std::isnan(reals(Op::max, type, 1, nan_value)));
    EXPECT_TRUE(std::isnan(reals(Op::min, type, 1, nan_value)));
    EXPECT_EQ(reals(Op::max, type, -infinity, -3), -3);
    EXPECT_EQ(reals(Op::min, type, 2, -3), -3);
    EXPECT_FALSE(std::signbit(reals(Op::max, type, -0.0, 0.0)));
    EXPECT_TRUE(std::signbit(reals(Op::min, type, 0.0, -0.0)));
  }
}

TEST(Arithmetic, FloatsRoundOnceToTheirType) {
  EXPECT_EQ(reals(Op::add, DType::f16, 2048, 1), 2048);   // tie to even
  EXPECT_EQ(reals(Op::add, DType::f16, 2050, 1), 2052);
  EXPECT_EQ(reals(Op::mul, DType::f16, 65504, 2), infinity);
  EXPECT_EQ(reals(Op::add, DType::bf16, 256, 1), 256);
  EXPECT_EQ(reals(Op::mul, DType::f16, 0x1p-14, 0x1p-10), 0x1p-24);  // denormals are kept
  EXPECT_EQ(reals(Op::mul, DType::f32, 0x1p-100, 0x1p-49), 0x1p-149);
  EXPECT_EQ(reals(Op::div, DType::f32, 1, 3), static_cast<double>(1.0f / 3.0f));
  EXPECT_EQ(reals(Op::round, DType::f32, 2.5), 2);
  EXPECT_EQ(reals(Op::round, DType::f32, -3.5), -4);
}

TEST(Arithmetic, FloatOperationsEqualTheMachines) {
  const auto seed = 20240607u;
  std::mt19937 random(seed);
  std::uniform_int_distribution<std::uint32_t> bits;
  for (int i = 0; i < 20000; ++i) {
    float a, b, c;
    const std::uint32_t words[] = {bits(random), bits(random), bits(random)};
    std::memcpy(&a, &words[0], 4), std::memcpy(&b, &words[1], 4), std::memcpy(&c, &words[2], 4);
    const auto same = [&](double got, float want) {
      return std::isnan(want) ? std::isnan(got) : got == static_cast<double>(want);
    };
    EXPECT_TRUE(same(reals(Op::add, DType::f32, a, b), a + b)) << "seed " << seed << " step " << i;
    EXPECT_TRUE(same(reals(Op::mul, DType::f32, a, b), a * b)) << "seed " << seed << " step " << i;
    EXPECT_TRUE(same(reals(Op::div, DType::f32, a, b), a / b)) << "seed " << seed << " step " << i;
    EXPECT_TRUE(same(reals(Op::sqrt, DType::f32, std::fabs(a)), std::sqrt(std::fabs(a))))
        << "seed " << seed << " step " << i;
    EXPECT_TRUE(same(reals(Op::fma, DType::f32, a, b, c), std::fma(a, b, c)))
        << "seed " << seed << " step " << i << " " << a << " " << b << " " << c;
  }
}

// The value that lies between two f32 values and that two roundings would get wrong.
TEST(Arithmetic, FusedMultiplyAddRoundsOnce) {
  const double a = 1 + 0x1p-23, b = 1 + 0x1p-23;
  const float want = std::fma(static_cast<float>(a), static_cast<float>(b), 0x1p-60f);
  EXPECT_EQ(reals(Op::fma, DType::f32, a, b, 0x1p-60), static_cast<double>(want));
  // f16: 1 + 2^-11 is a tie, 2^-24 decides it; in double 1 + 2^-11 + 2^-60 would lose it.
  EXPECT_EQ(reals(Op::fma, DType::bf16, 1, 1 + 0x1p-7, 0x1p-8), 1 + 0x1p-6);
  EXPECT_EQ(reals(Op::fma, DType::bf16, 0x1p-8, 1, 1), 1);
  EXPECT_EQ(reals(Op::fma, DType::bf16, 0x1p-8 * (1 + 0x1p-7), 1, 1), 1 + 0x1p-7);
  EXPECT_EQ(reals(Op::fma, DType::bf16, 0x1p-60, 0x1p-60, 1 + 0x1p-7), 1 + 0x1p-7);
}

TEST(Conversion, FloatToIntegerSaturates) {
  const auto to = [](double v, DType type) { return convert(real_value(v), DType::f32, type).integer; };
  EXPECT_EQ(to(nan_value, DType::i32), 0);
  EXPECT_EQ(to(3e9, DType::i32), 0x7fffffff);
  EXPECT_EQ(to(-3e9, DType::i32), -0x80000000ll);
  EXPECT_EQ(to(-1, DType::u8), 0);
  EXPECT_EQ(to(-0.5, DType::i8), 0);
  EXPECT_EQ(to(-1.9, DType::i8), -1);
  EXPECT_EQ(to(300, DType::u8), 255);
  EXPECT_EQ(to(infinity, DType::i64), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(to(-infinity, DType::i64), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(to(0x1p64, DType::u64), -1);
  EXPECT_EQ(to(0x1p63, DType::u64), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(to(0.25, DType::boolean), 1);
  EXPECT_EQ(to(-0.0, DType::boolean), 0);
}

TEST(Conversion, IntegersWrapAndRoundOnce) {
  EXPECT_EQ(convert(integer_value(300), DType::i32, DType::u8).integer, 44);
  EXPECT_EQ(convert(integer_value(255), DType::u8, DType::i8).integer, -1);
  EXPECT_EQ(convert(integer_value(-1), DType::u64, DType::f64).real, 0x1p64);
  EXPECT_EQ(convert(integer_value(16777217), DType::i32, DType::f32).real, 16777216);
  // 2^62 + 2^38 + 1 lies just above a tie of f32: rounding to double first would make it the tie and round down.
  const std::int64_t above_tie = (1ll << 62) + (1ll << 38) + 1;
  EXPECT_EQ(convert(integer_value(above_tie), DType::i64, DType::f32).real,
            static_cast<double>(static_cast<float>(above_tie)));
  EXPECT_EQ(convert(integer_value((1ll << 62) + (1ll << 54) + 1), DType::i64, DType::bf16).real, 0x1p62 + 0x1p55);
  EXPECT_EQ(convert(integer_value(70000), DType::i32, DType::f16).real, infinity);
  const auto seed = 7u;
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20000; ++i) {
    const auto v = static_cast<std::int64_t>(random()) >> (random() % 64);
    EXPECT_EQ(convert(integer_value(v), DType::i64, DType::f32).real, static_cast<double>(static_cast<float>(v)))
        << v << " seed " << seed;
    EXPECT_EQ(convert(integer_value(v), DType::u64, DType::f32).real,
              static_cast<double>(static_cast<float>(static_cast<std::uint64_t>(v))));
  }
}

TEST(Conversion, DoubleToHalfRoundsOnce) {
  // Through f32 this would become a tie and round down.
  EXPECT_EQ(convert(real_value(1 + 0x1p-11 + 0x1p-40), DType::f64, DType::f16).real, 1 + 0x1p-10);
  EXPECT_EQ(convert(real_value(1 + 0x1p-8 + 0x1p-40), DType::f64, DType::bf16).real, 1 + 0x1p-7);
}

TEST(Conversion, Bits) {
  EXPECT_EQ(reinterpret(real_value(1), DType::f32, DType::u32).integer, 0x3f800000);
  EXPECT_EQ(reinterpret(integer_value(0x3c00), DType::u16, DType::f16).real, 1);
  EXPECT_EQ(reinterpret(integer_value(-1), DType::i32, DType::u32).integer, 0xffffffff);
}

TEST(Memory, LoadsWhatWasStored) {
  std::uint8_t bytes[8];
  const auto round_trip = [&](DType type, Value v) {
    store_function(type)(bytes, v);
    return load_function(type)(bytes);
  };
  EXPECT_EQ(round_trip(DType::i8, integer_value(-3)).integer, -3);
  EXPECT_EQ(round_trip(DType::u16, integer_value(65535)).integer, 65535);
  EXPECT_EQ(round_trip(DType::bf16, real_value(-0x1p-133)).real, -0x1p-133);
  EXPECT_EQ(round_trip(DType::f16, real_value(0x1p-24)).real, 0x1p-24);
  EXPECT_EQ(round_trip(DType::boolean, integer_value(1)).integer, 1);
  bytes[0] = 2;
  EXPECT_EQ(load_function(DType::boolean)(bytes).integer, 1);
  EXPECT_EQ(load_function(DType::f4e2m1), nullptr);
}

TEST(Float8, EveryCodeIsAValueOfF16AndComesBack) {
  for (const DType type : {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz}) {
    for (int code = 0; code < 256; ++code) {
      const auto byte = static_cast<std::uint8_t>(code);
      const Value value = load_function(type)(&byte);
      std::uint8_t back = 0;
      store_function(type)(&back, value);
      if (std::isnan(value.real)) {
        EXPECT_TRUE(std::isnan(load_function(type)(&back).real)) << dtype_name(type) << " " << code;
        continue;
      }
      EXPECT_EQ(back, byte) << dtype_name(type);
      EXPECT_EQ(round_real(DType::f16, value.real), value.real) << dtype_name(type) << " " << code;
    }
  }
}

TEST(Float8, RoundsOnceToTheNearest) {
  struct Case {
    DType type;
    double from, to;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Case& c : {Case{DType::f8e4m3fn, 17, 16}, {DType::f8e4m3fn, 19, 20}, {DType::f8e4m3fn, 464, 448},
                        {DType::f8e4m3fn, 0x1p-10, 0}, {DType::f8e4m3fn, 0x1.000002p-10, 0x1p-9},
                        {DType::f8e4m3fnuz, 247, 240}, {DType::f8e4m3fnuz, 0x1.8p-10, 0x1p-9},
                        {DType::f8e5m2, 1.125, 1}, {DType::f8e5m2, 1.375, 1.5}, {DType::f8e5m2, 61440, infinity},
                        {DType::f8e5m2fnuz, 57344, 57344}, {DType::f8e5m2fnuz, -0x1p-17, -0x1p-17}})
    EXPECT_EQ(round_real(c.type, c.from), c.to) << dtype_name(c.type) << " " << c.from;
  EXPECT_TRUE(std::isnan(round_real(DType::f8e4m3fn, 465)));
  EXPECT_TRUE(std::isnan(round_real(DType::f8e4m3fnuz, 248)));
  EXPECT_TRUE(std::isnan(round_real(DType::f8e4m3fnuz, infinity)));
  EXPECT_TRUE(std::isnan(round_real(DType::f8e5m2fnuz, 61440)));
  EXPECT_FALSE(std::signbit(round_real(DType::f8e4m3fnuz, -0.0)));
  EXPECT_TRUE(std::signbit(round_real(DType::f8e4m3fn, -0.0)));
}

TEST(Operations, AreRefusedOnOtherTypes) {
  EXPECT_EQ(function(Op::div, DType::i32), nullptr);
  EXPECT_EQ(function(Op::floordiv, DType::f32), nullptr);
  EXPECT_EQ(function(Op::exp, DType::index), nullptr);
  EXPECT_EQ(function(Op::add, DType::boolean), nullptr);
  EXPECT_EQ(function(Op::logical_and, DType::i32), nullptr);
  EXPECT_EQ(function(Op::bit_and, DType::f32), nullptr);
  EXPECT_NE(function(Op::bit_and, DType::boolean), nullptr);
  EXPECT_EQ(function(Op::add, DType::f4e2m1), nullptr);
}

TEST(Operations, KnownValues) {
  const auto near = [](double got, double want) { EXPECT_NEAR(got, want, 1e-7 * std::max(1.0, std::fabs(want))); };
  near(reals(Op::exp, DType::f32, 1), 2.718281828);
  near(reals(Op::exp2, DType::f32, 0.5), 1.414213562);
  near(reals(Op::log, DType::f32, 10), 2.302585093);
  near(reals(Op::log2, DType::f32, 10), 3.321928095);
  near(reals(Op::log1p, DType::f32, 1e-6), 9.999995e-7);
  near(reals(Op::expm1, DType::f32, 1e-6), 1.0000005e-6);
  near(reals(Op::rsqrt, DType::f32, 4), 0.5);
  near(reals(Op::tanh, DType::f32, 0.5), 0.4621171573);
  near(reals(Op::sigmoid, DType::f32, 0), 0.5);
  near(reals(Op::erf, DType::f32, 0.5), 0.5204998778);
  near(reals(Op::sin, DType::f32, 1), 0.8414709848);
  near(reals(Op::cos, DType::f32, 1), 0.5403023059);
  near(reals(Op::pow, DType::f32, 2, 10), 1024);
  near(reals(Op::floor, DType::f32, -0.5), -1);
  near(reals(Op::ceil, DType::f32, -0.5), 0);
  EXPECT_EQ(reals(Op::exp, DType::f16, 12), infinity);
  EXPECT_EQ(reals(Op::exp, DType::f32, -infinity), 0);
  EXPECT_EQ(function(Op::isnan, DType::f32)(real_value(nan_value), {}, {}).integer, 1);
  EXPECT_EQ(function(Op::isinf, DType::f16)(real_value(-infinity), {}, {}).integer, 1);
}

}  // namespace
}  // namespace kiln::bound
