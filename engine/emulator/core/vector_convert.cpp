// Conversions between number types of 16 bits and more.
#include <bit>

#include "engine/emulator/core/vector_half_loops.hpp"

namespace kiln::emulator {
namespace {

using u16 = std::uint16_t;
using i16 = std::int16_t;
using u32 = std::uint32_t;
using i32 = std::int32_t;
constexpr Type F = Type::f32, H = Type::f16, D = Type::f64, U = Type::u32, I = Type::i32, J = Type::i16, K = Type::u16,
               N = Type::none;

// To integers: towards zero, out of range to the nearest end, NaN to 0.
template <class T>
inline i32 to_i32(T x) {
  const bool inside = x > T(-2147483648.0) && x < T(2147483648.0);
  const i32 value = static_cast<i32>(inside ? x : T(0));
  return inside ? value : x >= T(2147483648.0) ? INT32_MAX : x <= T(-2147483648.0) ? INT32_MIN : 0;
}
template <class T>
inline u32 to_u32(T x) {
  const bool inside = x > T(0) && x < T(4294967296.0);
  const u32 value = static_cast<u32>(inside ? x : T(0));
  return inside ? value : x >= T(4294967296.0) ? ~0u : 0;
}
// Saturated, rounded as MODE says; NaN to 0.
inline u32 to_u8(float x) {
  const float low = x > 0.0f ? x : 0.0f, bounded = low < 255.0f ? low : 255.0f;
  return static_cast<u32>(static_cast<i32>(__builtin_rintf(bounded)));
}
inline u32 byte_replaced(float x, u32 byte, u32 others) {
  const u32 at = 8 * (byte & 3);
  return (others & ~(0xffu << at)) | to_u8(x) << at;
}
inline float unit_range(float x, float least) {
  const float high = x < 1.0f ? x : 1.0f, both = high > least ? high : least;
  return x == x ? both : 0.0f;
}
// Normalised integers: rounded as MODE says.
inline u32 nearest_integer(float x) { return static_cast<u32>(static_cast<i32>(__builtin_rintf(x))) & 0xffffu; }
inline u32 to_snorm(float x) { return nearest_integer(unit_range(x, -1.0f) * 32767.0f); }
inline u32 to_unorm(float x) { return nearest_integer(unit_range(x, 0.0f) * 65535.0f); }

// bf16 to nearest even.
inline u32 to_bf16(float x) {
  const u32 bits = std::bit_cast<u32>(x);
  const u32 rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  return x == x ? rounded : (bits >> 16 | 0x40u);
}

void to_half(Lanes& l) {
  alignas(64) float values[lanes];
  for (int i = 0; i < lanes; ++i) values[i] = std::bit_cast<float>(l.a[i]);
  narrow_low(values, l.d, l.mode);
}
void from_half(Lanes& l) {
  alignas(64) float values[lanes];
  widen_low(l.a, values);
  for (int i = 0; i < lanes; ++i) l.d[i] = std::bit_cast<u32>(values[i]);
}
template <class T>
void half_from_integer(Lanes& l) {
  alignas(64) float values[lanes];
  for (int i = 0; i < lanes; ++i) values[i] = static_cast<float>(static_cast<T>(l.a[i]));
  narrow_low(values, l.d, l.mode);
}
template <auto f>
void half_to_integer(Lanes& l) {
  alignas(64) float values[lanes];
  widen_low(l.a, values);
  for (int i = 0; i < lanes; ++i) l.d[i] = static_cast<u32>(f(values[i])) & 0xffffu;
}
template <auto f>
void two_halves_to_integers(Lanes& l) {
  alignas(64) float a[lanes], b[lanes];
  widen_low(l.a, a);
  widen_low(l.b, b);
  for (int i = 0; i < lanes; ++i) l.d[i] = f(a[i]) | f(b[i]) << 16;
}

// Two f32 to f16, whatever MODE rounds like.
template <int direction>
void pack_halves(Lanes& l) {
  for (int i = 0; i < lanes; i += 8) {
    const __m128i low = _mm256_cvtps_ph(_mm256_load_ps(reinterpret_cast<const float*>(l.a + i)), direction);
    const __m128i high = _mm256_cvtps_ph(_mm256_load_ps(reinterpret_cast<const float*>(l.b + i)), direction);
    const __m256i both =
        _mm256_or_si256(_mm256_cvtepu16_epi32(low), _mm256_slli_epi32(_mm256_cvtepu16_epi32(high), 16));
    _mm256_store_si256(reinterpret_cast<__m256i*>(l.d + i), both);
  }
}

template <int byte>
constexpr Compute byte_to_float =
    loop<([](u32 a) { return static_cast<float>(static_cast<i32>(a >> 8 * byte & 0xffu)); })>;

constexpr VectorRow rows[] = {
    {"v_cvt_f32_i32", loop<([](i32 a) { return static_cast<float>(a); })>, F, I, N, N},
    {"v_cvt_f32_u32", loop<([](u32 a) { return static_cast<float>(a); })>, F, U, N, N},
    {"v_cvt_i32_f32", loop<([](float a) { return to_i32(a); })>, I, F, N, N, floats},
    {"v_cvt_u32_f32", loop<([](float a) { return to_u32(a); })>, U, F, N, N, floats},
    {"v_cvt_pk_u8_f32", loop<([](float a, u32 b, u32 c) { return byte_replaced(a, b, c); })>, U, F, U, U, floats},
    {"v_cvt_rpi_i32_f32", loop<([](float a) { return to_i32(__builtin_floorf(a + 0.5f)); })>, I, F, N, N, floats},
    {"v_cvt_flr_i32_f32", loop<([](float a) { return to_i32(__builtin_floorf(a)); })>, I, F, N, N, floats},
    {"v_cvt_off_f32_i4", loop<([](u32 a) { return static_cast<float>(static_cast<i32>(a << 28) >> 28) * 0.0625f; })>, F,
     U, N, N},
    {"v_cvt_f32_ubyte0", byte_to_float<0>, F, U, N, N},
    {"v_cvt_f32_ubyte1", byte_to_float<1>, F, U, N, N},
    {"v_cvt_f32_ubyte2", byte_to_float<2>, F, U, N, N},
    {"v_cvt_f32_ubyte3", byte_to_float<3>, F, U, N, N},
    {"v_cvt_f64_i32", loop<([](i32 a) { return static_cast<double>(a); })>, D, I, N, N},
    {"v_cvt_f64_u32", loop<([](u32 a) { return static_cast<double>(a); })>, D, U, N, N},
    {"v_cvt_i32_f64", loop<([](double a) { return to_i32(a); })>, I, D, N, N, floats},
    {"v_cvt_u32_f64", loop<([](double a) { return to_u32(a); })>, U, D, N, N, floats},
    {"v_cvt_f32_f64", loop<([](double a) { return static_cast<float>(a); })>, F, D, N, N, floats},
    {"v_cvt_f64_f32", loop<([](float a) { return static_cast<double>(a); })>, D, F, N, N, floats},
    {"v_cvt_f16_f32", to_half, H, F, N, N, floats | rounds_wide},
    {"v_cvt_f32_f16", from_half, F, H, N, N, floats},
    {"v_cvt_f16_u16", half_from_integer<u16>, H, K, N, N, floats | rounds_wide},
    {"v_cvt_f16_i16", half_from_integer<i16>, H, J, N, N, floats | rounds_wide},
    {"v_cvt_u16_f16", half_to_integer<([](float x) { return x > 0 ? (x < 65535.0f ? to_i32(x) : 65535) : 0; })>, K, H,
     N, N, floats},
    {"v_cvt_i16_f16",
     half_to_integer<([](float x) { return to_i32(x < -32768.0f  ? -32768.0f
                                                  : x > 32767.0f ? 32767.0f
                                                                 : x); })>, J, H,
     N, N, floats},
    {"v_cvt_norm_i16_f16", half_to_integer<([](float x) { return to_snorm(x); })>, J, H, N, N, floats},
    {"v_cvt_norm_u16_f16", half_to_integer<([](float x) { return to_unorm(x); })>, K, H, N, N, floats},
    {"v_cvt_pknorm_i16_f32", loop<([](float a, float b) { return to_snorm(a) | to_snorm(b) << 16; })>, U, F, F, N,
     floats},
    {"v_cvt_pknorm_u16_f32", loop<([](float a, float b) { return to_unorm(a) | to_unorm(b) << 16; })>, U, F, F, N,
     floats},
    {"v_cvt_pknorm_i16_f16", two_halves_to_integers<to_snorm>, U, H, H, N, floats},
    {"v_cvt_pknorm_u16_f16", two_halves_to_integers<to_unorm>, U, H, H, N, floats},
    {"v_cvt_pkrtz_f16_f32", pack_halves<_MM_FROUND_TO_ZERO>, Type::pkf16, F, F, N, floats},
    {"v_cvt_pk_f16_f32", pack_halves<_MM_FROUND_TO_NEAREST_INT>, Type::pkf16, F, F, N, floats, on_gfx950},
    {"v_cvt_pk_bf16_f32", loop<([](float a, float b) { return to_bf16(a) | to_bf16(b) << 16; })>, Type::pkbf16, F, F, N,
     floats, on_gfx950},
    {"v_cvt_f32_bf16", loop<([](u32 a) { return a << 16; })>, F, Type::bf16, N, N, floats, on_gfx950},
};
constexpr SortedRows sorted(rows);

}  // namespace

const VectorTable vector_convert_table = sorted.table();

}  // namespace kiln::emulator
