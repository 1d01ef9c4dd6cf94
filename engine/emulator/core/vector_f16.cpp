// f16 arithmetic. On GFX9 a 16-bit result makes the upper half of the register 0; the operations that came with GFX9
// (three sources) keep it.
#include "engine/emulator/core/vector_half_loops.hpp"
#include "engine/emulator/core/vector_minmax.hpp"

namespace kiln::emulator {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
constexpr Type H = Type::f16, N = Type::none, I = Type::i16;
constexpr u32 basic = floats | rounds_wide, keeps = basic | keeps_high;

inline float flushed(float x) { return __builtin_fabsf(x) < 0x1p-14f ? __builtin_copysignf(0.0f, x) : x; }

// V_MAD_F16, V_MAC_F16: product and sum rounded one by one, no denormals whatever MODE says.
void unfused(Lanes& l) {
  HalfValues values;
  alignas(64) u32 product[lanes];
  widen_sources(l, values, false);
  for (int i = 0; i < lanes; ++i) values.a[i] = flushed(values.a[i]) * flushed(values.b[i]);
  narrow_low(values.a, product, l.mode);
  widen_low(product, values.a);
  for (int i = 0; i < lanes; ++i) values.a[i] = flushed(values.a[i]) + flushed(values.c[i]);
  narrow_low(values.a, product, l.mode);
  for (int i = 0; i < lanes; ++i) l.d[i] = (product[i] & 0x7c00u) == 0 ? product[i] & 0x8000u : product[i];
}

void fused(Lanes& l) {
  HalfValues values;
  widen_sources(l, values, false);
  const u32 nearest = half_rounds_nearest(l);
  for (int i = 0; i < lanes; ++i) values.a[i] = fused_half(values.a[i], values.b[i], values.c[i], nearest);
  narrow_low(values.a, l.d, l.mode);
}

template <int direction>
void round_to_integer(Lanes& l) {
  alignas(64) float values[lanes];
  widen_low(l.a, values);
  for (int i = 0; i < lanes; i += 8) {
    _mm256_store_ps(values + i, _mm256_round_ps(_mm256_load_ps(values + i), direction | _MM_FROUND_NO_EXC));
  }
  narrow_low(values, l.d, l.mode);
}

// The difference is exact in f32; results that would round up to 1 stay the largest f16 below.
inline float fraction(float x) {
  const float part = x - __builtin_floorf(x), below = part < 0x1.ffcp-1f ? part : 0x1.ffcp-1f;
  return part == part ? below : part;
}

void scale(Lanes& l) {
  alignas(64) float values[lanes];
  widen_low(l.a, values);
  for (int i = 0; i < lanes; ++i) {
    const int n = static_cast<std::int16_t>(l.b[i]), bounded = n < -60 ? -60 : n > 60 ? 60 : n;
    values[i] *= std::bit_cast<float>(static_cast<u32>(bounded + 127) << 23);
  }
  narrow_low(values, l.d, l.mode);
}

// f16 denormals are normal in f32.
void exponents(Lanes& l) {
  alignas(64) float values[lanes];
  widen_low(l.a, values);
  for (int i = 0; i < lanes; ++i) {
    const u32 bits = std::bit_cast<u32>(values[i]) & 0x7fffffffu;
    const u32 exponent = (bits >> 23) - 126;
    l.d[i] = bits >= 0x7f800000u || bits == 0 ? 0 : exponent & 0xffffu;
  }
}
void mantissas(Lanes& l) {
  alignas(64) float values[lanes];
  widen_low(l.a, values);
  for (int i = 0; i < lanes; ++i) {
    const u32 bits = std::bit_cast<u32>(values[i]), magnitude = bits & 0x7fffffffu;
    const bool keep = magnitude >= 0x7f800000u || magnitude == 0;
    values[i] = keep ? values[i] : std::bit_cast<float>((bits & 0x807fffffu) | 0x3f000000u);
  }
  narrow_low(values, l.d, l.mode);
}

constexpr VectorRow rows[] = {
    {"v_add_f16", half_loop<([](float a, float b) { return a + b; })>, H, H, H, N, basic},
    {"v_sub_f16", half_loop<([](float a, float b) { return a - b; })>, H, H, H, N, basic},
    {"v_subrev_f16", half_loop<([](float a, float b) { return b - a; })>, H, H, H, N, basic},
    {"v_mul_f16", half_loop<([](float a, float b) { return a * b; })>, H, H, H, N, basic},
    {"v_mac_f16", unfused, H, H, H, H, basic | accumulates},
    {"v_madmk_f16", unfused, H, H, H, H, basic},
    {"v_madak_f16", unfused, H, H, H, H, basic},
    {"v_mad_f16", unfused, H, H, H, H, keeps},
    {"v_mad_legacy_f16", unfused, H, H, H, H, basic},
    {"v_fma_f16", fused, H, H, H, H, keeps},
    {"v_fma_legacy_f16", fused, H, H, H, H, basic},
    {"v_min_f16", extreme_of_two<Format16, smaller<Format16>>, H, H, H, N, floats},
    {"v_max_f16", extreme_of_two<Format16, larger<Format16>>, H, H, H, N, floats},
    {"v_min3_f16", extreme_of_three<Format16, smallest<Format16>>, H, H, H, H, floats | keeps_high},
    {"v_max3_f16", extreme_of_three<Format16, largest<Format16>>, H, H, H, H, floats | keeps_high},
    {"v_med3_f16", extreme_of_three<Format16, median<Format16>>, H, H, H, H, floats | keeps_high},
    {"v_trunc_f16", round_to_integer<_MM_FROUND_TO_ZERO>, H, H, N, N, floats},
    {"v_ceil_f16", round_to_integer<_MM_FROUND_TO_POS_INF>, H, H, N, N, floats},
    {"v_floor_f16", round_to_integer<_MM_FROUND_TO_NEG_INF>, H, H, N, N, floats},
    {"v_rndne_f16", round_to_integer<_MM_FROUND_TO_NEAREST_INT>, H, H, N, N, floats},
    {"v_fract_f16", half_loop<([](float a) { return fraction(a); })>, H, H, N, N, basic},
    {"v_ldexp_f16", scale, H, H, I, N, basic},
    {"v_frexp_exp_i16_f16", exponents, I, H, N, N, floats},
    {"v_frexp_mant_f16", mantissas, H, H, N, N, floats},
};
constexpr SortedRows sorted(rows);

}  // namespace

const VectorTable vector_f16_table = sorted.table();

}  // namespace kiln::emulator
