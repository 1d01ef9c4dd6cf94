// Loops of f16 operations that compute in f32: widen, compute, narrow. One operation of the five basic ones in f32 and
// a rounding to f16 give what one rounding gives (24 >= 2 * 11 + 2 bits); fused_half sees to the fused operation.
#pragma once

#include <bit>

#include "engine/emulator/core/float_half.hpp"
#include "engine/emulator/core/vector_loops.hpp"

namespace kiln::emulator {

template <auto f, int count>
inline void run_half(float* a, const float*, const float*, float (*)(float)) {
  for (int i = 0; i < count; ++i) a[i] = f(a[i]);
}
template <auto f, int count>
inline void run_half(float* a, const float* b, const float*, float (*)(float, float)) {
  for (int i = 0; i < count; ++i) a[i] = f(a[i], b[i]);
}
template <auto f, int count>
inline void run_half(float* a, const float* b, const float* c, float (*)(float, float, float)) {
  for (int i = 0; i < count; ++i) a[i] = f(a[i], b[i], c[i]);
}

struct HalfValues {
  alignas(64) float a[2 * lanes], b[2 * lanes], c[2 * lanes];
};
// f16 in the low halves / in both halves to `values`.
inline void widen_sources(const Lanes& l, HalfValues& values, bool packed) {
  void (*widen)(const std::uint32_t*, float*) = packed ? widen_packed : widen_low;
  widen(l.a, values.a);
  if (l.b != nullptr) widen(l.b, values.b);
  if (l.c != nullptr) widen(l.c, values.c);
}

// `f` takes and gives f32.
template <auto f>
void half_loop(Lanes& l) {
  HalfValues values;
  widen_sources(l, values, false);
  run_half<f, lanes>(values.a, values.b, values.c, +f);
  narrow_low(values.a, l.d, l.mode);
}
template <auto f>
void packed_half_loop(Lanes& l) {
  HalfValues values;
  widen_sources(l, values, true);
  run_half<f, 2 * lanes>(values.a, values.b, values.c, +f);
  narrow_packed(values.a, l.d, l.mode);
}

// All ones where f16 rounds to nearest even, else 0.
inline std::uint32_t half_rounds_nearest(const Lanes& l) { return (l.mode & mode_bit::round_wide) == 0 ? ~0u : 0u; }

}  // namespace kiln::emulator
