// fp8 and smaller: decoding by the formats' definition, encoding by the nearest of all values.
#include <cmath>
#include <random>

#include "tests/unit/emulator/vector_cases.hpp"

namespace kiln::emulator_test {
namespace {

struct Format {
  int bits, fraction, bias;
  bool fnuz, has_nan, has_infinity;
};
constexpr Format fp8_fnuz{8, 3, 8, true, true, false}, bf8_fnuz{8, 2, 16, true, true, false},
    fp8{8, 3, 7, false, true, false}, bf8{8, 2, 15, false, true, true}, fp6{6, 3, 1, false, false, false},
    bf6{6, 2, 3, false, false, false}, fp4{4, 1, 1, false, false, false};

double decode(const Format& f, std::uint32_t code) {
  const std::uint32_t sign_bit = 1u << (f.bits - 1), magnitude = code & (sign_bit - 1);
  const bool negative = (code & sign_bit) != 0;
  if (f.fnuz && code == sign_bit) return NAN;
  const int exponent_bits = f.bits - 1 - f.fraction, exponent = static_cast<int>(magnitude >> f.fraction);
  const int fraction = static_cast<int>(magnitude & ((1u << f.fraction) - 1)), top = (1 << exponent_bits) - 1;
  if (f.has_infinity && exponent == top) return fraction != 0 ? NAN : negative ? -INFINITY : INFINITY;
  if (!f.fnuz && f.has_nan && !f.has_infinity && magnitude == sign_bit - 1) return NAN;
  const double value = exponent == 0 ? std::ldexp(fraction, 1 - f.bias - f.fraction)
                                     : std::ldexp((1 << f.fraction) + fraction, exponent - f.bias - f.fraction);
  return negative ? -value : value;
}

// The nearest finite code, ties to even; beyond the largest value's rounding range: -1.
int encode(const Format& f, double x) {
  const std::uint32_t sign_bit = 1u << (f.bits - 1);
  int best = -1;
  double least = INFINITY, largest = 0, before = 0;
  for (std::uint32_t code = 0; code < sign_bit; ++code) {
    const double value = decode(f, code);
    if (std::isnan(value) || std::isinf(value)) break;
    const double distance = std::fabs(value - std::fabs(x));
    if (distance < least || (distance == least && code % 2 == 0)) best = static_cast<int>(code), least = distance;
    before = largest, largest = value;
  }
  // Where the next value would lie; at the middle to it an even code would follow an odd one, and the other way around.
  const double limit = largest + (largest - before) / 2;
  const bool last_is_odd = best % 2 == 1;
  if (std::fabs(x) > limit || (std::fabs(x) == limit && last_is_odd)) return -1;
  if (std::signbit(x) && !(f.fnuz && best == 0)) best |= static_cast<int>(sign_bit);
  return best;
}

void check_decoding(const std::string& processor, const std::string& name, const Format& f) {
  std::vector<Case32> cases;
  for (std::uint32_t code = 0; code < 256; ++code) {
    const double value = decode(f, code);
    if (!std::isnan(value)) cases.push_back({0xabcdef00 | code, 0, 0, bits(static_cast<float>(value))});
  }
  check32(processor, name + " v0, v1", cases);
}

std::vector<float> samples(std::uint32_t seed, const Format& f, int count) {
  std::mt19937 random(seed);
  std::vector<float> values = {0.0f, -0.0f};
  std::uniform_int_distribution<std::uint32_t> code(0, (1u << (f.bits - 1)) - 1);
  while (static_cast<int>(values.size()) < count) {
    // Values of the format, middles between two, and a little beside either.
    const double a = decode(f, code(random)), b = decode(f, code(random));
    double value = random() % 2 == 0 ? a : (a + decode(f, code(random))) / 2;
    if (random() % 3 == 0)
      value = (a + b) * std::ldexp(1.0 + static_cast<double>(random()) / 4294967296.0, -static_cast<int>(random() % 4));
    if (random() % 3 == 0) value *= 1 + std::ldexp(1.0, -20);
    if (std::isfinite(value)) values.push_back(static_cast<float>(random() % 2 == 0 ? value : -value));
  }
  return values;
}

void check_encoding(const std::string& processor, const std::string& name, const Format& f, int overflow_code) {
  const std::uint32_t seed = 5;
  const auto values = samples(seed, f, 1600);
  std::vector<Case32> cases;
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
    std::uint32_t want = 0;
    for (int k = 0; k < 2; ++k) {
      const float x = values[i + static_cast<std::size_t>(k)];
      int code = encode(f, x);
      if (code < 0) code = overflow_code | (!f.fnuz && std::signbit(x) ? 0x80 : 0);
      want |= static_cast<std::uint32_t>(code) << 8 * k;
    }
    cases.push_back({bits(values[i]), bits(values[i + 1]), 0, 0xdead0000 | want});
  }
  SCOPED_TRACE("seed " + std::to_string(seed));
  check32(processor, name + " v0, v1, v2", cases);
}

TEST(VectorSmall, Decoding) {
  check_decoding("gfx942", "v_cvt_f32_fp8", fp8_fnuz);
  check_decoding("gfx942", "v_cvt_f32_bf8", bf8_fnuz);
  check_decoding("gfx950", "v_cvt_f32_fp8", fp8);
  check_decoding("gfx950", "v_cvt_f32_bf8", bf8);
  SmallWave wave("gfx942");
  wave.v(1, 0) = 0x80;
  ASSERT_EQ(wave.run("v_cvt_f32_fp8 v0, v1"), emulator::WaveStatus::ended);
  EXPECT_TRUE(std::isnan(wave.vf(0, 0)));
  check32("gfx942", "v_cvt_f32_fp8_sdwa v0, v1 src0_sel:BYTE_2", {{0x00480000, 0, 0, bits(2.0f)}});
  const std::uint64_t two = bits(1.0f) | std::uint64_t{bits(2.0f)} << 32;
  check64("gfx942", "v_cvt_pk_f32_fp8 v[0:1], v2", {{0x4840, 0, 0, two}});
  check64("gfx942", "v_cvt_pk_f32_fp8_sdwa v[0:1], v2 src0_sel:WORD_1", {{0x48400000, 0, 0, two}});
}

TEST(VectorSmall, EncodingToNearest) {
  check_encoding("gfx942", "v_cvt_pk_fp8_f32", fp8_fnuz, 0x80);
  check_encoding("gfx942", "v_cvt_pk_bf8_f32", bf8_fnuz, 0x80);
  check_encoding("gfx950", "v_cvt_pk_fp8_f32", fp8, 0x7f);
  check_encoding("gfx950", "v_cvt_pk_bf8_f32", bf8, 0x7c);
  check32("gfx942", "v_cvt_pk_fp8_f32 v0, v1, v2 op_sel:[0,0,1]", {{bits(1.0f), bits(2.0f), 0, 0x4840beef}});
  check32("gfx942", "v_cvt_pk_fp8_f32 v0, -v1, |v2|", {{bits(1.0f), bits(-2.0f), 0, 0xdead48c0}});
  // Infinity and NaN; with FP16_OVFL overflow gives the largest value.
  check32("gfx942", "v_cvt_pk_fp8_f32 v0, v1, v2", {{0x7f800000, 0x7fc00000, 0, 0xdead8080}});
  check32("gfx950", "v_cvt_pk_bf8_f32 v0, v1, v2", {{0xff800000, 0x7fc00000, 0, 0xdead7ffc}});
  check32("gfx942", "v_cvt_pk_fp8_f32 v0, v1, v2", {{bits(1e9f), bits(-1e9f), 0, 0xdeadff7f}}, 0x8003f0);
  check32("gfx950", "v_cvt_pk_fp8_f32 v0, v1, v2", {{bits(1e9f), bits(-1e9f), 0, 0xdeadfe7e}}, 0x8003f0);
}

TEST(VectorSmall, StochasticRounding) {
  // 1 + 1/32 lies a quarter of the way from 1 to 1.125: random numbers in the upper quarter round up.
  check32("gfx942", "v_cvt_sr_fp8_f32 v0, v1, v2",
          {{bits(1.03125f), 0, 0, 0xdeadbe40},
           {bits(1.03125f), 0xbfffffff, 0, 0xdeadbe40},
           {bits(1.03125f), 0xc0000000, 0, 0xdeadbe41},
           {bits(-1.03125f), 0xffffffff, 0, 0xdeadbec1},
           {bits(1.0f), 0xffffffff, 0, 0xdeadbe40}});
  check32("gfx942", "v_cvt_sr_fp8_f32 v0, v1, v2 op_sel:[0,0,1,0]", {{bits(1.0f), 0, 0, 0xdead40ef}});
  check32("gfx942", "v_cvt_sr_fp8_f32 v0, v1, v2 op_sel:[0,0,1,1]", {{bits(1.0f), 0, 0, 0x40adbeef}});
  check32("gfx950", "v_cvt_sr_bf8_f32 v0, v1, v2",
          {{bits(1.125f), 0x7fffffff, 0, 0xdeadbe3c}, {bits(1.125f), 0x80000000, 0, 0xdeadbe3d}});
  // Half way between 0 and the smallest denormal, 2^-9.
  check32("gfx950", "v_cvt_sr_fp8_f32 v0, v1, v2",
          {{bits(0x1p-10f), 0x7fffffff, 0, 0xdeadbe00}, {bits(0x1p-10f), 0x80000000, 0, 0xdeadbe01}});
  check32("gfx950", "v_cvt_sr_f16_f32 v0, v1, v2",
          {{bits(1 + 0x1p-11f), 0x7fffffff, 0, 0xdead3c00}, {bits(1 + 0x1p-11f), 0x80000000, 0, 0xdead3c01}});
  check32("gfx950", "v_cvt_sr_bf16_f32 v0, v1, v2",
          {{0x3f808000, 0x7fffffff, 0, 0xdead3f80}, {0x3f808000, 0x80000000, 0, 0xdead3f81}});
}

TEST(VectorSmall, ScaledPairs) {
  const std::uint32_t four = bits(4.0f), quarter = bits(0.25f);
  check32("gfx950", "v_cvt_scalef32_pk_fp8_f32 v0, v1, v2, v3",
          {{bits(4.0f), bits(8.0f), four, 0xdead4038}, {bits(4.0f), bits(8.0f), bits(7.0f), 0xdead4038}});
  check32("gfx950", "v_cvt_scalef32_pk_bf8_f32 v0, v1, v2, v3 op_sel:[0,0,0,1]",
          {{bits(4.0f), bits(8.0f), four, 0x403cbeef}});
  check32("gfx950", "v_cvt_scalef32_pk_fp4_f32 v0, v1, v2, v3",
          {{bits(1.0f), bits(-24.0f), four, 0xdeadbef0}, {bits(1e9f), bits(2.0f), four, 0xdeadbe17}});
  check32("gfx950", "v_cvt_scalef32_pk_fp4_f32 v0, v1, v2, v3 op_sel:[0,0,1,0]",
          {{bits(4.0f), bits(8.0f), four, 0xdead42ef}});
  check32("gfx950", "v_cvt_scalef32_pk_fp8_f16 v0, v1, v2", {{0x48004400, four, 0, 0xdead4038}});
  check32("gfx950", "v_cvt_scalef32_pk_fp8_bf16 v0, v1, v2", {{0x41004080, four, 0, 0xdead4038}});
  check32("gfx950", "v_cvt_scalef32_pk_fp4_f16 v0, v1, v2", {{0x48004400, four, 0, 0xdeadbe42}});
  check32("gfx950", "v_cvt_scalef32_sr_fp8_f32 v0, v1, v2, v3",
          {{bits(1.03125f * 4), 0xbfffffff, four, 0xdeadbe38}, {bits(1.03125f * 4), 0xc0000000, four, 0xdeadbe39}});
  check32("gfx950", "v_cvt_scalef32_sr_fp8_f16 v0, v1, v2, v3",
          {{0x4420, 0xbfffffff, four, 0xdeadbe38}, {0x4420, 0xc0000000, four, 0xdeadbe39}});
  check32("gfx950", "v_cvt_scalef32_f32_fp8 v0, v1, v2",
          {{0x38, quarter, 0, bits(0.25f)}, {0x38, bits(0.4f), 0, bits(0.25f)}});
  check32("gfx950", "v_cvt_scalef32_f32_fp8 v0, v1, v2 op_sel:[1,1,0]", {{0x40000000, quarter, 0, bits(0.5f)}});
  check32("gfx950", "v_cvt_scalef32_f16_fp8 v0, v1, v2", {{0x38, four, 0, 0xdead4400}});
  check32("gfx950", "v_cvt_scalef32_pk_f16_fp8 v0, v1, v2", {{0x4038, four, 0, 0x48004400}});
  check32("gfx950", "v_cvt_scalef32_pk_bf16_bf8 v0, v1, v2 op_sel:[1,0,0]", {{0x403c0000, four, 0, 0x41004080}});
  check32("gfx950", "v_cvt_scalef32_pk_f16_fp4 v0, v1, v2", {{0x42, four, 0, 0x48004400}});
  check64("gfx950", "v_cvt_scalef32_pk_f32_fp8 v[0:1], v2, v4",
          {{0x4038, four, 0, bits(4.0f) | std::uint64_t{bits(8.0f)} << 32}});
  check64("gfx950", "v_cvt_scalef32_pk_f32_fp4 v[0:1], v2, v4 op_sel:[0,1,0]",
          {{0x420000, four, 0, bits(4.0f) | std::uint64_t{bits(8.0f)} << 32}});
}

TEST(VectorSmall, ScaledBlocksOf32) {
  SmallWave wave("gfx950");
  const float scale = 2.0f;
  for (int lane = 0; lane < 64; ++lane) {
    wave.set_vf(100, lane, scale);
    for (int k = 0; k < 32; ++k)
      wave.set_vf(32 + k, lane,
                  static_cast<float>(decode(fp6, static_cast<std::uint32_t>((k * 5 + lane) % 64))) * scale);
  }
  // 2xpk16 interleaves its two sources, so element 2 i is v32+i and element 2 i + 1 v48+i.
  ASSERT_EQ(wave.run("v_cvt_scalef32_2xpk16_fp6_f32 v[0:5], v[32:47], v[48:63], v100\nv_cvt_scalef32_pk32_f32_fp6 "
                     "v[64:95], v[0:5], v100\n"
                     "v_cvt_scalef32_pk32_f16_fp6 v[104:119], v[0:5], v100\nv_cvt_scalef32_pk32_fp6_f16 v[6:11], "
                     "v[104:119], v100"),
            emulator::WaveStatus::ended);
  for (int lane = 0; lane < 64; lane += 9) {
    for (int k = 0; k < 32; ++k) {
      const float want = wave.vf(32 + k / 2 + (k % 2) * 16, lane);
      EXPECT_EQ(wave.vf(64 + k, lane), want) << lane << " " << k;
    }
    for (int r = 0; r < 6; ++r) EXPECT_EQ(wave.v(r, lane), wave.v(6 + r, lane)) << lane << " " << r;
  }
}

}  // namespace
}  // namespace kiln::emulator_test
