#include "engine/tune/pruning.hpp"

#include <algorithm>

namespace kiln::tune {
namespace {

using compile::Metadata;

std::int64_t waves_of(const compile::LaunchInfo& launch) {
  return launch.threads / std::max<std::int64_t>(launch.wave, 1);
}

std::int64_t conflicts(const Metadata& kernel) {
  std::int64_t cycles = 0;
  for (const auto& row : kernel.lds_rows)
    cycles += (row.cost - row.active_phases) * waves_of(kernel.launches[static_cast<std::size_t>(row.launch)]);
  return cycles;
}

std::int64_t occupancy(const Metadata& kernel) {
  std::int64_t waves = 0;
  for (const auto& launch : kernel.launches)
    waves = waves == 0 ? launch.resources.waves_per_simd : std::min(waves, launch.resources.waves_per_simd);
  return waves;
}

std::optional<std::string> alone(const Metadata& kernel, const target::Target& target) {
  for (const auto& launch : kernel.launches) {
    const auto& r = launch.resources;
    if (r.vgpr_spills > 0 || r.sgpr_spills > 0)
      return "spills " + std::to_string(r.vgpr_spills) + " vector and " + std::to_string(r.sgpr_spills) +
             " scalar registers";
    if (r.lds_bytes > target.lds_bytes)
      return "takes " + std::to_string(r.lds_bytes) + " bytes of LDS, a block has " + std::to_string(target.lds_bytes);
    if (const auto held = r.waves_per_simd * target.simds; held < waves_of(launch))
      return "occupancy: its block has " + std::to_string(waves_of(launch)) + " waves, a compute unit holds " +
             std::to_string(held) + " of them";
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::optional<std::string>> prune(const std::vector<const Metadata*>& kernels,
                                              const std::vector<Digest>& but_for_layouts, std::size_t baseline,
                                              const target::Target& target) {
  std::vector<std::optional<std::string>> reasons(kernels.size());
  if (target.is_host()) return reasons;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (kernels[i] != nullptr && i != baseline) reasons[i] = alone(*kernels[i], target);
  const auto by_itself = reasons;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i] == nullptr || reasons[i] || i == baseline) continue;
    const auto cycles = conflicts(*kernels[i]);
    for (std::size_t other = 0; other < kernels.size(); ++other) {
      if (kernels[other] == nullptr || by_itself[other] || but_for_layouts[i] != but_for_layouts[other]) continue;
      const auto fewer = conflicts(*kernels[other]);
      if (fewer >= cycles || occupancy(*kernels[other]) < occupancy(*kernels[i])) continue;
      reasons[i] = "bank conflicts: " + std::to_string(cycles) +
                   " cycles by the static count, with other layouts it has " + std::to_string(fewer);
      break;
    }
  }
  return reasons;
}

}  // namespace kiln::tune
