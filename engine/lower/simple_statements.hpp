// Statements that no target has code of its own for, in terms of others: a scan is maps over tiles in local memory, a
// reduction to a place (argmax, argmin) is a reduction, a map and a reduction. Shared by all lowerings, in front of
// them.
#pragma once

#include <optional>
#include <vector>

#include "engine/lower/lower.hpp"

namespace kiln::lower {

// The program without such statements, nullopt when it has none. Tiles and variables that are added stand behind the
// launch's own; statements keep their pointers. Notes what became of each in `decisions`.
std::optional<bound::Program> with_simple_statements(const bound::Program& program, std::vector<Decision>& decisions);

}  // namespace kiln::lower
