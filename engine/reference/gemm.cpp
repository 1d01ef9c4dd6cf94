#include "engine/reference/gemm.hpp"

namespace kiln::reference {
namespace {

typedef double Pair __attribute__((vector_size(16)));

}  // namespace

Panels::Panels(std::int64_t lines, std::int64_t depth)
    : lines(lines), depth(depth), data(static_cast<std::size_t>((lines + 3) / 4 * 4 * depth)) {}

void multiply_add(const Panels& a, const Panels& b, double* c) {
  const std::int64_t m = a.lines, n = b.lines, depth = a.depth;
  for (std::int64_t i = 0; i < m; i += 4)
    for (std::int64_t j = 0; j < n; j += 4) {
      const double* left = a.data.data() + i * depth;
      const double* right = b.data.data() + j * depth;
      Pair total[4][2] = {};
      for (std::int64_t k = 0; k < depth; ++k, left += 4, right += 4) {
        const Pair low = {right[0], right[1]}, high = {right[2], right[3]};
        for (int r = 0; r < 4; ++r) {
          const Pair factor = {left[r], left[r]};
          total[r][0] += factor * low;
          total[r][1] += factor * high;
        }
      }
      for (std::int64_t r = 0; r < 4 && i + r < m; ++r)
        for (std::int64_t s = 0; s < 4 && j + s < n; ++s) c[(i + r) * n + j + s] += total[r][s / 2][s % 2];
    }
}

}  // namespace kiln::reference
