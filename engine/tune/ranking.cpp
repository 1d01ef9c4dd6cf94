#include "engine/tune/ranking.hpp"

#include <algorithm>

#include "engine/base/statistics.hpp"
#include "engine/jit/tuning.hpp"

namespace kiln::tune {

using jit::quartiles;

bool certainly_slower(const std::vector<double>& a, const std::vector<double>& b) {
  const auto rounds = std::min(a.size(), b.size());
  if (rounds < rounds_of_gap) return false;
  if (*std::min_element(a.begin(), a.end()) > gap_factor * *std::max_element(b.begin(), b.end())) return true;
  if (rounds < rounds_of_signs) return false;
  std::size_t slower = 0;
  for (std::size_t i = 0; i < rounds; ++i) slower += a[i] > b[i] ? 1 : 0;
  const bool apart = quartiles(a).lower > quartiles(b).upper;
  return chance_of_heads(rounds, slower) <= (apart ? sign_chance_max : sign_chance_alone_max);
}

std::vector<std::size_t> remaining(const std::vector<std::vector<double>>& times, const std::vector<bool>& out) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < times.size(); ++i)
    if (!out[i] && !times[i].empty()) order.push_back(i);
  std::vector<double> medians(times.size());
  for (const auto i : order) medians[i] = quartiles(times[i]).median;
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return medians[a] < medians[b]; });
  if (order.empty()) return order;
  const auto& best = times[order.front()];
  std::erase_if(order, [&](auto i) { return certainly_slower(times[i], best); });
  return order;
}

}  // namespace kiln::tune
