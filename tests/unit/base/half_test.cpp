// f16 and bf16 against an oracle that knows only the value of each bit pattern: the nearest one, ties to the even pattern.
#include "engine/base/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace kiln {
namespace {

struct Format {
  const char* name;
  int exponent_bits, mantissa_bits;
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow)(double);

  [[nodiscard]] std::uint16_t infinity() const { return std::uint16_t(((1 << exponent_bits) - 1) << mantissa_bits); }
  // The value of a finite positive pattern, by its definition.
  [[nodiscard]] double value(std::uint16_t bits) const {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = bits >> mantissa_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
    if (exponent == 0) return std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  }
};
const Format formats[] = {{"f16", 5, 10, f16_to_f32, f64_to_f16}, {"bf16", 8, 7, bf16_to_f32, f64_to_bf16}};

class Half : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, Half, testing::ValuesIn(formats), [](const auto& info) { return info.param.name; });

TEST_P(Half, every_pattern_widens_to_its_value_and_back) {
  const auto& format = GetParam();
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto wide = format.widen(std::uint16_t(bits));
    const std::uint16_t magnitude = bits & 0x7fff;
    ASSERT_EQ(std::signbit(wide), bits >= 0x8000) << bits;
    if (magnitude > format.infinity()) {
      ASSERT_TRUE(std::isnan(wide)) << bits;
      ASSERT_TRUE(std::bit_cast<std::uint32_t>(wide) & 0x400000u) << bits << " is not quiet";
      ASSERT_TRUE(std::isnan(format.widen(format.narrow(wide)))) << bits;
      continue;
    }
    if (magnitude == format.infinity()) ASSERT_TRUE(std::isinf(wide)) << bits;
    else ASSERT_EQ(double(std::fabs(wide)), format.value(magnitude)) << bits;
    ASSERT_EQ(format.narrow(wide), bits);
  }
}

TEST_P(Half, every_midpoint_and_its_neighbours_round_to_nearest_even) {
  const auto& format = GetParam();
  for (std::uint16_t low = 0; low < format.infinity(); ++low) {
    const std::uint16_t high = low + 1;
    const double below = format.value(low);
    // Above the largest finite value the next step's value decides, whose pattern is infinity.
    const double above = high == format.infinity() ? 2 * below - format.value(low - 1) : format.value(high);
    const double middle = below + (above - below) / 2;  // exact: both have few bits
    const std::uint16_t even = low & 1 ? high : low;
    for (const double sign : {1.0, -1.0}) {
      const std::uint16_t s = sign < 0 ? 0x8000 : 0;
      ASSERT_EQ(format.narrow(sign * middle), even | s) << low;
      ASSERT_EQ(format.narrow(sign * std::nextafter(middle, 0.0)), low | s) << low;
      ASSERT_EQ(format.narrow(sign * std::nextafter(middle, above)), high | s) << low;
      if (low > 0) {
        ASSERT_EQ(format.narrow(sign * std::nextafter(below, above)), low | s) << low;
      }
    }
  }
}

TEST_P(Half, extremes) {
  const auto& format = GetParam();
  const double huge = std::numeric_limits<double>::max(), tiny = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(format.narrow(huge), format.infinity());
  EXPECT_EQ(format.narrow(-huge), format.infinity() | 0x8000);
  EXPECT_EQ(format.narrow(std::numeric_limits<double>::infinity()), format.infinity());
  EXPECT_EQ(format.narrow(tiny), 0);
  EXPECT_EQ(format.narrow(-tiny), 0x8000);
  EXPECT_EQ(format.narrow(-0.0), 0x8000);
  EXPECT_TRUE(std::isnan(format.widen(format.narrow(std::numeric_limits<double>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(format.widen(format.narrow(std::numeric_limits<double>::signaling_NaN()))));
  EXPECT_TRUE(std::isnan(format.widen(format.narrow(-std::numeric_limits<float>::signaling_NaN()))));
}

TEST_P(Half, random_doubles_round_to_nearest) {
  const auto& format = GetParam();
  const std::uint64_t seed = 20240607;
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200000; ++i) {
    const double x = std::bit_cast<double>(random());
    if (std::isnan(x)) continue;
    const std::uint16_t bits = format.narrow(x);
    if ((bits & 0x7fff) == format.infinity()) continue;  // the midpoint test has the limit
    const double mine = format.value(bits & 0x7fff), error = std::fabs(std::fabs(x) - mine);
    for (const int step : {-1, 1}) {
      const int other = (bits & 0x7fff) + step;
      if (other < 0 || other >= format.infinity()) continue;
      ASSERT_LE(error, std::fabs(std::fabs(x) - format.value(std::uint16_t(other)))) << x << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace kiln
