// The inner loops of matrix instructions: vectors of 16 columns of B and D, values of A broadcast to them.
#include <immintrin.h>

#include "engine/emulator/core/matrix.hpp"

namespace kiln::emulator {
namespace {

#ifdef __AVX512F__
struct Columns {
  __m512 value;
};
inline Columns load(const void* from) { return {_mm512_loadu_ps(from)}; }
inline void store(void* to, Columns columns) { _mm512_storeu_ps(to, columns.value); }
inline Columns fma_scalar(float a, Columns b, Columns c) {
  return {_mm512_fmadd_ps(_mm512_set1_ps(a), b.value, c.value)};
}
// Value `row` of each four of `a` for those four.
template <int row>
inline Columns fma_of_four(Columns a, Columns b, Columns c) {
  return {_mm512_fmadd_ps(_mm512_maskz_permute_ps(0xffff, a.value, row * 0x55), b.value, c.value)};
}
constexpr int rows_of_32 = 4, groups_of_16 = 2;  // rows at once: as many as hide the latency of the additions
#else
struct Columns {
  __m256 low, high;
};
inline Columns load(const void* from) {
  const float* floats = static_cast<const float*>(from);
  return {_mm256_loadu_ps(floats), _mm256_loadu_ps(floats + 8)};
}
inline void store(void* to, Columns columns) {
  float* floats = static_cast<float*>(to);
  _mm256_storeu_ps(floats, columns.low);
  _mm256_storeu_ps(floats + 8, columns.high);
}
inline Columns fma_scalar(float a, Columns b, Columns c) {
  const __m256 all = _mm256_set1_ps(a);
  return {_mm256_fmadd_ps(all, b.low, c.low), _mm256_fmadd_ps(all, b.high, c.high)};
}
template <int row>
inline Columns fma_of_four(Columns a, Columns b, Columns c) {
  return {_mm256_fmadd_ps(_mm256_permute_ps(a.low, row * 0x55), b.low, c.low),
          _mm256_fmadd_ps(_mm256_permute_ps(a.high, row * 0x55), b.high, c.high)};
}
constexpr int rows_of_32 = 2, groups_of_16 = 1;
#endif

const float* plane_begin(const MatrixPlanes& planes) { return &planes[0][0]; }

// Rows 8 * (r / 4) + 4 * (lane / 32) + r % 4 of a block of 32 x 32.
void multiply_32(const MatrixProduct& product, int block) {
  const float* a = plane_begin(product.a) + block * 32;
  const float* b = plane_begin(product.b) + block * 32;
  const std::uint16_t* a_offset = product.a_layout.offset;
  const std::uint16_t* b_offset = product.b_layout.offset;
  for (int step = 0; step < 32; step += rows_of_32) {
    const int first = block * 16 + step / 8 * 4 + step % 4, half = step / 4 % 2 * 32;
    Columns sum[rows_of_32][2];
    for (int row = 0; row < rows_of_32; ++row) {
      const std::uint32_t* c = product.c[(first + row) * product.c_stride] + half;
      sum[row][0] = load(c);
      sum[row][1] = load(c + 16);
    }
    for (int k = product.begin; k < product.end; ++k) {
      const float* values = a + a_offset[k] + step;
      const Columns left = load(b + b_offset[k]), right = load(b + b_offset[k] + 16);
      for (int row = 0; row < rows_of_32; ++row) {
        sum[row][0] = fma_scalar(values[row], left, sum[row][0]);
        sum[row][1] = fma_scalar(values[row], right, sum[row][1]);
      }
    }
    for (int row = 0; row < rows_of_32; ++row) {
      store(product.d[first + row] + half, sum[row][0]);
      store(product.d[first + row] + half + 16, sum[row][1]);
    }
  }
}

// Rows 4 * (lane / 16) + r of a block of 16 x 16.
void multiply_16(const MatrixProduct& product, int block) {
  const float* a = plane_begin(product.a) + block * 16;
  const float* b = plane_begin(product.b) + block * 16;
  const std::uint16_t* a_offset = product.a_layout.offset;
  const std::uint16_t* b_offset = product.b_layout.offset;
  const int first = block * 4;
  for (int step = 0; step < 4; step += groups_of_16) {
    Columns sum[groups_of_16][4];
    for (int group = 0; group < groups_of_16; ++group) {
      for (int row = 0; row < 4; ++row) {
        sum[group][row] = load(product.c[(first + row) * product.c_stride] + (step + group) * 16);
      }
    }
    for (int k = product.begin; k < product.end; ++k) {
      const float* values = a + a_offset[k] + step * 4;
      const Columns columns = load(b + b_offset[k]);
      for (int group = 0; group < groups_of_16; ++group) {
        for (int row = 0; row < 4; ++row) {
          sum[group][row] = fma_scalar(values[group * 4 + row], columns, sum[group][row]);
        }
      }
    }
    for (int group = 0; group < groups_of_16; ++group) {
      for (int row = 0; row < 4; ++row) store(product.d[first + row] + (step + group) * 16, sum[group][row]);
    }
  }
}

// Row r of sixteen blocks of 4 x 4, block lane / 4.
void multiply_4(const MatrixProduct& product) {
  for (int lane = 0; lane < lanes; lane += 16) {
    Columns sum[4];
    for (int row = 0; row < 4; ++row) sum[row] = load(product.c[row * product.c_stride] + lane);
    for (int k = product.begin; k < product.end; ++k) {
      const Columns a = load(plane_begin(product.a) + product.a_layout.offset[k] + lane);
      const Columns b = load(plane_begin(product.b) + product.b_layout.offset[k] + lane);
      sum[0] = fma_of_four<0>(a, b, sum[0]);
      sum[1] = fma_of_four<1>(a, b, sum[1]);
      sum[2] = fma_of_four<2>(a, b, sum[2]);
      sum[3] = fma_of_four<3>(a, b, sum[3]);
    }
    for (int row = 0; row < 4; ++row) store(product.d[row] + lane, sum[row]);
  }
}

}  // namespace

void multiply_matrix(const MatrixProduct& product) {
  const int size = product.a_layout.size;
  if (size == 4) return multiply_4(product);
  for (int block = 0; block < product.a_layout.blocks; ++block) {
    if (size == 32) {
      multiply_32(product, block);
    } else {
      multiply_16(product, block);
    }
  }
}

void multiply_sparse(const MatrixProduct& product, const MatrixRegister& index) {
  const int size = product.a_layout.size, depth = product.a_layout.depth;
  const float* a = plane_begin(product.a);
  const float* b = plane_begin(product.b);
  for (int row = 0; row < size; ++row) {
    const int reg = size == 32 ? row / 8 * 4 + row % 4 : row % 4;
    const int begin = size == 32 ? row / 4 % 2 * 32 : row / 4 * 16;
    for (int column = 0; column < size; column += 16) {
      Columns sum = load(product.c[reg * product.c_stride] + begin + column);
      for (int k = 0; k < depth; ++k) {
        const int offset = product.a_layout.offset[k] + row;
        const std::uint32_t which = index[offset % lanes] >> (2 * (offset / lanes)) & 3u;
        const int met = k / 2 * 4 + static_cast<int>(which);
        sum = fma_scalar(a[offset], load(b + product.b_layout.offset[met] + column), sum);
      }
      store(product.d[reg] + begin + column, sum);
    }
  }
}

}  // namespace kiln::emulator
