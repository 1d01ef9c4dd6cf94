#include "engine/lower/host/register_blocks.hpp"

#include <algorithm>
#include <limits>

namespace kiln::lower::host {
namespace {

// Cycles of one block over k: fused multiply-adds against loads (a row of b, one broadcast of a per row), with enough
// independent sums to cover the latency of 4 cycles on two units; then the sums' way from and to memory.
std::int64_t block_cycles(std::int64_t k, int rows, int vectors) {
  constexpr int sums_in_flight = 8;
  const std::int64_t step = std::max({rows * vectors, rows + vectors, sums_in_flight});
  return k * step + std::int64_t(3) * rows * vectors + 20;
}

}  // namespace

RegisterBlock choose_register_block(std::int64_t m, std::int64_t n, std::int64_t k, int bytes,
                                    const target::Target& target) {
  const int lanes = target.wave * 4 / bytes;
  RegisterBlock best;
  std::int64_t best_cycles = std::numeric_limits<std::int64_t>::max();
  for (int vectors = 1; vectors <= 4; ++vectors) {
    // One row of b and one broadcast of a live beside the sums.
    const int rows_max = (target.vgprs_max - vectors - 1) / vectors;
    for (int rows = 1; rows <= rows_max; ++rows) {
      const std::int64_t blocks = (m + rows - 1) / rows * ((n + vectors * lanes - 1) / (vectors * lanes));
      const std::int64_t cycles = blocks * block_cycles(k, rows, vectors);
      if (cycles >= best_cycles) continue;
      best_cycles = cycles;
      best = {rows, vectors * lanes};
    }
  }
  return best;
}

}  // namespace kiln::lower::host
