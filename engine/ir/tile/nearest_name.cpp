#include "engine/ir/tile/nearest_name.hpp"

#include <algorithm>
#include <cctype>

namespace kiln::tile {
namespace {

constexpr std::size_t name_bytes_max = 64;
constexpr std::size_t candidates_max = 512;  // a program may declare many more; a hint is not worth the time

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Edit distance with transposition of neighbours (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t cost = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + cost});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.empty() || name.size() > name_bytes_max) return "";
  std::string best;
  std::size_t best_distance = 1 + std::max<std::size_t>(1, name.size() / 3);
  for (std::size_t i = 0; i < std::min(candidates.size(), candidates_max); ++i) {
    const std::string& candidate = candidates[i];
    if (candidate.size() > name_bytes_max) continue;
    const std::size_t d = distance(name, candidate);
    if (d < best_distance && d < candidate.size()) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

std::string nearest_hint(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : "did you mean '" + nearest + "'?";
}

std::string name_list(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == 16) return text + ", …";
    text += (i ? ", " : "") + names[i];
  }
  return text;
}

}  // namespace kiln::tile
