// What RDNA3 does that CDNA does not: halves of registers, DPP8 and permutes of rows, registers by index, arithmetic of
// its own.
// Expected values: "RDNA3 Instruction Set Architecture".
#include "tests/unit/emulator/rdna_cases.hpp"

namespace kiln::emulator_test {
namespace {

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
  const auto& fault = wave_.wave().fault;
  EXPECT_EQ(fault.kind, FaultKind::register_index);
  EXPECT_EQ(fault.address, 260u);
  EXPECT_EQ(fault.registers, 256u);
  EXPECT_FALSE(fault.scalar || fault.store);
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
  const auto& fault = wave_.wave().fault;
  EXPECT_EQ(fault.kind, FaultKind::register_index);
  EXPECT_EQ(fault.address, 127u);
  EXPECT_EQ(fault.registers, 106u);
  EXPECT_TRUE(fault.scalar && fault.store);
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

// Halves of C and D by op_sel; A and B are pairs. Sums are rounded once.
TEST_F(Rdna, DotsOfHalves) {
  check32(target, "v_dot2_f16_f16 v0, v1, v2, v3", {{0x40003c00, 0x42004400, 0x12344900, 0xdead4d00}});      // 4+6+10
  check32(target, "v_dot2_f16_f16 v0, v1, v2, v3 op_sel:[0,0,1,1]",
          {{0x40003c00, 0x42004400, 0x49000000, 0x4d00beef}});
  check32(target, "v_dot2_f16_f16 v0, v1, v2, -v3", {{0x40003c00, 0x42004400, 0x00004900, 0xdead0000}});
  check32(target, "v_dot2_bf16_bf16 v0, v1, v2, v3", {{0x40003f80, 0x40404080, 0x12344120, 0xdead41a0}});    // 4+6+10
  check32(target, "v_dot2_bf16_bf16 v0, v1, v2, v3 op_sel:[0,0,1,0]",
          {{0x40003f80, 0x40404080, 0x41200000, 0xdead41a0}});
  // 1 + 2^-11 + 2^-11: each half of an ulp alone would be lost, both are not.
  check32(target, "v_dot2_f16_f16 v0, v1, v2, v3", {{0x10001000, 0x3c003c00, 0x00003c00, 0xdead3c01}});
  ASSERT_EQ(wave_.run("v_dot2_f16_f16 v0, -v1, v2, v3"), WaveStatus::faulted);
  EXPECT_EQ(wave_.wave().fault.kind, FaultKind::not_covered);
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

}  // namespace
}  // namespace kiln::emulator_test
