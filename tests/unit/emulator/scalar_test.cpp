// SALU and SMEM against values worked out by hand from AMD's instruction set documents.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "tests/support/emulator/small_wave.hpp"

namespace kiln::emulator_test {
namespace {

using emulator::FaultKind;
using emulator::WaveStatus;
namespace code = emulator::code;

// One instruction with sources s[0:1] and s[2:3] and destination s[4:5].
struct Case {
  const char* text;
  std::uint64_t a = 0, b = 0, result = 0;
  int scc = -1;             // expected; -1: any
  bool scc_before = false;
  std::uint64_t before = 0;  // s[4:5]
};

class ScalarTargets : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Cdna, ScalarTargets, ::testing::Values("gfx90a", "gfx942", "gfx950"));

void expect_case(const std::string& target, const Case& one) {
  SCOPED_TRACE(one.text);
  SmallWave wave(target);
  wave.set_s64(0, one.a);
  wave.set_s64(2, one.b);
  wave.set_s64(4, one.before);
  wave.wave().scc = one.scc_before;
  ASSERT_EQ(wave.run(one.text), WaveStatus::ended);
  const std::string text = one.text;
  const bool wide = text.find("s[4:5]") != std::string::npos;
  EXPECT_EQ(wide ? wave.s64(4) : wave.s(4), wide ? one.result : static_cast<std::uint32_t>(one.result));
  if (one.scc >= 0) {
    EXPECT_EQ(wave.wave().scc, one.scc == 1);
  }
}

TEST_P(ScalarTargets, Arithmetic) {
  const Case cases[] = {
      {"s_add_u32 s4, s0, s2", 0xffffffff, 2, 1, 1},
      {"s_add_u32 s4, s0, s2", 3, 4, 7, 0},
      {"s_addc_u32 s4, s0, s2", 0xffffffff, 0, 0, 1, true},
      {"s_addc_u32 s4, s0, s2", 1, 1, 3, 0, true},
      {"s_sub_u32 s4, s0, s2", 1, 2, 0xffffffff, 1},
      {"s_subb_u32 s4, s0, s2", 5, 5, 0xffffffff, 1, true},
      {"s_subb_u32 s4, s0, s2", 6, 5, 0, 0, true},
      {"s_subb_u32 s4, s0, s2", 0, 0xffffffff, 0, 1, true},
      {"s_add_i32 s4, s0, s2", 0x7fffffff, 1, 0x80000000, 1},
      {"s_add_i32 s4, s0, s2", 0xffffffff, 1, 0, 0},
      {"s_sub_i32 s4, s0, s2", 0x80000000, 1, 0x7fffffff, 1},
      {"s_sub_i32 s4, s0, s2", 1, 2, 0xffffffff, 0},
      {"s_min_i32 s4, s0, s2", 0xffffffff, 1, 0xffffffff, 1},
      {"s_min_u32 s4, s0, s2", 0xffffffff, 1, 1, 0},
      {"s_max_i32 s4, s0, s2", 0xffffffff, 1, 1, 0},
      {"s_max_u32 s4, s0, s2", 0xffffffff, 1, 0xffffffff, 1},
      {"s_mul_i32 s4, s0, s2", 0xffffffff, 7, 0xfffffff9},
      {"s_mul_hi_u32 s4, s0, s2", 0xffffffff, 0xffffffff, 0xfffffffe},
      {"s_mul_hi_i32 s4, s0, s2", 0xffffffff, 5, 0xffffffff},
      {"s_absdiff_i32 s4, s0, s2", 2, 5, 3, 1},
      {"s_absdiff_i32 s4, s0, s2", 0x80000000, 0, 0x80000000, 1},
      {"s_absdiff_i32 s4, s0, s2", 9, 9, 0, 0},
      {"s_abs_i32 s4, s0", 0xfffffff6, 0, 10, 1},
      {"s_abs_i32 s4, s0", 0x80000000, 0, 0x80000000, 1},
      {"s_lshl1_add_u32 s4, s0, s2", 0x80000000, 3, 3, 1},
      {"s_lshl2_add_u32 s4, s0, s2", 5, 1, 21, 0},
      {"s_lshl3_add_u32 s4, s0, s2", 5, 1, 41, 0},
      {"s_lshl4_add_u32 s4, s0, s2", 0x10000000, 0xffffffff, 0xffffffff, 1},
      {"s_addk_i32 s4, 0x7fff", 0, 0, 0x7fffffff + 0x7fffull, 1, false, 0x7fffffff},
      {"s_addk_i32 s4, -1", 0, 0, 4, 0, false, 5},
      {"s_mulk_i32 s4, -3", 0, 0, 0xfffffff1, -1, false, 5},
      {"s_movk_i32 s4, 0x8000", 0, 0, 0xffff8000},
      {"s_cmovk_i32 s4, 12", 0, 0, 12, 1, true, 3},
      {"s_cmovk_i32 s4, 12", 0, 0, 3, 0, false, 3},
      {"s_cselect_b32 s4, s0, s2", 1, 2, 1, 1, true},
      {"s_cselect_b64 s[4:5], s[0:1], s[2:3]", 1, 0x200000003, 0x200000003, 0, false},
      {"s_cmov_b64 s[4:5], s[0:1]", 77, 0, 5, 0, false, 5},
  };
  for (const Case& one : cases) expect_case(GetParam(), one);
}

TEST_P(ScalarTargets, Bits) {
  constexpr std::uint64_t x = 0xf0f0f0f012345678, y = 0xff00ff00ff00ff00;
  const Case cases[] = {
      {"s_and_b64 s[4:5], s[0:1], s[2:3]", x, y, x & y, 1},
      {"s_andn2_b64 s[4:5], s[0:1], s[2:3]", x, x, 0, 0},
      {"s_or_b64 s[4:5], s[0:1], s[2:3]", x, y, x | y, 1},
      {"s_orn2_b32 s4, s0, s2", 0, 0xffffffff, 0, 0},
      {"s_xor_b32 s4, s0, s2", 0xff, 0xff, 0, 0},
      {"s_nand_b32 s4, s0, s2", 0xffffffff, 0xffffffff, 0, 0},
      {"s_nor_b64 s[4:5], s[0:1], s[2:3]", 0, 0, ~0ull, 1},
      {"s_xnor_b64 s[4:5], s[0:1], s[2:3]", x, y, ~(x ^ y), 1},
      {"s_not_b64 s[4:5], s[0:1]", ~0ull, 0, 0, 0},
      {"s_lshl_b32 s4, s0, s2", 1, 33, 2, 1},
      {"s_lshl_b64 s[4:5], s[0:1], s2", 1, 40, 1ull << 40, 1},
      {"s_lshr_b64 s[4:5], s[0:1], s2", 1ull << 40, 104, 1, 1},
      {"s_ashr_i32 s4, s0, s2", 0x80000000, 31, 0xffffffff, 1},
      {"s_ashr_i64 s[4:5], s[0:1], s2", 1ull << 63, 63, ~0ull, 1},
      {"s_bfm_b32 s4, s0, s2", 5, 3, 0xf8},
      {"s_bfm_b64 s[4:5], s0, s2", 4, 40, 0xfull << 40},
      {"s_bfe_u32 s4, s0, s2", 0x12345678, 8 | 12 << 16, 0x456, 1},
      {"s_bfe_i32 s4, s0, s2", 0x12345f78, 8 | 8 << 16, 0x5f, 1},
      {"s_bfe_i32 s4, s0, s2", 0x1234ff78, 8 | 8 << 16, 0xffffffff, 1},
      {"s_bfe_u32 s4, s0, s2", 0x12345678, 8, 0, 0},
      {"s_bfe_u64 s[4:5], s[0:1], s2", x, 28 | 16 << 16, 0x0f01, 1},
      {"s_bfe_i64 s[4:5], s[0:1], s2", x, 32 | 32 << 16, 0xfffffffff0f0f0f0, 1},
      {"s_brev_b32 s4, s0", 0x80000001, 0, 0x80000001},
      {"s_brev_b64 s[4:5], s[0:1]", 3, 0, 3ull << 62},
      {"s_bcnt0_i32_b32 s4, s0", 0xcccccccc, 0, 16, 1},
      {"s_bcnt0_i32_b64 s4, s[0:1]", ~0ull, 0, 0, 0},
      {"s_bcnt1_i32_b64 s4, s[0:1]", 0xff000000000000ff, 0, 16, 1},
      {"s_ff0_i32_b32 s4, s0", 0xfffeffff, 0, 16},
      {"s_ff0_i32_b64 s4, s[0:1]", ~0ull, 0, 0xffffffff},
      {"s_ff1_i32_b32 s4, s0", 0, 0, 0xffffffff},
      {"s_ff1_i32_b64 s4, s[0:1]", 1ull << 44, 0, 44},
      {"s_flbit_i32_b32 s4, s0", 0x0000cccc, 0, 16},
      {"s_flbit_i32_b64 s4, s[0:1]", 1, 0, 63},
      {"s_flbit_i32 s4, s0", 0xffff3333, 0, 16},
      {"s_flbit_i32 s4, s0", 0xffffffff, 0, 0xffffffff},
      {"s_flbit_i32_i64 s4, s[0:1]", 0xffffffff00000000, 0, 32},
      {"s_sext_i32_i8 s4, s0", 0x1280, 0, 0xffffff80},
      {"s_sext_i32_i16 s4, s0", 0x8001, 0, 0xffff8001},
      {"s_bitset0_b32 s4, s0", 35, 0, 0xfffffff7, -1, false, 0xffffffff},
      {"s_bitset1_b64 s[4:5], s0", 40, 0, 1ull << 40},
      {"s_wqm_b32 s4, s0", 0x01002008, 0, 0x0f00f00f, 1},
      {"s_wqm_b64 s[4:5], s[0:1]", 1ull << 62, 0, 15ull << 60, 1},
      {"s_quadmask_b32 s4, s0", 0x80000011, 0, 0x83, 1},
      {"s_quadmask_b64 s[4:5], s[0:1]", 1ull << 63, 0, 0x8000, 1},
      {"s_bitreplicate_b64_b32 s[4:5], s0", 0x80000005, 0, 0xc000000000000033},
      {"s_pack_ll_b32_b16 s4, s0, s2", 0x11112222, 0x33334444, 0x44442222},
      {"s_pack_lh_b32_b16 s4, s0, s2", 0x11112222, 0x33334444, 0x33332222},
      {"s_pack_hh_b32_b16 s4, s0, s2", 0x11112222, 0x33334444, 0x33331111},
  };
  for (const Case& one : cases) expect_case(GetParam(), one);
}

TEST_P(ScalarTargets, ComparesSetScc) {
  struct Compare {
    const char* name;
    std::uint32_t a, b;
    bool expected;
  };
  const Compare cases[] = {
      {"s_cmp_eq_i32", 5, 5, true},  {"s_cmp_lg_i32", 5, 5, false}, {"s_cmp_gt_i32", 0xffffffff, 0, false},
      {"s_cmp_ge_i32", 0, 0, true},  {"s_cmp_lt_i32", 0xffffffff, 0, true}, {"s_cmp_le_i32", 1, 0, false},
      {"s_cmp_gt_u32", 0xffffffff, 0, true}, {"s_cmp_lt_u32", 0xffffffff, 0, false}, {"s_cmp_ge_u32", 1, 2, false},
      {"s_cmp_le_u32", 2, 2, true}, {"s_cmp_eq_u32", 1, 2, false}, {"s_cmp_lg_u32", 1, 2, true},
      {"s_bitcmp0_b32", 4, 2, false}, {"s_bitcmp1_b32", 4, 34, true},
  };
  for (const auto& one : cases) {
    SmallWave wave(GetParam());
    wave.s(0) = one.a;
    wave.s(2) = one.b;
    wave.wave().scc = !one.expected;
    ASSERT_EQ(wave.run(std::string(one.name) + " s0, s2"), WaveStatus::ended);
    EXPECT_EQ(wave.wave().scc, one.expected) << one.name << " " << one.a << " " << one.b;
  }
  const Compare immediates[] = {
      {"s_cmpk_eq_i32 s0, 0xffff", 0xffffffff, 0, true}, {"s_cmpk_eq_u32 s0, 0xffff", 0xffffffff, 0, false},
      {"s_cmpk_lt_i32 s0, 0x8000", 0xffff0000, 0, true}, {"s_cmpk_gt_u32 s0, 0x8000", 0x8001, 0, true},
      {"s_cmpk_le_u32 s0, 7", 7, 0, true},               {"s_cmpk_ge_i32 s0, 7", 6, 0, false},
      {"s_cmpk_lg_u32 s0, 7", 7, 0, false},              {"s_cmpk_lg_i32 s0, 7", 8, 0, true},
      {"s_cmpk_gt_i32 s0, 0xfffe", 0xffffffff, 0, true}, {"s_cmpk_ge_u32 s0, 0xffff", 0xffff, 0, true},
      {"s_cmpk_lt_u32 s0, 0", 0, 0, false},              {"s_cmpk_le_i32 s0, 0", 0xffffffff, 0, true},
  };
  for (const auto& one : immediates) {
    SmallWave wave(GetParam());
    wave.s(0) = one.a;
    wave.wave().scc = !one.expected;
    ASSERT_EQ(wave.run(one.name), WaveStatus::ended);
    EXPECT_EQ(wave.wave().scc, one.expected) << one.name;
  }
  SmallWave wave(GetParam());
  wave.set_s64(0, 1ull << 40);
  wave.set_s64(2, 1ull << 40);
  ASSERT_EQ(wave.run("s_cmp_eq_u64 s[0:1], s[2:3]\n s_cselect_b32 s4, 1, 0\n s_cmp_lg_u64 s[0:1], s[2:3]\n"
                     "s_cselect_b32 s5, 1, 0\n s_movk_i32 s8, 40\n s_bitcmp1_b64 s[0:1], s8\n s_cselect_b32 s6, 1, 0\n"
                     "s_bitcmp0_b64 s[0:1], s8\n s_cselect_b32 s7, 1, 0"),
            WaveStatus::ended);
  EXPECT_EQ(wave.s(4), 1u);
  EXPECT_EQ(wave.s(5), 0u);
  EXPECT_EQ(wave.s(6), 1u);
  EXPECT_EQ(wave.s(7), 0u);
}

TEST_P(ScalarTargets, ConstantsAndLiterals) {
  SmallWave wave(GetParam());
  ASSERT_EQ(wave.run("s_mov_b32 s0, -16\n s_mov_b32 s1, 64\n s_mov_b32 s2, 0.5\n s_mov_b32 s3, 0x12345678\n"
                     "s_mov_b64 s[4:5], -1\n s_mov_b64 s[6:7], 1.0\n s_mov_b32 s8, 0.15915494\n"
                     "s_mov_b64 s[10:11], 0xf0000000\n s_mov_b32 s12, -4.0\n s_mov_b64 s[14:15], 0.15915494309189532"),
            WaveStatus::ended);
  EXPECT_EQ(wave.s(0), 0xfffffff0);
  EXPECT_EQ(wave.s(1), 64u);
  EXPECT_EQ(wave.s(2), 0x3f000000u);
  EXPECT_EQ(wave.s(3), 0x12345678u);
  EXPECT_EQ(wave.s64(4), ~0ull);
  EXPECT_EQ(wave.s64(6), 0x3ff0000000000000ull);
  EXPECT_EQ(wave.s(8), 0x3e22f983u);
  EXPECT_EQ(wave.s64(10), 0xf0000000ull);
  EXPECT_EQ(wave.s(12), 0xc0800000u);
  EXPECT_EQ(wave.s64(14), 0x3fc45f306dc9c882ull);
}

TEST_P(ScalarTargets, ExecAndItsSpecials) {
  struct Exec {
    const char* name;
    std::uint64_t source, before, after;
  };
  constexpr std::uint64_t s = 0xff00ff00ff00ff00, e = 0x0ff00ff00ff00ff0;
  const Exec cases[] = {
      {"s_and_saveexec_b64", s, e, s & e},      {"s_or_saveexec_b64", s, e, s | e},
      {"s_xor_saveexec_b64", s, e, s ^ e},      {"s_andn2_saveexec_b64", s, e, s & ~e},
      {"s_orn2_saveexec_b64", s, e, s | ~e},    {"s_nand_saveexec_b64", s, e, ~(s & e)},
      {"s_nor_saveexec_b64", s, e, ~(s | e)}, {"s_xnor_saveexec_b64", s, e, ~(s ^ e)},
      {"s_andn1_saveexec_b64", s, e, ~s & e}, {"s_orn1_saveexec_b64", s, e, ~s | e},
      {"s_and_saveexec_b64", 0, e, 0},
  };
  for (const auto& one : cases) {
    SmallWave wave(GetParam());
    wave.set_exec(one.before);
    wave.set_s64(0, one.source);
    ASSERT_EQ(wave.run(std::string(one.name) + " s[4:5], s[0:1]"), WaveStatus::ended);
    EXPECT_EQ(wave.s64(4), one.before) << one.name;
    EXPECT_EQ(wave.s64(code::exec), one.after) << one.name;
    EXPECT_EQ(wave.wave().scc, one.after != 0) << one.name;
  }
  SmallWave wave(GetParam());
  wave.set_exec(e);
  wave.set_s64(0, s);
  ASSERT_EQ(wave.run("s_andn1_wrexec_b64 s[4:5], s[0:1]\n s_mov_b64 vcc, 0\n s_mov_b32 s6, src_vccz\n"
                     "s_mov_b32 s7, src_scc\n"
                     "s_mov_b32 s8, src_execz"),
            WaveStatus::ended);
  EXPECT_EQ(wave.s64(4), ~s & e);
  EXPECT_EQ(wave.s64(code::exec), ~s & e);
  EXPECT_EQ(wave.s(6), 1u);
  EXPECT_EQ(wave.s(7), 1u);
  EXPECT_EQ(wave.s(8), 0u);
}

TEST_P(ScalarTargets, RegistersByIndex) {
  SmallWave wave(GetParam());
  wave.s(10) = 111;
  wave.set_s64(12, 0x123456789abcdef0);
  ASSERT_EQ(wave.run("s_mov_b32 m0, 7\n s_movrels_b32 s20, s3\n s_mov_b32 m0, 8\n s_movrels_b64 s[22:23], s[4:5]\n"
                     "s_movreld_b32 s16, s10\n s_movreld_b64 s[18:19], s[12:13]"),
            WaveStatus::ended);
  EXPECT_EQ(wave.s(20), 111u);
  EXPECT_EQ(wave.s64(22), 0x123456789abcdef0u);
  EXPECT_EQ(wave.s(24), 111u);
  EXPECT_EQ(wave.s64(26), 0x123456789abcdef0u);

  SmallWave outside(GetParam());
  EXPECT_EQ(outside.run("s_movk_i32 s0, 0x200\n s_mov_b32 m0, s0\n s_movrels_b32 s1, s2"), WaveStatus::faulted);
  const auto& read = outside.wave().fault;
  EXPECT_EQ(read.kind, FaultKind::register_index);
  EXPECT_EQ(read.instruction, 2u);
  EXPECT_EQ(read.address, 0x202u);
  EXPECT_EQ(read.registers, 128u);
  EXPECT_TRUE(read.scalar && !read.store);
  SmallWave beyond(GetParam());
  EXPECT_EQ(beyond.run("s_movk_i32 m0, 0x7b\n s_movreld_b64 s[4:5], s[2:3]"), WaveStatus::faulted);
  const auto& written = beyond.wave().fault;
  EXPECT_EQ(written.kind, FaultKind::register_index);
  EXPECT_EQ(written.address, 127u);
  EXPECT_EQ(written.bytes, 8u);
  EXPECT_TRUE(written.scalar && written.store);
}

TEST_P(ScalarTargets, ModeThroughHardwareRegisters) {
  SmallWave wave(GetParam());
  ASSERT_EQ(wave.run("s_getreg_b32 s0, hwreg(HW_REG_MODE)\n s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5\n"
                     "s_getreg_b32 s1, hwreg(HW_REG_MODE, 0, 8)\n s_movk_i32 s2, 2\n"
                     "s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s2\n s_getreg_b32 s3, hwreg(HW_REG_MODE)"),
            WaveStatus::ended);
  EXPECT_EQ(wave.s(0), 0x3f0u);
  EXPECT_EQ(wave.s(1), 0xf5u);
  EXPECT_EQ(wave.s(3), 0x3e5u);
  EXPECT_EQ(wave.wave().mode, 0x3e5u);
}

// 1 + 2^-24 in f32 is a tie; upwards it is the next number, else 1.
TEST_P(ScalarTargets, RoundingModeReachesVectorInstructions) {
  const std::uint32_t expected[4] = {0x3f800000, 0x3f800001, 0x3f800000, 0x3f800000};
  for (int mode = 0; mode < 4; ++mode) {
    SmallWave wave(GetParam());
    ASSERT_EQ(wave.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), " + std::to_string(mode) +
                       "\n v_mov_b32 v0, 1.0\n v_mov_b32 v1, 0x33800000\n v_add_f32 v2, v0, v1"),
              WaveStatus::ended);
    EXPECT_EQ(wave.v(2, 5), expected[mode]) << mode;
  }
}

TEST_P(ScalarTargets, HardwareRegistersThatAWaveSees) {
  SmallWave wave(GetParam(), 65536);
  wave.wave().index = 6;
  ASSERT_EQ(wave.run("s_getreg_b32 s0, hwreg(HW_REG_HW_ID)\n s_getreg_b32 s1, hwreg(HW_REG_STATUS, 9, 1)\n"
                     "s_getreg_b32 s2, hwreg(HW_REG_SH_MEM_BASES)\n s_getreg_b32 s3, hwreg(HW_REG_LDS_ALLOC, 12, 9)\n"
                     "s_mov_b64 s[4:5], src_shared_base\n s_mov_b64 s[6:7], src_private_limit\n"
                     "s_getreg_b32 s8, hwreg(HW_REG_TRAPSTS)"),
            WaveStatus::ended);
  EXPECT_EQ(wave.s(0), 1u | 2u << 4);
  EXPECT_EQ(wave.s(1), 0u);
  EXPECT_EQ(wave.s(2), 2u | 1u << 16);
  EXPECT_EQ(wave.s(3), 128u);
  EXPECT_EQ(wave.s64(4), 1ull << 48);
  EXPECT_EQ(wave.s64(6), (2ull << 48) + 0xffffffff);
  EXPECT_EQ(wave.s(8), 0u);
}

TEST_P(ScalarTargets, LoadsOfAllWidths) {
  SmallWave wave(GetParam());
  for (std::uint32_t n = 0; n < 64; ++n) std::memcpy(wave.memory() + n * 4, &n, 4);
  wave.set_s64(0, wave.address() + 64);
  wave.s(2) = 8;
  ASSERT_EQ(wave.run("s_load_dword s4, s[0:1], 0x4\n s_load_dwordx2 s[6:7], s[0:1], -0x40\n"
                     "s_load_dword s5, s[0:1], s2\n"
                     "s_load_dwordx4 s[8:11], s[0:1], 0x10\n s_load_dwordx8 s[16:23], s[0:1], 0x0\n"
                     "s_load_dwordx16 s[32:47], s[0:1], 0x40"),
            WaveStatus::ended);
  EXPECT_EQ(wave.s(4), 17u);
  EXPECT_EQ(wave.s64(6), 1ull << 32);
  EXPECT_EQ(wave.s(5), 18u);
  for (std::uint32_t n = 0; n < 4; ++n) EXPECT_EQ(wave.s(8 + n), 20 + n);
  for (std::uint32_t n = 0; n < 8; ++n) EXPECT_EQ(wave.s(16 + n), 16 + n);
  for (std::uint32_t n = 0; n < 16; ++n) EXPECT_EQ(wave.s(32 + n), 32 + n);
  EXPECT_EQ(wave.counts().bytes[0], 4u);
  EXPECT_EQ(wave.counts().bytes[5], 64u);
  EXPECT_EQ(wave.counts().segments[5], 1u);
}

TEST_P(ScalarTargets, BufferLoadsStopAtTheRecords) {
  SmallWave wave(GetParam());
  for (std::uint32_t n = 0; n < 64; ++n) std::memcpy(wave.memory() + n * 4, &n, 4);
  wave.set_s64(0, wave.address() | 0ull << 48);
  wave.s(2) = 24;  // bytes
  wave.s(3) = 0;
  wave.set_s64(4, wave.address() | 8ull << 48);  // records of 8 bytes
  wave.s(6) = 3;
  wave.s(7) = 0;
  wave.s(8) = 4;
  ASSERT_EQ(wave.run("s_buffer_load_dwordx4 s[12:15], s[0:3], 0x10\n s_buffer_load_dwordx2 s[16:17], s[4:7], 0x14\n"
                     "s_buffer_load_dword s18, s[0:3], s8\n s_buffer_load_dword s19, s[0:3], 0x18"),
            WaveStatus::ended);
  const std::uint32_t expected[8] = {4, 5, 0, 0, 5, 0, 1, 0};
  for (int n = 0; n < 8; ++n) EXPECT_EQ(wave.s(12 + n), expected[n]) << n;
}

TEST(Scalar, StoresAndAtomics) {
  SmallWave wave("gfx90a");
  wave.set_s64(0, wave.address());
  wave.s(4) = 0x11;
  wave.set_s64(6, 5);
  ASSERT_EQ(wave.run("s_store_dword s4, s[0:1], 0x8\n s_atomic_add s4, s[0:1], 0x8 glc\n"
                     "s_store_dwordx2 s[6:7], s[0:1], 0x10\n"
                     "s_atomic_umax_x2 s[6:7], s[0:1], 0x10\n s_dcache_wb"),
            WaveStatus::ended);
  std::uint32_t value;
  std::memcpy(&value, wave.memory() + 8, 4);
  EXPECT_EQ(value, 0x22u);
  EXPECT_EQ(wave.s(4), 0x11u);
  std::memcpy(&value, wave.memory() + 16, 4);
  EXPECT_EQ(value, 5u);
}

TEST_P(ScalarTargets, FaultsOfLoads) {
  SmallWave wave(GetParam(), 64, 4096);
  wave.set_s64(0, wave.address());
  EXPECT_EQ(wave.run("s_nop 0\n s_load_dwordx4 s[4:7], s[0:1], 0xff8"), WaveStatus::faulted);
  EXPECT_EQ(wave.wave().fault.kind, FaultKind::out_of_range);
  EXPECT_EQ(wave.wave().fault.instruction, 1u);
  EXPECT_EQ(wave.wave().fault.address, wave.address() + 0xff8);
  EXPECT_EQ(wave.wave().fault.bytes, 16u);
  EXPECT_FALSE(wave.wave().fault.store);
}

TEST_P(ScalarTargets, ClocksCountInstructions) {
  SmallWave first(GetParam()), second(GetParam());
  const std::string text = "s_nop 0\n s_memtime s[0:1]\n s_nop 0\n s_nop 0\n s_memrealtime s[2:3]";
  ASSERT_EQ(first.run(text), WaveStatus::ended);
  ASSERT_EQ(second.run(text), WaveStatus::ended);
  EXPECT_EQ(first.s64(2) - first.s64(0), 3u);
  EXPECT_EQ(first.s64(0), second.s64(0));
}

}  // namespace
}  // namespace kiln::emulator_test
