// Conversions between f16 and f32 for rows of lanes and single values. They round as the host's MXCSR says, keep
// denormals, and make signalling NaNs quiet.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstdint>

#include "engine/emulator/core/wave.hpp"

namespace kiln::emulator {

inline float half_value(std::uint32_t bits) { return _cvtsh_ss(static_cast<unsigned short>(bits)); }
inline std::uint32_t half_bits(float value) {
  return static_cast<std::uint16_t>(_cvtss_sh(value, _MM_FROUND_CUR_DIRECTION));
}

inline constexpr std::uint32_t half_overflow_mode = 1u
                                                    << 23;  // MODE.FP16_OVFL: what overflows becomes the largest value
inline constexpr float half_max = 65504.0f;

#ifdef __AVX512F__
// Of 16 elements. The compiler takes the intrinsics without a mask for reads of uninitialised registers.
inline constexpr __mmask16 every = 0xffff;
#endif

// Low halves of 64 dwords as f32.
inline void widen_low(const std::uint32_t* in, float* out) {
#ifdef __AVX512F__
  for (int i = 0; i < lanes; i += 16) {
    _mm512_store_ps(out + i,
                    _mm512_maskz_cvtph_ps(every, _mm512_maskz_cvtepi32_epi16(every, _mm512_load_si512(in + i))));
  }
#else
  const __m256i low = _mm256_set1_epi32(0xffff);
  for (int i = 0; i < lanes; i += 8) {
    const __m256i value = _mm256_and_si256(_mm256_load_si256(reinterpret_cast<const __m256i*>(in + i)), low);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(value, value), 0x08);
    _mm256_store_ps(out + i, _mm256_cvtph_ps(_mm256_castsi256_si128(packed)));
  }
#endif
}

// Both halves: 128 values, in the order low, high of lane 0, then lane 1 …
inline void widen_packed(const std::uint32_t* in, float* out) {
  for (int i = 0; i < 2 * lanes; i += 8) {
    const __m128i halves = _mm_load_si128(reinterpret_cast<const __m128i*>(in + i / 2));
    _mm256_store_ps(out + i, _mm256_cvtph_ps(halves));
  }
}

// MODE.FP16_OVFL: finite results stay finite.
inline void limit_halves(float* values, int count) {
  for (int i = 0; i < count; ++i) {
    const float v = values[i];
    const bool over = __builtin_fabsf(v) > half_max && __builtin_fabsf(v) <= __FLT_MAX__;
    values[i] = over ? __builtin_copysignf(half_max, v) : v;
  }
}

// f32 to low halves, 0 above. `values` is changed when MODE asks for finite results.
inline void narrow_low(float* values, std::uint32_t* out, std::uint32_t mode) {
  if ((mode & half_overflow_mode) != 0) [[unlikely]] limit_halves(values, lanes);
#ifdef __AVX512F__
  for (int i = 0; i < lanes; i += 16) {
    const __m256i halves = _mm512_maskz_cvtps_ph(every, _mm512_load_ps(values + i), _MM_FROUND_CUR_DIRECTION);
    _mm512_store_si512(out + i, _mm512_maskz_cvtepu16_epi32(every, halves));
  }
#else
  for (int i = 0; i < lanes; i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_load_ps(values + i), _MM_FROUND_CUR_DIRECTION);
    _mm256_store_si256(reinterpret_cast<__m256i*>(out + i), _mm256_cvtepu16_epi32(halves));
  }
#endif
}

inline void narrow_packed(float* values, std::uint32_t* out, std::uint32_t mode) {
  if ((mode & half_overflow_mode) != 0) [[unlikely]] limit_halves(values, 2 * lanes);
  for (int i = 0; i < 2 * lanes; i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_load_ps(values + i), _MM_FROUND_CUR_DIRECTION);
    _mm_store_si128(reinterpret_cast<__m128i*>(out + i / 2), halves);
  }
}

// a * b + c of f16 values, to be narrowed to f16 with one rounding overall. The product of two f16 is exact in f32. The
// sum rounded to odd keeps what the second rounding needs (24 >= 11 + 2 bits); the error of the sum to nearest says
// which way it went. With a directed rounding two in the same direction are one: `nearest` is all ones or 0.
inline float fused_half(float a, float b, float c, std::uint32_t nearest) {
  const float product = a * b, sum = product + c;
  const float part = sum - product, error = (product - (sum - part)) + (c - part);
  const auto bits = std::bit_cast<std::uint32_t>(sum);
  // One down where the sum is too large, one up where it is too small, if it is even, inexact and finite.
  const std::uint32_t step = 1u - ((std::bit_cast<std::uint32_t>(error) ^ bits) >> 31) * 2;
  const std::uint32_t even = (bits & 1) - 1;
  const std::uint32_t inexact = 0u - static_cast<std::uint32_t>(error != 0);
  const std::uint32_t finite = 0u - static_cast<std::uint32_t>((bits & 0x7f800000u) != 0x7f800000u);
  return std::bit_cast<float>(bits + (step & even & inexact & finite & nearest));
}

}  // namespace kiln::emulator
