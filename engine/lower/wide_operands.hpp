// Operands of a product for which the target has no matrix instruction, in a wider type that holds all their values:
// floats of 8 bits are bf16 there, in which none of them is a denormal, which gfx90a would take for 0. A code of one
// format is never given to an instruction for another one.
#pragma once

#include <optional>
#include <vector>

#include "engine/ir/target/target.hpp"
#include "engine/lower/lower.hpp"

namespace kiln::lower {

// The program with such tiles made wider, nullopt when it has none. Notes each in `decisions`.
// Errors: `unsupported` where a tile holds what a copy has rounded to its type, or is read by more than products and
// copies.
Result<std::optional<bound::Program>> with_wide_operands(const bound::Program& program, const target::Target& target,
                                                         std::vector<Decision>& decisions);

}  // namespace kiln::lower
