// What can be said about a program's names before anything is bound.
#pragma once

#include "engine/ir/tile/program.hpp"

namespace kiln::tile {

// Reports names declared twice, names used and never declared (with the nearest known one), names used where their kind
// has no place (a tensor without an index, an index on a symbol, a loop variable in a shape), and misplaced statements
// (an alloc inside a loop). Absent Texts are skipped: what could not be read has been reported already.
void verify_names(const Program& program, Diagnostics& diagnostics);

}  // namespace kiln::tile
