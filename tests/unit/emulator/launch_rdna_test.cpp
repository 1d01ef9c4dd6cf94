// Launches on the emulated RDNA3 card: waves of 32 lanes, what they begin with, private memory, counters.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "engine/emulator/machine/initial_state.hpp"
#include "tests/unit/emulator/launching.hpp"

namespace kiln::emulator {
namespace {

class LaunchingRdna : public LaunchingObject {
  std::string stem() const override { return "launch"; }
};
INSTANTIATE_TEST_SUITE_P(Cards, LaunchingRdna, testing::Values("gfx1100"));

TEST_P(LaunchingRdna, WavesOf32RunOnEveryThreadOfTheGrid) {
  EXPECT_EQ(every_thread_of_the_grid().waves, 32u);
}

TEST_P(LaunchingRdna, AnIncompleteLastWave) {
  EXPECT_EQ(an_incomplete_last_wave().waves, 3u);
}

// The three numbers of a thread come packed in v0, those of its block in scalar registers, sizes as hidden arguments.
TEST_P(LaunchingRdna, TellsThreadsWhereTheyAre) {
  threads_know_where_they_are();
}

TEST_P(LaunchingRdna, WavesMeetAtBarriers) {
  waves_meet_at_barriers();
}

TEST_P(LaunchingRdna, ThreadsHavePrivateMemory) {
  auto* out = allocate(64 * 30);
  run("private_memory", {{30, 1, 1}, {64, 1, 1}}, out, 3u);
  for (std::uint32_t i = 0; i < 64 * 30; ++i) ASSERT_EQ(out[i], i * 100 + (i + 3) % 40) << i;
}

TEST_P(LaunchingRdna, WaitsAndTraps) {
  auto* words = allocate(2);
  run("waits_for_the_last", {{100, 1, 1}, {64, 1, 1}}, words, 100u);
  EXPECT_EQ(words[1], 8u);
  const auto result = launch("gives_up", {{1, 1, 1}, {64, 1, 1}}, allocate(64));
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->fault);
  EXPECT_EQ(result->fault->fault.kind, FaultKind::trap);
}

TEST_P(LaunchingRdna, ChecksHoldForItsInstructionsToo) {
  options_.check_races = true;
  options_.check_uninitialised_lds = options_.check_uninitialised_registers = true;
  auto* data = allocate(256);
  run("reverse", {{1, 1, 1}, {256, 1, 1}}, data);
  run("private_memory", {{2, 1, 1}, {64, 1, 1}}, allocate(128), 3u);
  options_ = {};
  options_.check_races = true;
  const auto racing = launch("reverse_racing", {{1, 1, 1}, {256, 1, 1}}, data);
  ASSERT_TRUE(racing);
  ASSERT_TRUE(racing->fault);
  EXPECT_EQ(racing->fault->fault.kind, FaultKind::lds_race);
}

TEST_P(LaunchingRdna, CountsByTheNamesOfItsCards) {
  options_.profile = true;
  auto* data = allocate(256);
  const auto result = run("reverse", {{1, 1, 1}, {256, 1, 1}}, data);
  ASSERT_TRUE(result.profile);
  std::map<std::string, std::uint64_t> counters;
  for (const auto& counter : result.profile->counters) counters[counter.name] = counter.value;
  EXPECT_EQ(counters["SQ_WAVES"], 8u);
  EXPECT_EQ(counters["SQ_INSTS_LDS"], 16u);
  EXPECT_EQ(counters["SQ_INSTS_WAVE32_LDS"], 16u);
  EXPECT_EQ(counters["SQC_LDS_IDX_ACTIVE"], 16u) << "one phase of 32 lanes each";
  EXPECT_EQ(counters["SQC_LDS_BANK_CONFLICT"], 0u);
  EXPECT_EQ(counters["SQ_INSTS_TEX_LOAD"], 8u);
  EXPECT_EQ(counters["SQ_INSTS_TEX_STORE"], 8u);
  EXPECT_EQ(counters["KILN_WMMA"], 0u);
  EXPECT_EQ(counters.count("SQ_INSTS_VALU_MFMA_F16"), 0u);
}

TEST(CountersRdna, ClassesOfItsInstructions) {
  Instruction instruction;
  instruction.format = Format::vop3p;
  instruction.name = "v_wmma_f32_16x16x16_f16";
  EXPECT_TRUE(classify(instruction).valu && classify(instruction).wmma && !classify(instruction).mfma);
  instruction.format = Format::vopd;
  instruction.name = "v_dual_mov_b32";
  EXPECT_TRUE(classify(instruction).valu && classify(instruction).dual);
  instruction.format = Format::sopp;
  for (const char* name : {"s_delay_alu", "s_clause"}) {
    instruction.name = name;
    EXPECT_FALSE(classify(instruction).valu || classify(instruction).salu || classify(instruction).wait);
  }
  instruction.name = "s_waitcnt_depctr";
  EXPECT_TRUE(classify(instruction).wait);
}

TEST_P(LaunchingRdna, RefusesWavesOf64) {
  Kernel kernel = *program_->kernel("scale_add");
  kernel.properties &= static_cast<std::uint16_t>(~1024u);  // "enable_wavefront_size32"
  auto memory = LaunchMemory::make(kernel, {}, Bytes(64));
  ASSERT_TRUE(memory);
  EXPECT_EQ(initial_state(kernel, Family::gfx11, **memory, 0, 0).error().code, ErrorCode::unsupported);
}

// s102 and s103 are the program's, not FLAT_SCRATCH; the descriptor's register count is in units of 8.
TEST_P(LaunchingRdna, FirstRegisters) {
  const Kernel& kernel = *program_->kernel("private_memory");
  auto memory = LaunchMemory::make(kernel, {}, Bytes(64));
  ASSERT_TRUE(memory);
  const auto state = initial_state(kernel, Family::gfx11, **memory, 0x1000, 4096);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->wave, 32);
  EXPECT_FALSE(state->scratch_registers);
  EXPECT_EQ(state->wave_offset_at, -1);
  EXPECT_EQ(state->vector_rows, ((kernel.rsrc1 & 63) + 1) * 8);
  EXPECT_EQ(state->accumulation_rows, 0u);
}

}  // namespace
}  // namespace kiln::emulator
