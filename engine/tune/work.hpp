// How much work a program is for the interpreter, before it is asked.
#pragma once

#include <cstdint>

#include "engine/ir/bound/program.hpp"

namespace kiln::tune {

// About how many steps an interpretation takes, one for a product of a gemm and so many for the other statements'
// elements as they take longer than that. Loops whose ends depend on the block count as in the last block. At most
// 2^62: also where a loop's end cannot be told.
std::int64_t interpreter_steps(const bound::Program& program);

// Where it stops being asked: about ten seconds.
inline constexpr std::int64_t interpreter_steps_max = 4'000'000'000;

}  // namespace kiln::tune
