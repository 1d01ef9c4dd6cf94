// The cards that DS instructions are tested on.
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

inline std::uint32_t dword_of(const std::uint8_t* memory, std::size_t at) {
  std::uint32_t value;
  std::memcpy(&value, memory + at, 4);
  return value;
}

class LdsTargets : public ::testing::TestWithParam<const char*> {};

}  // namespace kiln::emulator_test
