// Atomic DS instructions.
#include "tests/unit/emulator/lds_cases.hpp"

namespace kiln::emulator_test {
namespace {

struct AtomicCase {
  const char* name;  // with "rtn_" where the returning form has it
  std::uint64_t memory, data, second, after;
  bool wide = false, pair = false;
};
constexpr std::uint64_t ones = ~0ull;
constexpr std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }
constexpr std::uint64_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
const AtomicCase atomics[] = {
    {"add_rtn_u32", 0xffffffff, 2, 0, 1},
    {"sub_rtn_u32", 1, 2, 0, 0xffffffff},
    {"rsub_rtn_u32", 1, 5, 0, 4},
    {"inc_rtn_u32", 5, 5, 0, 0},
    {"dec_rtn_u32", 9, 5, 0, 5},
    {"min_rtn_i32", 1, 0xffffffff, 0, 0xffffffff},
    {"max_rtn_i32", 1, 0xffffffff, 0, 1},
    {"min_rtn_u32", 1, 0xffffffff, 0, 1},
    {"max_rtn_u32", 1, 0xffffffff, 0, 0xffffffff},
    {"and_rtn_b32", 12, 10, 0, 8},
    {"or_rtn_b32", 12, 10, 0, 14},
    {"xor_rtn_b32", 12, 10, 0, 6},
    {"mskor_rtn_b32", 0xff, 0x0f, 0x100, 0x1f0, false, true},
    {"cmpst_rtn_b32", 5, 5, 77, 77, false, true},
    {"cmpst_rtn_b32", 5, 6, 77, 5, false, true},
    {"cmpst_rtn_f32", 0x80000000, 0, 77, 77, false, true},
    {"add_rtn_f32", bits(1.5f), bits(2.0f), 0, bits(3.5f)},
    {"min_rtn_f32", bits(1.5f), bits(-2.0f), 0, bits(-2.0f)},
    {"max_rtn_f32", bits(1.5f), 0x7fc00000, 0, bits(1.5f)},
    {"add_rtn_u64", ones, 2, 0, 1, true},
    {"sub_rtn_u64", 1, 2, 0, ones, true},
    {"rsub_rtn_u64", 1, 1ull << 40, 0, (1ull << 40) - 1, true},
    {"inc_rtn_u64", 5, 1ull << 40, 0, 6, true},
    {"dec_rtn_u64", 0, 1ull << 40, 0, 1ull << 40, true},
    {"min_rtn_i64", 1, ones, 0, ones, true},
    {"max_rtn_i64", 1, ones, 0, 1, true},
    {"min_rtn_u64", 1, ones, 0, 1, true},
    {"max_rtn_u64", 1, ones, 0, ones, true},
    {"and_rtn_b64", 12ull << 32, 10ull << 32, 0, 8ull << 32, true},
    {"or_rtn_b64", 12ull << 32, 10ull << 32, 0, 14ull << 32, true},
    {"xor_rtn_b64", 12ull << 32, 10ull << 32, 0, 6ull << 32, true},
    {"mskor_rtn_b64", 0xffull << 32, 0x0full << 32, 1, (0xf0ull << 32) + 1, true, true},
    {"cmpst_rtn_b64", 1ull << 40, 1ull << 40, 3, 3, true, true},
    {"cmpst_rtn_f64", 1ull << 63, 0, 3, 3, true, true},
    {"add_rtn_f64", bits(0.1), bits(0.2), 0, bits(0.1 + 0.2), true},
    {"min_rtn_f64", bits(0.1), bits(-0.2), 0, bits(-0.2), true},
    {"max_rtn_f64", bits(0.1), bits(-0.2), 0, bits(0.1), true},
    {"wrxchg_rtn_b32", 3, 4, 0, 4},
    {"wrxchg_rtn_b64", 3, 1ull << 50, 0, 1ull << 50, true},
    {"wrap_rtn_b32", 10, 7, 100, 3, false, true},
    {"wrap_rtn_b32", 5, 7, 100, 105, false, true},
    {"pk_add_rtn_f16", 0x3c004000, 0x38003c00, 0, 0x3e004200},
    {"pk_add_rtn_bf16", 0x3f803f80, 0x3b803bc0, 0, 0x3f803f81},
};

std::string range(int first, int registers) {
  if (registers == 1) return "v" + std::to_string(first);
  return "v[" + std::to_string(first) + ":" + std::to_string(first + registers - 1) + "]";
}

void expect_atomic(const std::string& target, const AtomicCase& one, bool returns) {
  SmallWave wave(target);
  const int registers = one.wide ? 2 : 1;
  const std::uint64_t exec = 0xfffffffffffffffdull;
  wave.set_exec(exec);
  for (int lane = 0; lane < lanes; ++lane) {
    wave.v(0, lane) = lane * 16;
    std::memcpy(wave.lds() + lane * 16 + 8, &one.memory, registers * 4);
    wave.set_v64(2, lane, one.data);
    wave.set_v64(4, lane, one.second);
  }
  std::string name = one.name;
  if (!returns) name.erase(name.find("rtn_"), 4);
  const std::string text = "ds_" + name + " " + (returns ? range(6, registers) + ", " : "") + "v0, " +
                           range(2, registers) + (one.pair ? ", " + range(4, registers) : "") + " offset:8";
  SCOPED_TRACE(target + ": " + text);
  ASSERT_EQ(wave.run(text), WaveStatus::ended);
  for (int lane = 0; lane < lanes; ++lane) {
    std::uint64_t after = 0;
    std::memcpy(&after, wave.lds() + lane * 16 + 8, registers * 4);
    const bool active = exec >> lane & 1;
    ASSERT_EQ(after, active ? one.after : one.memory) << lane;
    if (returns) {
      ASSERT_EQ(one.wide ? wave.v64(6, lane) : wave.v(6, lane), active ? one.memory : 0) << lane;
    }
  }
}

TEST_P(LdsTargets, AtomicsOfEveryType) {
  const std::string target = GetParam();
  for (const auto& one : atomics) {
    const std::string name = one.name;
    if (target == "gfx90a" && name.starts_with("pk_add")) continue;
    expect_atomic(target, one, true);
    if (!name.starts_with("wr")) expect_atomic(target, one, false);
  }
}

// MODE says whether LDS additions of f32 know denormals, and how they round.
TEST_P(LdsTargets, FloatAtomicsFollowMode) {
  for (const bool denormals : {true, false}) {
    SmallWave wave(GetParam());
    wave.set_exec(3);
    wave.v(0, 1) = 8;
    const std::uint32_t before[3] = {5, 0, 0x3f800000};
    std::memcpy(wave.lds(), before, 12);
    wave.v(1, 0) = 2;
    wave.v(1, 1) = 0x33800000;  // half of the last place
    ASSERT_EQ(wave.run(std::string("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 6), ") + (denormals ? "0x31" : "1") +
                       "\n ds_add_f32 v0, v1"),
              WaveStatus::ended);
    EXPECT_EQ(dword_of(wave.lds(), 0), denormals ? 7u : 0u);
    EXPECT_EQ(dword_of(wave.lds(), 8), 0x3f800001u);
  }
}

TEST_P(LdsTargets, ExchangesOfTwoAddresses) {
  SmallWave wave(GetParam());
  fill(wave.lds(), 65536);
  for (int lane = 0; lane < lanes; ++lane) {
    wave.v(0, lane) = lane * 16;
    wave.set_v64(2, lane, 0x1000 + lane);
    wave.set_v64(4, lane, 0x2000 + lane);
  }
  ASSERT_EQ(wave.run("ds_wrxchg2_rtn_b32 v[6:7], v0, v2, v4 offset0:0 offset1:2\n"
                     "ds_wrxchg2st64_rtn_b64 v[8:11], v0, v[2:3], v[4:5] offset0:4 offset1:8"),
            WaveStatus::ended);
  const int lane = 33;
  EXPECT_EQ(wave.v(6, lane), value_at(lane * 16, 4));
  EXPECT_EQ(wave.v(7, lane), value_at(lane * 16 + 8, 4));
  EXPECT_EQ(wave.v(10, lane), value_at(lane * 16 + 8 * 512, 4));
  EXPECT_EQ(dword_of(wave.lds(), lane * 16), 0x1000u + lane);
  EXPECT_EQ(dword_of(wave.lds(), lane * 16 + 8), 0x2000u + lane);
  EXPECT_EQ(dword_of(wave.lds(), lane * 16 + 8 * 512), 0x2000u + lane);
}

TEST_P(LdsTargets, ConditionalExchange) {
  SmallWave wave(GetParam());
  fill(wave.lds(), 4096);
  for (int lane = 0; lane < lanes; ++lane) {
    wave.v(0, lane) = lane * 8 + 3;
    wave.v(2, lane) = 0x80000005;
    wave.v(3, lane) = 0x00000006;
  }
  ASSERT_EQ(wave.run("ds_condxchg32_rtn_b64 v[4:5], v0, v[2:3]"), WaveStatus::ended);
  EXPECT_EQ(wave.v(4, 7), value_at(56, 4));
  EXPECT_EQ(wave.v(5, 7), value_at(60, 4));
  EXPECT_EQ(dword_of(wave.lds(), 56), 5u);
  EXPECT_EQ(dword_of(wave.lds(), 60), value_at(60, 4));
}

}  // namespace
}  // namespace kiln::emulator_test
