// Order of declarations: JSON members have none, so options and tunables are put behind those that their defaults use.
#pragma once

#include <vector>

#include "engine/ir/tile/program.hpp"

namespace kiln::tile {

// Stable: what need not move keeps its place. Members of a cycle stay as written, behind the rest; verify_names reports them.
void order_by_use(std::vector<Option>& options);
void order_by_use(std::vector<Tunable>& tunables);

}  // namespace kiln::tile
