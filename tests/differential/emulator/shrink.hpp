// Makes a failing function smaller.
#pragma once

#include <functional>

#include "tests/differential/emulator/random_function.hpp"

namespace kiln::test {

// Leaves out statements, lane steps and phases, larger pieces first, as long as `fails` holds of what remains; asks at
// most `attempts` times.
RandomFunction shrink(RandomFunction function, const std::function<bool(const RandomFunction&)>& fails, int attempts);

}  // namespace kiln::test
