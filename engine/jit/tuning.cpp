#include "engine/jit/tuning.hpp"

#include <algorithm>

#include "engine/base/statistics.hpp"

namespace kiln::jit {

Quartiles quartiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());  // once for all three
  return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

const char* tune_verdict_name(TuneVerdict verdict) {
  static constexpr const char* names[] = {"open",   "best",   "equal", "slower", "invalid", "failed",
                                          "pruned", "same",   "wrong", "hung",   "crashed"};
  return names[static_cast<std::size_t>(verdict)];
}

}  // namespace kiln::jit
