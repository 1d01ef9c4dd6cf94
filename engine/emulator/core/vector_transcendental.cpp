// Reciprocals, roots, exponentials, logarithms, sine and cosine.
//
// Cards give approximations within one unit in the last place or so. Here results are correctly rounded: rcp and sqrt
// always, the others computed in f64 with a relative error below 2^-50 and rounded once, which is correct but for about
// one argument in 2^25. Those of f16 round the f32 result again. Of f64, where cards give about half the digits for a
// refinement to complete, results are rcp and sqrt correctly rounded, rsq with two roundings.
// The f32 operations take denormals as zero and give zero for them whatever MODE says; those of f16 and f64 honour
// MODE. Sine and cosine take revolutions and are 0 and 1 beyond 256 of them ("V_SIN_F32", valid input domain).
#include <bit>

#include "engine/emulator/core/float_rows.hpp"
#include "engine/emulator/core/vector_half_loops.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
constexpr Type F = Type::f32, H = Type::f16, D = Type::f64, N = Type::none;

inline float flushed(float x) {
  const u32 bits = std::bit_cast<u32>(x);
  return std::bit_cast<float>((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}
constexpr float negative_nan = std::bit_cast<float>(0xffc00000u);
constexpr float infinity = __builtin_inff();

// sum of c[i] * x^i by Horner's rule.
template <int n>
inline double polynomial(const double (&c)[n], double x) {
  double sum = c[n - 1];
  for (int i = n - 2; i >= 0; --i) sum = sum * x + c[i];
  return sum;
}

// 1 / n!, times the n-th power of ln 2.
constexpr double ln2 = 0x1.62e42fefa39efp-1;
struct ExpSeries {
  double c[15] = {};
  constexpr ExpSeries() {
    c[0] = 1;
    for (int i = 1; i < 15; ++i) c[i] = c[i - 1] * ln2 / i;
  }
};
constexpr ExpSeries exp_series;

// x rounded to nearest, as an integer in the low bits of the sum.
constexpr double shifter = 0x1.8p52;

inline float exp2_of(float x) {
  const float low = x < -200.0f ? -200.0f : x, bounded = low > 200.0f ? 200.0f : low, sum = x + x;
  const double value = x == x ? bounded : 0.0f;
  const double shifted = value + shifter, whole = shifted - shifter;
  const double power = std::bit_cast<double>((std::bit_cast<u64>(shifted) + 1023) << 52);
  const auto result = static_cast<float>(polynomial(exp_series.c, value - whole) * power);
  return select(x == x, result, sum);
}

// 2 / (ln 2 * (2 i + 1)): log2 of (1 + s) / (1 - s) is s times the series in s^2.
constexpr double log_series[12] = {
    2 / ln2,        2 / ln2 / 3,  2 / ln2 / 5,  2 / ln2 / 7,  2 / ln2 / 9,  2 / ln2 / 11,
    2 / ln2 / 13,   2 / ln2 / 15, 2 / ln2 / 17, 2 / ln2 / 19, 2 / ln2 / 21, 2 / ln2 / 23};

// Of a normal positive number.
inline float log2_of_normal(float x) {
  const u32 bits = std::bit_cast<u32>(x);
  // Mantissas from sqrt(1/2) to sqrt(2), so that the exponent is 0 around 1.
  const u32 from = bits - 0x3f3504f3u;
  const auto exponent = static_cast<std::int32_t>(from) >> 23;
  const double m = std::bit_cast<float>((from & 0x007fffffu) + 0x3f3504f3u);
  const double s = (m - 1) / (m + 1);
  return static_cast<float>(s * polynomial(log_series, s * s) + static_cast<double>(exponent));
}
inline float log2_of(float x) {
  const bool usual = (x > 0) & (x < infinity);
  const float result = log2_of_normal(usual ? x : 1.0f), sum = x + x;  // infinity, or NaN made quiet
  const float negative = select(x < 0, negative_nan, sum);
  return select(usual, result, select(x == 0, -infinity, negative));
}

// sin(2 pi x) / x for |x| <= 1/4 as a series in x^2: (-1)^i (2 pi)^(2 i + 1) / (2 i + 1)!.
struct SineSeries {
  double c[12] = {};
  constexpr SineSeries() {
    constexpr double turn = 0x1.921fb54442d18p+2;
    double term = turn;
    for (int i = 0; i < 12; ++i) {
      c[i] = term;
      term = -term * turn * turn / ((2 * i + 2) * (2 * i + 3));
    }
  }
};
constexpr SineSeries sine_series;

inline double sine_of_turn(double x) { return x * polynomial(sine_series.c, x * x); }
// The part of x beyond the nearest whole number, exact; NaN for infinities.
inline float turn_part(float x) {
  const auto whole = static_cast<float>(__builtin_floor(static_cast<double>(x) + 0.5));
  return x - whole;
}
inline float sine(float x) {
  const float part = turn_part(x);
  const double turn = part;
  const double above = 0.5 - turn, below = -0.5 - turn;
  const double upper = turn > 0.25 ? above : turn, folded = turn < -0.25 ? below : upper;
  const float result = static_cast<float>(sine_of_turn(folded)), size = __builtin_fabsf(x);
  const float inside = select(size == infinity, negative_nan, select(x == 0, x, result));
  return select((size > 256.0f) & (size < infinity), 0.0f, inside);
}
inline float cosine(float x) {
  const double turn = __builtin_fabsf(turn_part(x));
  const float result = static_cast<float>(sine_of_turn(0.25 - turn)), size = __builtin_fabsf(x);
  return select((size > 256.0f) & (size < infinity), 1.0f, select(size == infinity, negative_nan, result));
}

inline float reciprocal(float x) { return 1.0f / x; }

// The loops over 64 values.
template <float (*f)(float)>
void each(float* values) {
  for (int i = 0; i < lanes; ++i) values[i] = f(values[i]);
}
void roots(float* values) {
  for (int i = 0; i < lanes; ++i) values[i] = values[i] < 0 ? negative_nan : values[i];
  sqrt_row(values, values);
}
void reciprocal_roots(float* values) {
  alignas(64) double wide[lanes];
  for (int i = 0; i < lanes; ++i) wide[i] = static_cast<double>(values[i] < 0 ? negative_nan : values[i]);
  sqrt_row(wide, wide);
  for (int i = 0; i < lanes; ++i) values[i] = static_cast<float>(1.0 / wide[i]);
}

using Rows = void (*)(float*);
template <Rows f>
void single(Lanes& l) {
  alignas(64) float values[lanes];
  for (int i = 0; i < lanes; ++i) values[i] = flushed(std::bit_cast<float>(l.a[i]));
  f(values);
  for (int i = 0; i < lanes; ++i) l.d[i] = std::bit_cast<u32>(flushed(values[i]));
}
template <Rows f>
void half(Lanes& l) {
  alignas(64) float values[lanes];
  widen_low(l.a, values);
  f(values);
  narrow_low(values, l.d, l.mode);
}

constexpr double negative_nan64 = std::bit_cast<double>(0xfff8000000000000u);
template <bool inverse>
void root64(Lanes& l) {
  alignas(64) double values[lanes];
  for (int i = 0; i < lanes; ++i) {
    const double x = load_lane<double>(l.a, i);
    values[i] = x < 0 ? negative_nan64 : x;
  }
  sqrt_row(values, values);
  for (int i = 0; i < lanes; ++i) store_lane<double>(l.d, i, inverse ? 1.0 / values[i] : values[i]);
}

constexpr std::uint8_t on_cdna = on_gfx90a | on_gfx942 | on_gfx950;
constexpr u32 half_flags = floats | rounds_wide;
constexpr VectorRow rows[] = {
    {"v_exp_f32", single<each<exp2_of>>, F, F, N, N, floats},
    {"v_log_f32", single<each<log2_of>>, F, F, N, N, floats},
    // The documents give the legacy forms the same functions.
    {"v_exp_legacy_f32", single<each<exp2_of>>, F, F, N, N, floats, on_cdna},
    {"v_log_legacy_f32", single<each<log2_of>>, F, F, N, N, floats, on_cdna},
    {"v_rcp_f32", single<each<reciprocal>>, F, F, N, N, floats},
    {"v_rcp_iflag_f32", single<each<reciprocal>>, F, F, N, N, floats},
    {"v_rsq_f32", single<reciprocal_roots>, F, F, N, N, floats},
    {"v_sqrt_f32", single<roots>, F, F, N, N, floats},
    {"v_sin_f32", single<each<sine>>, F, F, N, N, floats},
    {"v_cos_f32", single<each<cosine>>, F, F, N, N, floats},
    {"v_exp_f16", half<each<exp2_of>>, H, H, N, N, half_flags},
    {"v_log_f16", half<each<log2_of>>, H, H, N, N, half_flags},
    {"v_rcp_f16", half<each<reciprocal>>, H, H, N, N, half_flags},
    {"v_rsq_f16", half<reciprocal_roots>, H, H, N, N, half_flags},
    {"v_sqrt_f16", half<roots>, H, H, N, N, half_flags},
    {"v_sin_f16", half<each<sine>>, H, H, N, N, half_flags},
    {"v_cos_f16", half<each<cosine>>, H, H, N, N, half_flags},
    {"v_rcp_f64", loop<([](double a) { return 1.0 / a; })>, D, D, N, N, half_flags},
    {"v_rsq_f64", root64<true>, D, D, N, N, half_flags},
    {"v_sqrt_f64", root64<false>, D, D, N, N, half_flags},
};
constexpr SortedRows sorted(rows);

}  // namespace

const VectorTable vector_transcendental_table = sorted.table();

}  // namespace kiln::emulator
