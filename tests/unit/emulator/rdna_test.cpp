// What RDNA3 does that CDNA does not: waves of 32 lanes with masks of one register, EXEC by compares, two operations in
// one instruction, halves of registers, DPP8 and permutes of rows, registers by index, its scalar and memory operations.
// Expected values: "RDNA3 Instruction Set Architecture".
#include <cstring>

#include "tests/unit/emulator/vector_cases.hpp"

namespace kiln::emulator_test {
namespace {

using emulator::FaultKind;
using emulator::WaveStatus;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
namespace code = emulator::code;
constexpr const char* target = "gfx1100";
constexpr int wave_lanes = 32;

class Rdna : public testing::Test {
 protected:
  void run(const std::string& text) { ASSERT_EQ(wave_.run(text), WaveStatus::ended) << text; }
  // v<index>[lane] = first + lane * step.
  void fill(int index, u32 first, u32 step) {
    for (int lane = 0; lane < wave_lanes; ++lane) wave_.v(index, lane) = first + static_cast<u32>(lane) * step;
  }
  void fill_float(int index, float first, float step) {
    for (int lane = 0; lane < wave_lanes; ++lane) wave_.set_vf(index, lane, first + static_cast<float>(lane) * step);
  }
  SmallWave wave_{target};
};

// --- Waves of 32 lanes -----------------------------------------------------------------------------------------------

TEST_F(Rdna, MasksTakeOneRegister) {
  fill(1, 0, 1);
  wave_.s(4) = wave_.s(6) = 0x5555aaaa;
  run("v_cmp_gt_u32_e64 s5, 8, v1");
  EXPECT_EQ(wave_.s(5), 0xffu);
  EXPECT_EQ(wave_.s(6), 0x5555aaaau) << "the next register is no part of the mask";
  wave_.s(107) = 77;
  run("v_cmp_le_u32 vcc_lo, 31, v1");
  EXPECT_EQ(wave_.s(106), 0x80000000u);
  run("v_cmp_ge_u32 vcc_lo, 3, v1");
  EXPECT_EQ(wave_.s(106), 0xfu);
  EXPECT_EQ(wave_.s(107), 77u);
}

TEST_F(Rdna, MasksMayStandAnywhereOrNowhere) {
  fill(1, 0, 1);
  fill(2, 100, 1);
  wave_.s(7) = 0x0000ffff;
  run("v_cndmask_b32 v0, v1, v2, s7\nv_cndmask_b32 v3, v1, v2, null");
  for (int lane = 0; lane < wave_lanes; ++lane) {
    const u32 l = static_cast<u32>(lane);
    EXPECT_EQ(wave_.v(0, lane), lane < 16 ? 100 + l : l);
    EXPECT_EQ(wave_.v(3, lane), l);
  }
  // A result that nobody wants.
  run("v_add_co_u32 v5, null, v1, v2\nv_cmp_eq_u32_e64 null, v1, v2");
  EXPECT_EQ(wave_.v(5, 3), 106u);
  EXPECT_EQ(wave_.s(code::null), 0u);
}

TEST_F(Rdna, CarriesOfOneRegister) {
  fill(1, 0xfffffff0, 1);
  fill(2, 0, 0);
  fill(3, 10, 0);
  run("v_add_co_u32 v0, s9, v1, 8\nv_add_co_ci_u32_e64 v4, s10, v3, v2, s9");
  EXPECT_EQ(wave_.s(9), 0x0000ff00u) << "lanes 8 to 15 overflow";
  EXPECT_EQ(wave_.s(10), 0u);
  for (int lane = 0; lane < wave_lanes; ++lane) EXPECT_EQ(wave_.v(4, lane), lane / 8 == 1 ? 11u : 10u);
}

TEST_F(Rdna, ComparesWriteExecAlone) {
  fill(1, 0, 1);
  fill(0, 0, 0);
  wave_.s(106) = 0x12345678;
  run("v_cmpx_gt_u32 10, v1\nv_mov_b32 v0, 1\ns_mov_b32 s3, exec_lo\nv_cmpx_ne_u32 4, v1\nv_mov_b32 v2, 2");
  EXPECT_EQ(wave_.s(106), 0x12345678u) << "VCC stays";
  EXPECT_EQ(wave_.s(3), 0x3ffu);
  EXPECT_EQ(wave_.s(126), 0x3efu) << "of the lanes that were on";
  EXPECT_EQ(wave_.s(127), 0u);
  for (int lane = 0; lane < wave_lanes; ++lane) EXPECT_EQ(wave_.v(0, lane), lane < 10 ? 1u : 0u);
}

TEST_F(Rdna, SavesExec) {
  struct Case {
    const char* name;
    u32 exec;
  };
  const u32 e = 0xff00ff00, s = 0x0ff00ff0;
  for (const Case& one : {Case{"and", s & e}, Case{"or", s | e}, Case{"xor", s ^ e}, Case{"nand", ~(s & e)},
                          Case{"nor", ~(s | e)}, Case{"xnor", ~(s ^ e)}, Case{"and_not0", ~s & e},
                          Case{"or_not0", ~s | e}, Case{"and_not1", s & ~e}, Case{"or_not1", s | ~e}}) {
    wave_.set_exec(e);
    wave_.s(4) = s;
    run("s_" + std::string(one.name) + "_saveexec_b32 s2, s4\ns_cselect_b32 s3, 1, 0");
    EXPECT_EQ(wave_.s(2), e) << one.name;
    EXPECT_EQ(wave_.s(126), one.exec) << one.name;
    EXPECT_EQ(wave_.s(127), 0u) << one.name;
    EXPECT_EQ(wave_.s(3), 1u);
  }
  wave_.set_exec(e);
  run("s_and_not1_wrexec_b32 s2, s4");
  EXPECT_EQ(wave_.s(2), s & ~e);
  EXPECT_EQ(wave_.s(126), s & ~e);
}

// The lanes that it would switch on have neither registers nor memory of their own.
TEST_F(Rdna, NothingSwitchesOnTheUpperHalf) {
  for (const char* text : {"s_mov_b64 exec, -1", "s_mov_b32 exec_hi, -1", "v_readfirstlane_b32 exec_hi, v0",
                           "v_cmp_eq_u32_e64 exec_hi, v0, v0"}) {
    EXPECT_EQ(wave_.run(text), WaveStatus::faulted) << text;
    EXPECT_EQ(wave_.wave().fault.kind, FaultKind::not_covered) << text;
    EXPECT_EQ(wave_.s(127), 0u);
  }
}

TEST_F(Rdna, LanesByNumber) {
  fill(1, 50, 1);
  wave_.s(4) = 35;  // 5 bits count
  run("v_readlane_b32 s5, v1, s4\nv_writelane_b32 v1, 7, s4\n"
      "v_mbcnt_lo_u32_b32 v2, -1, 0\nv_mbcnt_hi_u32_b32 v2, -1, v2");
  EXPECT_EQ(wave_.s(5), 53u);
  EXPECT_EQ(wave_.v(1, 3), 7u);
  for (int lane = 0; lane < wave_lanes; ++lane) EXPECT_EQ(wave_.v(2, lane), static_cast<u32>(lane));
}

// --- Two operations in one -------------------------------------------------------------------------------------------

TEST_F(Rdna, BothOperationsReadBeforeEitherWrites) {
  fill(2, 10, 1);
  fill(3, 500, 1);
  run("v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2");
  for (int lane = 0; lane < wave_lanes; ++lane) {
    EXPECT_EQ(wave_.v(2, lane), 500 + static_cast<u32>(lane));
    EXPECT_EQ(wave_.v(3, lane), 10 + static_cast<u32>(lane));
  }
}

TEST_F(Rdna, EveryDualOperation) {
  struct Case {
    const char *first, *second;  // v4 = 3, v6 = 2.5; v5 = -1.5, v7 = 4; v8 = v9 = 100
    float want8, want9;
  };
  const Case cases[] = {
      {"v_dual_fmac_f32 v8, v4, v6", "v_dual_fmac_f32 v9, v5, v7", 107.5f, 94.0f},
      {"v_dual_fmaak_f32 v8, v4, v6, 0x41200000", "v_dual_fmaak_f32 v9, v5, v7, 0x41200000", 17.5f, 4.0f},
      {"v_dual_fmamk_f32 v8, v4, 0x41200000, v6", "v_dual_fmamk_f32 v9, v5, 0x41200000, v7", 32.5f, -11.0f},
      {"v_dual_mul_f32 v8, v4, v6", "v_dual_mul_f32 v9, v5, v7", 7.5f, -6.0f},
      {"v_dual_add_f32 v8, v4, v6", "v_dual_add_f32 v9, v5, v7", 5.5f, 2.5f},
      {"v_dual_sub_f32 v8, v4, v6", "v_dual_sub_f32 v9, v5, v7", 0.5f, -5.5f},
      {"v_dual_subrev_f32 v8, v4, v6", "v_dual_subrev_f32 v9, v5, v7", -0.5f, 5.5f},
      {"v_dual_mul_dx9_zero_f32 v8, v4, v6", "v_dual_mul_dx9_zero_f32 v9, 0, v7", 7.5f, 0.0f},
      {"v_dual_mov_b32 v8, v4", "v_dual_mov_b32 v9, v5", 3.0f, -1.5f},
      {"v_dual_cndmask_b32 v8, v4, v6", "v_dual_cndmask_b32 v9, v5, v7", 2.5f, 4.0f},
      {"v_dual_max_f32 v8, v4, v6", "v_dual_max_f32 v9, v5, v7", 3.0f, 4.0f},
      {"v_dual_min_f32 v8, v4, v6", "v_dual_min_f32 v9, v5, v7", 2.5f, -1.5f},
  };
  for (const Case& one : cases) {
    for (const Case& other : cases) {
      wave_.s(106) = 0xffff0000;
      fill_float(4, 3, 0), fill_float(5, -1.5f, 0), fill_float(6, 2.5f, 0), fill_float(7, 4, 0);
      fill_float(8, 100, 0), fill_float(9, 100, 0);
      run(std::string(one.first) + " :: " + other.second);
      EXPECT_EQ(wave_.vf(8, 31), one.want8) << one.first << " :: " << other.second;
      EXPECT_EQ(wave_.vf(9, 31), other.want9) << one.first << " :: " << other.second;
    }
  }
  // VCC says which in each lane.
  EXPECT_EQ(wave_.vf(9, 0), -1.5f);
  run("v_dual_cndmask_b32 v8, v4, v6 :: v_dual_mov_b32 v9, v5");
  EXPECT_EQ(wave_.vf(8, 0), 3.0f);
  EXPECT_EQ(wave_.vf(8, 16), 2.5f);
}

TEST_F(Rdna, DualOperationsOfTheSecondPlaceAndDots) {
  fill(4, 0x40003c00, 0);   // f16: 1, 2
  fill(6, 0x42004400, 0);   // f16: 4, 3
  fill(5, 3, 0);
  fill(7, 0x1f5, 0);
  fill_float(8, 100, 0);
  run("v_dual_dot2acc_f32_f16 v8, v4, v6 :: v_dual_lshlrev_b32 v9, v5, v7");
  EXPECT_EQ(wave_.vf(8, 9), 110.0f);
  EXPECT_EQ(wave_.v(9, 9), 0xfa8u);
  run("v_dual_mov_b32 v8, v4 :: v_dual_and_b32 v9, 0xf0, v7");
  EXPECT_EQ(wave_.v(9, 9), 0xf0u);
  run("v_dual_mov_b32 v8, v4 :: v_dual_add_nc_u32 v9, v5, v7");
  EXPECT_EQ(wave_.v(9, 9), 0x1f8u);
  fill(4, 0x40003f80, 0);   // bf16: 1, 2
  fill(6, 0x40404080, 0);   // bf16: 4, 3
  fill_float(8, 100, 0);
  run("v_dual_dot2acc_f32_bf16 v8, v4, v6 :: v_dual_mov_b32 v9, v5");
  EXPECT_EQ(wave_.vf(8, 9), 110.0f);
}

TEST_F(Rdna, DualOperationsHonourExecAndDenormals) {
  fill(4, 1, 0);            // the smallest denormal
  fill_float(6, 1, 0), fill_float(5, 2, 0), fill_float(7, 3, 0);
  fill(8, 7, 0), fill(9, 7, 0);
  wave_.set_exec(0x0000000f);
  run("v_dual_mul_f32 v8, v4, v6 :: v_dual_mul_f32 v9, v5, v7");
  EXPECT_EQ(wave_.v(8, 3), 1u);
  EXPECT_EQ(wave_.vf(9, 3), 6.0f);
  EXPECT_EQ(wave_.v(8, 4), 7u);
  EXPECT_EQ(wave_.v(9, 4), 7u);
  run("s_denorm_mode 12\nv_dual_mul_f32 v8, v4, v6 :: v_dual_mul_f32 v9, v5, v7");  // f32's are flushed
  EXPECT_EQ(wave_.v(8, 3), 0u);
  EXPECT_EQ(wave_.vf(9, 3), 6.0f);
}

// --- Halves of registers ---------------------------------------------------------------------------------------------

TEST_F(Rdna, SixteenBitsKeepTheOtherHalf) {
  fill(1, 0x40003c00, 0);   // 1, 2
  fill(2, 0x44004200, 0);   // 3, 4
  fill(0, 0xaaaabbbb, 0);
  run("v_add_f16 v0.l, v1.l, v2.h");
  EXPECT_EQ(wave_.v(0, 5), 0xaaaa4500u);
  run("v_add_f16 v0.h, v1.h, v2.l");
  EXPECT_EQ(wave_.v(0, 5), 0x45004500u);
  run("v_mul_lo_u16 v0.h, 3, 5");
  EXPECT_EQ(wave_.v(0, 5), 0x000f4500u);
  run("v_cvt_f16_f32 v0.l, 2.0");
  EXPECT_EQ(wave_.v(0, 5), 0x000f4000u);
  run("v_cvt_f32_f16 v3, v2.h");
  EXPECT_EQ(wave_.vf(3, 5), 4.0f);
  run("v_cmp_gt_f16 vcc_lo, v2.h, v1.l\nv_fma_f16 v0.h, v1.h, v2.h, v2.l");
  EXPECT_EQ(wave_.s(106), 0xffffffffu);
  EXPECT_EQ(wave_.v(0, 5), 0x49804000u) << "2 * 4 + 3";
  run("v_fmac_f16 v0.h, v1.h, v1.h");
  EXPECT_EQ(wave_.v(0, 5), 0x4b804000u) << "11 + 4";
  run("v_fmaak_f16 v0.l, v1.h, v2.l, 0x3c00\nv_fmamk_f16 v0.h, v1.h, 0x4200, v2.h");
  EXPECT_EQ(wave_.v(0, 5), 0x49004700u) << "2 * 3 + 1; 2 * 3 + 4";
}

TEST_F(Rdna, BitsOfHalves) {
  fill(1, 0x12345678, 0);
  fill(2, 0xff00f0f0, 0);
  fill(0, 0, 0);
  wave_.s(4) = 0xffff0000;
  run("v_and_b16 v0.l, v1.h, v2.h\nv_or_b16 v0.h, v1.l, v2.l");
  EXPECT_EQ(wave_.v(0, 1), 0xf6f81200u);
  run("v_xor_b16 v0.l, v1.l, v2.l\nv_not_b16 v0.h, v1.h");
  EXPECT_EQ(wave_.v(0, 1), 0xedcba688u);
  run("v_mov_b16 v0.l, v1.h\nv_cndmask_b16 v0.h, v1.l, v2.h, s4");
  EXPECT_EQ(wave_.v(0, 1), 0x56781234u);
  EXPECT_EQ(wave_.v(0, 17), 0xff001234u);
  run("v_swap_b16 v1.h, v2.l");
  EXPECT_EQ(wave_.v(1, 1), 0xf0f05678u);
  EXPECT_EQ(wave_.v(2, 1), 0xff001234u);
  run("v_cvt_i32_i16 v3, v1.h\nv_cvt_u32_u16 v4, v1.h");
  EXPECT_EQ(wave_.v(3, 1), 0xfffff0f0u);
  EXPECT_EQ(wave_.v(4, 1), 0xf0f0u);
  fill(5, 0x01000050, 0);   // 80, 256
  run("v_mov_b32 v6, -1\nv_sat_pk_u8_i16 v6.l, v5");
  EXPECT_EQ(wave_.v(6, 1), 0xffffff50u);
  fill(7, 0x00040008, 0);
  run("v_alignbit_b32 v6, v1, v2, v7.h");
  EXPECT_EQ(wave_.v(6, 1), 0x8ff00123u);
}

// --- Between lanes ---------------------------------------------------------------------------------------------------

TEST_F(Rdna, AnyOrderWithinEightLanes) {
  fill(1, 100, 1);
  fill(0, 7, 0);
  run("v_mov_b32_dpp v0, v1 dpp8:[7,6,5,4,3,2,1,0]");
  for (int lane = 0; lane < wave_lanes; ++lane) EXPECT_EQ(wave_.v(0, lane), 100u + static_cast<u32>(lane ^ 7));
  wave_.set_exec(0xfffffff0);
  run("v_mov_b32_dpp v0, v1 dpp8:[0,0,0,0,0,1,2,6]");
  EXPECT_EQ(wave_.v(0, 4), 0u) << "lanes that are off give 0";
  EXPECT_EQ(wave_.v(0, 7), 106u);
  run("v_mov_b32_dpp v0, v1 dpp8:[0,0,0,0,3,1,2,6] fi:1");
  EXPECT_EQ(wave_.v(0, 4), 103u);
  run("v_add_nc_u32_dpp v0, v1, v1 dpp8:[0,0,0,0,5,4,7,6]");
  EXPECT_EQ(wave_.v(0, 6), 107u + 106u);
}

TEST_F(Rdna, RowsOfSixteen) {
  fill(1, 100, 1);
  run("v_mov_b32_dpp v0, v1 row_share:5 row_mask:0xf bank_mask:0xf");
  for (int lane = 0; lane < wave_lanes; ++lane) EXPECT_EQ(wave_.v(0, lane), lane < 16 ? 105u : 121u);
  run("v_mov_b32_dpp v0, v1 row_xmask:9 row_mask:0xf bank_mask:0xf");
  for (int lane = 0; lane < wave_lanes; ++lane) EXPECT_EQ(wave_.v(0, lane), 100u + static_cast<u32>(lane ^ 9));
  fill(2, 1, 0);
  run("v_add_nc_u32_e64_dpp v2, v1, v2 row_shr:1 row_mask:0x2 bank_mask:0xf");
  for (int lane = 0; lane < wave_lanes; ++lane) {
    const u32 want = lane <= 16 ? 1u : 100u + static_cast<u32>(lane);  // the second row, from its second lane
    EXPECT_EQ(wave_.v(2, lane), want) << lane;
  }
}

TEST_F(Rdna, PermutesRows) {
  fill(1, 100, 1);
  wave_.s(2) = 0x87654321;
  wave_.s(3) = 0x0fedcba9;
  run("v_permlane16_b32 v0, v1, s2, s3\nv_permlanex16_b32 v4, v1, s2, s3");
  for (int lane = 0; lane < wave_lanes; ++lane) {
    const u32 next = static_cast<u32>((lane & 16) | ((lane + 1) & 15));
    EXPECT_EQ(wave_.v(0, lane), 100 + next) << lane;
    EXPECT_EQ(wave_.v(4, lane), 100 + (next ^ 16)) << lane;
  }
  // The documents' example: a rotation over both rows with lanes switched off.
  fill(0, 7, 0);
  wave_.set_exec(0x7fff7fff);
  run("v_permlane16_b32 v0, v1, s2, s3 op_sel:[1,0]");
  wave_.set_exec(0x80008000);
  run("v_permlanex16_b32 v0, v1, s2, s3 op_sel:[1,0]");
  for (int lane = 0; lane < wave_lanes; ++lane) EXPECT_EQ(wave_.v(0, lane), 100u + static_cast<u32>((lane + 1) % 32));
  // Without FI: BOUND_CTRL gives 0, else the lane is not written.
  wave_.set_exec(0x7fff7fff);
  fill(0, 7, 0), fill(4, 7, 0);
  run("v_permlane16_b32 v0, v1, s2, s3\nv_permlane16_b32 v4, v1, s2, s3 op_sel:[0,1]");
  EXPECT_EQ(wave_.v(0, 14), 7u);
  EXPECT_EQ(wave_.v(4, 14), 0u);
  fill(4, 3, 1);
  run("v_permlane64_b32 v4, v1");
  EXPECT_EQ(wave_.v(4, 2), 5u) << "nothing to swap in a wave of 32";
}

TEST_F(Rdna, LdsPermutes) {
  fill(1, 100, 1);
  for (int lane = 0; lane < wave_lanes; ++lane) wave_.v(2, lane) = static_cast<u32>((lane * 5 + 3) % 64) * 4;
  run("ds_bpermute_b32 v0, v2, v1\nds_permute_b32 v3, v2, v1\nds_swizzle_b32 v4, v1 offset:swizzle(SWAP,16)");
  for (int lane = 0; lane < wave_lanes; ++lane) {
    const int to = (lane * 5 + 3) % 32;
    EXPECT_EQ(wave_.v(0, lane), 100u + static_cast<u32>(to));
    EXPECT_EQ(wave_.v(3, to), 100u + static_cast<u32>(lane));
    EXPECT_EQ(wave_.v(4, lane), 100u + static_cast<u32>(lane ^ 16));
  }
}

// --- Registers by index ----------------------------------------------------------------------------------------------

TEST_F(Rdna, VectorRegistersByIndex) {
  fill(10, 1000, 1), fill(13, 1300, 1), fill(1, 77, 0);
  wave_.s(code::m0) = 3;
  run("v_movrels_b32 v0, v10\nv_movreld_b32 v20, v1\nv_movrelsd_b32 v30, v10");
  EXPECT_EQ(wave_.v(0, 4), 1304u);
  EXPECT_EQ(wave_.v(23, 4), 77u);
  EXPECT_EQ(wave_.v(33, 4), 1304u);
  wave_.s(code::m0) = 5 << 16 | 3;
  run("v_movrelsd_2_b32 v40, v10");
  EXPECT_EQ(wave_.v(45, 4), 1304u);
  wave_.s(code::m0) = 250;
  EXPECT_EQ(wave_.run("v_movrels_b32 v0, v10"), WaveStatus::faulted);
  EXPECT_EQ(wave_.wave().fault.kind, FaultKind::out_of_range);
}

TEST_F(Rdna, ScalarRegistersByIndex) {
  wave_.s(12) = 120, wave_.s(13) = 130;
  wave_.s(code::m0) = 2;
  run("s_movrels_b32 s2, s10\ns_movreld_b32 s20, 9\ns_movrels_b64 s[4:5], s[10:11]");
  EXPECT_EQ(wave_.s(2), 120u);
  EXPECT_EQ(wave_.s(22), 9u);
  EXPECT_EQ(wave_.s64(4), u64{130} << 32 | 120);
  wave_.s(code::m0) = 107;  // would reach EXEC
  EXPECT_EQ(wave_.run("s_movreld_b32 s20, 9"), WaveStatus::faulted);
  EXPECT_EQ(wave_.wave().fault.kind, FaultKind::out_of_range);
}

// --- Arithmetic of its own -------------------------------------------------------------------------------------------

TEST_F(Rdna, ThreeSourcesAndDots) {
  const u32 nan = 0x7fc00000;
  check32(target, "v_maxmin_f32 v0, v1, v2, v3", {{bits(1.f), bits(5.f), bits(3.f), bits(3.f)},
                                                  {bits(1.f), bits(2.f), bits(3.f), bits(2.f)},
                                                  {nan, bits(2.f), bits(3.f), bits(2.f)}});
  check32(target, "v_minmax_f32 v0, v1, v2, v3", {{bits(1.f), bits(5.f), bits(3.f), bits(3.f)},
                                                  {bits(4.f), bits(5.f), bits(3.f), bits(4.f)}});
  check32(target, "v_maxmin_i32 v0, v1, v2, v3", {{~0u, 5, 3, 3}, {~0u, ~1u, 3, ~0u}});
  check32(target, "v_minmax_u32 v0, v1, v2, v3", {{~0u, 5, 3, 5}, {1, 2, 3, 3}});
  check32(target, "v_xor3_b32 v0, v1, v2, v3", {{0xff00, 0x0ff0, 0x00ff, 0xf00f}});
  check32(target, "v_fma_dx9_zero_f32 v0, v1, v2, v3", {{0, nan, bits(3.f), bits(3.f)},
                                                        {bits(2.f), bits(4.f), bits(3.f), bits(11.f)}});
  // Bytes 1, 2, 3, 255 and 1, 1, 1, 2.
  check32(target, "v_dot4_i32_iu8 v0, v1, v2, v3", {{0xff030201, 0x02010101, 10, 10 + 6 + 510}});
  check32(target, "v_dot4_i32_iu8 v0, v1, v2, v3 neg_lo:[1,0,0]", {{0xff030201, 0x02010101, 10, 10 + 6 - 2}});
  check32(target, "v_dot4_i32_iu8 v0, v1, v2, v3 neg_lo:[1,1,0] clamp",
          {{0x7f7f7f7f, 0x7f7f7f7f, 0x7ffffff0, 0x7fffffff}});
  check32(target, "v_dot8_i32_iu4 v0, v1, v2, v3 neg_lo:[0,1,0]",
          {{0x11111111, 0x8fff1111, 0, static_cast<u32>(4 - 3 - 8)}});
  check32(target, "v_dot4_u32_u8 v0, v1, v2, v3", {{0xff030201, 0x02010101, 10, 526}});
  check32(target, "v_dot2_f32_bf16 v0, v1, v2, v3", {{0x40003f80, 0x40404080, bits(1.f), bits(11.f)}});
  check32(target, "v_dot2acc_f32_f16 v0, v1, v2", {{0x40003c00, 0x42004400, 0, bits(110.f)}}, usual_mode, bits(100.f));
  check32(target, "v_cvt_pk_i16_f32 v0, v1, v2", {{bits(-1.5f), bits(1e9f), 0, 0x7fffffff}});
  check32(target, "v_cvt_pk_u16_f32 v0, v1, v2", {{bits(-1.5f), bits(1e9f), 0, 0xffff0000}});
}

TEST_F(Rdna, RenamedOperations) {
  check32(target, "v_add_nc_u32 v0, v1, v2", {{5, 7, 0, 12}});
  check32(target, "v_sub_nc_u32_e64 v0, v1, v2 clamp", {{5, 7, 0, 0}});
  check32(target, "v_clz_i32_u32 v0, v1", {{0x00010000, 0, 0, 15}, {0, 0, 0, ~0u}});
  check32(target, "v_ctz_i32_b32 v0, v1", {{0x00010000, 0, 0, 16}});
  check32(target, "v_cls_i32 v0, v1", {{0xffff0000, 0, 0, 16}});
  check32(target, "v_cvt_pk_rtz_f16_f32 v0, v1, v2", {{bits(1.f), bits(2.f), 0, 0x40003c00}});
  check32(target, "v_cvt_floor_i32_f32 v0, v1", {{bits(-1.5f), 0, 0, static_cast<u32>(-2)}});
  check32(target, "v_mul_dx9_zero_f32 v0, v1, v2", {{0, 0x7f800000, 0, 0}});
  check64(target, "v_lshlrev_b64 v[0:1], 4, v[2:3]", {{0x0123456789abcdef, 0, 0, 0x123456789abcdef0}});
  check64(target, "v_add_f64 v[0:1], v[2:3], v[4:5]", {{bits(1.5), bits(2.0), 0, bits(3.5)}});
  // A literal in the place of a third operand.
  check32(target, "v_fma_f32 v0, v1, v2, 0x40a00000", {{bits(2.f), bits(3.f), 0, bits(11.f)}});
  check32(target, "v_pk_add_f16 v0, v1, 0x40003c00 op_sel_hi:[1,1]", {{0x3c003c00, 0, 0, 0x42004000}});
}

// --- Scalars and the hardware ----------------------------------------------------------------------------------------

TEST_F(Rdna, Scalars) {
  wave_.s(2) = 0x00ff0000, wave_.s(3) = 0x12345678;
  run("s_ctz_i32_b32 s4, s2\ns_clz_i32_u32 s5, s2\ns_and_not1_b32 s6, s3, s2\ns_pack_hl_b32_b16 s7, s3, s2\n"
      "s_or_not1_b32 s8, s3, -1\ns_mov_b32 m0, 5\ns_mov_b32 s9, null\ns_mov_b64 s[10:11], null");
  EXPECT_EQ(wave_.s(4), 16u);
  EXPECT_EQ(wave_.s(5), 8u);
  EXPECT_EQ(wave_.s(6), 0x12005678u);
  EXPECT_EQ(wave_.s(7), 0x00001234u);
  EXPECT_EQ(wave_.s(8), 0x12345678u);
  EXPECT_EQ(wave_.s(code::m0), 5u);
  EXPECT_EQ(wave_.s(9), 0u);
  EXPECT_EQ(wave_.s64(10), 0u);
}

TEST_F(Rdna, WhatOnlyMattersForTimeDoesNothing) {
  run("s_clause 0x3\ns_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)\n"
      "s_set_inst_prefetch_distance 0x1\ns_waitcnt vmcnt(0)\ns_waitcnt_vscnt null, 0x0\ns_waitcnt_depctr 0xfff\n"
      "s_waitcnt lgkmcnt(0)\nbuffer_gl0_inv\nbuffer_gl1_inv\ns_dcache_inv\ns_gl1_inv\ns_icache_inv\n"
      "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\nv_nop\ns_nop 0");
}

TEST_F(Rdna, ModesAndHardwareRegisters) {
  run("s_getreg_b32 s2, hwreg(HW_REG_MODE)\ns_round_mode 0x3\ns_denorm_mode 0\n"
      "s_getreg_b32 s3, hwreg(HW_REG_MODE, 0, 8)\n"
      "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 15\ns_getreg_b32 s4, hwreg(HW_REG_MODE, 0, 8)\n"
      "s_getreg_b32 s5, hwreg(HW_REG_SHADER_CYCLES, 0, 20)\ns_getreg_b32 s6, hwreg(HW_REG_SHADER_CYCLES, 0, 20)\n"
      "s_sendmsg_rtn_b64 s[8:9], sendmsg(MSG_RTN_GET_REALTIME)");
  EXPECT_EQ(wave_.s(2), 0x3f0u);
  EXPECT_EQ(wave_.s(3), 0x03u);
  EXPECT_EQ(wave_.s(4), 0xf3u);
  EXPECT_GT(wave_.s(6), wave_.s(5));
  EXPECT_GT(wave_.s64(8), u64{wave_.s(6)});
}

TEST_F(Rdna, RoundsTowardsZeroWhenTold) {
  fill_float(1, 1.0f, 0), fill_float(2, 0x1.8p-24f, 0);
  run("v_add_f32 v3, v1, v2\ns_round_mode 0x3\nv_add_f32 v4, v1, v2");
  EXPECT_EQ(wave_.vf(3, 0), 0x1.000002p0f);
  EXPECT_EQ(wave_.vf(4, 0), 1.0f);
}

// --- Memory ----------------------------------------------------------------------------------------------------------

TEST_F(Rdna, GlobalMemory) {
  auto* words = reinterpret_cast<u32*>(wave_.memory());
  for (u32 i = 0; i < 256; ++i) words[i] = i * 3;
  wave_.set_s64(2, wave_.address());
  fill(1, 0, 4);
  run("global_load_b32 v0, v1, s[2:3] offset:64\ns_load_b128 s[8:11], s[2:3], 0x10\n"
      "s_mov_b32 s12, 32\ns_load_b32 s13, s[2:3], s12 offset:0x4");
  for (int lane = 0; lane < wave_lanes; ++lane) EXPECT_EQ(wave_.v(0, lane), static_cast<u32>(lane + 16) * 3);
  EXPECT_EQ(wave_.s(8), 12u);
  EXPECT_EQ(wave_.s(11), 21u);
  EXPECT_EQ(wave_.s(13), 27u);
  fill(4, 0xabcd1234, 0), fill(5, 0xffffffff, 0);
  run("global_store_b16 v1, v4, s[2:3]\nglobal_store_d16_hi_b8 v1, v4, s[2:3] offset:3\n"
      "global_load_d16_hi_b16 v5, v1, s[2:3]\nglobal_load_i8 v6, v1, s[2:3] offset:3");
  EXPECT_EQ(words[7], 0xcd001234u);
  EXPECT_EQ(wave_.v(5, 7), 0x1234ffffu);
  EXPECT_EQ(wave_.v(6, 7), 0xffffffcdu);
}

TEST_F(Rdna, GlobalAtomics) {
  auto* words = reinterpret_cast<u32*>(wave_.memory());
  wave_.set_s64(2, wave_.address());
  fill(1, 0, 0);
  fill(4, 2, 0), fill(5, 0, 1);
  run("global_atomic_add_u32 v0, v1, v4, s[2:3] glc\nglobal_atomic_max_u32 v1, v5, s[2:3] offset:4\n"
      "global_atomic_inc_u32 v1, v4, s[2:3] offset:8");
  EXPECT_EQ(words[0], 64u);
  EXPECT_EQ(wave_.v(0, 31), 62u);
  EXPECT_EQ(words[1], 31u);
  EXPECT_EQ(words[2], 32u % 3);
  words[0] = 5;
  fill(6, 9, 0), fill(7, 5, 0);
  wave_.set_exec(1);
  run("global_atomic_cmpswap_b32 v0, v1, v[6:7], s[2:3] glc");
  EXPECT_EQ(words[0], 9u);
  EXPECT_EQ(wave_.v(0, 0), 5u);
  words[0] = bits(1.5f);
  fill_float(6, 2.0f, 0);
  run("global_atomic_add_f32 v1, v6, s[2:3]");
  EXPECT_EQ(words[0], bits(3.5f));
  run("global_atomic_min_f32 v1, v6, s[2:3]");
  EXPECT_EQ(words[0], bits(2.0f));
}

TEST_F(Rdna, Lds) {
  fill(1, 0, 8);
  fill(2, 100, 1), fill(3, 200, 1);
  run("ds_store_2addr_b32 v1, v2, v3 offset1:1\nds_load_b64 v[4:5], v1\n"
      "ds_load_2addr_stride64_b32 v[6:7], v1 offset1:0");
  EXPECT_EQ(wave_.v(4, 9), 109u);
  EXPECT_EQ(wave_.v(5, 9), 209u);
  EXPECT_EQ(wave_.v(6, 9), 109u);
  // The new value comes first, what is compared second.
  fill(8, 77, 0), fill(9, 105, 0);
  run("ds_cmpstore_rtn_b32 v0, v1, v8, v9");
  u32 words[16];
  std::memcpy(words, wave_.lds(), sizeof words);
  EXPECT_EQ(words[10], 77u);
  EXPECT_EQ(words[8], 104u);
  EXPECT_EQ(wave_.v(0, 5), 105u);
  run("ds_store_b8_d16_hi v1, v8\nds_load_u8_d16_hi v8, v1\nds_add_u32 v1, v9\nds_storexchg_rtn_b32 v10, v1, v2");
  EXPECT_EQ(wave_.v(10, 3), 105u) << "the stored byte is 0 and clears 103's";
}

TEST_F(Rdna, PrivateMemory) {
  fill(1, 0, 16), fill(2, 100, 1);
  wave_.s(4) = 256;
  run("scratch_store_b32 off, v2, s4 offset:8\nscratch_load_b32 v3, off, off offset:264\n"
      "scratch_store_b64 v1, v[2:3], s4\nscratch_load_b64 v[4:5], v1, off offset:256\n"
      "s_mov_b64 s[6:7], src_private_base\nv_mov_b32 v9, s7\nv_mov_b32 v8, 0x108\nflat_load_b32 v6, v[8:9]");
  for (int lane = 0; lane < wave_lanes; ++lane) {
    const u32 want = 100 + static_cast<u32>(lane);
    EXPECT_EQ(wave_.v(3, lane), want);
    EXPECT_EQ(wave_.v(4, lane), want);
    EXPECT_EQ(wave_.v(5, lane), want);
    EXPECT_EQ(wave_.v(6, lane), want);
  }
}

TEST_F(Rdna, BuffersWithBounds) {
  auto* words = reinterpret_cast<u32*>(wave_.memory());
  for (u32 i = 0; i < 64; ++i) words[i] = 1000 + i;
  wave_.set_s64(8, wave_.address());
  wave_.s(10) = 40;                              // bytes
  wave_.s(11) = 0x31016fac;                      // raw: bounds of bytes; 32_FLOAT, X Y Z W
  fill(1, 0, 4);
  run("buffer_load_b32 v0, v1, s[8:11], 0 offen\nbuffer_load_format_x v2, v1, s[8:11], null offen offset:4");
  for (u32 lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(wave_.v(0, static_cast<int>(lane)), lane < 10 ? 1000 + lane : 0u);
    EXPECT_EQ(wave_.v(2, static_cast<int>(lane)), lane < 9 ? 1001 + lane : 0u);
  }
  // Structured: records are strides.
  wave_.s(9) |= 8u << 16;
  wave_.s(10) = 5;
  wave_.s(11) = 0x01016fac;
  fill(1, 0, 1);
  run("buffer_load_b32 v0, v1, s[8:11], 0 idxen offset:4");
  for (u32 lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(wave_.v(0, static_cast<int>(lane)), lane < 5 ? 1001 + 2 * lane : 0u) << lane;
  }
}

TEST_F(Rdna, WhatIsNotCoveredStopsWithItsPlace) {
  EXPECT_EQ(wave_.run("s_nop 0\nv_dot2_f16_f16 v0, v1, v2, v3"), WaveStatus::faulted);
  EXPECT_EQ(wave_.wave().fault.kind, FaultKind::not_covered);
  EXPECT_EQ(wave_.wave().fault.instruction, 1u);
  EXPECT_EQ(wave_.wave().fault.bytes, 8u);
}

}  // namespace
}  // namespace kiln::emulator_test
