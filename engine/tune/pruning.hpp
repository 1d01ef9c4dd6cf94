// What a code object says against its candidate, before anything runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/hash.hpp"
#include "engine/compile/metadata.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::tune {

// For each kernel why it is not tried, or nothing. `kernels`: one a candidate, null for those without; of `baseline`
// nothing is said, and on the host of none. A kernel goes that
//   spills registers,
//   takes more LDS than a block has, or whose block has more waves than a compute unit holds,
//   has more static bank-conflict cycles (of a wave, times the block's waves) than another one that differs from it in
//   layouts alone and has no fewer waves a SIMD. The count is of instructions, each once: it says nothing about
//   candidates that unroll or block otherwise.
// `but_for_layouts`: one a candidate, equal for those that differ in layouts alone.
std::vector<std::optional<std::string>> prune(const std::vector<const compile::Metadata*>& kernels,
                                              const std::vector<Digest>& but_for_layouts, std::size_t baseline,
                                              const target::Target& target);

}  // namespace kiln::tune
