#include "engine/compile/candidates.hpp"

#include <optional>

namespace kiln::compile {
namespace {

constexpr int attempts_max = 6;

// Registers spilled and bytes of scratch; 0 is what a kernel should have.
std::int64_t badness(const Metadata& metadata) {
  std::int64_t sum = 0;
  for (const auto& launch : metadata.launches)
    sum += launch.resources.vgpr_spills + launch.resources.sgpr_spills + launch.resources.scratch_bytes;
  return sum;
}

}  // namespace

Result<Compiled> best_candidate(const std::function<Result<Compiled>(int attempt)>& compile) {
  std::optional<Compiled> best;
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    auto compiled = compile(attempt);
    if (!compiled) {
      if (!best) return compiled;
      if (compiled.error().code != ErrorCode::not_found)
        best->metadata.decisions.push_back("retry: candidate " + std::to_string(attempt) +
                                           " failed: " + compiled.error().message);
      break;
    }
    compiled->metadata.attempt = attempt;
    if (best && badness(compiled->metadata) >= badness(best->metadata)) continue;
    if (best)
      compiled->metadata.decisions.push_back("retry: candidate " + std::to_string(best->metadata.attempt) +
                                             ": registers spilled");
    best = std::move(*compiled);
    if (badness(best->metadata) == 0) break;
  }
  return std::move(*best);
}

}  // namespace kiln::compile
