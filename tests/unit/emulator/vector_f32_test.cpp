#include <cfenv>
#include <cmath>
#include <random>

#include "tests/unit/emulator/vector_cases.hpp"

namespace kiln::emulator_test {
namespace {

constexpr std::uint32_t inf = 0x7f800000, minus_inf = 0xff800000, quiet = 0x7fc00000, signalling = 0x7f800001;
constexpr std::uint32_t smallest = 0x00000001, normal = 0x00800000, minus_zero = 0x80000000;

TEST(VectorF32, Arithmetic) {
  for (const auto& processor : cdna()) {
    check32(processor, "v_add_f32 v0, v1, v2",
            {{bits(1.5f), bits(2.25f), 0, bits(3.75f)},
             {bits(1.0f), bits(0x1p-24f), 0, bits(1.0f)},
             {bits(1.0f), bits(0x1.8p-24f), 0, bits(1 + 0x1p-23f)},
             {inf, inf, 0, inf},
             {smallest, smallest, 0, 2},
             {minus_zero, minus_zero, 0, minus_zero}});
    check32(processor, "v_sub_f32 v0, v1, v2", {{bits(1.0f), bits(3.0f), 0, bits(-2.0f)}});
    check32(processor, "v_subrev_f32 v0, v1, v2", {{bits(1.0f), bits(3.0f), 0, bits(2.0f)}});
    check32(processor, "v_mul_f32 v0, v1, v2",
            {{bits(3.0f), bits(-2.0f), 0, bits(-6.0f)},
             {normal, bits(0.5f), 0, 0x00400000},
             {bits(0x1p100f), bits(0x1p100f), 0, inf}});
    check32(processor, "v_mul_legacy_f32 v0, v1, v2",
            {{0, inf, 0, 0}, {inf, minus_zero, 0, 0}, {bits(2.0f), bits(3.0f), 0, bits(6.0f)}});
    // (1 + 2^-12)^2 - 1: the product does not round.
    const std::uint32_t a = bits(1 + 0x1p-12f), minus_one = bits(-1.0f);
    check32(processor, "v_fma_f32 v0, v1, v2, v3", {{a, a, minus_one, bits(0x1p-11f + 0x1p-24f)}});
    check32(processor, "v_fmac_f32 v0, v1, v2", {{a, a, 0, bits(0x1p-11f + 0x1p-24f)}}, usual_mode, minus_one);
    check32(processor, "v_fma_f32 v0, -v1, |v2|, v3", {{a, bits(-a * 0 - 2.0f), bits(1.0f), bits(1.0f - 2 * f32(a))}});
    check32(processor, "v_fma_f32 v0, v1, 2.0, s0", {{bits(3.0f), 0, 0, bits(6.0f)}});
  }
  check32("gfx90a", "v_mac_f32 v0, v1, v2", {{bits(1 + 0x1p-12f), bits(1 + 0x1p-12f), 0, bits(0x1p-11f)}}, usual_mode,
          bits(-1.0f));
  check32("gfx90a", "v_mad_f32 v0, v1, v2, v3",
          {{bits(2.0f), bits(3.0f), smallest, bits(6.0f)}, {smallest, bits(1.0f), 0, 0}});
  check32("gfx90a", "v_madak_f32 v0, v1, v2, 0x40400000", {{bits(2.0f), bits(5.0f), 0, bits(13.0f)}});
  check32("gfx90a", "v_madmk_f32 v0, v1, 0x40400000, v2", {{bits(2.0f), bits(5.0f), 0, bits(11.0f)}});
  check32("gfx942", "v_fmaak_f32 v0, v1, v2, 0x40400000", {{bits(2.0f), bits(5.0f), 0, bits(13.0f)}});
  check32("gfx942", "v_fmamk_f32 v0, v1, 0x40400000, v2", {{bits(2.0f), bits(5.0f), 0, bits(11.0f)}});
}

TEST(VectorF32, DenormalModes) {
  // Inputs are flushed without bit 4 of MODE, results without bit 5.
  const std::vector<Case32> kept = {{smallest, smallest, 0, 2}}, none = {{smallest, 0x80000001, 0, 0}};
  check32("gfx942", "v_add_f32 v0, v1, v2", kept, 0x3f0);
  check32("gfx942", "v_add_f32 v0, v1, v2", none, 0x3c0);
  check32("gfx942", "v_add_f32 v0, v1, v2", {{smallest, bits(0.0f), 0, 0}, {0x80000001, 0x80000001, 0, minus_zero}},
          0x3c0);
  check32("gfx942", "v_mul_f32 v0, v1, v2", {{normal, bits(0.5f), 0, 0}, {normal, bits(-0.5f), 0, minus_zero}}, 0x3d0);
  check32("gfx942", "v_mul_f32 v0, v1, v2", {{smallest, bits(0x1p30f), 0, 0}, {normal, bits(0.5f), 0, 0x00400000}},
          0x3e0);
  check32("gfx942", "v_max_f32 v0, v1, v2", {{smallest, minus_zero, 0, 0}, {0x80000001, 0x80000002, 0, minus_zero}},
          0x3c0);
  // The f16 and f64 modes do not matter to f32.
  check32("gfx942", "v_add_f32 v0, v1, v2", kept, 0x330);
}

TEST(VectorF32, RoundingModes) {
  // The wave sets its mode itself, as kernels do.
  const std::uint32_t one = bits(1.0f), tiny = bits(0x1p-30f), minus = bits(-1.0f), minus_tiny = bits(-0x1p-30f);
  const auto with = [](int mode) {
    return "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), " + std::to_string(mode) + "\n";
  };
  check32("gfx942", with(0) + "v_add_f32 v0, v1, v2", {{one, tiny, 0, one}, {minus, minus_tiny, 0, minus}});
  check32("gfx942", with(1) + "v_add_f32 v0, v1, v2", {{one, tiny, 0, one + 1}, {minus, minus_tiny, 0, minus}});
  check32("gfx942", with(2) + "v_add_f32 v0, v1, v2", {{one, tiny, 0, one}, {minus, minus_tiny, 0, minus + 1}});
  check32("gfx942", with(3) + "v_add_f32 v0, v1, v2", {{one, minus_tiny, 0, one - 1}, {minus, tiny, 0, minus - 1}});
  // Rounding to integers has a direction of its own.
  check32("gfx942", with(1) + "v_rndne_f32 v0, v1", {{bits(2.5f), 0, 0, bits(2.0f)}, {bits(3.5f), 0, 0, bits(4.0f)}});
}

TEST(VectorF32, MinimumAndMaximum) {
  const std::uint32_t one = bits(1.0f), two = bits(2.0f), loud = signalling, hushed = signalling | 0x00400000;
  const std::vector<Case32> min_ieee = {{one, two, 0, one},
                                        {two, one, 0, one},
                                        {0, minus_zero, 0, minus_zero},
                                        {minus_zero, 0, 0, minus_zero},
                                        {quiet, one, 0, one},
                                        {one, quiet, 0, one},
                                        {quiet, 0xffc00001, 0, 0xffc00001},
                                        {loud, one, 0, hushed},
                                        {one, loud, 0, hushed},
                                        {quiet, loud, 0, hushed},
                                        {minus_inf, inf, 0, minus_inf}};
  check32("gfx942", "v_min_f32 v0, v1, v2", min_ieee);
  check32("gfx942", "v_max_f32 v0, v1, v2",
          {{one, two, 0, two},
           {two, one, 0, two},
           {0, minus_zero, 0, 0},
           {minus_zero, 0, 0, 0},
           {quiet, one, 0, one},
           {one, loud, 0, hushed},
           {bits(-1.0f), bits(-2.0f), 0, bits(-1.0f)}});
  // Without IEEE mode a signalling NaN gives way too.
  check32("gfx942", "v_min_f32 v0, v1, v2", {{loud, one, 0, one}, {one, loud, 0, one}}, 0x1f0);
  const std::uint32_t three = bits(3.0f);
  check32("gfx942", "v_min3_f32 v0, v1, v2, v3", {{three, one, two, one}, {quiet, three, two, two}});
  check32("gfx942", "v_max3_f32 v0, v1, v2, v3", {{three, one, two, three}, {one, quiet, two, two}});
  check32("gfx942", "v_med3_f32 v0, v1, v2, v3",
          {{three, one, two, two},
           {one, two, three, two},
           {two, three, one, two},
           {one, one, two, one},
           {quiet, three, two, two},
           {three, quiet, two, two},
           {three, two, quiet, two},
           {0, minus_zero, one, 0}});
  check32("gfx950", "v_minimum3_f32 v0, v1, v2, v3",
          {{three, one, two, one},
           {quiet, three, two, quiet},
           {three, loud, two, hushed},
           {0, minus_zero, one, minus_zero}});
  check32("gfx950", "v_maximum3_f32 v0, v1, v2, v3",
          {{three, one, two, three}, {one, two, quiet, quiet}, {minus_zero, 0, minus_zero, 0}});
}

TEST(VectorF32, RoundingToIntegers) {
  const auto f = [](float x) { return bits(x); };
  check32("gfx942", "v_trunc_f32 v0, v1",
          {{f(2.7f), 0, 0, f(2)}, {f(-2.7f), 0, 0, f(-2)}, {f(-0.5f), 0, 0, minus_zero}, {inf, 0, 0, inf}});
  check32("gfx942", "v_floor_f32 v0, v1",
          {{f(2.7f), 0, 0, f(2)}, {f(-2.2f), 0, 0, f(-3)}, {f(-0.0f), 0, 0, minus_zero}, {f(1e30f), 0, 0, f(1e30f)}});
  check32("gfx942", "v_ceil_f32 v0, v1", {{f(2.2f), 0, 0, f(3)}, {f(-2.7f), 0, 0, f(-2)}, {smallest, 0, 0, f(1)}});
  check32("gfx942", "v_rndne_f32 v0, v1",
          {{f(0.5f), 0, 0, 0}, {f(1.5f), 0, 0, f(2)}, {f(-2.5f), 0, 0, f(-2)}, {f(2.51f), 0, 0, f(3)}});
  check32("gfx942", "v_fract_f32 v0, v1",
          {{f(2.75f), 0, 0, f(0.75f)}, {f(-0.25f), 0, 0, f(0.75f)}, {f(-0x1p-40f), 0, 0, 0x3f7fffff}, {f(5), 0, 0, 0}});
}

TEST(VectorF32, ExponentsAndMantissas) {
  check32("gfx942", "v_ldexp_f32 v0, v1, v2",
          {{bits(1.5f), 3, 0, bits(12.0f)},
           {bits(1.0f), static_cast<std::uint32_t>(-149), 0, 1},
           {bits(1.0f), static_cast<std::uint32_t>(-150), 0, 0},
           {bits(1.5f), static_cast<std::uint32_t>(-149), 0, 2},
           {bits(1.0f), 128, 0, inf},
           {1, 149, 0, bits(1.0f)},
           {bits(1.0f), 0x7fffffff, 0, inf},
           {bits(1.0f), 0x80000000, 0, 0},
           {1, 276, 0, bits(0x1p127f)}});
  check32("gfx942", "v_frexp_exp_i32_f32 v0, v1",
          {{bits(1.0f), 0, 0, 1},
           {bits(0.75f), 0, 0, 0},
           {bits(-8.0f), 0, 0, 4},
           {0, 0, 0, 0},
           {inf, 0, 0, 0},
           {quiet, 0, 0, 0},
           {1, 0, 0, static_cast<std::uint32_t>(-148)},
           {normal, 0, 0, static_cast<std::uint32_t>(-125)}});
  check32("gfx942", "v_frexp_mant_f32 v0, v1",
          {{bits(1.0f), 0, 0, bits(0.5f)},
           {bits(-12.0f), 0, 0, bits(-0.75f)},
           {0, 0, 0, 0},
           {minus_inf, 0, 0, minus_inf},
           {1, 0, 0, bits(0.5f)},
           {3, 0, 0, bits(0.75f)}});
}

TEST(VectorF32, RandomAgainstTheHost) {
  const std::uint32_t seed = 20240601;
  std::mt19937 random(seed);
  std::vector<Case32> sums, products, fused;
  while (fused.size() < 640) {
    const std::uint32_t a = random(), b = random(), c = random();
    if (std::isnan(f32(a)) || std::isnan(f32(b)) || std::isnan(f32(c))) continue;
    const volatile float x = f32(a), y = f32(b), z = f32(c);
    const float sum = x + y, product = x * y, fma = std::fma(x, y, z);
    if (std::isnan(sum) || std::isnan(product) || std::isnan(fma)) continue;
    sums.push_back({a, b, 0, bits(sum)});
    products.push_back({a, b, 0, bits(product)});
    fused.push_back({a, b, c, bits(fma)});
  }
  SCOPED_TRACE("seed " + std::to_string(seed));
  check32("gfx90a", "v_add_f32 v0, v1, v2", sums);
  check32("gfx942", "v_mul_f32 v0, v1, v2", products);
  check32("gfx950", "v_fma_f32 v0, v1, v2, v3", fused);
}

TEST(VectorF32, OnlyActiveLanesAreWritten) {
  SmallWave wave("gfx942");
  const std::uint64_t mask = 0x8000000100ff0001;
  for (int i = 0; i < 64; ++i) {
    wave.v(0, i) = 77;
    wave.set_vf(1, i, static_cast<float>(i));
  }
  wave.set_exec(mask);
  ASSERT_EQ(wave.run("v_add_f32 v0, 1.0, v1"), emulator::WaveStatus::ended);
  for (int i = 0; i < 64; ++i) {
    if (mask >> i & 1) {
      EXPECT_EQ(wave.vf(0, i), static_cast<float>(i + 1)) << i;
    } else {
      EXPECT_EQ(wave.v(0, i), 77u) << i;
    }
  }
}

TEST(VectorF32, DestinationMayBeASource) {
  SmallWave wave("gfx942");
  for (int i = 0; i < 64; ++i) wave.set_vf(1, i, static_cast<float>(i));
  ASSERT_EQ(wave.run("v_fma_f32 v1, v1, v1, v1"), emulator::WaveStatus::ended);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(wave.vf(1, i), static_cast<float>(i * i + i)) << i;
}

}  // namespace
}  // namespace kiln::emulator_test
