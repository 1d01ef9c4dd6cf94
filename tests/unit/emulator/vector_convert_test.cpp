#include <cmath>

#include "tests/unit/emulator/vector_cases.hpp"

namespace kiln::emulator_test {
namespace {

constexpr std::uint32_t inf = 0x7f800000, quiet = 0x7fc00000;

TEST(VectorConvert, Integers) {
  for (const auto& p : cdna()) {
    check32(p, "v_cvt_f32_i32 v0, v1",
            {{0xffffffff, 0, 0, bits(-1.0f)}, {0x7fffffff, 0, 0, bits(0x1p31f)}, {16777217, 0, 0, bits(16777216.0f)}});
    check32(p, "v_cvt_f32_u32 v0, v1", {{0xffffffff, 0, 0, bits(0x1p32f)}, {0x80000000, 0, 0, bits(0x1p31f)}});
    check32(p, "v_cvt_i32_f32 v0, v1",
            {{bits(-2.9f), 0, 0, 0xfffffffe},
             {bits(3e9f), 0, 0, 0x7fffffff},
             {bits(-3e9f), 0, 0, 0x80000000},
             {quiet, 0, 0, 0},
             {inf, 0, 0, 0x7fffffff}});
    check32(p, "v_cvt_u32_f32 v0, v1",
            {{bits(2.9f), 0, 0, 2},
             {bits(-1.0f), 0, 0, 0},
             {bits(5e9f), 0, 0, 0xffffffff},
             {bits(3e9f), 0, 0, 3000000000u},
             {quiet, 0, 0, 0}});
    check32(p, "v_cvt_rpi_i32_f32 v0, v1", {{bits(2.5f), 0, 0, 3}, {bits(-2.5f), 0, 0, 0xfffffffe}});
    check32(p, "v_cvt_flr_i32_f32 v0, v1", {{bits(2.5f), 0, 0, 2}, {bits(-2.5f), 0, 0, 0xfffffffd}});
    check32(p, "v_cvt_off_f32_i4 v0, v1",
            {{7, 0, 0, bits(0.4375f)}, {8, 0, 0, bits(-0.5f)}, {0xff, 0, 0, bits(-0.0625f)}});
    check32(p, "v_cvt_f32_ubyte0 v0, v1", {{0x11223344, 0, 0, bits(68.0f)}});
    check32(p, "v_cvt_f32_ubyte1 v0, v1", {{0x11223344, 0, 0, bits(51.0f)}});
    check32(p, "v_cvt_f32_ubyte2 v0, v1", {{0x11223344, 0, 0, bits(34.0f)}});
    check32(p, "v_cvt_f32_ubyte3 v0, v1", {{0xff223344, 0, 0, bits(255.0f)}});
    check64(p, "v_cvt_f64_i32 v[0:1], v2", {{0xffffffff, 0, 0, bits(-1.0)}});
    check64(p, "v_cvt_f64_u32 v[0:1], v2", {{0xffffffff, 0, 0, bits(4294967295.0)}});
    check64(p, "v_cvt_f64_f32 v[0:1], v2",
            {{bits(0.1f), 0, 0, bits(static_cast<double>(0.1f))}, {1, 0, 0, bits(0x1p-149)}});
    check64(
        p, "v_cvt_f32_f64 v0, v[2:3]\nv_mov_b32 v1, 0",
        {{bits(0.1), 0, 0, bits(0.1f)}, {bits(1e300), 0, 0, inf}, {bits(1e-300), 0, 0, 0}, {bits(0x1p-149), 0, 0, 1}});
    check64(p, "v_cvt_i32_f64 v0, v[2:3]\nv_mov_b32 v1, 0",
            {{bits(-2.9), 0, 0, 0xfffffffe}, {bits(1e10), 0, 0, 0x7fffffff}, {0x7ff8000000000000, 0, 0, 0}});
    check64(p, "v_cvt_u32_f64 v0, v[2:3]\nv_mov_b32 v1, 0",
            {{bits(4294967295.5), 0, 0, 0xffffffff}, {bits(-1.0), 0, 0, 0}, {bits(2.9), 0, 0, 2}});
  }
}

TEST(VectorConvert, Halves) {
  for (const auto& p : cdna()) {
    check32(p, "v_cvt_f16_f32 v0, v1",
            {{bits(1.0f), 0, 0, 0x3c00},
             {bits(65519.0f), 0, 0, 0x7bff},
             {bits(65520.0f), 0, 0, 0x7c00},
             {bits(0x1p-25f), 0, 0, 0},
             {bits(0x1.8p-25f), 0, 0, 1},
             {bits(1 + 0x1p-11f), 0, 0, 0x3c00},
             {bits(1 + 0x1.8p-10f), 0, 0, 0x3c02},
             {0x7f800001, 0, 0, 0x7e00}});
    check32(p, "v_cvt_f32_f16 v0, v1",
            {{0xffff3c00, 0, 0, bits(1.0f)}, {0x0001, 0, 0, bits(0x1p-24f)}, {0xfc00, 0, 0, 0xff800000}});
    check32(p, "v_cvt_f16_u16 v0, v1", {{0x7777ffff, 0, 0, 0x7c00}, {1000, 0, 0, 0x63d0}, {2049, 0, 0, 0x6800}});
    check32(p, "v_cvt_f16_i16 v0, v1", {{0xffff, 0, 0, 0xbc00}});
    check32(p, "v_cvt_u16_f16 v0, v1",
            {{0x4100, 0, 0, 2}, {0xbc00, 0, 0, 0}, {0x7c00, 0, 0, 0xffff}, {0x7e00, 0, 0, 0}});
    check32(p, "v_cvt_i16_f16 v0, v1",
            {{0xc100, 0, 0, 0xfffe}, {0x7bff, 0, 0, 0x7fff}, {0xfc00, 0, 0, 0x8000}, {0x7e00, 0, 0, 0}});
    check32(p, "v_cvt_pkrtz_f16_f32 v0, v1, v2", {{bits(1 + 0x1.fp-11f), bits(-1e30f), 0, 0xfbff3c00}});
    check32(p, "v_cvt_pknorm_i16_f32 v0, v1, v2",
            {{bits(1.0f), bits(-2.0f), 0, 0x80017fff}, {quiet, bits(0.5f), 0, 0x40000000}});
    check32(p, "v_cvt_pknorm_u16_f32 v0, v1, v2", {{bits(1.0f), bits(-2.0f), 0, 0x0000ffff}});
    check32(p, "v_cvt_pknorm_u16_f16 v0, v1, v2", {{0x3c00, 0xbc00, 0, 0x0000ffff}});
    check32(p, "v_cvt_norm_i16_f16 v0, v1", {{0xbc00, 0, 0, 0x8001}});
  }
  check32("gfx950", "v_cvt_pk_f16_f32 v0, v1, v2", {{bits(1 + 0x1.8p-10f), bits(-1e30f), 0, 0xfc003c02}});
  check32("gfx950", "v_cvt_pk_bf16_f32 v0, v1, v2",
          {{0x3f808000, 0x3f818000, 0, 0x3f823f80},
           {0x7f7fffff, 0x7f800001, 0, 0x7fc07f80},
           {0x3f808001, 0xff800000, 0, 0xff803f81}});
  check32("gfx950", "v_cvt_f32_bf16 v0, v1", {{0x12343f80, 0, 0, bits(1.0f)}});
}

// One byte of four, saturated, rounded as MODE says.
TEST(VectorConvert, ByteOfFour) {
  for (const std::string p : {"gfx90a", "gfx942", "gfx950", "gfx1100"}) {
    const std::uint32_t old = 0x11223344, nan = 0x7fc00000;
    check32(p, "v_cvt_pk_u8_f32 v0, v1, v2, v3",
            {{bits(171.0f), 0, old, 0x112233ab}, {bits(171.0f), 1, old, 0x1122ab44}, {bits(171.0f), 2, old, 0x11ab3344},
             {bits(171.0f), 3, old, 0xab223344}, {bits(171.0f), 6, old, 0x11ab3344}, {bits(-3.0f), 0, old, 0x11223300},
             {bits(300.0f), 0, old, 0x112233ff}, {nan, 0, old, 0x11223300}, {bits(2.5f), 0, old, 0x11223302},
             {bits(3.5f), 0, old, 0x11223304}, {bits(2.75f), 0, old, 0x11223303}});
    constexpr std::uint32_t towards_zero = usual_mode | 3;
    check32(p, "v_cvt_pk_u8_f32 v0, v1, v2, v3", {{bits(2.75f), 0, old, 0x11223302}}, towards_zero);
  }
}

TEST(VectorConvert, TranscendentalsAtKnownPoints) {
  const std::uint32_t minus_inf = 0xff800000, minus_nan = 0xffc00000, minus_zero = 0x80000000;
  for (const auto& p : cdna()) {
    for (const char* text : {"v_exp_f32 v0, v1", "v_exp_legacy_f32 v0, v1"})
      check32(p, text, {{minus_inf, 0, 0, 0},
             {minus_zero, 0, 0, bits(1.0f)},
             {inf, 0, 0, inf},
             {bits(10.0f), 0, 0, bits(1024.0f)},
             {bits(-126.0f), 0, 0, 0x00800000},
             {bits(-127.0f), 0, 0, 0},
             {bits(128.0f), 0, 0, inf},
             {bits(0.5f), 0, 0, bits(1.41421356f)}});
    for (const char* text : {"v_log_f32 v0, v1", "v_log_legacy_f32 v0, v1"})
      check32(p, text, {{minus_inf, 0, 0, minus_nan},
             {bits(-1.0f), 0, 0, minus_nan},
             {minus_zero, 0, 0, minus_inf},
             {0, 0, 0, minus_inf},
             {bits(1.0f), 0, 0, 0},
             {inf, 0, 0, inf},
             {bits(1024.0f), 0, 0, bits(10.0f)},
             {1, 0, 0, minus_inf},
             {bits(3.0f), 0, 0, bits(1.5849625f)}});
    check32(p, "v_rcp_f32 v0, v1",
            {{minus_inf, 0, 0, minus_zero},
             {bits(-2.0f), 0, 0, bits(-0.5f)},
             {minus_zero, 0, 0, minus_inf},
             {0, 0, 0, inf},
             {inf, 0, 0, 0},
             {1, 0, 0, inf},
             {bits(3.0f), 0, 0, bits(1.0f / 3)},
             {bits(0x1p127f), 0, 0, 0}});
    check32(p, "v_rsq_f32 v0, v1",
            {{minus_inf, 0, 0, minus_nan},
             {minus_zero, 0, 0, minus_inf},
             {0, 0, 0, inf},
             {bits(4.0f), 0, 0, bits(0.5f)},
             {inf, 0, 0, 0},
             {bits(-1.0f), 0, 0, minus_nan}});
    check32(p, "v_sqrt_f32 v0, v1",
            {{minus_inf, 0, 0, minus_nan},
             {minus_zero, 0, 0, minus_zero},
             {bits(4.0f), 0, 0, bits(2.0f)},
             {inf, 0, 0, inf},
             {bits(2.0f), 0, 0, bits(1.41421356f)}});
    check32(p, "v_sin_f32 v0, v1",
            {{minus_inf, 0, 0, minus_nan},
             {0xff7fffff, 0, 0, 0},
             {minus_zero, 0, 0, minus_zero},
             {bits(0.25f), 0, 0, bits(1.0f)},
             {inf, 0, 0, minus_nan},
             {bits(-0.25f), 0, 0, bits(-1.0f)},
             {bits(100.75f), 0, 0, bits(-1.0f)},
             {bits(1.0f / 12), 0, 0, bits(0.5f)},
             {bits(300.25f), 0, 0, 0}});
    check32(p, "v_cos_f32 v0, v1",
            {{minus_inf, 0, 0, minus_nan},
             {0xff7fffff, 0, 0, bits(1.0f)},
             {minus_zero, 0, 0, bits(1.0f)},
             {bits(0.25f), 0, 0, 0},
             {bits(0.5f), 0, 0, bits(-1.0f)}});
  }
}

TEST(VectorConvert, TranscendentalsOfHalvesAndDoubles) {
  for (const auto& p : cdna()) {
    check32(p, "v_rcp_f16 v0, v1",
            {{0xfc00, 0, 0, 0x8000},
             {0xc000, 0, 0, 0xb800},
             {0x8000, 0, 0, 0xfc00},
             {0, 0, 0, 0x7c00},
             {0x7c00, 0, 0, 0},
             {0x4200, 0, 0, 0x3555}});
    check32(p, "v_sqrt_f16 v0, v1", {{0xfc00, 0, 0, 0xfe00}, {0x8000, 0, 0, 0x8000}, {0x4400, 0, 0, 0x4000}});
    check32(p, "v_rsq_f16 v0, v1", {{0xfc00, 0, 0, 0xfe00}, {0x8000, 0, 0, 0xfc00}, {0x4400, 0, 0, 0x3800}});
    check32(p, "v_log_f16 v0, v1",
            {{0xbc00, 0, 0, 0xfe00}, {0x8000, 0, 0, 0xfc00}, {0x3c00, 0, 0, 0}, {0x0001, 0, 0, 0xce00}});
    check32(p, "v_exp_f16 v0, v1",
            {{0xfc00, 0, 0, 0}, {0x8000, 0, 0, 0x3c00}, {0x7c00, 0, 0, 0x7c00}, {0xcc00, 0, 0, 0x0100}});
    check32(p, "v_sin_f16 v0, v1",
            {{0xfc00, 0, 0, 0xfe00}, {0xfbff, 0, 0, 0}, {0x8000, 0, 0, 0x8000}, {0x3400, 0, 0, 0x3c00}});
    check32(p, "v_cos_f16 v0, v1", {{0x7c00, 0, 0, 0xfe00}, {0x7bff, 0, 0, 0x3c00}, {0x3400, 0, 0, 0}});
    check64(p, "v_rcp_f64 v[0:1], v[2:3]", {{bits(3.0), 0, 0, bits(1.0 / 3)}});
    check64(p, "v_sqrt_f64 v[0:1], v[2:3]",
            {{bits(2.0), 0, 0, bits(std::sqrt(2.0))}, {bits(-1.0), 0, 0, 0xfff8000000000000}});
    check64(p, "v_rsq_f64 v[0:1], v[2:3]", {{bits(4.0), 0, 0, bits(0.5)}});
  }
}

// The nearest f32 of a value with more digits; one in about 2^25 may be off by one, so a few are allowed to.
TEST(VectorConvert, TranscendentalsAreRoundedCorrectly) {
  struct Function {
    const char* name;
    float first, step;
    long double (*exact)(long double);
  };
  const Function functions[] = {
      {"v_exp_f32", -120.0f, 0.05937f, [](long double x) { return std::exp2(x); }},
      {"v_log_f32", 0.001f, 0.0037f, [](long double x) { return std::log2(x); }},
      {"v_log_f32", 0.99f, 0.00001f, [](long double x) { return std::log2(x); }},
      {"v_rsq_f32", 0.01f, 0.731f, [](long double x) { return 1 / std::sqrt(x); }},
      {"v_sin_f32", -8.0f, 0.00391f,
       [](long double x) { return std::sin(2 * 3.14159265358979323846264338327950288L * (x - std::rint(x))); }},
      {"v_cos_f32", -8.0f, 0.00391f,
       [](long double x) { return std::cos(2 * 3.14159265358979323846264338327950288L * (x - std::rint(x))); }},
  };
  for (const auto& f : functions) {
    int wrong = 0;
    for (int block = 0; block < 64; ++block) {
      SmallWave wave("gfx942");
      for (int i = 0; i < 64; ++i) wave.set_vf(1, i, f.first + f.step * static_cast<float>(64 * block + i));
      ASSERT_EQ(wave.run(std::string(f.name) + " v0, v1"), emulator::WaveStatus::ended);
      for (int i = 0; i < 64; ++i) wrong += wave.vf(0, i) != static_cast<float>(f.exact(wave.vf(1, i)));
    }
    EXPECT_LE(wrong, 1) << f.name << " from " << f.first;
  }
}

}  // namespace
}  // namespace kiln::emulator_test
