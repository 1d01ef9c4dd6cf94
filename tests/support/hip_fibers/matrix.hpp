// Matrix instructions on the CPU, from AMD's documents ("CDNA3 ISA", matrix instructions; "RDNA3 ISA", WMMA), written
// apart from engine/ir/target so that the two check each other.
#pragma once

#include <string>
#include <vector>

namespace kiln::test {

// One lane's operands and result, as pointers to its registers.
struct MatrixLane { const void *a, *b, *c; void* d; };
// False when the name is unknown. `lanes`: all of one wave. `fnuz`: floats of 8 bits are gfx942's own, not OCP's.
bool run_matrix(const std::string& name, const std::vector<MatrixLane>& lanes, bool fnuz);

}  // namespace kiln::test
