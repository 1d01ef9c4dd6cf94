// What is counted and checked of DS instructions: bank cycles by the design's table, races and uninitialised bytes.
#include "engine/emulator/core/checks.hpp"
#include "tests/unit/emulator/lds_cases.hpp"

namespace kiln::emulator_test {
namespace {

// Cost and ideal of the design's table: 16-byte and 8-byte operand reads of rows of 128 bytes.
struct BankCase {
  const char* target;
  int rows, pad, vector;
  std::uint64_t cost, ideal;
};
TEST(LdsBanks, MatrixOperandReads) {
  const BankCase cases[] = {
      {"gfx942", 16, 0, 16, 32, 8},  {"gfx942", 16, 16, 16, 16, 8}, {"gfx942", 16, 32, 16, 8, 8},
      {"gfx950", 16, 0, 16, 16, 4},  {"gfx950", 16, 16, 16, 8, 4},  {"gfx950", 16, 32, 16, 4, 4},
      {"gfx942", 32, 0, 16, 64, 8},  {"gfx942", 32, 16, 16, 8, 8},  {"gfx942", 32, 32, 16, 16, 8},
      {"gfx950", 32, 0, 16, 32, 4},  {"gfx950", 32, 16, 16, 4, 4},  {"gfx950", 32, 32, 16, 8, 4},
      {"gfx942", 16, 4, 8, 8, 4},    {"gfx942", 16, 8, 8, 4, 4},    {"gfx942", 16, 16, 8, 8, 4},
      {"gfx90a", 16, 0, 16, 32, 8},
  };
  for (const auto& one : cases) {
    SmallWave wave(one.target);
    for (int lane = 0; lane < lanes; ++lane) {
      wave.v(0, lane) = lane % one.rows * (128 + one.pad) + lane / one.rows * one.vector;
    }
    ASSERT_EQ(wave.run(one.vector == 16 ? "ds_read_b128 v[4:7], v0" : "ds_read_b64 v[4:5], v0"), WaveStatus::ended);
    SCOPED_TRACE(std::string(one.target) + " rows " + std::to_string(one.rows) + " pad " + std::to_string(one.pad));
    EXPECT_EQ(wave.counts().lds_cycles[0], one.cost);
    EXPECT_EQ(wave.counts().lds_conflicts[0], one.cost - one.ideal);
  }
}

// The classic: columns of rows of 32 dwords conflict, of 33 do not; one address is a broadcast; lanes that are off cost
// nothing; the two halves of read2 are served one after the other.
TEST_P(LdsTargets, BankCycles) {
  SmallWave wave(GetParam());
  for (int lane = 0; lane < lanes; ++lane) {
    wave.v(0, lane) = lane % 32 * 128;
    wave.v(1, lane) = lane % 32 * 132;
    wave.v(2, lane) = 64;
    wave.v(3, lane) = lane * 4;
  }
  ASSERT_EQ(wave.run("ds_read_b32 v4, v0\n ds_read_b32 v4, v1\n ds_read_b32 v4, v2\n ds_write_b32 v3, v4\n"
                     "ds_read2_b32 v[4:5], v3 offset1:1\n ds_read_u16 v4, v0\n s_mov_b64 exec, 3\n ds_read_b32 v4, v0\n"
                     "s_mov_b64 exec, 0\n ds_read_b32 v4, v0"),
            WaveStatus::ended);
  const std::uint64_t cycles[10] = {64, 2, 2, 2, 4, 64, 0, 2, 0, 0}, conflicts[10] = {62, 0, 0, 0, 0, 62, 0, 1, 0, 0};
  for (int n = 0; n < 10; ++n) {
    EXPECT_EQ(wave.counts().lds_cycles[n], cycles[n]) << n;
    EXPECT_EQ(wave.counts().lds_conflicts[n], conflicts[n]) << n;
  }
}

// Two waves of one group, one after the other; the second's index is 1.
class Races : public ::testing::Test {
 protected:
  Races() : shadow(65536), written(65536) {
    checks.lds = shadow.data();
    checks.lds_written = written.data();
    wave.wave().group->checks = &checks;
    for (int lane = 0; lane < lanes; ++lane) {
      wave.v(0, lane) = lane * 4;
      wave.v(1, lane) = lane * 4 + 256;
    }
  }
  WaveStatus run(std::uint32_t index, const std::string& text) {
    wave.wave().index = index;
    return wave.run(text);
  }

  std::vector<emulator::LdsAccess> shadow;
  std::vector<std::uint8_t> written;
  emulator::CheckState checks;
  SmallWave wave{"gfx942"};
};

TEST_F(Races, StoreThenLoadOfAnotherWave) {
  EXPECT_EQ(run(0, "s_nop 0\n ds_write_b32 v0, v1\n ds_read_b32 v2, v0"), WaveStatus::ended);
  EXPECT_EQ(run(1, "ds_write_b32 v1, v1\n ds_read_b32 v2, v1\n ds_read_b32 v2, v0"), WaveStatus::faulted);
  const auto& fault = wave.wave().fault;
  EXPECT_EQ(fault.kind, FaultKind::lds_race);
  EXPECT_EQ(fault.instruction, 2u);
  EXPECT_EQ(fault.other_instruction, 1u);
  EXPECT_EQ(fault.other_wave, 0);
  EXPECT_EQ(fault.lane, 0);
  EXPECT_EQ(fault.address, 0u);
  EXPECT_FALSE(fault.store);
}

TEST_F(Races, LoadThenStoreOfAnotherWave) {
  std::fill(written.begin(), written.end(), 1);
  EXPECT_EQ(run(0, "ds_read_b32 v2, v0"), WaveStatus::ended);
  EXPECT_EQ(run(2, "ds_read_b32 v2, v0"), WaveStatus::ended);
  EXPECT_EQ(run(2, "ds_write_b32 v0, v1"), WaveStatus::faulted);
  EXPECT_EQ(wave.wave().fault.kind, FaultKind::lds_race);
  EXPECT_TRUE(wave.wave().fault.store);
}

// What every wave of a group computes alike may be stored by all of them: no order of the stores shows. All widths, and
// data in the upper half of a register.
TEST_F(Races, TheSameValueTwiceIsNone) {
  const char* const stores[] = {"ds_write_b8 v0, v4", "ds_write_b16 v0, v4", "ds_write_b16_d16_hi v0, v4",
                                "ds_write_b32 v0, v4", "ds_write_b64 v3, v[4:5]", "ds_write_b128 v6, v[8:11]",
                                "ds_write2_b32 v3, v4, v5 offset1:1"};
  for (int lane = 0; lane < lanes; ++lane) {
    wave.v(3, lane) = lane * 8;
    wave.v(6, lane) = lane * 16;
    wave.v(4, lane) = 0x12345678 + lane * 0x01010101;
    wave.v(5, lane) = ~wave.v(4, lane);
    for (int n = 8; n < 12; ++n) wave.v(n, lane) = n * 0x10203040 + lane;
  }
  for (const std::string store : stores) {
    SCOPED_TRACE(store);
    ++checks.epoch;
    EXPECT_EQ(run(0, store), WaveStatus::ended);
    EXPECT_EQ(run(1, store), WaveStatus::ended);
    const bool wide = store.find("b128") != std::string::npos, half = store.find("d16_hi") != std::string::npos;
    std::uint32_t& changed = wave.v(wide ? 11 : store.find("2_b32") != std::string::npos ? 5 : 4, 37);
    changed ^= half ? 1u << 16 : 1u;
    EXPECT_EQ(run(2, store), WaveStatus::faulted);
    EXPECT_EQ(wave.wave().fault.kind, FaultKind::lds_race);
    EXPECT_EQ(wave.wave().fault.lane, 37);
    changed ^= half ? 1u << 16 : 1u;
  }
  ++checks.epoch;
  EXPECT_EQ(run(0, "ds_write_b32 v0, v4"), WaveStatus::ended);
  EXPECT_EQ(run(1, "ds_write_b32 v0, v4\n ds_read_b32 v2, v0"), WaveStatus::ended);
  EXPECT_EQ(run(2, "ds_read_b32 v2, v0"), WaveStatus::faulted);   // against a load it stays one
}

TEST_F(Races, ABarrierMakesItRight) {
  EXPECT_EQ(run(0, "ds_write_b32 v0, v1"), WaveStatus::ended);
  ++checks.epoch;
  EXPECT_EQ(run(1, "ds_read_b32 v2, v0\n ds_add_u32 v0, v1"), WaveStatus::ended);
  EXPECT_EQ(run(2, "ds_add_u32 v0, v1"), WaveStatus::ended);  // atomics do not collide
  ++checks.epoch;
  EXPECT_EQ(run(3, "ds_write_b32 v0, v1"), WaveStatus::ended);
}

TEST_F(Races, NeverWrittenBytes) {
  EXPECT_EQ(run(0, "ds_write_b16 v0, v1\n ds_read_u16 v2, v0\n ds_read_b32 v2, v0"), WaveStatus::faulted);
  EXPECT_EQ(wave.wave().fault.kind, FaultKind::uninitialised_lds);
  EXPECT_EQ(wave.wave().fault.instruction, 2u);
  EXPECT_EQ(wave.wave().fault.address, 2u);
}

}  // namespace
}  // namespace kiln::emulator_test
