// What an entry says about an AMD kernel beside its resources.
#pragma once

#include <vector>

#include "engine/compile/disassemble.hpp"
#include "engine/compile/metadata.hpp"
#include "engine/emit/emit.hpp"
#include "engine/lower/lower.hpp"

namespace kiln::compile {

// Everything but source, log, object resources and times. `code`: of each launch, the instructions of its object; the
// rows of LDS instructions are theirs. `owners`: of the lines of the text that the object was compiled from.
Result<Metadata> hip_metadata(const bound::Program& program, const lower::Lowered& lowered,
                              const target::Target& target, const std::vector<std::vector<Instruction>>& code,
                              const std::vector<emit::LineOwner>& owners);

// For each shared tile whose layout was asked for, and that conflicts: what the chooser would take (SharedTile::better).
// Lowers the program again for each. Errors: cancelled.
Status add_alternatives(const bound::Program& program, const target::Target& target, Budget& budget, Metadata& metadata);

// Waves of a block of `threads` that fit one SIMD, by registers and LDS. Register files and granules: AMD's ISA
// documents, "Wave state"; LLVM's AMDGPUBaseInfo.
std::int64_t waves_per_simd(const target::Target& target, const Resources& resources, std::int64_t threads);

}  // namespace kiln::compile
