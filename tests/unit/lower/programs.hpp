// Bound programs built by hand for lowering's tests: a GEMM and an attention of chosen types, orders and block sizes.
#pragma once

#include <string>

#include "engine/ir/bound/program.hpp"

namespace kiln::lower_test {

struct GemmCase {
  std::int64_t m = 4096, n = 4096, k = 4096;
  std::int64_t block_m = 128, block_n = 128, block_k = 64;
  bool transpose_a = false, transpose_b = true;
  DType in = DType::f16, acc = DType::f32, out = DType::f16;
  int threads = 256;
  LayoutSpec a_layout;
  int extra_maps = 0;   // elementwise statements between product and store
  bool bias = false;
  Space operands = Space::shared;
  std::string target = "gfx942";
};
bound::Program gemm(const GemmCase& wanted);

struct AttentionCase {
  std::int64_t batch_heads = 8, query = 512, keys = 512, width = 64;
  std::int64_t block_m = 128, block_n = 64;
  bool causal = true;
  int threads = 256;
  DType type = DType::f16;
  std::string target = "gfx942";
};
bound::Program attention(const AttentionCase& wanted);

struct RowsCase {
  std::int64_t rows = 33, columns = 1000, block_rows = 4, block_columns = 1024;
  DType type = DType::f16;
  int threads = 256;
  std::string target = "gfx942";
};
// y = x * rsqrt(mean(x²) + eps) * w, row by row.
bound::Program rmsnorm(const RowsCase& wanted);

}  // namespace kiln::lower_test
