#include "engine/base/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace kiln {

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

double chance_of_heads(std::size_t rounds, std::size_t heads) {
  long double chance = 0, ways = 1;               // ways to choose `taken` of `rounds`: more than a double holds from 1030 on
  for (std::size_t taken = 0; taken <= rounds; ++taken) {
    if (taken >= heads) chance += ways;
    ways *= static_cast<long double>(rounds - taken) / static_cast<long double>(taken + 1);
  }
  return static_cast<double>(std::ldexp(chance, -static_cast<int>(rounds)));
}

}  // namespace kiln
