#include <cmath>
#include <random>

#include "tests/unit/emulator/vector_cases.hpp"

namespace kiln::emulator_test {
namespace {

// The sequence that compilers emit for a correctly rounded division.
const std::string divide32 =
    "v_div_scale_f32 v3, s[4:5], v2, v2, v1\n"
    "v_div_scale_f32 v4, vcc, v1, v2, v1\n"
    "v_rcp_f32 v5, v3\n"
    "v_fma_f32 v6, -v3, v5, 1.0\n"
    "v_fmac_f32 v5, v6, v5\n"
    "v_mul_f32 v6, v4, v5\n"
    "v_fma_f32 v7, -v3, v6, v4\n"
    "v_fmac_f32 v6, v7, v5\n"
    "v_fma_f32 v3, -v3, v6, v4\n"
    "v_div_fmas_f32 v3, v3, v5, v6\n"
    "v_div_fixup_f32 v0, v3, v2, v1\n";
const std::string divide64 =
    "v_div_scale_f64 v[6:7], s[4:5], v[4:5], v[4:5], v[2:3]\n"
    "v_rcp_f64 v[8:9], v[6:7]\n"
    "v_div_scale_f64 v[10:11], vcc, v[2:3], v[4:5], v[2:3]\n"
    "v_fma_f64 v[12:13], -v[6:7], v[8:9], 1.0\n"
    "v_fma_f64 v[8:9], v[8:9], v[12:13], v[8:9]\n"
    "v_fma_f64 v[12:13], -v[6:7], v[8:9], 1.0\n"
    "v_fma_f64 v[8:9], v[8:9], v[12:13], v[8:9]\n"
    "v_mul_f64 v[12:13], v[10:11], v[8:9]\n"
    "v_fma_f64 v[6:7], -v[6:7], v[12:13], v[10:11]\n"
    "v_div_fmas_f64 v[6:7], v[6:7], v[8:9], v[12:13]\n"
    "v_div_fixup_f64 v[0:1], v[6:7], v[4:5], v[2:3]\n";

TEST(VectorDivide, CompiledDivisionIsCorrectlyRounded) {
  const std::uint32_t seed = 99;
  std::mt19937_64 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::vector<Case32> single = {{bits(1.0f), bits(3e38f), 0, bits(1.0f / 3e38f)},
                                {1, bits(3e38f), 0, 0},
                                {0x7f7fffff, 1, 0, 0x7f800000},
                                {1, 1, 0, bits(1.0f)},
                                {bits(1.0f), 0, 0, 0x7f800000},
                                {bits(-1.0f), 0x7f800000, 0, 0x80000000},
                                {0, 0, 0, 0xffc00000},
                                {0x7f800000, 0x7f800000, 0, 0xffc00000},
                                {0x7fc00001, bits(1.0f), 0, 0x7fc00001},
                                {bits(1.0f), 0x7f800001, 0, 0x7fc00001},
                                {0, bits(-5.0f), 0, 0x80000000}};
  while (single.size() < 3200) {
    const auto a = static_cast<std::uint32_t>(random()), b = static_cast<std::uint32_t>(random());
    const float q = f32(a) / f32(b);
    if (!std::isnan(q)) single.push_back({a, b, 0, bits(q)});
  }
  check32("gfx942", divide32, single);
  std::vector<Case64> wide = {
      {bits(1.0), bits(1.7e308), 0, bits(1.0 / 1.7e308)}, {1, 1, 0, bits(1.0)}, {0, 0, 0, 0xfff8000000000000}};
  while (wide.size() < 1600) {
    const std::uint64_t a = random(), b = random();
    const double q = std::bit_cast<double>(a) / std::bit_cast<double>(b);
    if (!std::isnan(q)) wide.push_back({a, b, 0, bits(q)});
  }
  check64("gfx90a", divide64, wide);
}

TEST(VectorDivide, FixUpOfHalves) {
  check32("gfx942", "v_div_fixup_f16 v0, v1, v2, v3",
          {{0x3c00, 0xc000, 0x4000, 0xdeadbc00},
           {0x3c00, 0, 0, 0xdeadfe00},
           {0x3c00, 0, 0xbc00, 0xdeadfc00},
           {0x3c00, 0xfc00, 0x3c00, 0xdead8000},
           {0x3c00, 0x3c00, 0x7d01, 0xdead7f01},
           {0x3c00, 0x7c00, 0x7c00, 0xdeadfe00}});
  check32("gfx942", "v_div_fixup_legacy_f16 v0, v1, v2, v3", {{0x3c00, 0xc000, 0x4000, 0xbc00}});
}

TEST(VectorDivide, SegmentsOfTwoOverPi) {
  // The first 128 bits of 2 / pi after the point, and 53 of them from a place on.
  const unsigned __int128 digits = static_cast<unsigned __int128>(0xa2f9836e4e441529) << 64 | 0xfc2757d1f534ddc0;
  const auto segment = [&](int from) {
    return bits(std::ldexp(static_cast<double>(static_cast<std::uint64_t>(digits << from >> 75)), -53 - from));
  };
  check64("gfx942", "v_trig_preop_f64 v[0:1], v[2:3], v4",
          {{bits(1.0), 0, 0, segment(0)},
           {bits(1.0), 1, 0, segment(53)},
           {bits(0x1p54), 0, 0, segment(0)},
           {bits(0x1p60), 0, 0, segment(6)},
           {bits(0x1p60), 1, 0, segment(59)}});
}

}  // namespace
}  // namespace kiln::emulator_test
