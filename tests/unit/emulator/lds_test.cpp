// DS instructions that move data: widths, bounds, between lanes.
#include "engine/emulator/core/checks.hpp"
#include "tests/unit/emulator/lds_cases.hpp"

namespace kiln::emulator_test {
namespace {

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

}  // namespace
}  // namespace kiln::emulator_test
