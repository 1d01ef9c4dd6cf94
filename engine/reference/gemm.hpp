// c[m, n] += Σk a[m, k] · b[k, n] in double, for the interpreter's `gemm`.
#pragma once

#include <cstdint>
#include <vector>

namespace kiln::reference {

// A matrix in panels of 4 rows (A) or 4 columns (B), zero-padded: element (r, k) of panel p is
// data[(p * depth + k) * 4 + r].
struct Panels {
  std::int64_t lines = 0, depth = 0;   // m or n; k
  std::vector<double> data;
  Panels(std::int64_t lines, std::int64_t depth);
  double& at(std::int64_t line, std::int64_t k) {
    return data[static_cast<std::size_t>(((line / 4) * depth + k) * 4 + line % 4)];
  }
};

// c: row-major m x n. Each element's products are added in the order of k, to what c holds at the end.
void multiply_add(const Panels& a, const Panels& b, double* c);

}  // namespace kiln::reference
