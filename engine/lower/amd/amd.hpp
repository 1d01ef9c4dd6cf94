// Lowering for AMD targets (CDNA, RDNA). The steps are files of this folder, in the order of ARCHITECTURE.md's
// "Lowering".
#pragma once

#include "engine/base/deadline.hpp"
#include "engine/ir/bound/program.hpp"
#include "engine/ir/target/target.hpp"
#include "engine/lower/lower.hpp"

namespace kiln::lower::amd {

// `lower` for AMD targets; same contract.
Result<Lowered> lower_amd(const bound::Program& program, const target::Target& target, int attempt, Budget& budget);

}  // namespace kiln::lower::amd
