// Of measured values.
#pragma once

#include <cstddef>
#include <vector>

namespace kiln {

// The value below which the share `q` (0 to 1) of the values lies, linear between two of them. Requires: not empty.
double quantile(std::vector<double> values, double q);

// The chance that of `rounds` fair coins, 16000 at most, at least `heads` show heads.
double chance_of_heads(std::size_t rounds, std::size_t heads);

}  // namespace kiln
