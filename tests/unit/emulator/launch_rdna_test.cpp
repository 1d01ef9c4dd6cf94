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
  constexpr std::uint32_t n = 1000;
  auto *in = allocate(n), *out = allocate(n);
  for (std::uint32_t i = 0; i < n; ++i) in[i] = i * i;
  const auto result = run("scale_add", {{4, 1, 1}, {256, 1, 1}}, out, in, 3u, n);
  for (std::uint32_t i = 0; i < n; ++i) ASSERT_EQ(out[i], 3 * i + i * i) << i;
  EXPECT_EQ(result.waves, 32u);
}

TEST_P(LaunchingRdna, AnIncompleteLastWave) {
  auto *in = allocate(100), *out = allocate(100);
  EXPECT_EQ(run("scale_add", {{1, 1, 1}, {70, 1, 1}}, out, in, 1u, 100u).waves, 3u);
  for (std::uint32_t i = 0; i < 100; ++i) ASSERT_EQ(out[i], i < 70 ? i : 0) << i;
}

// The three numbers of a thread come packed in v0, those of its block in scalar registers, sizes as hidden arguments.
TEST_P(LaunchingRdna, TellsThreadsWhereTheyAre) {
  const Geometry geometry{{3, 2, 4}, {5, 4, 7}};
  constexpr std::uint32_t threads = 5 * 4 * 7, blocks = 3 * 2 * 4;
  auto* out = allocate(threads * blocks * 8);
  run("whereabouts", geometry, out, 3u, 2u);
  for (std::uint32_t b = 0; b < blocks; ++b) {
    for (std::uint32_t t = 0; t < threads; ++t) {
      const auto* row = out + (b * threads + t) * 8;
      ASSERT_EQ(row[0], b % 3 | b / 3 % 2 << 8 | b / 6 << 16) << b << " " << t;
      ASSERT_EQ(row[1], t % 5 | t / 5 % 4 << 8 | t / 20 << 16) << b << " " << t;
      ASSERT_EQ(row[2], 5u | 4u << 8 | 7u << 16);
      ASSERT_EQ(row[3], 15u);
    }
  }
}

TEST_P(LaunchingRdna, WavesMeetAtBarriers) {
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    options_.seed = seed;
    auto* data = allocate(256 * 20);
    for (std::uint32_t i = 0; i < 256 * 20; ++i) data[i] = i;
    run("reverse", {{20, 1, 1}, {256, 1, 1}}, data);
    for (std::uint32_t i = 0; i < 256 * 20; ++i) ASSERT_EQ(data[i], i / 256 * 256 + 255 - i % 256) << "seed " << seed;
  }
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
