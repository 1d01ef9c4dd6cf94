// Known answers of vector instructions: one lane a case.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/emulator/small_wave.hpp"

namespace kiln::emulator_test {

struct Case32 {
  std::uint32_t a, b, c, want;
};
struct Case64 {
  std::uint64_t a, b, c, want;
};

inline std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
inline std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }
inline float f32(std::uint32_t x) { return std::bit_cast<float>(x); }

inline constexpr std::uint32_t usual_mode = 0x3f0;

// Runs `text` on v1, v2, v3 (the cases' a, b, c) and compares v0. v0 starts as `old`.
inline void check32(const std::string& processor, const std::string& text, const std::vector<Case32>& cases,
                    std::uint32_t mode = usual_mode, std::uint32_t old = 0xdeadbeef) {
  for (std::size_t first = 0; first < cases.size(); first += 64) {
    SmallWave wave(processor);
    wave.wave().mode = mode;
    const std::size_t count = std::min<std::size_t>(64, cases.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      const int lane = static_cast<int>(i);
      wave.v(0, lane) = old;
      wave.v(1, lane) = cases[first + i].a;
      wave.v(2, lane) = cases[first + i].b;
      wave.v(3, lane) = cases[first + i].c;
    }
    ASSERT_EQ(wave.run(text), emulator::WaveStatus::ended) << processor << ": " << text;
    for (std::size_t i = 0; i < count; ++i) {
      const Case32& c = cases[first + i];
      EXPECT_EQ(wave.v(0, static_cast<int>(i)), c.want) << std::hex << processor << ": " << text << " of 0x" << c.a
                                                        << ", 0x" << c.b << ", 0x" << c.c << " mode 0x" << mode;
    }
  }
}

// The same with v[2:3], v[4:5], v[6:7] and v[0:1].
inline void check64(const std::string& processor, const std::string& text, const std::vector<Case64>& cases,
                    std::uint32_t mode = usual_mode) {
  for (std::size_t first = 0; first < cases.size(); first += 64) {
    SmallWave wave(processor);
    wave.wave().mode = mode;
    const std::size_t count = std::min<std::size_t>(64, cases.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      const int lane = static_cast<int>(i);
      wave.set_v64(2, lane, cases[first + i].a);
      wave.set_v64(4, lane, cases[first + i].b);
      wave.set_v64(6, lane, cases[first + i].c);
    }
    ASSERT_EQ(wave.run(text), emulator::WaveStatus::ended) << processor << ": " << text;
    for (std::size_t i = 0; i < count; ++i) {
      const Case64& c = cases[first + i];
      EXPECT_EQ(wave.v64(0, static_cast<int>(i)), c.want) << std::hex << processor << ": " << text << " of 0x" << c.a
                                                          << ", 0x" << c.b << ", 0x" << c.c << " mode 0x" << mode;
    }
  }
}

inline const std::vector<std::string>& cdna() {
  static const std::vector<std::string> processors = {"gfx90a", "gfx942", "gfx950"};
  return processors;
}

}  // namespace kiln::emulator_test
