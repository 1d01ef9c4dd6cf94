// DS instructions: data, bounds, bank cycles by the design's table, races and uninitialised bytes.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "engine/emulator/core/checks.hpp"
#include "tests/support/emulator/small_wave.hpp"

namespace kiln::emulator_test {
namespace {

using emulator::FaultKind;
using emulator::WaveStatus;
namespace code = emulator::code;

constexpr int lanes = 64;
constexpr std::uint32_t untouched = 0xabcd1234;

std::uint8_t byte_at(std::size_t n) { return static_cast<std::uint8_t>(n * 37 + n / 251 + 128); }
void fill(std::uint8_t* memory, std::size_t bytes) {
  for (std::size_t n = 0; n < bytes; ++n) memory[n] = byte_at(n);
}
std::uint32_t value_at(std::size_t at, int bytes) {
  std::uint32_t value = 0;
  for (int n = 0; n < bytes; ++n) value |= std::uint32_t(byte_at(at + n)) << (8 * n);
  return value;
}
std::uint32_t dword_of(const std::uint8_t* memory, std::size_t at) {
  std::uint32_t value;
  std::memcpy(&value, memory + at, 4);
  return value;
}

class LdsTargets : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Cdna, LdsTargets, ::testing::Values("gfx90a", "gfx942", "gfx950"));

TEST_P(LdsTargets, ReadsOfEveryWidth) {
  struct Case {
    const char* text;
    int bytes;
    bool sign = false;
    int half = -1;
  };
  const Case cases[] = {{"ds_read_u8 v4", 1},          {"ds_read_i8 v4", 1, true},       {"ds_read_u16 v4", 2},
                        {"ds_read_i16 v4", 2, true},   {"ds_read_b32 v4", 4},            {"ds_read_b64 v[4:5]", 8},
                        {"ds_read_b96 v[4:6]", 12},    {"ds_read_b128 v[4:7]", 16},
                        {"ds_read_u8_d16 v4", 1, false, 0},    {"ds_read_u8_d16_hi v4", 1, false, 1},
                        {"ds_read_i8_d16 v4", 1, true, 0},
                        {"ds_read_i8_d16_hi v4", 1, true, 1},  {"ds_read_u16_d16 v4", 2, false, 0},
                        {"ds_read_u16_d16_hi v4", 2, false, 1}};
  for (const auto& one : cases) {
    for (const std::uint64_t exec : {~0ull, 0x80ff00000000ff01ull}) {
      SmallWave wave(GetParam());
      fill(wave.lds(), 65536);
      wave.set_exec(exec);
      for (int lane = 0; lane < lanes; ++lane) {
        wave.v(0, lane) = static_cast<std::uint32_t>(lane * 29 % 64) * 52 - 4;
        for (int n = 4; n < 9; ++n) wave.v(n, lane) = untouched;
      }
      ASSERT_EQ(wave.run(std::string(one.text) + ", v0 offset:8"), WaveStatus::ended);
      const int count = one.bytes < 4 ? 1 : one.bytes / 4;
      for (int lane = 0; lane < lanes; ++lane) {
        for (int n = 0; n < 5; ++n) {
          std::uint32_t expected = untouched;
          if (n < count && (exec >> lane & 1)) {
            const int bytes = one.bytes < 4 ? one.bytes : 4;
            std::uint32_t value = value_at(wave.v(0, lane) + 8 + n * 4, bytes);
            if (one.sign) value = (value ^ (1u << (bytes * 8 - 1))) - (1u << (bytes * 8 - 1));
            expected = one.half == 0   ? (untouched & 0xffff0000) | (value & 0xffff)
                       : one.half == 1 ? (untouched & 0xffff) | value << 16
                                       : value;
          }
          ASSERT_EQ(wave.v(4 + n, lane), expected) << one.text << " lane " << lane << " dword " << n;
        }
      }
    }
  }
}

TEST_P(LdsTargets, WritesOfEveryWidth) {
  struct Case {
    const char* name;
    const char* data;
    int bytes, from;
  };
  const Case cases[] = {{"ds_write_b8", "v4", 1, 0},  {"ds_write_b8_d16_hi", "v4", 1, 2},  {"ds_write_b16", "v4", 2, 0},
                        {"ds_write_b16_d16_hi", "v4", 2, 2}, {"ds_write_b32", "v4", 4, 0},
                        {"ds_write_b64", "v[4:5]", 8, 0},
                        {"ds_write_b96", "v[4:6]", 12, 0},   {"ds_write_b128", "v[4:7]", 16, 0}};
  for (const auto& one : cases) {
    for (const std::uint64_t exec : {~0ull, 0x7fffffff00000002ull}) {
      SmallWave wave(GetParam());
      wave.set_exec(exec);
      for (int lane = 0; lane < lanes; ++lane) {
        wave.v(0, lane) = lane * 20;
        for (int n = 0; n < 4; ++n) wave.v(4 + n, lane) = 0x01020304u * static_cast<std::uint32_t>(lane + 1) + n * 999;
      }
      ASSERT_EQ(wave.run(std::string(one.name) + " v0, " + one.data + " offset:4"), WaveStatus::ended);
      std::vector<std::uint8_t> expected(4096);
      for (int lane = 0; lane < lanes; ++lane) {
        for (int n = 0; n < one.bytes && (exec >> lane & 1); ++n) {
          const int source = n + one.from;
          expected[lane * 20 + 4 + n] = static_cast<std::uint8_t>(wave.v(4 + source / 4, lane) >> (source % 4 * 8));
        }
      }
      ASSERT_EQ(std::memcmp(expected.data(), wave.lds(), expected.size()), 0) << one.name;
    }
  }
}

TEST_P(LdsTargets, TwoAddresses) {
  SmallWave wave(GetParam());
  fill(wave.lds(), 65536);
  for (int lane = 0; lane < lanes; ++lane) {
    wave.v(0, lane) = lane * 16;
    wave.v(1, lane) = 40000 + lane * 16;
    wave.set_v64(20, lane, 0x1111000022220000ull + lane);
    wave.set_v64(22, lane, 0x3333000044440000ull + lane);
  }
  ASSERT_EQ(wave.run("ds_read2_b32 v[4:5], v0 offset0:1 offset1:255\n ds_read2_b64 v[6:9], v0 offset0:2 offset1:7\n"
                     "ds_read2st64_b32 v[10:11], v0 offset0:1 offset1:3\n ds_read2st64_b64 v[12:15], v0 offset1:9\n"
                     "ds_write2_b32 v1, v20, v21 offset1:2\n"
                     "ds_write2_b64 v1, v[20:21], v[22:23] offset0:200 offset1:129\n"
                     "ds_write2st64_b32 v1, v20, v22 offset0:10 offset1:12\n"
                     "ds_write2st64_b64 v1, v[20:21], v[22:23] offset0:8 offset1:10"),
            WaveStatus::ended);
  const int lane = 19;
  const std::size_t at = lane * 16, to = 40000 + at;
  EXPECT_EQ(wave.v(4, lane), value_at(at + 4, 4));
  EXPECT_EQ(wave.v(5, lane), value_at(at + 1020, 4));
  EXPECT_EQ(wave.v(7, lane), value_at(at + 20, 4));
  EXPECT_EQ(wave.v(8, lane), value_at(at + 56, 4));
  EXPECT_EQ(wave.v(10, lane), value_at(at + 256, 4));
  EXPECT_EQ(wave.v(11, lane), value_at(at + 768, 4));
  EXPECT_EQ(wave.v(12, lane), value_at(at, 4));
  EXPECT_EQ(wave.v(15, lane), value_at(at + 9 * 512 + 4, 4));
  EXPECT_EQ(dword_of(wave.lds(), to), 0x22220000u + lane);
  EXPECT_EQ(dword_of(wave.lds(), to + 8), 0x11110000u);
  EXPECT_EQ(dword_of(wave.lds(), to + 129 * 8 + 4), 0x33330000u);
  EXPECT_EQ(dword_of(wave.lds(), to + 12 * 256), 0x44440000u + lane);
  EXPECT_EQ(dword_of(wave.lds(), to + 10 * 512 + 4), 0x33330000u);
}

TEST_P(LdsTargets, OutOfRangeReadsZeroAndLosesWrites) {
  SmallWave wave(GetParam(), 256);
  fill(wave.lds(), 256 + 64);
  for (int lane = 0; lane < lanes; ++lane) {
    wave.v(0, lane) = lane * 8;
    wave.v(4, lane) = wave.v(5, lane) = untouched;
  }
  ASSERT_EQ(wave.run("ds_read_b64 v[4:5], v0 offset:4\n ds_write_b64 v0, v[4:5] offset:252"), WaveStatus::ended);
  for (int lane = 0; lane < lanes; ++lane) {
    EXPECT_EQ(wave.v(4, lane), lane < 31 ? value_at(lane * 8 + 4, 4) : 0);
    EXPECT_EQ(wave.v(5, lane), lane < 31 ? value_at(lane * 8 + 8, 4) : 0);
  }
  for (std::size_t n = 0; n < 256 + 64; ++n) ASSERT_EQ(wave.lds()[n], byte_at(n));

  emulator::CheckState checks;
  wave.wave().group->checks = &checks;
  EXPECT_EQ(wave.run("s_nop 0\n ds_read_b64 v[4:5], v0 offset:4"), WaveStatus::faulted);
  EXPECT_EQ(wave.wave().fault.kind, FaultKind::lds_out_of_range);
  EXPECT_EQ(wave.wave().fault.lane, 31);
  EXPECT_EQ(wave.wave().fault.address, 252u);
  EXPECT_EQ(wave.wave().fault.bytes, 8u);
}

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

TEST_P(LdsTargets, BetweenLanes) {
  SmallWave wave(GetParam());
  for (int lane = 0; lane < lanes; ++lane) {
    wave.v(0, lane) = 100 + lane;
    wave.v(1, lane) = ((lane * 5 + 3) % 64) * 4 + 256;  // bits above the lane's are ignored
    wave.v(2, lane) = lane < 2 ? 40 : lane * 4;          // two lanes want lane 10
  }
  ASSERT_EQ(wave.run("ds_swizzle_b32 v4, v0 offset:swizzle(SWAP, 2)\n"
                     "ds_swizzle_b32 v5, v0 offset:swizzle(QUAD_PERM, 3, 2, 1, 0)\n"
                     "ds_swizzle_b32 v6, v0 offset:swizzle(BROADCAST, 8, 3)\n ds_swizzle_b32 v7, v0 offset:0xc060\n"
                     "ds_bpermute_b32 v8, v1, v0\n ds_permute_b32 v9, v1, v0\n ds_bpermute_b32 v10, v1, v0 offset:4\n"
                     "ds_permute_b32 v11, v2, v0\n ds_swizzle_b32 v12, v0 offset:0xe000\n"
                     "ds_swizzle_b32 v13, v0 offset:0xc460"),
            WaveStatus::ended);
  std::uint32_t pushed[64] = {};
  for (int lane = 0; lane < lanes; ++lane) pushed[(lane * 5 + 3) % 64] = 100 + lane;
  for (int lane = 0; lane < lanes; ++lane) {
    const int in32 = lane & 31, upper = lane & 32;
    int mirrored = 0;
    for (int bit = 0; bit < 5; ++bit) mirrored |= (in32 >> bit & 1) << (4 - bit);
    EXPECT_EQ(wave.v(4, lane), 100u + (lane ^ 2));
    EXPECT_EQ(wave.v(5, lane), 100u + (lane ^ 3));
    EXPECT_EQ(wave.v(6, lane), 100u + (lane & ~7) + 3);
    EXPECT_EQ(wave.v(7, lane), 100u + ((in32 + 3) & 31) + upper);
    EXPECT_EQ(wave.v(8, lane), 100u + (lane * 5 + 3) % 64);
    EXPECT_EQ(wave.v(9, lane), pushed[lane]);
    EXPECT_EQ(wave.v(10, lane), 100u + (lane * 5 + 4) % 64);
    EXPECT_EQ(wave.v(11, lane), lane == 0 || lane == 1 ? 0u : 100u + lane);
    EXPECT_EQ(wave.v(12, lane), 100u + mirrored + upper);
    EXPECT_EQ(wave.v(13, lane), 100u + ((in32 - 3) & 31) + upper);
  }
}

TEST_P(LdsTargets, LanesThatAreOffGiveZero) {
  SmallWave wave(GetParam());
  for (int lane = 0; lane < lanes; ++lane) {
    wave.v(0, lane) = 100 + lane;
    wave.v(1, lane) = (lane ^ 1) * 4;
    wave.v(4, lane) = wave.v(5, lane) = wave.v(6, lane) = untouched;
  }
  wave.set_exec(0x5555555555555557);
  ASSERT_EQ(wave.run("ds_bpermute_b32 v4, v1, v0\n ds_permute_b32 v5, v1, v0\n"
                     "ds_swizzle_b32 v6, v0 offset:swizzle(SWAP, 1)"),
            WaveStatus::ended);
  for (const int n : {4, 5, 6}) {
    EXPECT_EQ(wave.v(n, 0), 101u);
    EXPECT_EQ(wave.v(n, 1), 100u);
    EXPECT_EQ(wave.v(n, 2), 0u);
    EXPECT_EQ(wave.v(n, 3), untouched);
  }
}

TEST_P(LdsTargets, CountersAndThreadAddresses) {
  SmallWave wave(GetParam());
  wave.set_exec(0xff0f);
  const std::uint32_t start = 100;
  std::memcpy(wave.lds() + 72, &start, 4);
  ASSERT_EQ(wave.run("s_movk_i32 m0, 64\n ds_append v4 offset:8\n ds_append v5 offset:8\n ds_consume v6 offset:8\n"
                     "v_mov_b32 v7, v4\n s_movk_i32 m0, 0x200\n ds_write_addtid_b32 v7 offset:16\n"
                     "ds_read_addtid_b32 v8 offset:20"),
            WaveStatus::ended);
  EXPECT_EQ(wave.v(4, 0), 100u);
  EXPECT_EQ(wave.v(4, 15), 100u);
  EXPECT_EQ(wave.v(4, 4), 0u);
  EXPECT_EQ(wave.v(5, 3), 112u);
  EXPECT_EQ(wave.v(6, 3), 124u);
  EXPECT_EQ(dword_of(wave.lds(), 72), 112u);
  EXPECT_EQ(dword_of(wave.lds(), 0x200 + 16 + 9 * 4), 100u);
  EXPECT_EQ(wave.v(8, 8), 100u);
  EXPECT_EQ(wave.v(8, 15), 0u);
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

// A group of 16 lanes reads rows of 16 elements and gets them transposed: lane i of the group holds element i of each
// row.
TEST(LdsTranspose, OfGfx950) {
  struct Case {
    const char* text;
    int bits, rows, registers;
  };
  const Case cases[] = {{"ds_read_b64_tr_b16 v[4:5], v0", 16, 4, 2},
                        {"ds_read_b64_tr_b8 v[4:5], v0", 8, 8, 2},
                        {"ds_read_b64_tr_b4 v[4:5], v0", 4, 16, 2},
                        {"ds_read_b96_tr_b6 v[4:6], v0", 6, 16, 3}};
  for (const auto& one : cases) {
    SmallWave wave("gfx950");
    fill(wave.lds(), 65536);
    const int row_bytes = 16 * one.bits / 8, pitch = 80;          // rows lie `pitch` apart
    const int lanes_a_row = 16 / one.rows, piece = row_bytes / lanes_a_row;
    for (int lane = 0; lane < lanes; ++lane) {
      const int i = lane % 16;
      wave.v(0, lane) = (lane / 16) * 2048 + i / lanes_a_row * pitch + i % lanes_a_row * piece;
    }
    ASSERT_EQ(wave.run(one.text), WaveStatus::ended);
    const auto element = [&](int group, int row, int column) {
      std::uint32_t value = 0;
      for (int bit = 0; bit < one.bits; ++bit) {
        const int at = column * one.bits + bit;
        value |= std::uint32_t(byte_at(group * 2048 + row * pitch + at / 8) >> (at % 8) & 1) << bit;
      }
      return value;
    };
    for (int lane = 0; lane < lanes; ++lane) {
      for (int row = 0; row < one.rows; ++row) {
        std::uint32_t value = 0;
        for (int bit = 0; bit < one.bits; ++bit) {
          const int at = row * one.bits + bit;
          value |= (wave.v(4 + at / 32, lane) >> (at % 32) & 1) << bit;
        }
        ASSERT_EQ(value, element(lane / 16, row, lane % 16)) << one.text << " lane " << lane << " row " << row;
      }
    }
  }
}

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
