// Whether two iterations of a `map` write one element, where that can be decided before running.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/ir/bound/program.hpp"

namespace kiln::specialize {

struct MapSpace {
  std::vector<int> variables;                    // ids of the map's indices
  std::vector<std::int64_t> extents;             // iterations of each, >= 1
  std::unordered_map<int, bound::ExprPtr> lets;  // values of the map's own lets
};

// "" when the iterations write different elements or it cannot be decided; else what collides, in words with `names`
// for the variables: "iterations j = 0 and j = 1 write the same element". Looks at up to `points_max` iterations where
// indices are sums of multiples of the map's indices; larger maps are judged by their form alone.
std::string find_double_write(const MapSpace& space, const std::vector<bound::ExprPtr>& indices,
                              const std::vector<std::string>& names);
inline constexpr std::int64_t points_max = 65536;

}  // namespace kiln::specialize
