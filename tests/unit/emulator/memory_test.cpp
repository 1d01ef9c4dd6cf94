// FLAT, GLOBAL and SCRATCH on memory whose every byte is known.
#include "tests/unit/emulator/memory_cases.hpp"

namespace kiln::emulator_test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cdna, MemoryTargets, ::testing::Values("gfx90a", "gfx942", "gfx950"));

TEST_P(MemoryTargets, LoadsOfEveryWidthAndPattern) {
  for (const auto& one : loads) {
    for (const std::size_t stride : {std::size_t(0), std::size_t(one.bytes), std::size_t(52)}) {
      for (const std::uint64_t exec : {~0ull, 0x8000000000000001ull, 0x00ffff0f00ff00f0ull, 0ull}) {
        SmallWave wave(GetParam());
        fill(wave.memory(), 65536);
        set_addresses(wave, stride);
        wave.set_exec(exec);
        for (int n = 4; n < 9; ++n) {
          for (int lane = 0; lane < lanes; ++lane) wave.v(n, lane) = untouched;
        }
        const std::string text = std::string(one.name) + " " + registers(4, one.bytes) + ", v[0:1]";
        ASSERT_EQ(wave.run("global_" + text + ", off offset:20"), WaveStatus::ended);
        const int count = one.bytes < 4 ? 1 : one.bytes / 4;
        for (int lane = 0; lane < lanes; ++lane) {
          for (int n = 0; n < 5; ++n) {
            const bool written = n < count && (exec >> lane & 1);
            const auto expected = written ? loaded(one, offset_of(lane, stride) + 20, n, untouched) : untouched;
            ASSERT_EQ(wave.v(4 + n, lane), expected)
                << text << " stride " << stride << " lane " << lane << " dword " << n;
          }
        }
        EXPECT_EQ(wave.counts().bytes[0], static_cast<std::uint64_t>(std::popcount(exec)) * one.bytes);
      }
    }
  }
}

TEST_P(MemoryTargets, StoresOfEveryWidth) {
  const LoadCase cases[] = {{"store_byte", 1},    {"store_byte_d16_hi", 1, false, 1}, {"store_short", 2},
                            {"store_short_d16_hi", 2, false, 1}, {"store_dword", 4},  {"store_dwordx2", 8},
                            {"store_dwordx3", 12}, {"store_dwordx4", 16}};
  for (const auto& one : cases) {
    for (const std::size_t stride : {std::size_t(one.bytes), std::size_t(36)}) {
      for (const std::uint64_t exec : {~0ull, 0x00ffff0f00ff00f1ull}) {
        SmallWave wave(GetParam());
        set_addresses(wave, stride);
        wave.set_exec(exec);
        for (int lane = 0; lane < lanes; ++lane) {
          const auto seed = static_cast<std::uint32_t>(lane + 1);
          for (int n = 0; n < 4; ++n) wave.v(4 + n, lane) = 0x01020304u * seed + n * 7777;
        }
        const std::string text = std::string(one.name) + " v[0:1], " + registers(4, one.bytes);
        ASSERT_EQ(wave.run("global_" + text + ", off offset:16"), WaveStatus::ended);
        std::vector<std::uint8_t> expected(8192);
        for (int lane = 0; lane < lanes; ++lane) {
          if (!(exec >> lane & 1)) continue;
          for (int n = 0; n < one.bytes; ++n) {
            const int source = n + (one.half == 1 ? 2 : 0);
            const std::uint32_t data = wave.v(4 + source / 4, lane);
            expected[lane * stride + 16 + n] = static_cast<std::uint8_t>(data >> (source % 4 * 8));
          }
        }
        ASSERT_EQ(std::memcmp(expected.data(), wave.memory(), expected.size()), 0) << text << " stride " << stride;
      }
    }
  }
}

TEST_P(MemoryTargets, ScalarBaseAndNegativeOffsets) {
  SmallWave wave(GetParam());
  fill(wave.memory(), 65536);
  wave.set_s64(2, wave.address() + 4096);
  for (int lane = 0; lane < lanes; ++lane) wave.v(0, lane) = lane * 8;
  ASSERT_EQ(wave.run("global_load_dword v4, v0, s[2:3] offset:-4096\n global_load_dword v5, v0, s[2:3] offset:4092\n"
                     "v_mov_b32 v6, 0x77\n global_store_dword v0, v6, s[2:3] offset:8\n"
                     "global_load_dword a3, v0, s[2:3]"),
            WaveStatus::ended);
  EXPECT_EQ(wave.v(4, 9), value_at(72, 4));
  EXPECT_EQ(wave.v(5, 9), value_at(4096 + 72 + 4092, 4));
  EXPECT_EQ(wave.memory()[4096 + 72 + 8], 0x77);
  EXPECT_EQ(wave.a(3, 2), 0x77u);  // of the store of lane 1
}

// The high lanes' offsets are unsigned.
TEST_P(MemoryTargets, OutOfRangeNamesTheLane) {
  SmallWave wave(GetParam(), 64, 4096);
  wave.set_s64(2, wave.address());
  for (int lane = 0; lane < lanes; ++lane) wave.v(0, lane) = lane == 37 ? 4092 : 0;
  EXPECT_EQ(wave.run("s_nop 0\n global_load_dwordx2 v[4:5], v0, s[2:3]"), WaveStatus::faulted);
  const auto& fault = wave.wave().fault;
  EXPECT_EQ(fault.kind, FaultKind::out_of_range);
  EXPECT_EQ(fault.lane, 37);
  EXPECT_EQ(fault.address, wave.address() + 4092);
  EXPECT_EQ(fault.bytes, 8u);
  EXPECT_EQ(fault.instruction, 1u);
  EXPECT_FALSE(fault.store);

  SmallWave masked(GetParam(), 64, 4096);
  masked.set_s64(2, masked.address());
  masked.v(0, 37) = 0xffffffff;
  masked.set_exec(~(1ull << 37));
  EXPECT_EQ(masked.run("global_store_dword v0, v1, s[2:3]"), WaveStatus::ended);
}

TEST_P(MemoryTargets, CodeIsReadOnly) {
  SmallWave wave(GetParam());
  EXPECT_EQ(wave.run("s_getpc_b64 s[2:3]\n v_mov_b32 v0, 0\n global_load_dword v1, v0, s[2:3]\n"
                     "global_store_dword v0, v0, s[2:3]"),
            WaveStatus::faulted);
  EXPECT_EQ(wave.wave().fault.kind, FaultKind::read_only);
  EXPECT_TRUE(wave.wave().fault.store);
  EXPECT_EQ(wave.v(1, 0), 0x7e000280u);  // v_mov_b32 v0, 0
}

TEST_P(MemoryTargets, SegmentsAreCountedOnce) {
  SmallWave wave(GetParam());
  for (int lane = 0; lane < lanes; ++lane) {
    wave.v(0, lane) = lane * 4;          // four segments
    wave.v(1, lane) = lane * 64 + 62;    // 65: each crosses into the next
    wave.v(2, lane) = lane % 2 * 128;    // two
  }
  wave.set_s64(2, wave.address());
  ASSERT_EQ(wave.run("global_load_dword v4, v0, s[2:3]\n global_load_dword v4, v1, s[2:3]\n"
                     "global_load_dword v4, v2, s[2:3]"),
            WaveStatus::ended);
  EXPECT_EQ(wave.counts().segments[0], 4u);
  EXPECT_EQ(wave.counts().segments[1], 65u);
  EXPECT_EQ(wave.counts().segments[2], 2u);
}

TEST_P(MemoryTargets, FlatReachesAllThreeMemories) {
  SmallWave wave(GetParam());
  fill(wave.memory(), 65536);
  fill(wave.lds(), 4096);
  for (int lane = 0; lane < lanes; ++lane) {
    const std::uint64_t base = lane % 3 == 0 ? 1ull << 48 : lane % 3 == 1 ? 2ull << 48 : wave.address();
    wave.set_v64(0, lane, base + lane * 16);
    wave.v(2, lane) = 1000 + lane;
    wave.v(3, lane) = 2000 + lane;
  }
  ASSERT_EQ(wave.run("flat_load_dwordx2 v[4:5], v[0:1] offset:8\n flat_store_dwordx2 v[0:1], v[2:3]\n"
                     "flat_load_dwordx2 v[6:7], v[0:1]\n"
                     "flat_load_short_d16_hi v6, v[0:1] offset:4\n flat_atomic_add v[0:1], v2 offset:4\n"
                     "flat_load_dword v8, v[0:1] offset:4"),
            WaveStatus::ended);
  for (int lane = 0; lane < lanes; ++lane) {
    EXPECT_EQ(wave.v(4, lane), lane % 3 == 1 ? 0 : value_at(lane * 16 + 8, 4)) << lane;
    EXPECT_EQ(wave.v(5, lane), lane % 3 == 1 ? 0 : value_at(lane * 16 + 12, 4)) << lane;
    EXPECT_EQ(wave.v(6, lane), std::uint32_t(1000 + lane) | std::uint32_t(2000 + lane) << 16) << lane;
    EXPECT_EQ(wave.v(7, lane), std::uint32_t(2000 + lane)) << lane;
    EXPECT_EQ(wave.v(8, lane), std::uint32_t(3000 + 2 * lane)) << lane;
  }
  std::uint32_t value;
  std::memcpy(&value, wave.lds() + 48, 4);
  EXPECT_EQ(value, 1003u);
  std::memcpy(&value, wave.wave().scratch + (16 * 4 / 4 * 64 + 4) * 4, 4);  // lane 4, byte 64: dword 16 of it
  EXPECT_EQ(value, 1004u);
}

TEST_P(MemoryTargets, FlatBeyondLdsAndPrivateMemory) {
  SmallWave shared(GetParam(), 256);
  shared.set_exec(1ull << 5);
  shared.set_v64(0, 5, (1ull << 48) + 254);
  EXPECT_EQ(shared.run("flat_load_dword v4, v[0:1]"), WaveStatus::faulted);
  EXPECT_EQ(shared.wave().fault.kind, FaultKind::lds_out_of_range);
  EXPECT_EQ(shared.wave().fault.lane, 5);
  SmallWave own(GetParam());
  own.set_exec(1ull << 6);
  own.set_v64(0, 6, (2ull << 48) + 4094);
  EXPECT_EQ(own.run("flat_store_dword v[0:1], v0"), WaveStatus::faulted);
  EXPECT_EQ(own.wave().fault.kind, FaultKind::out_of_range);
  EXPECT_EQ(own.wave().fault.address, (2ull << 48) + 4094);
}

TEST(Scratch, AddressForms) {
  SmallWave wave("gfx942");
  for (int lane = 0; lane < lanes; ++lane) {
    wave.v(0, lane) = 64 + lane * 8;
    for (int n = 0; n < 4; ++n) wave.v(4 + n, lane) = 0x1000 * (n + 1) + lane;
  }
  wave.s(3) = 32;
  ASSERT_EQ(wave.run("scratch_store_dwordx4 off, v[4:7], off offset:16\n scratch_store_dword off, v4, s3\n"
                     "scratch_store_dwordx2 v0, v[6:7], off offset:-8\n"
                     "scratch_load_dwordx4 v[8:11], off, s3 offset:-16\n"
                     "scratch_load_dword v12, v0, s3 offset:-40\n scratch_load_dword v13, v0, off offset:-4"),
            WaveStatus::ended);
  for (int lane = 0; lane < lanes; ++lane) {
    EXPECT_EQ(private_dword(wave, 4, lane), std::uint32_t(0x1000 + lane));
    EXPECT_EQ(private_dword(wave, 7, lane), std::uint32_t(0x4000 + lane));
    EXPECT_EQ(private_dword(wave, 8, lane), std::uint32_t(0x1000 + lane));
    EXPECT_EQ(wave.v(10, lane), std::uint32_t(0x3000 + lane));
    EXPECT_EQ(wave.v(12, lane), std::uint32_t(0x3000 + lane));
    EXPECT_EQ(wave.v(13, lane), std::uint32_t(0x4000 + lane));
  }
}

TEST_P(MemoryTargets, PrivateMemoryAcrossDwords) {
  SmallWave wave(GetParam());
  wave.s(3) = 0;
  for (int lane = 0; lane < lanes; ++lane) wave.v(4, lane) = 0x04030201 + (lane << 24);
  ASSERT_EQ(wave.run("scratch_store_dword off, v4, s3 offset:6\n scratch_load_ushort v5, off, s3 offset:7\n"
                     "scratch_load_dword v6, off, s3 offset:5\n scratch_load_sbyte v7, off, s3 offset:9\n"
                     "scratch_store_short off, v4, s3 offset:15\n scratch_load_dword v8, off, s3 offset:12\n"
                     "scratch_load_dword v9, off, s3 offset:16"),
            WaveStatus::ended);
  const int lane = 63;
  const auto top = static_cast<std::uint32_t>(static_cast<std::uint8_t>(4 + lane));
  EXPECT_EQ(private_dword(wave, 1, lane), 0x02010000u);
  EXPECT_EQ(wave.v(5, lane), 0x0302u);
  EXPECT_EQ(wave.v(6, lane), 0x03020100u);
  EXPECT_EQ(wave.v(7, lane), top);
  EXPECT_EQ(wave.v(8, lane), 0x01000000u);
  EXPECT_EQ(wave.v(9, lane), 0x02u);
}

TEST_P(MemoryTargets, PrivateMemoryEnds) {
  SmallWave wave(GetParam());
  wave.s(3) = 4088;
  EXPECT_EQ(wave.run("scratch_store_dword off, v0, s3\n scratch_store_dwordx4 off, v[0:3], s3"), WaveStatus::faulted);
  EXPECT_EQ(wave.wave().fault.instruction, 1u);
  EXPECT_EQ(wave.wave().fault.address, (2ull << 48) + 4088);
  EXPECT_EQ(wave.wave().fault.bytes, 16u);
}

}  // namespace
}  // namespace kiln::emulator_test
