// FLAT, GLOBAL, SCRATCH, MUBUF and MTBUF on memory whose every byte is known.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/emulator/small_wave.hpp"

namespace kiln::emulator_test {
namespace {

using emulator::FaultKind;
using emulator::WaveStatus;
namespace code = emulator::code;

constexpr int lanes = 64;

std::uint8_t byte_at(std::size_t n) { return static_cast<std::uint8_t>(n * 37 + n / 251 + 128); }

void fill(std::uint8_t* memory, std::size_t bytes) {
  for (std::size_t n = 0; n < bytes; ++n) memory[n] = byte_at(n);
}
// Little-endian value of `bytes` of the filled memory.
std::uint32_t value_at(std::size_t at, int bytes) {
  std::uint32_t value = 0;
  for (int n = 0; n < bytes; ++n) value |= std::uint32_t(byte_at(at + n)) << (8 * n);
  return value;
}
std::uint32_t sign_extended(std::uint32_t value, int bytes) {
  const std::uint32_t top = 1u << (bytes * 8 - 1);
  return bytes == 4 ? value : (value ^ top) - top;
}

class MemoryTargets : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Cdna, MemoryTargets, ::testing::Values("gfx90a", "gfx942", "gfx950"));

// Addresses of the lanes in v[0:1]; returns the offsets: `stride` apart, or scattered when it is 0.
std::size_t offset_of(int lane, std::size_t stride) {
  return stride ? lane * stride : (lane * 29 % 64) * 48 + static_cast<std::size_t>(lane % 3) * 4;
}
void set_addresses(SmallWave& wave, std::size_t stride) {
  for (int lane = 0; lane < lanes; ++lane) wave.set_v64(0, lane, wave.address() + offset_of(lane, stride));
}

struct LoadCase {
  const char* name;
  int bytes;
  bool sign = false;
  int half = -1;  // d16: 0 low, 1 high
};
constexpr LoadCase loads[] = {
    {"load_ubyte", 1},         {"load_sbyte", 1, true},         {"load_ushort", 2},           {"load_sshort", 2, true},
    {"load_dword", 4},         {"load_dwordx2", 8},             {"load_dwordx3", 12},         {"load_dwordx4", 16},
    {"load_ubyte_d16", 1, false, 0}, {"load_ubyte_d16_hi", 1, false, 1}, {"load_sbyte_d16", 1, true, 0},
    {"load_sbyte_d16_hi", 1, true, 1}, {"load_short_d16", 2, false, 0},  {"load_short_d16_hi", 2, false, 1},
};

// What register v[4 + n] must hold after the load of the filled memory at `at`.
std::uint32_t loaded(const LoadCase& one, std::size_t at, int n, std::uint32_t before) {
  const int bytes = one.bytes < 4 ? one.bytes : 4;
  std::uint32_t value = value_at(at + n * 4, bytes);
  if (one.sign) value = sign_extended(value, bytes);
  if (one.half == 0) return (before & 0xffff0000) | (value & 0xffff);
  if (one.half == 1) return (before & 0xffff) | value << 16;
  return value;
}
std::string registers(int first, int bytes) {
  if (bytes <= 4) return "v" + std::to_string(first);
  return "v[" + std::to_string(first) + ":" + std::to_string(first + bytes / 4 - 1) + "]";
}
constexpr std::uint32_t untouched = 0xabcd1234;

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

// Dword d of lane l at (d * 64 + l) * 4 of the wave's private memory.
std::uint32_t private_dword(SmallWave& wave, int dword, int lane) {
  std::uint32_t value;
  std::memcpy(&value, wave.wave().scratch + (dword * 64 + lane) * 4, 4);
  return value;
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

// s[4:7]: raw buffer of `records` bytes.
void set_raw_buffer(SmallWave& wave, std::uint32_t records) {
  wave.set_s64(4, wave.address());
  wave.s(6) = records;
  wave.s(7) = 0x00020000;
}

TEST_P(MemoryTargets, RawBuffers) {
  for (const auto& one : loads) {
    SmallWave wave(GetParam());
    fill(wave.memory(), 65536);
    set_raw_buffer(wave, 65536);
    wave.s(8) = 256;
    for (int lane = 0; lane < lanes; ++lane) {
      wave.v(0, lane) = static_cast<std::uint32_t>(offset_of(lane, 0));
      for (int n = 0; n < 5; ++n) wave.v(4 + n, lane) = untouched;
    }
    const std::string text =
        std::string("buffer_") + one.name + " " + registers(4, one.bytes) + ", v0, s[4:7], s8 offen offset:12";
    ASSERT_EQ(wave.run(text), WaveStatus::ended);
    for (int lane = 0; lane < lanes; ++lane) {
      for (int n = 0; n < (one.bytes < 4 ? 1 : one.bytes / 4); ++n) {
        ASSERT_EQ(wave.v(4 + n, lane), loaded(one, offset_of(lane, 0) + 268, n, untouched)) << text << " lane " << lane;
      }
    }
  }
}

// The bounds hold for each dword; the scalar offset counts.
TEST_P(MemoryTargets, RawBufferBounds) {
  SmallWave wave(GetParam());
  fill(wave.memory(), 65536);
  set_raw_buffer(wave, 1024);
  wave.s(8) = 512;
  for (int lane = 0; lane < lanes; ++lane) {
    wave.v(0, lane) = lane == 63 ? 0x80000000u : static_cast<std::uint32_t>(lane) * 16 + 4;
    for (int n = 0; n < 4; ++n) wave.v(4 + n, lane) = untouched;
    wave.v(10, lane) = 0x5a5a5a5a;
  }
  ASSERT_EQ(wave.run("buffer_load_dwordx4 v[4:7], v0, s[4:7], s8 offen\n"
                     "buffer_store_dword v10, v0, s[4:7], s8 offen offset:4\n"
                     "buffer_load_ushort v8, v0, s[4:7], s8 offen"),
            WaveStatus::ended);
  for (int lane = 0; lane < lanes; ++lane) {
    for (int n = 0; n < 4; ++n) {
      const std::size_t at = std::size_t(wave.v(0, lane)) + n * 4;
      ASSERT_EQ(wave.v(4 + n, lane), at < 512 ? value_at(at + 512, 4) : 0) << lane << " " << n;
    }
    ASSERT_EQ(wave.v(8, lane), lane < 32 ? value_at(wave.v(0, lane) + 512, 2) : 0) << lane;
  }
  for (std::size_t at = 0; at < 4096; ++at) {
    const bool stored = at >= 512 + 8 && at < 1024 && (at - 520) % 16 < 4;
    ASSERT_EQ(wave.memory()[at], stored ? 0x5a : byte_at(at)) << at;
  }
}

// The dword that the bounds cut: in bounds by its first byte; where memory ends there, the rest is 0.
TEST_P(MemoryTargets, RawBufferCutDword) {
  SmallWave wave(GetParam(), 64, 4096);
  fill(wave.memory(), 4096);
  wave.set_s64(4, wave.address() + 4080);
  wave.s(6) = 10;
  wave.s(7) = 0;
  ASSERT_EQ(wave.run("buffer_load_dwordx4 v[4:7], off, s[4:7], 0"), WaveStatus::ended);
  EXPECT_EQ(wave.v(6, 3), value_at(4088, 4));
  EXPECT_EQ(wave.v(7, 3), 0u);
  wave.set_s64(4, wave.address() + 4096 - 6);
  wave.s(6) = 6;
  ASSERT_EQ(wave.run("buffer_load_dwordx2 v[4:5], off, s[4:7], 0"), WaveStatus::ended);
  EXPECT_EQ(wave.v(4, 3), value_at(4090, 4));
  EXPECT_EQ(wave.v(5, 3), value_at(4094, 2));
}

// Structured: records are strides, the offset inside one is not checked.
TEST_P(MemoryTargets, StructuredBuffers) {
  SmallWave wave(GetParam());
  fill(wave.memory(), 65536);
  wave.set_s64(4, wave.address() | 24ull << 48);
  wave.s(6) = 40;
  wave.s(7) = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    wave.v(0, lane) = lane;
    wave.v(1, lane) = 4;
  }
  ASSERT_EQ(wave.run("buffer_load_dwordx2 v[4:5], v[0:1], s[4:7], 0 idxen offen offset:8\n"
                     "buffer_load_dword v6, v0, s[4:7], 0 idxen"),
            WaveStatus::ended);
  for (int lane = 0; lane < lanes; ++lane) {
    ASSERT_EQ(wave.v(4, lane), lane < 40 ? value_at(lane * 24 + 12, 4) : 0) << lane;
    ASSERT_EQ(wave.v(5, lane), lane < 40 ? value_at(lane * 24 + 16, 4) : 0) << lane;
    ASSERT_EQ(wave.v(6, lane), lane < 40 ? value_at(lane * 24, 4) : 0) << lane;
  }
}

// gfx90a's private memory: swizzled by dwords over 64 lanes, the lane's number added; SOFFSET is not swizzled.
TEST(Buffer, PrivateSegmentDescriptor) {
  SmallWave wave("gfx90a");
  const auto scratch = reinterpret_cast<std::uint64_t>(wave.wave().scratch);
  wave.set_s64(0, scratch | 1ull << 63);
  wave.s(2) = 4096 * 64;
  wave.s(3) = 4u << 15 | 1u << 19 | 3u << 21 | 1u << 23;
  wave.s(32) = 64 * 16;  // the stack pointer: 16 bytes a lane
  for (int lane = 0; lane < lanes; ++lane) {
    for (int n = 0; n < 4; ++n) wave.v(4 + n, lane) = 0x100 * n + lane;
    wave.v(0, lane) = lane % 4 * 4;
  }
  ASSERT_EQ(wave.run("buffer_store_dwordx4 v[4:7], off, s[0:3], s32 offset:8\n"
                     "buffer_load_dword v8, v0, s[0:3], s32 offen offset:8\n"
                     "buffer_load_ubyte v9, off, s[0:3], 0 offset:29"),
            WaveStatus::ended);
  for (int lane = 0; lane < lanes; ++lane) {
    for (int n = 0; n < 4; ++n) EXPECT_EQ(private_dword(wave, 4 + 2 + n, lane), std::uint32_t(0x100 * n + lane));
    EXPECT_EQ(wave.v(8, lane), std::uint32_t(0x100 * (lane % 4) + lane));
    EXPECT_EQ(wave.v(9, lane), 1u);
  }
}

// Private memory at any byte, as compilers that may access it unaligned do: each byte of a lane lies where it would lie
// alone, not behind its neighbour, which is the next lane's.
TEST(Buffer, PrivateMemoryThatIsNotAligned) {
  struct Width { const char* name; std::uint32_t bytes; };
  const Width stores[] = {{"byte", 1}, {"short", 2}, {"dword", 4}, {"dwordx2", 8}, {"dwordx3", 12}, {"dwordx4", 16}};
  const auto place = [](int lane, std::uint32_t at) {
    return (at / 4 * 64 + static_cast<std::uint32_t>(lane)) * 4 + at % 4;
  };
  const auto sent = [](int lane, std::uint32_t n) { return static_cast<std::uint8_t>(lane * 19 + n * 37 + 1); };
  for (const auto& [name, bytes] : stores) {
    for (std::uint32_t at = 0; at < 9; ++at) {
      SCOPED_TRACE(std::string(name) + " at " + std::to_string(at));
      SmallWave wave("gfx90a");
      auto* const scratch = wave.wave().scratch;
      wave.set_s64(0, reinterpret_cast<std::uint64_t>(scratch) | 1ull << 63);
      wave.s(2) = 4096 * 64;
      wave.s(3) = 4u << 15 | 1u << 19 | 3u << 21 | 1u << 23;
      std::memset(scratch, 0xee, 32 * 64);
      for (int lane = 0; lane < lanes; ++lane) {
        wave.v(0, lane) = at + lane % 2 * 4;   // offsets of the lanes' own
        for (std::uint32_t n = 0; n < 16; ++n)
          reinterpret_cast<std::uint8_t*>(&wave.v(4 + static_cast<int>(n / 4), lane))[n % 4] = sent(lane, n);
        wave.v(13, lane) = 0x1234;
      }
      const std::string registers = bytes <= 4 ? "4" : "[4:" + std::to_string(3 + bytes / 4) + "]";
      const std::string back = bytes <= 4 ? "8" : "[8:" + std::to_string(7 + bytes / 4) + "]";
      const std::string load = bytes == 1 ? "ubyte" : bytes == 2 ? "ushort" : name;
      ASSERT_EQ(wave.run("buffer_store_" + std::string(name) + " v" + registers + ", v0, s[0:3], 0 offen\n" +
                         "buffer_load_" + load + " v" + back + ", v0, s[0:3], 0 offen\n" +
                         "buffer_load_sshort v12, v0, s[0:3], 0 offen\n" +
                         "buffer_load_short_d16_hi v13, v0, s[0:3], 0 offen"),
                WaveStatus::ended);
      for (int lane = 0; lane < lanes; ++lane) {
        const std::uint32_t begin = at + lane % 2 * 4;
        for (std::uint32_t byte = 0; byte < 32; ++byte) {
          const bool written = byte >= begin && byte < begin + bytes;
          ASSERT_EQ(scratch[place(lane, byte)], written ? sent(lane, byte - begin) : 0xee) << lane << " " << byte;
        }
        for (std::uint32_t n = 0; n < bytes; ++n) {
          ASSERT_EQ(reinterpret_cast<std::uint8_t*>(&wave.v(8 + static_cast<int>(n / 4), lane))[n % 4], sent(lane, n));
        }
        const std::uint32_t low = sent(lane, 0) | (bytes > 1 ? sent(lane, 1) : 0xeeu) << 8;
        ASSERT_EQ(wave.v(12, lane), static_cast<std::uint32_t>(static_cast<std::int16_t>(low)));
        ASSERT_EQ(wave.v(13, lane), low << 16 | 0x1234);
      }
    }
  }
}

TEST_P(MemoryTargets, Formats) {
  SmallWave wave(GetParam());
  const std::uint8_t bytes[8] = {255, 51, 129, 0x80, 0, 0, 0, 0};
  std::memcpy(wave.memory(), bytes, 8);
  wave.set_exec(1);
  set_raw_buffer(wave, 4096);
  const auto access = [](const std::string& name, const std::string& data, const std::string& number) {
    return "tbuffer_" + name + ", off, s[4:7], 0 format:[BUF_DATA_FORMAT_" + data + ",BUF_NUM_FORMAT_" + number + "]";
  };
  ASSERT_EQ(wave.run(access("load_format_xyzw v[4:7]", "8_8_8_8", "UNORM") + "\n" +
                     access("load_format_xyzw v[8:11]", "8_8_8_8", "SNORM") + "\n" +
                     access("load_format_xyzw v[12:15]", "16_16", "SINT") + "\n" +
                     access("load_format_xy v[16:17]", "16", "FLOAT") + "\n" +
                     access("load_format_d16_xy v18", "8_8", "UINT") + "\n v_mov_b32 v20, 1.0\n v_mov_b32 v21, -2.0\n" +
                     access("store_format_xy v[20:21]", "16_16", "FLOAT") + " offset:16"),
            WaveStatus::ended);
  EXPECT_EQ(wave.vf(4, 0), 1.0f);
  EXPECT_EQ(wave.vf(5, 0), 0.2f);
  EXPECT_EQ(wave.vf(8, 0), -1.0f / 127);
  EXPECT_EQ(wave.vf(9, 0), 51.0f / 127);
  EXPECT_EQ(wave.vf(10, 0), -1.0f);
  EXPECT_EQ(wave.vf(11, 0), -1.0f);
  EXPECT_EQ(wave.v(12, 0), 0x33ffu);
  EXPECT_EQ(wave.v(13, 0), 0xffff8081u);
  EXPECT_EQ(wave.v(14, 0), 0u);
  EXPECT_EQ(wave.v(15, 0), 1u);
  EXPECT_EQ(wave.vf(16, 0), 0.24987793f);  // 0x33ff
  EXPECT_EQ(wave.v(17, 0), 0u);
  EXPECT_EQ(wave.v(18, 0), 0x003300ffu);
  std::uint32_t stored;
  std::memcpy(&stored, wave.memory() + 16, 4);
  EXPECT_EQ(stored, 0xc0003c00u);
}

TEST_P(MemoryTargets, BufferLoadsToLds) {
  SmallWave wave(GetParam());
  fill(wave.memory(), 65536);
  set_raw_buffer(wave, 60 * 12 + 1);
  for (int lane = 0; lane < lanes; ++lane) wave.v(0, lane) = lane * 12;
  wave.set_exec(~0ull & ~(1ull << 9));
  std::memset(wave.lds(), 0xee, 4096);
  ASSERT_EQ(wave.run("s_mov_b32 m0, 0x100\n buffer_load_dword v0, s[4:7], 0 offen offset:4 lds"), WaveStatus::ended);
  for (int lane = 0; lane < lanes; ++lane) {
    std::uint32_t value;
    std::memcpy(&value, wave.lds() + 0x100 + 4 + lane * 4, 4);
    const std::uint32_t expected = lane == 9 ? 0xeeeeeeee : lane >= 60 ? 0 : value_at(lane * 12 + 4, 4);
    EXPECT_EQ(value, expected) << lane;
  }
}

TEST(LoadsToLds, GlobalOfGfx942AndGfx950) {
  for (const char* target : {"gfx942", "gfx950"}) {
    SmallWave wave(target);
    fill(wave.memory(), 65536);
    set_addresses(wave, 20);
    ASSERT_EQ(wave.run("s_mov_b32 m0, 64\n global_load_lds_dword v[0:1], off offset:8"), WaveStatus::ended);
    for (int lane = 0; lane < lanes; ++lane) {
      std::uint32_t value;
      std::memcpy(&value, wave.lds() + 64 + 8 + lane * 4, 4);
      EXPECT_EQ(value, value_at(lane * 20 + 8, 4));
    }
  }
  SmallWave wide("gfx950", 163840);
  fill(wide.memory(), 65536);
  set_addresses(wide, 32);
  ASSERT_EQ(wide.run("s_mov_b32 m0, 0x20000\n global_load_lds_dwordx4 v[0:1], off"), WaveStatus::ended);
  for (int lane = 0; lane < lanes; ++lane) {
    for (int n = 0; n < 16; ++n) ASSERT_EQ(wide.lds()[0x20000 + lane * 16 + n], byte_at(lane * 32 + n)) << lane;
  }
}

}  // namespace
}  // namespace kiln::emulator_test
