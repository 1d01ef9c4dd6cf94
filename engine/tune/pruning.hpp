// What a code object says against its candidate, before anything runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/compile/metadata.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::tune {

// For each kernel why it is not tried, or nothing. `kernels`: one a candidate, null for those without; of `baseline`
// nothing is said, and on the host of none. A kernel goes that
//   spills registers,
//   takes more LDS than a block has, or whose block has more waves than a compute unit holds,
//   has more static bank-conflict cycles (of a wave, times the block's waves) than another one of the same tile, which
//   has no fewer waves a SIMD. The same tile: equal grids, and shared tiles of equal shapes and types.
std::vector<std::optional<std::string>> prune(const std::vector<const compile::Metadata*>& kernels,
                                              std::size_t baseline, const target::Target& target);

}  // namespace kiln::tune
