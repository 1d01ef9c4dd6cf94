// Atomics of device memory, of LDS and private memory through FLAT: results, returned values, rounding, alignment.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "tests/support/emulator/small_wave.hpp"

namespace kiln::emulator_test {
namespace {

using emulator::FaultKind;
using emulator::WaveStatus;

constexpr int lanes = 64;

class AtomicTargets : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Cdna, AtomicTargets, ::testing::Values("gfx90a", "gfx942", "gfx950"));

std::string registers(int first, int bytes) {
  if (bytes <= 4) return "v" + std::to_string(first);
  return "v[" + std::to_string(first) + ":" + std::to_string(first + bytes / 4 - 1) + "]";
}

// s[4:7]: raw buffer of `records` bytes.
void set_raw_buffer(SmallWave& wave, std::uint32_t records) {
  wave.set_s64(4, wave.address());
  wave.s(6) = records;
  wave.s(7) = 0x00020000;
}

struct AtomicCase {
  const char* name;
  std::uint64_t memory, data, second, after;
  bool wide = false, pair = false;
};
constexpr std::uint64_t minus_one = ~0ull;
constexpr std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }
const AtomicCase atomics[] = {
    {"swap", 5, 9, 0, 9},
    {"cmpswap", 5, 9, 5, 9, false, true},
    {"cmpswap", 5, 9, 6, 5, false, true},
    {"add", 0xffffffff, 3, 0, 2},
    {"sub", 1, 3, 0, 0xfffffffe},
    {"smin", 1, 0xffffffff, 0, 0xffffffff},
    {"umin", 1, 0xffffffff, 0, 1},
    {"smax", 1, 0xffffffff, 0, 1},
    {"umax", 1, 0xffffffff, 0, 0xffffffff},
    {"and", 0xff0f, 0x0ff0, 0, 0x0f00},
    {"or", 0xff0f, 0x0ff0, 0, 0xffff},
    {"xor", 0xff0f, 0x0ff0, 0, 0xf0ff},
    {"inc", 7, 7, 0, 0},
    {"inc", 6, 7, 0, 7},
    {"dec", 0, 7, 0, 7},
    {"dec", 9, 7, 0, 7},
    {"dec", 5, 7, 0, 4},
    {"swap_x2", 5, 1ull << 40, 0, 1ull << 40, true},
    {"cmpswap_x2", 1ull << 40, 9, 1ull << 40, 9, true, true},
    {"add_x2", minus_one, 3, 0, 2, true},
    {"sub_x2", 1, 3, 0, minus_one - 1, true},
    {"smin_x2", 1, minus_one, 0, minus_one, true},
    {"umin_x2", 1, minus_one, 0, 1, true},
    {"smax_x2", 1, minus_one, 0, 1, true},
    {"umax_x2", 1, minus_one, 0, minus_one, true},
    {"and_x2", 0xffull << 32, 0xf00000000f, 0, 0xf000000000, true},
    {"or_x2", 1ull << 63, 1, 0, (1ull << 63) + 1, true},
    {"xor_x2", minus_one, 1, 0, minus_one - 1, true},
    {"inc_x2", 1ull << 40, 1ull << 40, 0, 0, true},
    {"dec_x2", 0, 1ull << 40, 0, 1ull << 40, true},
    {"add_f64", bits(0.1), bits(0.2), 0, bits(0.1 + 0.2), true},
    {"min_f64", bits(0.1), bits(-5.0), 0, bits(-5.0), true},
    {"max_f64", bits(0.1), bits(-5.0), 0, bits(0.1), true},
    {"add_f32", 0x3f800000, 0x3fc00000, 0, 0x40200000},
    {"pk_add_f16", 0x3c004000, 0x38003c00, 0, 0x3e004200},  // 1 + 0.5, 2 + 1
};

void expect_atomic(const std::string& target, const std::string& format, const AtomicCase& one, bool returns) {
  SmallWave wave(target);
  const int size = one.wide ? 8 : 4;
  for (int lane = 0; lane < lanes; ++lane) {
    std::memcpy(wave.memory() + lane * 24, &one.memory, size);
    wave.set_v64(0, lane, wave.address() + lane * 24);
    wave.v(3, lane) = lane * 24;
    wave.set_v64(4, lane, one.data);
    if (one.wide) wave.set_v64(6, lane, one.second);
    else wave.v(5, lane) = static_cast<std::uint32_t>(one.second);
    wave.set_v64(8, lane, 0x1111111122222222);
  }
  set_raw_buffer(wave, 65536);
  const std::uint64_t exec = 0xfffffffffffffff7;
  wave.set_exec(exec);
  const std::string data = registers(4, size * (one.pair ? 2 : 1)), result = registers(8, size);
  const std::string flag = target == "gfx90a" ? " glc" : " sc0";
  std::string text = format + "_atomic_" + one.name + " ";
  if (format == "buffer") {
    text += data + ", v3, s[4:7], 0 offen" + (returns ? flag : "");
  } else {
    text += (returns ? result + ", " : "") + "v[0:1], " + data + (format == "global" ? ", off" : "");
    text += returns ? flag : "";
  }
  SCOPED_TRACE(target + ": " + text);
  ASSERT_EQ(wave.run(text), WaveStatus::ended);
  const int first = format == "buffer" ? 4 : 8;
  for (int lane = 0; lane < lanes; ++lane) {
    std::uint64_t after = 0;
    std::memcpy(&after, wave.memory() + lane * 24, size);
    const bool active = exec >> lane & 1;
    ASSERT_EQ(after, active ? one.after : one.memory) << lane;
    if (!returns || !active) continue;
    ASSERT_EQ(one.wide ? wave.v64(first, lane) : wave.v(first, lane), one.memory) << lane;
  }
}

TEST_P(AtomicTargets, AtomicsOfEveryType) {
  for (const auto& one : atomics) {
    for (const char* format : {"global", "flat", "buffer"}) {
      const bool flat_on_later = std::string(one.name) == "add_f32" || std::string(one.name) == "pk_add_f16";
      if (flat_on_later && std::string(format) == "flat" && std::string(GetParam()) == "gfx90a") continue;
      for (const bool returns : {false, true}) expect_atomic(GetParam(), format, one, returns);
    }
  }
}

// bf16 rounds to the nearest even: 1 + 2^-8 is a tie, 1 + 3 * 2^-9 is above it.
TEST(Atomics, PackedBf16) {
  for (const char* target : {"gfx942", "gfx950"}) {
    const AtomicCase one{"pk_add_bf16", 0x3f803f80, 0x3b803bc0, 0, 0x3f803f81};
    expect_atomic(target, "global", one, true);
    const AtomicCase odd{"pk_add_bf16", 0x3f813f81, 0x3b80bb80, 0, 0x3f823f80};
    expect_atomic(target, "flat", odd, false);
    const AtomicCase special{"pk_add_bf16", 0x7f7f7f80, 0x7f7fff80, 0, 0x7f807fc0};  // overflow; inf - inf
    SmallWave wave(target);
    std::memcpy(wave.memory(), &special.memory, 4);
    wave.set_exec(1);
    wave.set_v64(0, 0, wave.address());
    wave.v(4, 0) = static_cast<std::uint32_t>(special.data);
    ASSERT_EQ(wave.run("global_atomic_pk_add_bf16 v[0:1], v4, off"), WaveStatus::ended);
    std::uint32_t after;
    std::memcpy(&after, wave.memory(), 4);
    EXPECT_EQ(after >> 16, 0x7f80u);
    EXPECT_EQ(after & 0x7fc0, 0x7fc0u);
  }
}

// MI200's f32 atomics know no denormals, MI300's do; both round to the nearest whatever MODE says.
TEST_P(AtomicTargets, FloatAtomicsDenormalsAndRounding) {
  SmallWave wave(GetParam());
  const std::uint32_t before[2] = {0x00000005, 0x3f800000};
  std::memcpy(wave.memory(), before, 8);
  wave.set_exec(3);
  wave.v(0, 0) = 0;
  wave.v(0, 1) = 4;
  wave.v(1, 0) = 0x00000002;
  wave.v(1, 1) = 0x33800000;  // 2^-24: a tie
  wave.set_s64(2, wave.address());
  ASSERT_EQ(wave.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5\n"
                     "global_atomic_add_f32 v0, v1, s[2:3]"), WaveStatus::ended);
  std::uint32_t after[2];
  std::memcpy(after, wave.memory(), 8);
  EXPECT_EQ(after[0], std::string(GetParam()) == "gfx90a" ? 0u : 7u);
  EXPECT_EQ(after[1], 0x3f800000u);
}

TEST_P(AtomicTargets, AtomicsAddUpAndMustBeAligned) {
  SmallWave wave(GetParam());
  wave.set_s64(2, wave.address());
  ASSERT_EQ(wave.run("v_mov_b32 v0, 0\n v_mov_b32 v1, 3\n global_atomic_add v0, v1, s[2:3]"), WaveStatus::ended);
  std::uint32_t sum;
  std::memcpy(&sum, wave.memory(), 4);
  EXPECT_EQ(sum, 192u);
  EXPECT_EQ(wave.run("v_mov_b32 v0, 2\n global_atomic_add v0, v1, s[2:3]"), WaveStatus::faulted);
  EXPECT_EQ(wave.wave().fault.kind, FaultKind::misaligned);
}

TEST_P(AtomicTargets, BufferAtomicsOutOfBounds) {
  SmallWave wave(GetParam());
  set_raw_buffer(wave, 8);
  for (int lane = 0; lane < lanes; ++lane) {
    wave.v(0, lane) = lane * 4;
    wave.v(4, lane) = 7;
  }
  const std::string flag = std::string(GetParam()) == "gfx90a" ? "glc" : "sc0";
  ASSERT_EQ(wave.run("buffer_atomic_add v4, v0, s[4:7], 0 offen " + flag), WaveStatus::ended);
  std::uint32_t values[3];
  std::memcpy(values, wave.memory(), 12);
  EXPECT_EQ(values[1], 7u);
  EXPECT_EQ(values[2], 0u);
  EXPECT_EQ(wave.v(4, 1), 0u);
  EXPECT_EQ(wave.v(4, 40), 0u);
}

TEST_P(AtomicTargets, MisalignedInLdsThroughFlat) {
  SmallWave wave(GetParam());
  wave.set_exec(4);
  wave.set_v64(0, 2, (1ull << 48) + 2);
  EXPECT_EQ(wave.run("flat_atomic_add v[0:1], v4"), WaveStatus::faulted);
  EXPECT_EQ(wave.wave().fault.kind, FaultKind::misaligned);
  EXPECT_EQ(wave.wave().fault.lane, 2);
}

}  // namespace
}  // namespace kiln::emulator_test
