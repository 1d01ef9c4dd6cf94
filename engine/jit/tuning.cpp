#include "engine/jit/tuning.hpp"

#include <algorithm>

namespace kiln::jit {

Quartiles quartiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double part) {
    const double place = part * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
  };
  return {at(0.25), at(0.5), at(0.75)};
}

const char* tune_verdict_name(TuneVerdict verdict) {
  static constexpr const char* names[] = {"open",   "best",   "equal", "slower", "invalid", "failed",
                                          "pruned", "same",   "wrong", "hung",   "crashed"};
  return names[static_cast<std::size_t>(verdict)];
}

}  // namespace kiln::jit
