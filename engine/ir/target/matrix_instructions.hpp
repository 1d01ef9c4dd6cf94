// The matrix instructions of each AMD target, and the register block of host targets.
#pragma once

#include <string_view>
#include <vector>

#include "engine/ir/target/target.hpp"

namespace kiln::target {

// Largest tile first, then longest k: the order in which matrix_for answers. Empty for an unknown arch.
std::vector<MatrixInstruction> amd_matrix_instructions(std::string_view arch);
// "host.fma" for each operand type: m rows of n columns (two vectors) of accumulators in registers, k = 1.
std::vector<MatrixInstruction> host_matrix_instructions(int vector_lanes, int vector_registers);

}  // namespace kiln::target
