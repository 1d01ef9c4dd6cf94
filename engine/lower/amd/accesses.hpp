// How statements touch tiles and tensors: what propagation, copies and translation all need to know.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/lower/amd/plan.hpp"

namespace kiln::lower::amd {

// The accesses of a map to one tile, taken together. Direct: every access names plain index variables, the same ones
// each time, each over the whole axis (axes of extent 1: any index), so that a lane finds its elements in its own
// registers.
struct TileAccess {
  int tile = -1;
  bool direct = true;
  std::vector<int> axes;   // tile axis -> position in Map::index, -1 for an axis of extent 1
  bool read = false, written = false;
  bool read_first = false; // its old value is needed
};
std::vector<TileAccess> direct_accesses(const Subject& subject, const bound::Map& map);

// The layout of the map's iteration space when a placed fragment is accessed with all indices; written ones first.
std::optional<layout::RegLayout> iteration_layout(const Subject& subject, const Plan& plan, const bound::Map& map,
                                                  const std::vector<TileAccess>& accesses);
// What an iteration space is rounded up to, so that every point is one lane's alone: powers of two where its extents
// cannot be spread over lanes, and as many points as there are lanes.
std::vector<std::int64_t> padded_extents(const Subject& subject, const std::vector<std::int64_t>& extents);
// Otherwise: the last index along lanes, over the padded extents.
layout::RegLayout default_iteration(const Subject& subject, const Plan& plan, const bound::Map& map);

// Whether the region is all of its tile.
bool whole_tile(const Subject& subject, const bound::Region& region, const std::vector<std::int64_t>& shape);

// The tensor side of a copy between a tensor and a whole tile.
struct TensorSide {
  int tile = -1, tensor = -1;
  bool load = true;                // from the tensor
  int memory_axis = -1;            // tile axis that runs along the tensor's contiguous axis, -1: none
  int vector_elements_max = 1;     // tensor elements that one aligned access may move, never partly outside
  kernel::GlobalRef ref;           // tile_axis names tile axes
  kernel::Addressing addressing = kernel::Addressing::global;
  std::vector<std::string> left;   // bounds that were not proved, for the report
};
// Absent when the copy is none of that form (tile to tile, part of a tile).
std::optional<TensorSide> tensor_side(const Subject& subject, const Site& site, const bound::Copy& copy);
// With its own start expressions (prefetches) and facts.
TensorSide tensor_access(const Subject& subject, const Facts& facts, const bound::Copy& copy,
                         const std::vector<bound::ExprPtr>& start);

}  // namespace kiln::lower::amd
