// The chooser of LDS layouts, for scratch that other steps need.
#pragma once

#include <vector>

#include "engine/ir/layout/layout.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::lower::amd {

struct ScratchAccess {
  target::LdsOperation operation = target::LdsOperation::write;
  layout::RegLayout layout;
};
// The layout of a scratch tile of the first access' shape (others may cover a part of it) with the fewest LDS cycles
// over the accesses.
layout::LdsLayout scratch_layout(const target::Target& target, const std::vector<ScratchAccess>& accesses, DType dtype);

}  // namespace kiln::lower::amd
