// What RDNA3 does that CDNA does not: waves of 32 lanes with masks of one register, EXEC by compares, two operations in
// one instruction.
// Expected values: "RDNA3 Instruction Set Architecture".
#include "tests/unit/emulator/rdna_cases.hpp"

namespace kiln::emulator_test {
namespace {

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

}  // namespace
}  // namespace kiln::emulator_test
