// Lowering for the host: one wave, whose lanes are one vector. Tiles are packed scratch of the calling thread; gemm
// runs in register blocks; copies pack.
#pragma once

#include "engine/lower/lower.hpp"

namespace kiln::lower::host {

// As lower::lower, for targets of family host. There is one candidate: attempt 1 and on give not_found.
Result<Lowered> lower_host(const bound::Program& program, const target::Target& target, int attempt, Budget& budget);

}  // namespace kiln::lower::host
