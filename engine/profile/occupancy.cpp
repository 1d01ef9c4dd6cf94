#include "engine/profile/occupancy.hpp"

#include <algorithm>

namespace kiln::profile {
namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t granule) {
  return (std::max<std::int64_t>(value, 1) + granule - 1) / granule * granule;
}

}  // namespace

Occupancy occupancy(const target::Target& target, const KernelResources& resources) {
  const bool cdna = target.family == target::Family::cdna;
  const std::int64_t file = cdna ? 512 : 1536, granule = cdna ? 8 : 24;
  Occupancy result;
  result.waves_max = cdna ? 8 : 16;
  result.by_registers = std::min(result.waves_max, file / rounded_up(resources.vgprs, granule));
  result.by_lds = result.waves_max;
  if (resources.lds_bytes > 0) {
    const std::int64_t waves = std::max<std::int64_t>(1, resources.threads / target.wave);
    const std::int64_t sharing = cdna ? 1 : 2;   // compute units with one LDS, and with the SIMDs of all of them
    const std::int64_t blocks = sharing * target.lds_bytes / resources.lds_bytes;
    result.by_lds = std::min(result.waves_max, std::max<std::int64_t>(1, blocks * waves / (sharing * target.simds)));
  }
  result.waves_per_simd = std::min(result.by_registers, result.by_lds);
  result.limit = result.waves_per_simd == result.waves_max ? "waves"
                 : result.by_registers <= result.by_lds   ? "registers"
                                                          : "lds";
  return result;
}

}  // namespace kiln::profile
