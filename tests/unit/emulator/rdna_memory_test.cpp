// RDNA3's scalar and memory operations, where they are not CDNA's.
// Expected values: "RDNA3 Instruction Set Architecture".
#include "tests/unit/emulator/rdna_cases.hpp"

namespace kiln::emulator_test {
namespace {

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
  EXPECT_EQ(wave_.run("s_nop 0\nv_mullit_f32 v0, v1, v2, v3"), WaveStatus::faulted);
  EXPECT_EQ(wave_.wave().fault.kind, FaultKind::not_covered);
  EXPECT_EQ(wave_.wave().fault.instruction, 1u);
  EXPECT_EQ(wave_.wave().fault.bytes, 8u);
}

}  // namespace
}  // namespace kiln::emulator_test
