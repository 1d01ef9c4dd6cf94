// MUBUF and MTBUF on memory whose every byte is known; loads to LDS.
#include "tests/unit/emulator/memory_cases.hpp"

namespace kiln::emulator_test {
namespace {

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

std::uint32_t dword_at(const std::uint8_t* memory) {
  std::uint32_t value;
  std::memcpy(&value, memory, 4);
  return value;
}

TEST(LoadsToLds, Global) {
  for (const std::string target : {"gfx90a", "gfx942", "gfx950"}) {
    SmallWave wave(target);
    fill(wave.memory(), 65536);
    set_addresses(wave, 20);
    const std::string load = target == "gfx90a" ? "global_load_dword v[0:1], off offset:8 lds"
                                                : "global_load_lds_dword v[0:1], off offset:8";
    ASSERT_EQ(wave.run("s_mov_b32 m0, 64\n " + load), WaveStatus::ended) << target;
    for (int lane = 0; lane < lanes; ++lane)
      EXPECT_EQ(dword_at(wave.lds() + 64 + 8 + lane * 4), value_at(lane * 20 + 8, 4)) << target;
  }
  SmallWave bytes("gfx90a");
  fill(bytes.memory(), 65536);
  set_addresses(bytes, 20);
  ASSERT_EQ(bytes.run("s_mov_b32 m0, 64\n global_load_sbyte v[0:1], off offset:8 lds"), WaveStatus::ended);
  for (int lane = 0; lane < lanes; ++lane)
    EXPECT_EQ(dword_at(bytes.lds() + 64 + 8 + lane * 4), sign_extended(value_at(lane * 20 + 8, 1), 1)) << lane;
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
