// Seeded arguments for a bound program.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/ir/bound/program.hpp"

namespace kiln::test {

// One a tensor: floats standard normal, integers small; with `extremes` infinities, NaN, subnormals and type limits
// strewn in. What is only written holds ones in all bits: NaN in every float type.
std::vector<Bytes> random_arguments(const bound::Program& program, std::uint64_t seed, bool extremes = false);

}  // namespace kiln::test
