// Loads of every width, and where the lanes of a wave load from.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/emulator/small_wave.hpp"
#include "tests/unit/emulator/known_bytes.hpp"

namespace kiln::emulator_test {

using emulator::FaultKind;
using emulator::WaveStatus;
namespace code = emulator::code;

class MemoryTargets : public ::testing::TestWithParam<const char*> {};

inline std::uint32_t sign_extended(std::uint32_t value, int bytes) {
  const std::uint32_t top = 1u << (bytes * 8 - 1);
  return bytes == 4 ? value : (value ^ top) - top;
}

// Addresses of the lanes in v[0:1]; returns the offsets: `stride` apart, or scattered when it is 0.
inline std::size_t offset_of(int lane, std::size_t stride) {
  return stride ? lane * stride : (lane * 29 % 64) * 48 + static_cast<std::size_t>(lane % 3) * 4;
}
inline void set_addresses(SmallWave& wave, std::size_t stride) {
  for (int lane = 0; lane < lanes; ++lane) wave.set_v64(0, lane, wave.address() + offset_of(lane, stride));
}

struct LoadCase {
  const char* name;
  int bytes;
  bool sign = false;
  int half = -1;  // d16: 0 low, 1 high
};
inline constexpr LoadCase loads[] = {
    {"load_ubyte", 1},         {"load_sbyte", 1, true},         {"load_ushort", 2},           {"load_sshort", 2, true},
    {"load_dword", 4},         {"load_dwordx2", 8},             {"load_dwordx3", 12},         {"load_dwordx4", 16},
    {"load_ubyte_d16", 1, false, 0}, {"load_ubyte_d16_hi", 1, false, 1}, {"load_sbyte_d16", 1, true, 0},
    {"load_sbyte_d16_hi", 1, true, 1}, {"load_short_d16", 2, false, 0},  {"load_short_d16_hi", 2, false, 1},
};

// What register v[4 + n] must hold after the load of the filled memory at `at`.
inline std::uint32_t loaded(const LoadCase& one, std::size_t at, int n, std::uint32_t before) {
  const int bytes = one.bytes < 4 ? one.bytes : 4;
  std::uint32_t value = value_at(at + n * 4, bytes);
  if (one.sign) value = sign_extended(value, bytes);
  if (one.half == 0) return (before & 0xffff0000) | (value & 0xffff);
  if (one.half == 1) return (before & 0xffff) | value << 16;
  return value;
}
inline std::string registers(int first, int bytes) {
  if (bytes <= 4) return "v" + std::to_string(first);
  return "v[" + std::to_string(first) + ":" + std::to_string(first + bytes / 4 - 1) + "]";
}

// Dword d of lane l at (d * 64 + l) * 4 of the wave's private memory.
inline std::uint32_t private_dword(SmallWave& wave, int dword, int lane) {
  std::uint32_t value;
  std::memcpy(&value, wave.wave().scratch + (dword * 64 + lane) * 4, 4);
  return value;
}

}  // namespace kiln::emulator_test
