// Which part of each tile anybody looks at: a block at the edge of a tensor computes no rows and columns that are
// dropped.
#pragma once

#include <vector>

#include "engine/ir/bound/assumptions.hpp"
#include "engine/ir/bound/program.hpp"

namespace kiln::lower::host {

// Of one tile axis: nothing, elements below a limit, or all. A limit is an expression of block ids and symbols alone.
struct Need {
  enum class Kind : std::uint8_t { none, below, all } kind = Kind::none;
  bound::ExprPtr limit;
  // The limit when there is one, else null: all are computed.
  [[nodiscard]] bound::ExprPtr bound() const { return kind == Kind::below ? limit : nullptr; }
};
using Needs = std::vector<std::vector<Need>>;  // tile, axis

// Flow-insensitive: the union over all statements, so that it holds at each.
Needs find_needs(const bound::Program& program, const bound::Launch& launch);
// What a map's index must run over: by what is written at it.
std::vector<Need> needs_of_map(const bound::Map& map, const Needs& needs);

// Whether a region with these extents is all of its tile.
bool is_whole(const bound::Region& region, const std::vector<std::int64_t>& extents,
              const std::vector<std::int64_t>& shape);
using bound::same_expression;

}  // namespace kiln::lower::host
