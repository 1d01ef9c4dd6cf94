#include <bit>
#include <random>

#include "tests/unit/emulator/vector_cases.hpp"

namespace kiln::emulator_test {
namespace {

TEST(VectorInteger, SumsAndCarries) {
  for (const auto& p : cdna()) {
    check32(p, "v_add_u32 v0, v1, v2", {{0xffffffff, 2, 0, 1}});
    check32(p, "v_add_u32 v0, v1, v2 clamp", {{0xffffffff, 2, 0, 0xffffffff}, {5, 6, 0, 11}});
    check32(p, "v_sub_u32 v0, v1, v2 clamp", {{1, 2, 0, 0}, {9, 2, 0, 7}});
    check32(p, "v_subrev_u32 v0, v1, v2", {{1, 5, 0, 4}});
    check32(p, "v_add_i32 v0, v1, v2", {{0x7fffffff, 1, 0, 0x80000000}});
    check32(p, "v_add_i32 v0, v1, v2 clamp",
            {{0x7fffffff, 1, 0, 0x7fffffff}, {0x80000000, 0xffffffff, 0, 0x80000000}, {3, 0xfffffffe, 0, 1}});
    check32(p, "v_sub_i32 v0, v1, v2 clamp", {{0x80000000, 1, 0, 0x80000000}, {0x7fffffff, 0xffffffff, 0, 0x7fffffff}});
    check32(p, "v_add3_u32 v0, v1, v2, v3", {{1, 2, 3, 6}});
    check32(p, "v_xad_u32 v0, v1, v2, v3", {{0xf0, 0xff, 1, 0x10}});
    check32(p, "v_lshl_add_u32 v0, v1, v2, v3", {{3, 4, 5, 53}, {1, 33, 0, 2}});
    check32(p, "v_add_lshl_u32 v0, v1, v2, v3", {{3, 4, 2, 28}});
  }
  SmallWave wave("gfx942");
  wave.v(1, 0) = 0xffffffff, wave.v(2, 0) = 1, wave.v(3, 0) = 7, wave.v(4, 0) = 8;
  wave.v(1, 1) = 1, wave.v(2, 1) = 1, wave.v(3, 1) = 7, wave.v(4, 1) = 8;
  wave.set_exec(3);
  wave.set_s64(106, ~std::uint64_t{0});
  ASSERT_EQ(wave.run("v_add_co_u32 v5, vcc, v1, v2\ns_mov_b64 s[4:5], vcc\nv_addc_co_u32 v6, vcc, v3, v4, vcc\n"
                     "v_sub_co_u32 v7, s[6:7], v2, v1\nv_subb_co_u32 v8, s[8:9], v3, v3, s[6:7]"),
            emulator::WaveStatus::ended);
  EXPECT_EQ(wave.v(5, 0), 0u);
  EXPECT_EQ(wave.v(5, 1), 2u);
  EXPECT_EQ(wave.s64(4), 1u);        // lanes that are off read 0
  EXPECT_EQ(wave.v(6, 0), 16u);
  EXPECT_EQ(wave.v(6, 1), 15u);
  EXPECT_EQ(wave.s64(106), 0u);
  EXPECT_EQ(wave.v(7, 0), 2u);
  EXPECT_EQ(wave.s64(6), 1u);
  EXPECT_EQ(wave.v(8, 0), 0xffffffffu);
  EXPECT_EQ(wave.s64(8), 1u);
}

TEST(VectorInteger, Products) {
  for (const auto& p : cdna()) {
    check32(p, "v_mul_lo_u32 v0, v1, v2", {{0x10001, 0x10001, 0, 0x20001}});
    check32(p, "v_mul_hi_u32 v0, v1, v2", {{0xffffffff, 0xffffffff, 0, 0xfffffffe}});
    check32(p, "v_mul_hi_i32 v0, v1, v2", {{0xffffffff, 5, 0, 0xffffffff}, {0x80000000, 0x80000000, 0, 0x40000000}});
    check32(p, "v_mul_i32_i24 v0, v1, v2", {{0xffffff, 5, 0, 0xfffffffb}, {0x12000003, 4, 0, 12}});
    check32(p, "v_mul_hi_i32_i24 v0, v1, v2", {{0xffffff, 5, 0, 0xffffffff}, {0x800000, 0x800000, 0, 0x4000}});
    check32(p, "v_mul_u32_u24 v0, v1, v2", {{0xff000003, 4, 0, 12}, {0xffffff, 0xffffff, 0, 0xfe000001}});
    check32(p, "v_mul_hi_u32_u24 v0, v1, v2", {{0xffffff, 0xffffff, 0, 0xffff}});
    check32(p, "v_mad_i32_i24 v0, v1, v2, v3", {{0xffffff, 5, 7, 2}});
    check32(p, "v_mad_u32_u24 v0, v1, v2, v3", {{0xff000003, 5, 7, 22}});
    check32(p, "v_mad_u32_u16 v0, v1, v2, v3", {{0x7ffff, 0xffff, 1, 0xfffe0002}});
    check32(p, "v_mad_i32_i16 v0, v1, v2, v3", {{0xffff, 0x8000, 1, 0x8001}});
    check32(p, "v_mad_u32_u16 v0, v1, v2, v3 op_sel:[1,0,0,0]", {{0x00070003, 0xffff0002, 1, 15}});
  }
  check64("gfx942", "v_mad_u64_u32 v[0:1], s[4:5], v2, v4, v[6:7]",
          {{0xffffffff, 0xffffffff, 5, 0xfffffffe00000006}, {2, 3, ~std::uint64_t{0}, 5}});
  check64("gfx942", "v_mad_i64_i32 v[0:1], s[4:5], v2, v4, v[6:7]",
          {{0xffffffff, 7, 5, static_cast<std::uint64_t>(-2)}});
  SmallWave wave("gfx90a");
  wave.set_exec(7);
  for (int i = 0; i < 3; ++i) {
    wave.v(2, i) = 2, wave.v(3, i) = 3;
    wave.set_v64(4, i, i == 1 ? ~std::uint64_t{0} : 0);
  }
  ASSERT_EQ(wave.run("v_mad_u64_u32 v[6:7], s[4:5], v2, v3, v[4:5]"), emulator::WaveStatus::ended);
  EXPECT_EQ(wave.s64(4), 2u);
}

TEST(VectorInteger, Comparisons) {
  check32("gfx942", "v_min_i32 v0, v1, v2", {{0xffffffff, 1, 0, 0xffffffff}});
  check32("gfx942", "v_max_i32 v0, v1, v2", {{0xffffffff, 1, 0, 1}});
  check32("gfx942", "v_min_u32 v0, v1, v2", {{0xffffffff, 1, 0, 1}});
  check32("gfx942", "v_max_u32 v0, v1, v2", {{0xffffffff, 1, 0, 0xffffffff}});
  check32("gfx942", "v_min3_i32 v0, v1, v2, v3", {{5, 0xfffffffe, 3, 0xfffffffe}});
  check32("gfx942", "v_max3_u32 v0, v1, v2, v3", {{5, 0xfffffffe, 3, 0xfffffffe}});
  check32("gfx942", "v_med3_i32 v0, v1, v2, v3", {{5, 0xfffffffe, 3, 3}, {3, 5, 0xfffffffe, 3}});
  check32("gfx942", "v_med3_u32 v0, v1, v2, v3", {{5, 0xfffffffe, 3, 5}});
}

TEST(VectorInteger, Bits) {
  for (const auto& p : cdna()) {
    check32(p, "v_lshlrev_b32 v0, v1, v2", {{4, 0x11, 0, 0x110}, {36, 0x11, 0, 0x110}});
    check32(p, "v_lshrrev_b32 v0, v1, v2", {{4, 0x80000011, 0, 0x08000001}});
    check32(p, "v_ashrrev_i32 v0, v1, v2", {{4, 0x80000011, 0, 0xf8000001}});
    check32(p, "v_and_b32 v0, v1, v2", {{0xff00ff00, 0x0ff00ff0, 0, 0x0f000f00}});
    check32(p, "v_or_b32 v0, v1, v2", {{0xff00ff00, 0x0ff00ff0, 0, 0xfff0fff0}});
    check32(p, "v_xor_b32 v0, v1, v2", {{0xff00ff00, 0x0ff00ff0, 0, 0xf0f0f0f0}});
    check32(p, "v_xnor_b32 v0, v1, v2", {{0xff00ff00, 0x0ff00ff0, 0, 0x0f0f0f0f}});
    check32(p, "v_not_b32 v0, v1", {{0xff00ff00, 0, 0, 0x00ff00ff}});
    check32(p, "v_or3_b32 v0, v1, v2, v3", {{1, 2, 4, 7}});
    check32(p, "v_and_or_b32 v0, v1, v2, v3", {{6, 3, 8, 10}});
    check32(p, "v_lshl_or_b32 v0, v1, v2, v3", {{1, 8, 3, 0x103}});
    check32(p, "v_bfe_u32 v0, v1, v2, v3", {{0x12345678, 8, 8, 0x56}, {0xffffffff, 4, 0, 0}, {0xffffffff, 0, 32, 0}});
    check32(p, "v_bfe_i32 v0, v1, v2, v3",
            {{0x12348678, 8, 8, 0xffffff86},
             {0x12345678, 8, 8, 0x56},
             {0xffffffff, 4, 0, 0},
             {0x80000000, 28, 8, 0xfffffff8}});
    check32(p, "v_bfi_b32 v0, v1, v2, v3", {{0x0000ffff, 0x12345678, 0xabcdef01, 0xabcd5678}});
    check32(p, "v_bfm_b32 v0, v1, v2", {{4, 8, 0, 0xf00}});
    check32(p, "v_bfrev_b32 v0, v1", {{0x00000001, 0, 0, 0x80000000}, {0x12345678, 0, 0, 0x1e6a2c48}});
    check32(p, "v_ffbh_u32 v0, v1",
            {{0, 0, 0, 0xffffffff}, {0x800000ff, 0, 0, 0}, {0x100000ff, 0, 0, 3}, {0xffff, 0, 0, 16}, {1, 0, 0, 31}});
    check32(p, "v_ffbl_b32 v0, v1",
            {{0, 0, 0, 0xffffffff},
             {0xff000001, 0, 0, 0},
             {0xff000008, 0, 0, 3},
             {0xffff0000, 0, 0, 16},
             {0x80000000, 0, 0, 31}});
    check32(p, "v_ffbh_i32 v0, v1",
            {{0, 0, 0, 0xffffffff},
             {0x40000000, 0, 0, 1},
             {0x80000000, 0, 0, 1},
             {0x0fffffff, 0, 0, 4},
             {0xffff0000, 0, 0, 16},
             {0xfffffffe, 0, 0, 31},
             {0xffffffff, 0, 0, 0xffffffff}});
    check32(p, "v_bcnt_u32_b32 v0, v1, v2", {{0xf0f0f0f1, 10, 0, 27}, {0xffffffff, 0, 0, 32}});
    check32(p, "v_alignbit_b32 v0, v1, v2, v3", {{0x12345678, 0x9abcdef0, 8, 0x789abcde}, {1, 2, 0, 2}});
    check32(p, "v_alignbyte_b32 v0, v1, v2, v3", {{0x12345678, 0x9abcdef0, 3, 0x3456789a}});
    check32(p, "v_perm_b32 v0, v1, v2, v3",
            {{0x8706a504, 0x83028100, 0x07060100, 0x87068100},
             {0x8706a504, 0x83028100, 0x0c0d080b, 0x00ffffff},
             {0x00000000, 0x83028100, 0x0a09080b, 0x00ffff00}});
    check32(p, "v_sad_u8 v0, v1, v2, v3", {{0x01020304, 0x04030201, 100, 108}});
    check32(p, "v_sad_hi_u8 v0, v1, v2, v3", {{0x01020304, 0x04030201, 100, 0x80064}});
    check32(p, "v_sad_u16 v0, v1, v2, v3", {{0x00050001, 0x00010009, 1, 13}});
    check32(p, "v_sad_u32 v0, v1, v2, v3", {{5, 0xffffffff, 1, 0xfffffffb}});
    check32(p, "v_msad_u8 v0, v1, v2, v3", {{0x01020304, 0x04000201, 100, 107}});
    check32(p, "v_lerp_u8 v0, v1, v2, v3",
            {{0x01020304, 0x02020202, 0x01010101, 0x02020303}, {0x01020304, 0x02020202, 0, 0x01020203}});
  }
  check32("gfx950", "v_bitop3_b32 v0, v1, v2, v3 bitop3:0x78",
          {{0xff00ff00, 0xf0f0f0f0, 0xcccccccc, 0xff00ff00 ^ (0xf0f0f0f0 & 0xcccccccc)}});
  check32("gfx950", "v_bitop3_b32 v0, v1, v2, v3 bitop3:0xca", {{0xff00ff00, 0x12345678, 0xabcdef01, 0x12cd5601}});
  check32("gfx950", "v_bitop3_b16 v0, v1, v2, v3 bitop3:0x96", {{0xff0f, 0xf0f0, 0xcccc, 0xdeadc333}});
  check32("gfx950", "v_prng_b32 v0, v1", {{0x80000001, 0, 0, 2 ^ 197}, {3, 0, 0, 6}});
}

TEST(VectorInteger, SixtyFourBits) {
  for (const auto& p : cdna()) {
    check64(p, "v_lshlrev_b64 v[0:1], v2, v[4:5]", {{36, 0x123, 0, 0x123000000000}, {68, 0x123, 0, 0x1230}});
    check64(p, "v_lshrrev_b64 v[0:1], v2, v[4:5]", {{36, 0x8000123400000000, 0, 0x08000123}});
    check64(p, "v_ashrrev_i64 v[0:1], v2, v[4:5]", {{36, 0x8000123400000000, 0, 0xfffffffff8000123}});
    check64(p, "v_qsad_pk_u16_u8 v[0:1], v[2:3], v4, v[6:7]",
            {{0x0706050403020100, 0x03020100, 0x0001000100010001, 0x000d000900050001}});
    check64(p, "v_mqsad_pk_u16_u8 v[0:1], v[2:3], v4, v[6:7]",
            {{0x0706050403020100, 0x03020100, 0x0001000100010001, 0x000a000700040001}});
  }
  check64("gfx942", "v_lshl_add_u64 v[0:1], v[2:3], v4, v[6:7]", {{0xffffffff, 2, 5, 0x400000001}});
  check64("gfx942", "v_mov_b64 v[0:1], v[2:3]", {{0x123456789abcdef0, 0, 0, 0x123456789abcdef0}});
  check64("gfx942", "v_lshl_add_u64 v[0:1], v[2:3], 0, -1", {{5, 0, 0, 4}});
}

// Four windows of four bytes; a byte of 0 in the reference does not count. Sums of 32 bits do not run into each other.
TEST(VectorInteger, WindowSumsOfFourRegisters) {
  for (const std::string p : {"gfx90a", "gfx942", "gfx950", "gfx1100"}) {
    SmallWave wave(p);
    for (int lane = 0; lane < 32; ++lane) {
      wave.set_v64(4, lane, 0x0706050403020100);
      wave.v(6, lane) = lane == 1 ? 0xffffffff : 0x03020100;
      for (int i = 0; i < 4; ++i) wave.v(8 + i, lane) = lane == 2 ? 0xfffffffe : 1 + static_cast<std::uint32_t>(i);
      wave.v(3, lane) = 77;
    }
    wave.set_exec(0x7);
    ASSERT_EQ(wave.run("v_mqsad_u32_u8 v[0:3], v[4:5], v6, v[8:11]"), emulator::WaveStatus::ended) << p;
    const std::uint32_t want[3][4] = {{1, 3 + 2, 6 + 3, 9 + 4},
                                      {1014 + 1, 1010 + 2, 1006 + 3, 1002 + 4},
                                      {0xfffffffe, 1, 4, 7}};
    for (int lane = 0; lane < 3; ++lane)
      for (int i = 0; i < 4; ++i) EXPECT_EQ(wave.v(i, lane), want[lane][i]) << p << " lane " << lane << " " << i;
    EXPECT_EQ(wave.v(3, 3), 77u);
  }
}

TEST(VectorInteger, LaneCounts) {
  SmallWave wave("gfx942");
  wave.set_s64(4, 0xf0f0000180000003);
  ASSERT_EQ(wave.run("v_mbcnt_lo_u32_b32 v0, -1, 0\nv_mbcnt_hi_u32_b32 v0, -1, v0\n"
                     "v_mbcnt_lo_u32_b32 v1, s4, 0\nv_mbcnt_hi_u32_b32 v1, s5, v1"),
            emulator::WaveStatus::ended);
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(wave.v(0, i), static_cast<std::uint32_t>(i));
    const std::uint64_t below = 0xf0f0000180000003 & ((std::uint64_t{1} << i) - 1);
    EXPECT_EQ(wave.v(1, i), static_cast<std::uint32_t>(std::popcount(below))) << i;
  }
}

TEST(VectorInteger, SixteenBits) {
  for (const auto& p : cdna()) {
    // Results of 16 bits make the upper half 0 …
    check32(p, "v_add_u16 v0, v1, v2", {{0x5ffff, 0x70003, 0, 2}});
    check32(p, "v_add_u16 v0, v1, v2 clamp", {{0xffff, 3, 0, 0xffff}});
    check32(p, "v_sub_u16 v0, v1, v2 clamp", {{2, 3, 0, 0}});
    check32(p, "v_mul_lo_u16 v0, v1, v2", {{0xffff, 0xffff, 0, 1}});
    check32(p, "v_lshlrev_b16 v0, v1, v2", {{4, 0x1fff, 0, 0xfff0}, {20, 0x1fff, 0, 0xfff0}});
    check32(p, "v_lshrrev_b16 v0, v1, v2", {{4, 0xf000f000, 0, 0x0f00}});
    check32(p, "v_ashrrev_i16 v0, v1, v2", {{4, 0x8000, 0, 0xf800}});
    check32(p, "v_max_i16 v0, v1, v2", {{0xffff, 1, 0, 1}});
    check32(p, "v_max_u16 v0, v1, v2", {{0xffff, 1, 0, 0xffff}});
    check32(p, "v_min_i16 v0, v1, v2", {{0xffff, 1, 0, 0xffff}});
    // … but for the operations that came with GFX9, which leave it.
    check32(p, "v_mad_u16 v0, v1, v2, v3", {{3, 4, 5, 0xdead0011}});
    check32(p, "v_mad_u16 v0, v1, v2, v3 op_sel:[0,0,0,1]", {{3, 4, 5, 0x0011beef}});
    check32(p, "v_mad_i16 v0, v1, v2, v3 clamp", {{0x7fff, 2, 5, 0xdead7fff}});
    check32(p, "v_add_i16 v0, v1, v2 clamp", {{0x7fff, 1, 0, 0xdead7fff}});
    check32(p, "v_mad_legacy_u16 v0, v1, v2, v3", {{3, 4, 5, 0x11}});
    check32(p, "v_med3_i16 v0, v1, v2, v3", {{3, 0xffff, 5, 0xdead0003}});
    check32(p, "v_max3_u16 v0, v1, v2, v3 op_sel:[1,0,0,0]", {{0xfff00003, 0xff, 5, 0xdeadfff0}});
    check32(p, "v_pack_b32_f16 v0, v1, v2", {{0x11112222, 0x33334444, 0, 0x44442222}});
    check32(p, "v_pack_b32_f16 v0, v1, v2 op_sel:[1,1,0]", {{0x11112222, 0x33334444, 0, 0x33331111}});
    check32(p, "v_sat_pk_u8_i16 v0, v1", {{0x0100ffff, 0, 0, 0xff00}, {0x00120034, 0, 0, 0x1234}});
    check32(p, "v_cvt_pk_u16_u32 v0, v1, v2", {{0x12345, 7, 0, 0x0007ffff}});
    check32(p, "v_cvt_pk_i16_i32 v0, v1, v2", {{0x12345, 0xffff0000, 0, 0x80007fff}});
  }
  check32("gfx950", "v_ashr_pk_i8_i32 v0, v1, v2, v3", {{0x12340, 0xfffff000, 8, 0xdeadf07f}});
  check32("gfx950", "v_ashr_pk_u8_i32 v0, v1, v2, v3", {{0x12340, 0xfffff000, 8, 0xdead00ff}});
}

TEST(VectorInteger, ChoiceByMask) {
  SmallWave wave("gfx942");
  for (int i = 0; i < 64; ++i) wave.v(1, i) = 100, wave.v(2, i) = 200;
  wave.set_s64(106, 0x00000000ffffffff);
  wave.set_s64(4, 0xaaaaaaaaaaaaaaaa);
  ASSERT_EQ(wave.run("v_cndmask_b32 v3, v1, v2, vcc\nv_cndmask_b32 v4, 1.0, -v2, s[4:5]"), emulator::WaveStatus::ended);
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(wave.v(3, i), i < 32 ? 200u : 100u);
    EXPECT_EQ(wave.v(4, i), i % 2 == 1 ? 0x800000c8u : 0x3f800000u);
  }
}

}  // namespace
}  // namespace kiln::emulator_test
