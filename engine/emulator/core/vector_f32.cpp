// f32 arithmetic. Rounds as MXCSR says, which follows MODE.
#include <immintrin.h>

#include <bit>

#include "engine/emulator/core/float_rows.hpp"
#include "engine/emulator/core/vector_loops.hpp"
#include "engine/emulator/core/vector_minmax.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
constexpr Type F = Type::f32, N = Type::none, I = Type::i32;

inline float flushed(float x) {
  const u32 bits = std::bit_cast<u32>(x);
  return std::bit_cast<float>((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}
// V_MAD_F32 and V_MAC_F32 round the product and the sum and have no denormals, whatever MODE says.
inline float unfused(float a, float b, float c) {
  return flushed(flushed(flushed(a) * flushed(b)) + flushed(c));
}
inline bool is_zero(float x) { return x == 0; }

// The host's rounding instruction, with a direction of its own.
template <int direction>
void round_to_integer(Lanes& l) {
  for (int i = 0; i < lanes; i += 8) {
    const __m256 value = _mm256_load_ps(reinterpret_cast<const float*>(l.a + i));
    _mm256_store_ps(reinterpret_cast<float*>(l.d + i), _mm256_round_ps(value, direction | _MM_FROUND_NO_EXC));
  }
}

// x - floor(x), below 1 even where the difference rounds up to it.
inline float fraction(float x) {
  const float whole = __builtin_floorf(x), part = x - whole;
  const float below = part < 0x1.fffffep-1f ? part : 0x1.fffffep-1f;
  return part == part ? below : part;
}

// x * 2^n with one rounding: two steps of which only the last can be inexact.
inline float scaled(float x, i32 n) {
  const i32 bounded = n < -400 ? -400 : n > 400 ? 400 : n;
  // f64 holds every f32 times 2^-400 … 2^400.
  const double factor = std::bit_cast<double>(static_cast<std::uint64_t>(bounded + 1023) << 52);
  return static_cast<float>(static_cast<double>(x) * factor);
}

inline i32 exponent_of(float x) {
  const u32 bits = std::bit_cast<u32>(x) & 0x7fffffffu;
  const i32 normal = static_cast<i32>(bits >> 23) - 126;
  const u32 scaled_bits = std::bit_cast<u32>(std::bit_cast<float>(bits) * 0x1p64f);
  const i32 denormal = static_cast<i32>(scaled_bits >> 23) - 126 - 64;
  return bits >= 0x7f800000u || bits == 0 ? 0 : bits < 0x00800000u ? denormal : normal;
}
inline float mantissa_of(float x) {
  const u32 bits = std::bit_cast<u32>(x), magnitude = bits & 0x7fffffffu;
  const u32 up = std::bit_cast<u32>(std::bit_cast<float>(magnitude) * 0x1p64f);
  const u32 fraction_bits = (magnitude < 0x00800000u ? up : magnitude) & 0x007fffffu;
  const bool keep = magnitude >= 0x7f800000u || magnitude == 0;
  const u32 quiet = magnitude > 0x7f800000u ? 0x00400000u : 0;
  return std::bit_cast<float>(keep ? bits | quiet : (bits & 0x80000000u) | 0x3f000000u | fraction_bits);
}

// The face of a cube that (x, y, z) points to, and where on it: the axis of the largest component, z before y before x
// where two are as large ("V_CUBEID_F32" and those that follow it).
enum class Axis { x, y, z };
inline Axis largest_axis(float x, float y, float z) {
  const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
  if (az >= ax && az >= ay) return Axis::z;
  return ay >= ax ? Axis::y : Axis::x;
}
inline float cube_face(float x, float y, float z) {
  switch (largest_axis(x, y, z)) {
    case Axis::z: return z < 0 ? 5.0f : 4.0f;
    case Axis::y: return y < 0 ? 3.0f : 2.0f;
    case Axis::x: return x < 0 ? 1.0f : 0.0f;
  }
  return 0;
}
inline float cube_s(float x, float y, float z) {
  switch (largest_axis(x, y, z)) {
    case Axis::z: return z < 0 ? -x : x;
    case Axis::y: return x;
    case Axis::x: return x < 0 ? z : -z;
  }
  return 0;
}
inline float cube_t(float x, float y, float z) {
  return largest_axis(x, y, z) != Axis::y ? -y : y < 0 ? -z : z;
}
inline float cube_major(float x, float y, float z) {
  switch (largest_axis(x, y, z)) {
    case Axis::z: return z * 2;
    case Axis::y: return y * 2;
    case Axis::x: return x * 2;
  }
  return 0;
}

void fused(Lanes& l) { fma_row(as_floats(l.a), as_floats(l.b), as_floats(l.c), as_floats(l.d)); }

constexpr VectorRow rows[] = {
    {"v_add_f32", loop<([](float a, float b) { return a + b; })>, F, F, F, N, floats},
    {"v_sub_f32", loop<([](float a, float b) { return a - b; })>, F, F, F, N, floats},
    {"v_subrev_f32", loop<([](float a, float b) { return b - a; })>, F, F, F, N, floats},
    {"v_mul_f32", loop<([](float a, float b) { return a * b; })>, F, F, F, N, floats},
    {"v_mul_legacy_f32", loop<([](float a, float b) { return is_zero(a) || is_zero(b) ? 0.0f : a * b; })>, F, F, F, N,
     floats},
    {"v_fma_f32", fused, F, F, F, F, floats},
    {"v_fmac_f32", fused, F, F, F, F, floats | accumulates},
    {"v_fmamk_f32", fused, F, F, F, F, floats},
    {"v_fmaak_f32", fused, F, F, F, F, floats},
    {"v_mad_f32", loop<([](float a, float b, float c) { return unfused(a, b, c); })>, F, F, F, F, floats, on_gfx90a},
    {"v_mad_legacy_f32", loop<([](float a, float b, float c) {
       return is_zero(flushed(a)) || is_zero(flushed(b)) ? flushed(0.0f + flushed(c)) : unfused(a, b, c);
     })>,
     F, F, F, F, floats, on_gfx90a},
    {"v_mac_f32", loop<([](float a, float b, float c) { return unfused(a, b, c); })>, F, F, F, F, floats | accumulates,
     on_gfx90a},
    {"v_madmk_f32", loop<([](float a, float b, float c) { return unfused(a, b, c); })>, F, F, F, F, floats, on_gfx90a},
    {"v_madak_f32", loop<([](float a, float b, float c) { return unfused(a, b, c); })>, F, F, F, F, floats, on_gfx90a},
    {"v_min_f32", extreme_of_two<Format32, smaller<Format32>>, F, F, F, N, floats},
    {"v_max_f32", extreme_of_two<Format32, larger<Format32>>, F, F, F, N, floats},
    {"v_min3_f32", extreme_of_three<Format32, smallest<Format32>>, F, F, F, F, floats},
    {"v_max3_f32", extreme_of_three<Format32, largest<Format32>>, F, F, F, F, floats},
    {"v_med3_f32", extreme_of_three<Format32, median<Format32>>, F, F, F, F, floats},
    {"v_minimum3_f32",
     loop<([](u32 a, u32 b, u32 c) { return propagating<Format32, false>(propagating<Format32, false>(a, b), c); })>, F,
     F, F, F, floats, on_gfx950},
    {"v_maximum3_f32",
     loop<([](u32 a, u32 b, u32 c) { return propagating<Format32, true>(propagating<Format32, true>(a, b), c); })>, F,
     F, F, F, floats, on_gfx950},
    {"v_cubeid_f32", loop<([](float a, float b, float c) { return cube_face(a, b, c); })>, F, F, F, F, floats},
    {"v_cubesc_f32", loop<([](float a, float b, float c) { return cube_s(a, b, c); })>, F, F, F, F, floats},
    {"v_cubetc_f32", loop<([](float a, float b, float c) { return cube_t(a, b, c); })>, F, F, F, F, floats},
    {"v_cubema_f32", loop<([](float a, float b, float c) { return cube_major(a, b, c); })>, F, F, F, F, floats},
    {"v_trunc_f32", round_to_integer<_MM_FROUND_TO_ZERO>, F, F, N, N, floats},
    {"v_ceil_f32", round_to_integer<_MM_FROUND_TO_POS_INF>, F, F, N, N, floats},
    {"v_floor_f32", round_to_integer<_MM_FROUND_TO_NEG_INF>, F, F, N, N, floats},
    {"v_rndne_f32", round_to_integer<_MM_FROUND_TO_NEAREST_INT>, F, F, N, N, floats},
    {"v_fract_f32", loop<([](float a) { return fraction(a); })>, F, F, N, N, floats},
    {"v_ldexp_f32", loop<([](float a, i32 n) { return scaled(a, n); })>, F, F, I, N, floats},
    {"v_frexp_exp_i32_f32", loop<([](float a) { return exponent_of(a); })>, I, F, N, N, floats},
    {"v_frexp_mant_f32", loop<([](float a) { return mantissa_of(a); })>, F, F, N, N, floats},
};
constexpr SortedRows sorted(rows);

}  // namespace

const VectorTable vector_f32_table = sorted.table();

}  // namespace kiln::emulator
