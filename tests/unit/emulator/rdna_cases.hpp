// One wave of RDNA3: 32 lanes.
#pragma once

#include <cstring>

#include "tests/unit/emulator/vector_cases.hpp"

namespace kiln::emulator_test {

using emulator::FaultKind;
using emulator::WaveStatus;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
namespace code = emulator::code;
inline constexpr const char* target = "gfx1100";
inline constexpr int wave_lanes = 32;

class Rdna : public testing::Test {
 protected:
  void run(const std::string& text) { ASSERT_EQ(wave_.run(text), WaveStatus::ended) << text; }
  // v<index>[lane] = first + lane * step.
  void fill(int index, u32 first, u32 step) {
    for (int lane = 0; lane < wave_lanes; ++lane) wave_.v(index, lane) = first + static_cast<u32>(lane) * step;
  }
  void fill_float(int index, float first, float step) {
    for (int lane = 0; lane < wave_lanes; ++lane) wave_.set_vf(index, lane, first + static_cast<float>(lane) * step);
  }
  SmallWave wave_{target};
};

}  // namespace kiln::emulator_test
