// f64 arithmetic. Rounds by MODE bits 2..3.
#include <immintrin.h>

#include <bit>

#include "engine/emulator/core/float_rows.hpp"
#include "engine/emulator/core/vector_loops.hpp"
#include "engine/emulator/core/vector_minmax.hpp"

namespace kiln::emulator {
namespace {

using i32 = std::int32_t;
using u64 = std::uint64_t;
constexpr Type D = Type::f64, N = Type::none, I = Type::i32;
constexpr std::uint32_t basic = floats | rounds_wide;

using Extreme = u64 (*)(u64, u64, bool);
template <Extreme f>
void extreme(Lanes& l) {
  const bool ieee = (l.mode & mode_bit::ieee) != 0;
#pragma GCC ivdep
  for (int i = 0; i < lanes; ++i) store_lane<u64>(l.d, i, f(load_lane<u64>(l.a, i), load_lane<u64>(l.b, i), ieee));
}

template <int direction>
void round_to_integer(Lanes& l) {
  for (int i = 0; i < lanes; ++i) {
    const __m128d value = _mm_set_sd(load_lane<double>(l.a, i));
    store_lane<double>(l.d, i, _mm_cvtsd_f64(_mm_round_sd(value, value, direction | _MM_FROUND_NO_EXC)));
  }
}

inline double fraction(double x) {
  const double part = x - __builtin_floor(x), below = part < 0x1.fffffffffffffp-1 ? part : 0x1.fffffffffffffp-1;
  return part == part ? below : part;
}

inline double power_of_two(int n) { return std::bit_cast<double>(static_cast<u64>(n + 1023) << 52); }

inline i32 exponent_of(double x) {
  if (x == 0 || !(__builtin_fabs(x) <= __DBL_MAX__)) return 0;
  const bool tiny = __builtin_fabs(x) < 0x1p-1022;
  const u64 bits = std::bit_cast<u64>(tiny ? x * 0x1p64 : x);
  return static_cast<i32>(bits >> 52 & 0x7ff) - 1022 - (tiny ? 64 : 0);
}
inline double mantissa_of(double x) {
  if (x == 0 || !(__builtin_fabs(x) <= __DBL_MAX__)) return x + x;
  const u64 bits = std::bit_cast<u64>(__builtin_fabs(x) < 0x1p-1022 ? x * 0x1p64 : x);
  return std::bit_cast<double>((bits & 0x800fffffffffffffu) | 0x3fe0000000000000u);
}

// x * 2^n with one rounding: the last step takes the value below the normal range, all before it are exact.
inline double scaled(double x, i32 n) {
  if (x == 0 || !(__builtin_fabs(x) <= __DBL_MAX__)) return x + x;
  const double one_to_two = mantissa_of(x) * 2;
  const int exponent = exponent_of(x) - 1 + (n < -5000 ? -5000 : n > 5000 ? 5000 : n);
  if (exponent > 1023) return one_to_two * 0x1p1023 * 2;
  if (exponent >= -1022) return one_to_two * power_of_two(exponent);
  return one_to_two * power_of_two((exponent < -1100 ? -1100 : exponent) + 1000) * 0x1p-1000;
}

void read_doubles(const std::uint32_t* row, double* out) {
  for (int i = 0; i < lanes; ++i) out[i] = load_lane<double>(row, i);
}
void fused(Lanes& l) {
  alignas(64) double a[lanes], b[lanes], c[lanes];
  read_doubles(l.a, a);
  read_doubles(l.b, b);
  read_doubles(l.c, c);
  fma_row(a, b, c, a);
  for (int i = 0; i < lanes; ++i) store_lane<double>(l.d, i, a[i]);
}

constexpr VectorRow rows[] = {
    {"v_add_f64", loop<([](double a, double b) { return a + b; })>, D, D, D, N, basic},
    {"v_mul_f64", loop<([](double a, double b) { return a * b; })>, D, D, D, N, basic},
    {"v_fma_f64", fused, D, D, D, D, basic},
    {"v_fmac_f64", fused, D, D, D, D, basic | accumulates},
    {"v_min_f64", extreme<smaller<Format64>>, D, D, D, N, floats},
    {"v_max_f64", extreme<larger<Format64>>, D, D, D, N, floats},
    {"v_trunc_f64", round_to_integer<_MM_FROUND_TO_ZERO>, D, D, N, N, floats},
    {"v_ceil_f64", round_to_integer<_MM_FROUND_TO_POS_INF>, D, D, N, N, floats},
    {"v_floor_f64", round_to_integer<_MM_FROUND_TO_NEG_INF>, D, D, N, N, floats},
    {"v_rndne_f64", round_to_integer<_MM_FROUND_TO_NEAREST_INT>, D, D, N, N, floats},
    {"v_fract_f64", loop<([](double a) { return fraction(a); })>, D, D, N, N, basic},
    {"v_ldexp_f64", loop<([](double a, i32 n) { return scaled(a, n); })>, D, D, I, N, basic},
    {"v_frexp_exp_i32_f64", loop<([](double a) { return exponent_of(a); })>, I, D, N, N, floats},
    {"v_frexp_mant_f64", loop<([](double a) { return mantissa_of(a); })>, D, D, N, N, floats},
};
constexpr SortedRows sorted(rows);

}  // namespace

const VectorTable vector_f64_table = sorted.table();

}  // namespace kiln::emulator
