// Fused multiply-adds and square roots of whole rows. With -frounding-math the compiler does not vectorise its builtins
// for them; everything else it does.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstdint>

#include "engine/emulator/core/wave.hpp"

namespace kiln::emulator {

#ifdef __AVX512F__
struct Floats {
  using Vector = __m512;
  static constexpr int size = 16;
  static Vector load(const float* at) { return _mm512_load_ps(at); }
  static void store(float* at, Vector v) { _mm512_store_ps(at, v); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  static Vector sqrt(Vector a) { return _mm512_maskz_sqrt_ps(0xffff, a); }
};
struct Doubles {
  using Vector = __m512d;
  static constexpr int size = 8;
  static Vector load(const double* at) { return _mm512_load_pd(at); }
  static void store(double* at, Vector v) { _mm512_store_pd(at, v); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_pd(a, b, c); }
  static Vector sqrt(Vector a) { return _mm512_maskz_sqrt_pd(0xff, a); }
};
#else
struct Floats {
  using Vector = __m256;
  static constexpr int size = 8;
  static Vector load(const float* at) { return _mm256_load_ps(at); }
  static void store(float* at, Vector v) { _mm256_store_ps(at, v); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  static Vector sqrt(Vector a) { return _mm256_sqrt_ps(a); }
};
struct Doubles {
  using Vector = __m256d;
  static constexpr int size = 4;
  static Vector load(const double* at) { return _mm256_load_pd(at); }
  static void store(double* at, Vector v) { _mm256_store_pd(at, v); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_pd(a, b, c); }
  static Vector sqrt(Vector a) { return _mm256_sqrt_pd(a); }
};
#endif

// d = a * b + c for 64 lanes; d may be any of them.
inline void fma_row(const float* a, const float* b, const float* c, float* d) {
  for (int i = 0; i < lanes; i += Floats::size) {
    Floats::store(d + i, Floats::fma(Floats::load(a + i), Floats::load(b + i), Floats::load(c + i)));
  }
}
inline void fma_row(const double* a, const double* b, const double* c, double* d) {
  for (int i = 0; i < lanes; i += Doubles::size) {
    Doubles::store(d + i, Doubles::fma(Doubles::load(a + i), Doubles::load(b + i), Doubles::load(c + i)));
  }
}
inline void sqrt_row(const float* a, float* d) {
  for (int i = 0; i < lanes; i += Floats::size) Floats::store(d + i, Floats::sqrt(Floats::load(a + i)));
}
inline void sqrt_row(const double* a, double* d) {
  for (int i = 0; i < lanes; i += Doubles::size) Doubles::store(d + i, Doubles::sqrt(Doubles::load(a + i)));
}

// Both values are computed and one is taken by a mask. Of a conditional expression the compiler would compute either in
// a branch of its own, which keeps it from vectorising the loop.
inline std::uint32_t select(bool condition, std::uint32_t yes, std::uint32_t no) {
  const std::uint32_t mask = 0u - static_cast<std::uint32_t>(condition);
  return (yes & mask) | (no & ~mask);
}
inline float select(bool condition, float yes, float no) {
  return std::bit_cast<float>(select(condition, std::bit_cast<std::uint32_t>(yes), std::bit_cast<std::uint32_t>(no)));
}

// Registers as f32: vector loads may look at any type.
inline const float* as_floats(const std::uint32_t* row) { return reinterpret_cast<const float*>(row); }
inline float* as_floats(std::uint32_t* row) { return reinterpret_cast<float*>(row); }

}  // namespace kiln::emulator
