#include <cmath>
#include <random>

#include "tests/unit/emulator/vector_cases.hpp"

namespace kiln::emulator_test {
namespace {

constexpr std::uint64_t inf = 0x7ff0000000000000, minus_zero = 0x8000000000000000, quiet = 0x7ff8000000000000;

TEST(VectorF64, Arithmetic) {
  for (const auto& processor : cdna()) {
    check64(processor, "v_add_f64 v[0:1], v[2:3], v[4:5]", {{bits(1.5), bits(0.25), 0, bits(1.75)}, {1, 1, 0, 2}});
    check64(processor, "v_add_f64 v[0:1], v[2:3], -|v[4:5]|", {{bits(1.5), bits(-0.25), 0, bits(1.25)}});
    check64(processor, "v_mul_f64 v[0:1], v[2:3], v[4:5]",
            {{bits(3.0), bits(-0.5), 0, bits(-1.5)}, {bits(1e300), bits(1e300), 0, inf}});
    const double a = 1 + 0x1p-30;
    check64(processor, "v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]",
            {{bits(a), bits(a), bits(-1.0), bits(0x1p-29 + 0x1p-60)}});
    check64(processor, "v_min_f64 v[0:1], v[2:3], v[4:5]",
            {{bits(3.0), bits(-0.5), 0, bits(-0.5)}, {0, minus_zero, 0, minus_zero}, {quiet, bits(2.0), 0, bits(2.0)}});
    check64(processor, "v_max_f64 v[0:1], v[2:3], v[4:5]",
            {{bits(3.0), bits(-0.5), 0, bits(3.0)},
             {minus_zero, 0, 0, 0},
             {0x7ff0000000000001, bits(2.0), 0, 0x7ff8000000000001}});
  }
  check64("gfx942", "v_add_f64 v[0:1], v[2:3], 1.0", {{bits(2.0), 0, 0, bits(3.0)}});
  check64("gfx942", "v_trunc_f64 v[0:1], v[2:3]", {{bits(-2.7), 0, 0, bits(-2.0)}});
  check64("gfx942", "v_floor_f64 v[0:1], v[2:3]", {{bits(-2.7), 0, 0, bits(-3.0)}});
  check64("gfx942", "v_ceil_f64 v[0:1], v[2:3]", {{bits(2.1), 0, 0, bits(3.0)}});
  check64("gfx942", "v_rndne_f64 v[0:1], v[2:3]", {{bits(2.5), 0, 0, bits(2.0)}, {bits(3.5), 0, 0, bits(4.0)}});
  check64("gfx942", "v_fract_f64 v[0:1], v[2:3]",
          {{bits(2.75), 0, 0, bits(0.75)}, {bits(-0.25), 0, 0, bits(0.75)}, {bits(-1e-300), 0, 0, 0x3fefffffffffffff}});
}

TEST(VectorF64, Exponents) {
  const auto n = [](int x) { return std::uint64_t{static_cast<std::uint32_t>(x)}; };
  check64("gfx942", "v_ldexp_f64 v[0:1], v[2:3], v4",
          {{bits(1.5), n(4), 0, bits(24.0)},
           {bits(1.0), n(-1074), 0, 1},
           {bits(1.0), n(-1075), 0, 0},
           {bits(1.5), n(-1075), 0, 1},
           {1, n(1074), 0, bits(1.0)},
           {1, n(2097), 0, bits(0x1p1023)},
           {bits(1.0), n(1024), 0, inf},
           {bits(0x1p1023), n(-2097), 0, 1},
           {bits(0x1.8p1023), n(-2098), 0, 1},
           {bits(0x1p1023), n(-2098), 0, 0},
           {bits(0x1p-100), n(-960), 0, 1u << 14},    // into denormals from below 2^-60
           {bits(0x1p-200), n(-874), 0, 1},
           {bits(0x1.8p-200), n(-875), 0, 1},
           {bits(0x1p-1022), n(-1), 0, std::uint64_t(1) << 51},
           {2, n(-1), 0, 1},
           {bits(0x1p-1000), n(2023), 0, bits(0x1p1023)},
           {bits(1.0), n(INT32_MIN), 0, 0}});
  check64("gfx942", "v_frexp_mant_f64 v[0:1], v[2:3]",
          {{bits(12.0), 0, 0, bits(0.75)}, {1, 0, 0, bits(0.5)}, {0, 0, 0, 0}, {inf, 0, 0, inf}});
  check64("gfx942", "v_frexp_exp_i32_f64 v0, v[2:3]\nv_mov_b32 v1, 0",
          {{bits(12.0), 0, 0, 4}, {1, 0, 0, n(-1073)}, {inf, 0, 0, 0}, {0, 0, 0, 0}});
}

TEST(VectorF64, ItsOwnRoundingAndDenormalModes) {
  const auto round = [](int mode) {
    return "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), " + std::to_string(mode) + "\n";
  };
  const std::uint64_t one = bits(1.0);
  check64("gfx942", round(1) + "v_add_f64 v[0:1], v[2:3], v[4:5]", {{one, bits(1e-30), 0, one + 1}});
  check64("gfx942", round(3) + "v_add_f64 v[0:1], v[2:3], v[4:5]", {{one, bits(-1e-30), 0, one - 1}});
  // f32 stays at nearest even while f64 rounds up.
  check32("gfx942", round(1) + "v_add_f32 v0, v1, v2", {{bits(1.0f), bits(1e-30f), 0, bits(1.0f)}});
  check64("gfx942", "v_add_f64 v[0:1], v[2:3], v[4:5]", {{1, 1, 0, 0}, {minus_zero | 1, minus_zero | 1, 0, minus_zero}},
          0x330);
}

TEST(VectorF64, RandomAgainstTheHost) {
  const std::uint64_t seed = 77;
  std::mt19937_64 random(seed);
  std::vector<Case64> fused;
  while (fused.size() < 320) {
    const std::uint64_t a = random(), b = random(), c = random();
    const double x = std::bit_cast<double>(a), y = std::bit_cast<double>(b), z = std::bit_cast<double>(c),
                 r = std::fma(x, y, z);
    if (!std::isnan(r)) fused.push_back({a, b, c, bits(r)});
  }
  SCOPED_TRACE("seed " + std::to_string(seed));
  check64("gfx90a", "v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]", fused);
}

}  // namespace
}  // namespace kiln::emulator_test
