// The loop: branches, calls, budgets, what ends a wave, indexed vector registers.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "engine/emulator/core/checks.hpp"
#include "tests/support/emulator/small_wave.hpp"

namespace kiln::emulator_test {
namespace {

using emulator::FaultKind;
using emulator::WaveStatus;
namespace code = emulator::code;

TEST(Run, LoopsAndCounts) {
  SmallWave wave("gfx942");
  ASSERT_EQ(wave.run("s_mov_b32 s0, 0\n s_mov_b32 s1, 0\nloop:\n s_add_u32 s1, s1, s0\n s_add_u32 s0, s0, 1\n"
                     "s_cmp_lt_u32 s0, 10\n s_cbranch_scc1 loop"),
            WaveStatus::ended);
  EXPECT_EQ(wave.s(1), 45u);
  EXPECT_EQ(wave.counts().executed[0], 1u);
  EXPECT_EQ(wave.counts().executed[2], 10u);
  EXPECT_EQ(wave.counts().executed[6], 1u);
  EXPECT_EQ(wave.wave().executed, 2 + 4 * 10 + 1u);
}

TEST(Run, EveryCondition) {
  SmallWave wave("gfx90a");
  // Each taken branch skips the setting of a bit that says that it was not taken.
  ASSERT_EQ(wave.run("s_mov_b32 s0, 0\n s_mov_b64 vcc, 0\n s_cbranch_vccz a\n s_bitset1_b32 s0, 0\na:\n"
                     "s_cbranch_vccnz b\n s_bitset1_b32 s0, 1\nb:\n s_cbranch_execz c\n s_bitset1_b32 s0, 2\nc:\n"
                     "s_cbranch_execnz d\n s_bitset1_b32 s0, 3\nd:\n s_cmp_eq_u32 s0, s0\n s_cbranch_scc0 e\n"
                     "s_bitset1_b32 s0, 4\ne:\n s_branch f\n s_bitset1_b32 s0, 5\nf:\n s_cbranch_cdbgsys g\n"
                     "s_bitset1_b32 s0, 6\ng:"),
            WaveStatus::ended);
  EXPECT_EQ(wave.s(0), 0b1010110u);
}

TEST(Run, CallsAndReturns) {
  SmallWave wave("gfx942");
  ASSERT_EQ(wave.run("s_call_b64 s[4:5], f\n s_add_u32 s0, s0, 1\n s_getpc_b64 s[6:7]\nhere:\n"
                     "s_add_u32 s6, s6, g-here\n"
                     "s_addc_u32 s7, s7, 0\n s_swappc_b64 s[8:9], s[6:7]\n s_add_u32 s0, s0, 100\n s_endpgm\n"
                     "f:\n s_movk_i32 s0, 10\n s_setpc_b64 s[4:5]\ng:\n s_mul_i32 s0, s0, 2\n s_setpc_b64 s[8:9]"),
            WaveStatus::ended);
  EXPECT_EQ(wave.s(0), 122u);
}

TEST(Run, JumpIntoNothingIsAFault) {
  SmallWave wave("gfx942");
  wave.set_s64(0, 0x123450);
  EXPECT_EQ(wave.run("s_nop 0\n s_setpc_b64 s[0:1]"), WaveStatus::faulted);
  EXPECT_EQ(wave.wave().fault.kind, FaultKind::bad_program_counter);
  EXPECT_EQ(wave.wave().fault.instruction, 1u);
  EXPECT_EQ(wave.wave().fault.address, 0x123450u);
}

TEST(Run, JumpIntoTheMiddleOfAnInstructionIsAFault) {
  SmallWave wave("gfx942");
  EXPECT_EQ(wave.run("s_getpc_b64 s[0:1]\n s_add_u32 s0, s0, 20\n s_setpc_b64 s[0:1]\n s_nop 0\n s_nop 0\n"
                     "s_mov_b32 s0, 0x12345678"),
            WaveStatus::faulted);
  EXPECT_EQ(wave.wave().fault.kind, FaultKind::bad_program_counter);
}

TEST(Run, BudgetEndsInfiniteLoops) {
  SmallWave wave("gfx942");
  EXPECT_EQ(wave.run("x:\n s_branch x"), WaveStatus::running);
  EXPECT_EQ(wave.wave().executed, 1000000u);
}

TEST(Run, WhatStopsAWave) {
  SmallWave barrier("gfx90a");
  EXPECT_EQ(barrier.run("s_nop 0\n s_barrier\n s_nop 0"), WaveStatus::barrier);
  EXPECT_EQ(barrier.wave().next, 2u);
  SmallWave sleeping("gfx90a");
  EXPECT_EQ(sleeping.run("s_sleep 3"), WaveStatus::sleeping);
  for (const char* card : {"gfx942", "gfx1100"}) {
    SmallWave interrupting(card);   // a call to the host is answered then
    EXPECT_EQ(interrupting.run("s_sendmsg sendmsg(MSG_INTERRUPT)\n s_nop 0"), WaveStatus::sleeping) << card;
    EXPECT_EQ(interrupting.wave().next, 1u);
  }
  SmallWave trap("gfx942");
  EXPECT_EQ(trap.run("s_trap 3\n s_trap 2"), WaveStatus::faulted);
  EXPECT_EQ(trap.wave().fault.kind, FaultKind::trap);
  EXPECT_EQ(trap.wave().fault.address, 2u);
  EXPECT_EQ(trap.wave().fault.instruction, 1u);
}

TEST(Run, TimeOnlyInstructionsDoNothing) {
  SmallWave wave("gfx942");
  EXPECT_EQ(wave.run("s_nop 7\n s_waitcnt vmcnt(0) lgkmcnt(0)\n s_setprio 3\n s_sleep 0\n s_wakeup\n s_icache_inv\n"
                     "s_dcache_inv\n s_ttracedata\n s_incperflevel 1\n"
                     "s_decperflevel 1\n"
                     "s_sethalt 0\n buffer_wbl2 sc0 sc1\n buffer_inv sc1\n ds_nop"),
            WaveStatus::ended);
  EXPECT_EQ(wave.wave().priority, 3);
}

TEST(Run, NotCoveredStopsWithTheInstruction) {
  SmallWave wave("gfx942");
  EXPECT_EQ(wave.run("s_nop 0\n s_rfe_b64 s[0:1]"), WaveStatus::faulted);
  EXPECT_EQ(wave.wave().fault.kind, FaultKind::not_covered);
  EXPECT_EQ(wave.wave().fault.instruction, 1u);
}

TEST(Run, ForkRunsTheSmallerSideFirst) {
  SmallWave wave("gfx90a");
  wave.set_s64(20, 0x7);  // three lanes jump, the others go on; the stack is s[0:3]
  ASSERT_EQ(wave.run("v_mov_b32 v0, 0\n s_movk_i32 s30, 0\n s_cbranch_i_fork s[20:21], taken\n v_add_u32 v0, 1, v0\n"
                     "s_branch join\ntaken:\n v_add_u32 v0, 2, v0\njoin:\n s_cbranch_join s30\n v_add_u32 v0, 8, v0"),
            WaveStatus::ended);
  EXPECT_EQ(wave.s64(code::exec), ~0ull & ~7ull);  // the side that ran last; its owner restores the rest
  EXPECT_EQ(wave.v(0, 0), 2u);
  EXPECT_EQ(wave.v(0, 3), 9u);
}

TEST(Run, IndexedVectorRegisters) {
  SmallWave wave("gfx90a");
  for (int n = 0; n < 8; ++n) {
    for (int lane = 0; lane < 64; ++lane) wave.v(n, lane) = static_cast<std::uint32_t>(n * 100 + lane);
  }
  wave.s(0) = 3;
  ASSERT_EQ(wave.run("s_set_gpr_idx_on s0, gpr_idx(SRC0)\n v_mov_b32 v10, v1\n s_set_gpr_idx_off\n v_mov_b32 v11, v1\n"
                     "s_set_gpr_idx_on s0, gpr_idx(DST)\n v_mov_b32 v12, v2\n s_set_gpr_idx_off\n v_mov_b32 v16, v3"),
            WaveStatus::ended);
  EXPECT_EQ(wave.v(10, 5), 405u);
  EXPECT_EQ(wave.v(11, 5), 105u);
  EXPECT_EQ(wave.v(12, 5), 0u);
  EXPECT_EQ(wave.v(15, 5), 205u);
  EXPECT_EQ(wave.v(16, 5), 305u);
  EXPECT_EQ(wave.s(code::m0) & 0xf0ff, 3u | 8u << 12);
  SmallWave outside("gfx90a");
  outside.s(0) = 250;
  EXPECT_EQ(outside.run("s_set_gpr_idx_on s0, gpr_idx(DST)\n v_mov_b32 v10, v1"), WaveStatus::faulted);
  const auto& fault = outside.wave().fault;
  EXPECT_EQ(fault.kind, FaultKind::register_index);
  EXPECT_EQ(fault.address, 260u);
  EXPECT_EQ(fault.registers, 256u);
  EXPECT_TRUE(fault.store && !fault.scalar);
}

TEST(Run, UninitialisedRegistersAreFoundWhereChecked) {
  emulator::CheckState checks;
  std::vector<std::uint64_t> vectors(emulator::vector_registers);
  std::vector<std::uint8_t> scalars(128);
  checks.vector_written = vectors.data();
  checks.scalar_written = scalars.data();
  SmallWave wave("gfx942");
  wave.wave().group->checks = &checks;
  wave.set_exec(0xff);
  EXPECT_EQ(wave.run("v_mov_b32 v0, 1\n v_add_u32 v1, v0, v0\n s_mov_b64 exec, -1\n"
                     "v_add_u32 v2, v1, v1"), WaveStatus::faulted);
  EXPECT_EQ(wave.wave().fault.kind, FaultKind::uninitialised_register);
  EXPECT_EQ(wave.wave().fault.instruction, 3u);
  EXPECT_EQ(wave.wave().fault.lane, 8);
  EXPECT_EQ(wave.wave().fault.address, 1u);

  std::fill(vectors.begin(), vectors.end(), 0);
  SmallWave scalar("gfx942");
  scalar.wave().group->checks = &checks;
  EXPECT_EQ(scalar.run("s_mov_b32 s0, 1\n s_add_u32 s1, s0, s2"), WaveStatus::faulted);
  EXPECT_EQ(scalar.wave().fault.address, 1002u);
}

}  // namespace
}  // namespace kiln::emulator_test
