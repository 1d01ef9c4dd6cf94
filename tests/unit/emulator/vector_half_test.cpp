// f16, packed and mixed operations and dot products.
#include <cmath>
#include <random>

#include "tests/unit/emulator/vector_cases.hpp"

namespace kiln::emulator_test {
namespace {

// A f16's value, from its fields.
double half(std::uint32_t h) {
  const int exponent = static_cast<int>(h >> 10 & 31), fraction = static_cast<int>(h & 1023);
  const double sign = (h & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

// To nearest even, by the distance to the multiples of the last place.
std::uint32_t to_half(long double x) {
  const std::uint32_t sign = std::signbit(x) ? 0x8000 : 0;
  x = std::fabs(x);
  if (x == 0) return sign;
  int exponent = std::max(std::ilogb(x), -14);
  const long double units = std::ldexp(x, 10 - exponent);
  long double whole = std::floor(units);
  const long double rest = units - whole;
  if (rest > 0.5L || (rest == 0.5L && std::fmod(whole, 2.0L) == 1)) whole += 1;
  if (whole >= 2048) whole /= 2, exponent += 1;
  if (exponent > 15) return sign | 0x7c00;
  const auto integer = static_cast<std::uint32_t>(whole);
  return sign | (integer < 1024 ? integer : (static_cast<std::uint32_t>(exponent + 14) << 10) + integer);
}

TEST(VectorHalf, BasicOperations) {
  for (const auto& p : cdna()) {
    // 1 + 1, upper half becomes 0; the sources' upper halves do not matter.
    check32(p, "v_add_f16 v0, v1, v2",
            {{0xffff3c00, 0x12343c00, 0, 0x4000}, {0x0001, 0x0001, 0, 2}, {0x7bff, 0x7bff, 0, 0x7c00}});
    check32(p, "v_sub_f16 v0, v1, v2", {{0x3c00, 0x4000, 0, 0xbc00}});
    check32(p, "v_subrev_f16 v0, v1, v2", {{0x3c00, 0x4000, 0, 0x3c00}});
    check32(p, "v_mul_f16 v0, v1, v2", {{0x4200, 0xc000, 0, 0xc600}});
    check32(p, "v_fma_f16 v0, v1, v2, v3", {{0x4200, 0xc000, 0x3c00, 0xdeadc500}});
    check32(p, "v_fma_f16 v0, v1, v2, v3 op_sel:[0,0,0,1]", {{0x4200, 0xc000, 0x3c00, 0xc500beef}});
    check32(p, "v_fma_f16 v0, v1, v2, v3 op_sel:[1,0,0,0]", {{0x42000000, 0xc000, 0x3c00, 0xdeadc500}});
    check32(p, "v_fma_f16 v0, -|v1|, v2, v3 clamp",
            {{0xc200, 0xc000, 0x3c00, 0xdead3c00}, {0x4200, 0x4000, 0x3c00, 0xdead0000}});
    check32(p, "v_fma_legacy_f16 v0, v1, v2, v3", {{0x4200, 0xc000, 0x3c00, 0xc500}});
    check32(p, "v_mac_f16 v0, v1, v2", {{0x4200, 0xc000, 0, 0xc500}}, usual_mode, 0x77773c00);
    check32(p, "v_mad_f16 v0, v1, v2, v3", {{0x4200, 0xc000, 0x3c00, 0xdeadc500}, {0x0001, 0x3c00, 0, 0xdead0000}});
    check32(p, "v_min_f16 v0, v1, v2",
            {{0x3c00, 0x4000, 0, 0x3c00},
             {0x0000, 0x8000, 0, 0x8000},
             {0x7e00, 0x4000, 0, 0x4000},
             {0x7c01, 0x4000, 0, 0x7e01}});
    check32(p, "v_max_f16 v0, v1, v2",
            {{0x3c00, 0x4000, 0, 0x4000}, {0x8000, 0x0000, 0, 0x0000}, {0xbc00, 0xc000, 0, 0xbc00}});
    check32(p, "v_med3_f16 v0, v1, v2, v3",
            {{0x3c00, 0x4000, 0x3800, 0xdead3c00}, {0x7e00, 0x4000, 0x3800, 0xdead3800}});
    check32(p, "v_floor_f16 v0, v1", {{0xc100, 0, 0, 0xc200}});
    check32(p, "v_ceil_f16 v0, v1", {{0x4100, 0, 0, 0x4200}});
    check32(p, "v_trunc_f16 v0, v1", {{0xc100, 0, 0, 0xc000}});
    check32(p, "v_rndne_f16 v0, v1", {{0x4100, 0, 0, 0x4000}, {0x3e00, 0, 0, 0x4000}});
    check32(p, "v_fract_f16 v0, v1", {{0x4100, 0, 0, 0x3800}, {0xb400, 0, 0, 0x3a00}, {0x8001, 0, 0, 0x3bff}});
    check32(p, "v_ldexp_f16 v0, v1, v2",
            {{0x3c00, 3, 0, 0x4800}, {0x3c00, 0xffe8, 0, 1}, {0x3c00, 0x7fff, 0, 0x7c00}, {0x3e00, 0xffe7, 0, 1}});
    check32(p, "v_frexp_exp_i16_f16 v0, v1",
            {{0x4800, 0, 0, 4}, {0x0001, 0, 0, 0xffe9}, {0x7c00, 0, 0, 0}, {0, 0, 0, 0}});
    check32(p, "v_frexp_mant_f16 v0, v1", {{0x4a00, 0, 0, 0x3a00}, {0x0001, 0, 0, 0x3800}, {0xfc00, 0, 0, 0xfc00}});
  }
}

TEST(VectorHalf, DenormalsOverflowAndRounding) {
  check32("gfx942", "v_add_f16 v0, v1, v2", {{0x0001, 0x0001, 0, 0}}, 0x330);
  check32("gfx942", "v_mul_f16 v0, v1, v2", {{0x0400, 0x3800, 0, 0x0200}}, 0x3f0);
  check32("gfx942", "v_mul_f16 v0, v1, v2", {{0x0400, 0xb800, 0, 0x8000}}, 0x370);
  // FP16_OVFL: overflow gives the largest value, infinity stays.
  check32("gfx942", "v_add_f16 v0, v1, v2",
          {{0x7bff, 0x7bff, 0, 0x7bff}, {0x7c00, 0x3c00, 0, 0x7c00}, {0xfbff, 0xfbff, 0, 0xfbff}}, 0x8003f0);
  check32("gfx942", "v_pk_mul_f16 v0, v1, v2", {{0x7bff3c00, 0x4000bc00, 0, 0x7bffbc00}}, 0x8003f0);
  const auto round = [](int mode) {
    return "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), " + std::to_string(mode) + "\n";
  };
  check32("gfx942", round(1) + "v_add_f16 v0, v1, v2", {{0x3c00, 0x0001, 0, 0x3c01}});
  check32("gfx942", round(2) + "v_fma_f16 v0, v1, v2, v3", {{0x3c00, 0x3c00, 0x8001, 0xdead3bff}});
  check32("gfx942", round(3) + "v_cvt_f16_f32 v0, v1",
          {{bits(1 + 0x1.fp-11f), 0, 0, 0x3c00}, {bits(65536.0f), 0, 0, 0x7bff}});
}

TEST(VectorHalf, FusedMultiplyAddRoundsOnce) {
  const std::uint32_t seed = 4242;
  std::mt19937 random(seed);
  std::vector<Case32> cases;
  // 1 + 2^-10 squared is 1 + 2^-9 + 2^-20; and sums that lie just beside the middle of two f16.
  cases.push_back({0x3c01, 0x3c01, 0xbc00, 0xdead0000 | to_half(half(0x3c01) * half(0x3c01) - 1)});
  while (cases.size() < 3200) {
    std::uint32_t a = random() & 0xffff, b = random() & 0xffff, c = random() & 0xffff;
    // Half of them with exponents near each other, where cancellation and ties are common.
    if (random() & 1) {
      const int e = static_cast<int>((a >> 10 & 31) + (b >> 10 & 31)) - 15 + static_cast<int>(random() % 14);
      if (e > 0 && e < 31) c = (c & 0x83ff) | static_cast<std::uint32_t>(e) << 10;
    }
    const long double exact = static_cast<long double>(half(a)) * half(b) + half(c);
    if (std::isnan(exact) || std::isinf(exact) || exact == 0) continue;
    cases.push_back({a, b, c, 0xdead0000 | to_half(exact)});
  }
  SCOPED_TRACE("seed " + std::to_string(seed));
  check32("gfx942", "v_fma_f16 v0, v1, v2, v3", cases);
}

TEST(VectorHalf, Packed) {
  for (const auto& p : cdna()) {
    check32(p, "v_pk_add_f16 v0, v1, v2", {{0x3c004000, 0x40003c00, 0, 0x42004200}});
    check32(p, "v_pk_add_f16 v0, v1, v2 op_sel:[1,0] op_sel_hi:[0,1]", {{0x3c004400, 0x40003800, 0, 0x46003e00}});
    check32(p, "v_pk_add_f16 v0, v1, v2 neg_lo:[1,0] neg_hi:[0,1]", {{0x3c004000, 0x40003c00, 0, 0xbc00bc00}});
    check32(p, "v_pk_mul_f16 v0, v1, v2 clamp", {{0x3c00bc00, 0x40003c00, 0, 0x3c000000}});
    check32(p, "v_pk_fma_f16 v0, v1, v2, v3", {{0x3c004000, 0x40003c00, 0x3c003c00, 0x42004200}});
    check32(p, "v_pk_fma_f16 v0, v1, 2.0, v3 op_sel_hi:[1,0,1]", {{0x3c004000, 0, 0x3c003c00, 0x42004500}});
    check32(p, "v_pk_min_f16 v0, v1, v2",
            {{0x3c004000, 0x40003c00, 0, 0x3c003c00}, {0x7e008000, 0x40000000, 0, 0x40008000}});
    check32(p, "v_pk_max_f16 v0, v1, v2", {{0x3c004000, 0x40003c00, 0, 0x40004000}});
    check32(p, "v_pk_fmac_f16 v0, v1, v2", {{0x3c004000, 0x40003c00, 0, 0x42004200}}, usual_mode, 0x3c003c00);
    check32(p, "v_pk_add_u16 v0, v1, v2", {{0xffff0001, 0x00020003, 0, 0x00010004}});
    check32(p, "v_pk_add_u16 v0, v1, v2 clamp", {{0xffff0001, 0x00020003, 0, 0xffff0004}});
    check32(p, "v_pk_sub_u16 v0, v1, v2 clamp", {{0x00010004, 0x00020003, 0, 0x00000001}});
    check32(p, "v_pk_add_i16 v0, v1, v2 clamp", {{0x7fff8000, 0x0001ffff, 0, 0x7fff8000}});
    check32(p, "v_pk_sub_i16 v0, v1, v2", {{0x00010000, 0x00020001, 0, 0xffffffff}});
    check32(p, "v_pk_mul_lo_u16 v0, v1, v2", {{0x00030100, 0x00050100, 0, 0x000f0000}});
    check32(p, "v_pk_mad_u16 v0, v1, v2, v3", {{0x00030002, 0x00050004, 0x00010001, 0x00100009}});
    check32(p, "v_pk_mad_i16 v0, v1, v2, v3 clamp", {{0x7fff8000, 0x00020002, 0, 0x7fff8000}});
    check32(p, "v_pk_lshlrev_b16 v0, v1, v2", {{0x00040001, 0x00ff00ff, 0, 0x0ff001fe}});
    check32(p, "v_pk_lshrrev_b16 v0, v1, v2", {{0x00040001, 0x00ff00ff, 0, 0x000f007f}});
    check32(p, "v_pk_ashrrev_i16 v0, v1, v2", {{0x00040001, 0x8000fffe, 0, 0xf800ffff}});
    check32(p, "v_pk_max_i16 v0, v1, v2", {{0x0001ffff, 0xffff0001, 0, 0x00010001}});
    check32(p, "v_pk_min_u16 v0, v1, v2", {{0x0001ffff, 0xffff0001, 0, 0x00010001}});
    const auto two = [](float low, float high) { return bits(low) | std::uint64_t{bits(high)} << 32; };
    check64(p, "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]", {{two(2, 3), two(5, 7), two(1, -1), two(11, 20)}});
    check64(p, "v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel:[0,1] op_sel_hi:[1,0]",
            {{two(2, 3), two(5, 7), 0, two(14, 15)}});
    check64(p, "v_pk_add_f32 v[0:1], v[2:3], v[4:5] neg_lo:[0,1] neg_hi:[1,0]",
            {{two(2, 3), two(5, 7), 0, two(-3, 4)}});
    check64(p, "v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel_hi:[0,0]", {{two(2, 3), two(5, 7), 0, two(10, 10)}});
    check64(p, "v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[1,0]", {{two(2, 3), two(5, 7), 0, two(3, 5)}});
    check64(p, "v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[0,1]", {{two(2, 3), two(5, 7), 0, two(2, 7)}});
  }
  check32("gfx950", "v_pk_minimum3_f16 v0, v1, v2, v3", {{0x3c007e00, 0x40003c00, 0x38003c00, 0x38007e00}});
  check32("gfx950", "v_pk_maximum3_f16 v0, v1, v2, v3", {{0x3c003c00, 0x40007d00, 0x38003c00, 0x40007f00}});
  SmallWave wave("gfx90a");
  wave.s(4) = bits(3.0f), wave.s(5) = bits(4.0f);
  for (int i = 0; i < 64; ++i) wave.set_vf(2, i, 1), wave.set_vf(3, i, 2);
  ASSERT_EQ(wave.run("v_pk_mul_f32 v[0:1], v[2:3], s[4:5]"), emulator::WaveStatus::ended);
  EXPECT_EQ(wave.vf(0, 9), 3);
  EXPECT_EQ(wave.vf(1, 9), 8);
}

TEST(VectorHalf, Mixed) {
  for (const auto& p : cdna()) {
    // f16 3 (upper), f32 0.5, f16 1 (lower).
    check32(p, "v_fma_mix_f32 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,1]",
            {{0x42000000, bits(0.5f), 0x3c00, bits(2.5f)}});
    check32(p, "v_fma_mix_f32 v0, -v1, |v2|, 1.0 op_sel_hi:[1,0,0]", {{0x4200, bits(-0.5f), 0, bits(-0.5f)}});
    check32(p, "v_fma_mixlo_f16 v0, v1, v2, v3", {{bits(3.0f), bits(0.5f), bits(1.0f), 0xdead4100}});
    check32(p, "v_fma_mixhi_f16 v0, v1, v2, v3", {{bits(3.0f), bits(0.5f), bits(1.0f), 0x4100beef}});
    check32(p, "v_fma_mixlo_f16 v0, v1, v2, v3 clamp", {{bits(3.0f), bits(0.5f), bits(1.0f), 0xdead3c00}});
  }
}

TEST(VectorHalf, DotProducts) {
  for (const auto& p : cdna()) {
    check32(p, "v_dot2_f32_f16 v0, v1, v2, v3", {{0x3c004000, 0x42004400, bits(0.5f), bits(11.5f)}});
    check32(p, "v_dot2_f32_f16 v0, v1, v2, v3 neg_lo:[1,0,0] neg_hi:[0,0,0]",
            {{0x3c004000, 0x42004400, bits(0.5f), bits(-4.5f)}});
    check32(p, "v_dot2c_f32_f16 v0, v1, v2", {{0x3c004000, 0x42004400, 0, bits(11.5f)}}, usual_mode, bits(0.5f));
    check32(p, "v_dot2_i32_i16 v0, v1, v2, v3", {{0xffff0002, 0x00030004, 10, 15}});
    check32(p, "v_dot2_u32_u16 v0, v1, v2, v3", {{0xffff0002, 0x00030004, 10, 0x3000f}});
    check32(p, "v_dot4_i32_i8 v0, v1, v2, v3",
            {{0xff020304, 0x05060708, 1, static_cast<std::uint32_t>(-5 + 12 + 21 + 32 + 1)}});
    check32(p, "v_dot4_u32_u8 v0, v1, v2, v3", {{0xff020304, 0x05060708, 1, 255 * 5 + 12 + 21 + 32 + 1}});
    check32(p, "v_dot4_i32_i8 v0, v1, v2, v3 clamp", {{0x7f7f7f7f, 0x7f7f7f7f, 0x7fffffff, 0x7fffffff}});
    check32(p, "v_dot4_u32_u8 v0, v1, v2, v3 clamp", {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}});
    check32(p, "v_dot8_i32_i4 v0, v1, v2, v3", {{0xf1234567, 0x11111111, 0, 27}});
    check32(p, "v_dot8_u32_u4 v0, v1, v2, v3", {{0xf1234567, 0x11111111, 0, 43}});
    check32(p, "v_dot4c_i32_i8 v0, v1, v2", {{0x01020304, 0x01010101, 0, 15}}, usual_mode, 5);
    check32(p, "v_dot8c_i32_i4 v0, v1, v2", {{0x11111111, 0x22222222, 0, 21}}, usual_mode, 5);
    check32(p, "v_dot2c_i32_i16 v0, v1, v2", {{0x00020003, 0x00040005, 0, 28}}, usual_mode, 5);
  }
  check32("gfx950", "v_dot2_f32_bf16 v0, v1, v2, v3", {{0x3f804000, 0x40404080, bits(0.5f), bits(11.5f)}});
  check32("gfx950", "v_dot2c_f32_bf16 v0, v1, v2", {{0x3f804000, 0x40404080, 0, bits(11.5f)}}, usual_mode, bits(0.5f));
}

}  // namespace
}  // namespace kiln::emulator_test
