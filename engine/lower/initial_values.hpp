// What a tile holds before a program writes it. A launch never shows what others left in registers, LDS or scratch: a
// tile that is not certainly written as a whole before it is read starts as zeros, and a read that nothing can have
// written before is a mistake of the program. Shared by all lowerings, in front of them.
#pragma once

#include <optional>
#include <vector>

#include "engine/lower/lower.hpp"

namespace kiln::lower {

// The program with a fill by zero in front of the first statement (of a launch's own body) that touches such a tile,
// nullopt when none is needed. Each fill is noted in `decisions`. Judged tile by tile: what writes a part of a tile,
// and what a condition or a loop of unknown length may leave out, does not count as writing it.
// Errors: program_invalid, with a diagnostic at each statement that certainly reads a tile which nothing before it can
// have written.
Result<std::optional<bound::Program>> with_initial_values(const bound::Program& program,
                                                          std::vector<Decision>& decisions);

}  // namespace kiln::lower
