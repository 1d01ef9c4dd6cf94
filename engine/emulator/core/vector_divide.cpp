// The steps of a division: v_div_scale, v_div_fmas, v_div_fixup; and the argument reduction v_trig_preop_f64.
//
// A division n / d scales n or d by a power of two where a step of the iteration would leave the range (v_div_scale;
// VCC says that the quotient is scaled too), and v_div_fmas scales the quotient back. The ISA documents say "ldexp(S0,
// 64)" for a denominator so large that its reciprocal and the quotient are denormal, where only 2^-64 makes the
// quotient right, and 2^32 for v_div_fmas, where the scale that v_div_scale put on is 2^64: what is done here is what
// makes quotients right, and what RDNA4's document says of v_div_fmas: 2^64 where the addend's exponent is above 127,
// else 2^-64. v_div_fixup's case of an overflow, "exponent(S1) == 255", can only mean S0, the quotient: S1's was asked
// for before.
#include <bit>

#include "engine/emulator/core/vector_half_loops.hpp"
#include "engine/emulator/core/vector_minmax.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
constexpr Type F = Type::f32, H = Type::f16, D = Type::f64, I = Type::i32, N = Type::none;

template <class T>
struct Kind;
template <>
struct Kind<float> : Format32 {
  static constexpr int fraction_bits = 23, far_apart = 96, tiny = 23, underflow = -150, bias = 127;
  static constexpr float scale = 0x1p64f, shrink = 0x1p-64f, smallest = 0x1p-126f;
};
template <>
struct Kind<double> : Format64 {
  static constexpr int fraction_bits = 52, far_apart = 768, tiny = 53, underflow = -1075, bias = 1023;
  static constexpr double scale = 0x1p128, shrink = 0x1p-128, smallest = 0x1p-1022;
};

template <class T>
inline auto bits_of(T x) { return std::bit_cast<typename Kind<T>::Bits>(x); }
template <class T>
inline int exponent(T x) {
  return static_cast<int>((bits_of(x) & Kind<T>::infinity) >> Kind<T>::fraction_bits);
}
template <class T>
inline T magnitude(T x) { return std::bit_cast<T>(static_cast<typename Kind<T>::Bits>(bits_of(x) & ~Kind<T>::sign)); }
template <class T>
inline bool is_denormal(T x) { return exponent(x) == 0 && x != 0; }

// s0 is what is scaled: the denominator s1 or the numerator s2.
template <class T>
inline T scale_operand(T s0, T s1, T s2, bool& scaled) {
  using K = Kind<T>;
  scaled = false;
  if (s1 == 0 || s2 == 0) return std::bit_cast<T>(static_cast<typename K::Bits>(K::infinity | K::quiet));
  const bool large_denominator = magnitude(s1) > 1 / K::smallest && exponent(s1) != exponent(T(__builtin_inf()));
  const bool small_quotient = magnitude(s2 / s1) < K::smallest;
  if (exponent(s2) - exponent(s1) >= K::far_apart) {
    scaled = true;
    return s0 == s1 ? s0 * K::scale : s0;
  }
  if (is_denormal(s1)) return s0 * K::scale;
  if (large_denominator && small_quotient) {
    scaled = true;
    return s0 == s1 ? s0 * K::shrink : s0;
  }
  if (large_denominator) return s0 * K::shrink;
  if (small_quotient) {
    scaled = true;
    return s0 == s2 ? s0 * K::scale : s0;
  }
  return exponent(s2) <= K::tiny ? s0 * K::scale : s0;
}

template <class T>
void div_scale(Lanes& l) {
  u64 mask = 0;
  for (int i = 0; i < lanes; ++i) {
    bool scaled = false;
    const T a = load_lane<T>(l.a, i), b = load_lane<T>(l.b, i), c = load_lane<T>(l.c, i);
    store_lane<T>(l.d, i, scale_operand(a, b, c, scaled));
    mask |= u64{scaled} << i;
  }
  l.mask_out = mask;
}

// factor * (a * b + c), rounded once; `nearest`: to nearest even. In f64 the product is exact, the sum rounded to odd
// keeps what the last rounding needs.
float scaled_fma(float a, float b, float c, float factor, bool nearest) {
  const double product = static_cast<double>(a) * static_cast<double>(b), sum = product + static_cast<double>(c);
  const double part = sum - product, error = (product - (sum - part)) + (static_cast<double>(c) - part);
  u64 bits = std::bit_cast<u64>(sum);
  if (nearest && error != 0 && (bits & 1) == 0 && __builtin_fabs(sum) <= __DBL_MAX__)
    bits += (error < 0) == (sum < 0) ? 1 : ~u64{0};
  return static_cast<float>(std::bit_cast<double>(bits) * static_cast<double>(factor));
}

struct Sum {
  double high, low;  // high + low, exactly, high the nearest f64
};
Sum exact_sum(double a, double b) {
  const double high = a + b, part = high - a;
  return {high, (a - (high - part)) + (b - part)};
}

// Scaling down may round to a denormal, a second time after the sum's: where the first result lies in the middle of
// two, what it left out decides.
double scaled_fma(double a, double b, double c, double factor, bool nearest) {
  const double high = __builtin_fma(a, b, c), result = high * factor;
  if (!nearest || factor > 1 || !(__builtin_fabs(result) < 0x1p-1022) || high == 0) return result;
  const double product = a * b, product_low = __builtin_fma(a, b, -product);
  const Sum upper = exact_sum(product, c), lower = exact_sum(upper.low, product_low);
  const double left = ((upper.high - high) + lower.high) + lower.low;
  const double rest = high - result / factor, half = 0x1p-1074 / factor / 2;
  if (left == 0 || __builtin_fabs(rest) != half || (rest < 0) != (left < 0)) return result;
  return result + (rest < 0 ? -0x1p-1074 : 0x1p-1074);
}

template <class T>
void div_fmas(Lanes& l) {
  const u32 round = sizeof(T) == 4 ? l.mode & mode_bit::round32 : l.mode & mode_bit::round_wide;
  for (int i = 0; i < lanes; ++i) {
    const T a = load_lane<T>(l.a, i), b = load_lane<T>(l.b, i), c = load_lane<T>(l.c, i);
    T result;
    if ((l.mask_in >> i & 1) != 0) {
      result = scaled_fma(a, b, c, exponent(c) > Kind<T>::bias ? Kind<T>::scale : Kind<T>::shrink, round == 0);
    } else if constexpr (sizeof(T) == 4) {
      result = __builtin_fmaf(a, b, c);
    } else {
      result = __builtin_fma(a, b, c);
    }
    store_lane<T>(l.d, i, result);
  }
}

// The special cases of `numerator` / `denominator`, else `quotient` with their sign.
template <class T>
inline T fix_up(T quotient, T denominator, T numerator) {
  using K = Kind<T>;
  using Bits = typename K::Bits;
  const Bits sign = (bits_of(denominator) ^ bits_of(numerator)) & K::sign;
  const Bits bottom = bits_of(denominator) & ~K::sign, top = bits_of(numerator) & ~K::sign;
  const Bits not_a_number = K::sign | K::infinity | K::quiet;
  Bits result = sign | (bits_of(quotient) & ~K::sign);
  // A quotient whose steps overflowed is infinite or NaN by now.
  if (exponent(quotient) == exponent(T(__builtin_inf()))) result = sign | K::infinity;
  if (exponent(numerator) - exponent(denominator) < K::underflow) result = sign;
  if (bottom == K::infinity || top == 0) result = sign;
  if (bottom == 0 || top == K::infinity) result = sign | K::infinity;
  if ((bottom == 0 && top == 0) || (bottom == K::infinity && top == K::infinity)) result = not_a_number;
  if (bottom > K::infinity) result = bits_of(denominator) | K::quiet;
  if (top > K::infinity) result = bits_of(numerator) | K::quiet;
  return std::bit_cast<T>(result);
}

u32 fix_up_half(u32 quotient, u32 denominator, u32 numerator) {
  const u32 sign = (denominator ^ numerator) & 0x8000u, bottom = denominator & 0x7fffu, top = numerator & 0x7fffu;
  if (top > 0x7c00u) return (numerator & 0xffffu) | 0x200u;
  if (bottom > 0x7c00u) return (denominator & 0xffffu) | 0x200u;
  if ((bottom == 0 && top == 0) || (bottom == 0x7c00u && top == 0x7c00u)) return 0xfe00u;
  if (bottom == 0 || top == 0x7c00u) return sign | 0x7c00u;
  if (bottom == 0x7c00u || top == 0) return sign;
  return sign | (quotient & 0x7fffu);
}

// 2 / pi after the binary point, 1201 bits and 15 more. Digits: Payne and Hanek's table as in every C library.
constexpr u32 two_over_pi[38] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};

// Segment `which` of 53 bits of 2 / pi, for an argument of x's magnitude.
double reduce(double x, u32 which) {
  const int e = exponent(x);
  const int shift = static_cast<int>(which & 31) * 53 + (e > 1077 ? e - 1077 : 0);
  u64 bits = 0;
  for (int i = 0; i < 53; ++i) {
    const int at = shift + i;
    const u32 bit = at < 1201 ? two_over_pi[at / 32] >> (31 - at % 32) & 1u : 0;
    bits = bits << 1 | bit;
  }
  const int scale = -53 - shift + (e >= 1968 ? 128 : 0);
  // At most 53 bits, so that only the last product can round.
  double result = static_cast<double>(bits);
  for (int rest = -scale; rest > 0; rest -= 500)
    result *= std::bit_cast<double>(static_cast<u64>(1023 - (rest > 500 ? 500 : rest)) << 52);
  return result * (scale > 0 ? std::bit_cast<double>(static_cast<u64>(1023 + scale) << 52) : 1.0);
}

constexpr u32 wide = floats | rounds_wide;
constexpr VectorRow rows[] = {
    {"v_div_scale_f32", div_scale<float>, F, F, F, F, floats | gives_mask},
    {"v_div_scale_f64", div_scale<double>, D, D, D, D, wide | gives_mask},
    {"v_div_fmas_f32", div_fmas<float>, F, F, F, F, floats | takes_vcc},
    {"v_div_fmas_f64", div_fmas<double>, D, D, D, D, wide | takes_vcc},
    {"v_div_fixup_f32", loop<([](float a, float b, float c) { return fix_up(a, b, c); })>, F, F, F, F, floats},
    {"v_div_fixup_f64", loop<([](double a, double b, double c) { return fix_up(a, b, c); })>, D, D, D, D, floats},
    {"v_div_fixup_f16", loop<([](u32 a, u32 b, u32 c) { return fix_up_half(a, b, c); })>, H, H, H, H,
     floats | keeps_high},
    {"v_div_fixup_legacy_f16", loop<([](u32 a, u32 b, u32 c) { return fix_up_half(a, b, c); })>, H, H, H, H, floats},
    {"v_trig_preop_f64", loop<([](double a, u32 b) { return reduce(a, b); })>, D, D, I, N, wide},
};
constexpr SortedRows sorted(rows);

}  // namespace

const VectorTable vector_divide_table = sorted.table();

}  // namespace kiln::emulator
