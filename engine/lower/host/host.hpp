// Lowering for host targets: one wave is one vector, tiles are packed scratch, products are host.fma register blocks.
#pragma once

#include "engine/base/deadline.hpp"
#include "engine/ir/bound/program.hpp"
#include "engine/ir/target/target.hpp"
#include "engine/lower/lower.hpp"

namespace kiln::lower::host {

// `lower` for target.is_host(); same contract.
Result<Lowered> lower_host(const bound::Program& program, const target::Target& target, int attempt, Budget& budget);

}  // namespace kiln::lower::host
