// PROGRAM.md's arithmetic where C++ differs or leaves it undefined. What C++ defines equally is printed as operators.
#pragma once

#include <kiln/intrinsics.hpp>

namespace kiln {

template <class T> inline constexpr bool is_signed = T(-1) < T(0);
template <class T> inline constexpr int width = 8 * int(sizeof(T));

// Both values are computed: a division in one of them becomes no branch.
template <class T> KILN_DEVICE T pick(bool condition, T yes, T no) { return condition ? yes : no; }

// ---- integers ------------------------------------------------------------------------------------------------------
// Towards minus infinity; by zero 0; the smallest // -1 wraps.
template <class T> KILN_DEVICE T floor_divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (is_signed<T>) {
    if (b == T(-1)) return T(0 - (bits_of<T>)a);
    const T quotient = T(a / b);
    return T(a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient);
  }
  return T(a / b);
}
template <class T> KILN_DEVICE T floor_modulo(T a, T b) {
  if (b == 0) return 0;
  if constexpr (is_signed<T>) {
    if (b == T(-1)) return 0;
    const T rest = T(a % b);
    return T(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
  }
  return T(a % b);
}
template <class T> KILN_DEVICE T ceil_divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (is_signed<T>) {
    if (b == T(-1)) return T(0 - (bits_of<T>)a);
    const T quotient = T(a / b);
    return T(a % b != 0 && (a < 0) == (b < 0) ? quotient + 1 : quotient);
  }
  return T(a / b + (a % b != 0 ? 1 : 0));
}
template <class T> KILN_DEVICE T shift_left(T a, T b) {
  if constexpr (sizeof(T) == 8) return T((u64)a << ((u32)b & 63u));
  return T((u32)a << ((u32)b & u32(width<T> - 1)));
}
template <class T> KILN_DEVICE T shift_right(T a, T b) { return T(a >> ((u32)b & u32(width<T> - 1))); }
template <class T> KILN_DEVICE T smaller(T a, T b) { return b < a ? b : a; }
template <class T> KILN_DEVICE T larger(T a, T b) { return a < b ? b : a; }
// The nearest values of 32 bits: for comparisons with what fits in them.
KILN_DEVICE i32 nearest_i32(i64 v) { return (i32)smaller<i64>(larger<i64>(v, -2147483647l - 1), 2147483647l); }
KILN_DEVICE u32 room(i64 v) { return (u32)smaller<i64>(larger<i64>(v, 0l), 2147483647l); }
template <class T> KILN_DEVICE T magnitude(T a) {
  if constexpr (is_signed<T>) return a < 0 ? T(0 - (bits_of<T>)a) : a;
  return a;
}
template <class T> KILN_DEVICE T ones(T a) {
  if constexpr (sizeof(T) == 8) return T(__builtin_popcountl((u64)a));
  return T(__builtin_popcount((u32)(bits_of<T>)a));
}
template <class T> KILN_DEVICE T leading_zeros(T a) {
  if (a == 0) return T(width<T>);
  if constexpr (sizeof(T) == 8) return T(__builtin_clzl((u64)a));
  return T(__builtin_clz((u32)(bits_of<T>)a) - (32 - width<T>));
}
template <class T> KILN_DEVICE T multiply_high(T a, T b) {
  if constexpr (sizeof(T) == 8) {
    const u64 al = (u32)a, bl = (u32)b, ah = (u64)a >> 32, bh = (u64)b >> 32;
    const u64 middle = ah * bl + ((al * bl) >> 32), other = al * bh + (u32)middle;
    u64 high = ah * bh + (middle >> 32) + (other >> 32);
    if constexpr (is_signed<T>) high -= (a < 0 ? (u64)b : 0) + (b < 0 ? (u64)a : 0);
    return T(high);
  } else if constexpr (is_signed<T>) {
    return T(((i64)a * (i64)b) >> width<T>);
  }
  return T(((u64)a * (u64)b) >> width<T>);
}

// ---- bf16 ----------------------------------------------------------------------------------------------------------
KILN_DEVICE f32 from_bf16(bf16 x) { return __builtin_bit_cast(f32, (u32)x << 16); }
// Nearest, ties to even, by integer arithmetic; NaN stays NaN.
KILN_DEVICE bf16 to_bf16(f32 x) {
#if KILN_HAS_BF16_CONVERSION
  return hardware_bf16(x);
#else
  const u32 bits = __builtin_bit_cast(u32, x);
  const u32 rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return bf16((x != x ? 0x7fc00000u : rounded) >> 16);
#endif
}
// a + b with the last bit set when inexact: rounding the result again to 51 or fewer bits is one rounding.
KILN_DEVICE f64 add_to_odd(f64 a, f64 b) {
  const f64 sum = a + b, part = sum - a, error = (a - (sum - part)) + (b - part);
  const u64 bits = __builtin_bit_cast(u64, sum);
  if (!(error < 0 || error > 0) || (bits & 1)) return sum;  // exact, odd already, or not finite
  return __builtin_bit_cast(f64, (error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}
// The nearest f32 with the last bit set when inexact.
KILN_DEVICE f32 to_odd_f32(f64 x) {
  const f32 near = (f32)x;
  const u32 bits = __builtin_bit_cast(u32, near);
  const f64 back = near;
  if (x != x || back == x || (bits & 1)) return near;
  if (near == 0) return __builtin_bit_cast(f32, (bits & 0x80000000u) | 1u);
  return __builtin_bit_cast(f32, (back < x) == (x > 0) ? bits + 1 : bits - 1);
}
KILN_DEVICE bf16 to_bf16(f64 x) { return to_bf16(to_odd_f32(x)); }
KILN_DEVICE bf16 fma_bf16(bf16 a, bf16 b, bf16 c) {
  return to_bf16(add_to_odd((f64)from_bf16(a) * (f64)from_bf16(b), (f64)from_bf16(c)));
}
// Integers of any width: what does not fit 24 bits keeps a sticky last bit, so that there is one rounding.
template <class T> KILN_DEVICE bf16 integer_to_bf16(T x) {
  u64 rest;
  if constexpr (is_signed<T>) rest = x < 0 ? 0 - (u64)(i64)x : (u64)x;
  else rest = x;
  f32 scale = 1;
  if (rest >> 24) {
    const int drop = 40 - __builtin_clzl(rest);
    rest = (rest >> drop) | ((rest & ((u64(1) << drop) - 1)) != 0);
    scale = __builtin_bit_cast(f32, u32(127 + drop) << 23);
  }
  const f32 magnitude_of = (f32)(u32)rest * scale;
  return to_bf16(x < 0 ? -magnitude_of : magnitude_of);
}

// ---- conversions ---------------------------------------------------------------------------------------------------
// Truncates, saturates, NaN gives 0. F: f32 or f64.
template <class T, class F> KILN_DEVICE T saturate(F x) {
  constexpr F above = is_signed<T> ? F(u64(1) << (width<T> - 1)) : F(u64(1) << (width<T> - 1)) * F(2);
  constexpr T most = is_signed<T> ? T((bits_of<T>)(-1) >> 1) : T(-1);
  if (x >= above) return most;
  if constexpr (is_signed<T>) {
    if (x <= -above) return T(-1) - most;
    return x != x ? T(0) : T(x);
  } else {
    return x > F(0) ? T(x) : T(0);
  }
}

// ---- floats: f64, f32, f16 -----------------------------------------------------------------------------------------
template <class T> KILN_DEVICE T not_a_number() { return T(__builtin_nanf("")); }
template <class T> KILN_DEVICE T absolute(T x) {
  constexpr bits_of<T> sign = bits_of<T>(bits_of<T>(1) << (width<T> - 1));
  return __builtin_bit_cast(T, bits_of<T>(__builtin_bit_cast(bits_of<T>, x) & bits_of<T>(~sign)));
}
// NaN propagates, +0 is above -0.
template <class T> KILN_DEVICE T maximum(T a, T b) {
#if __has_builtin(__builtin_elementwise_maximum)
  return __builtin_elementwise_maximum(a, b);
#else
  if (a != a || b != b) return not_a_number<T>();
  if (a == b) return __builtin_signbit(a) ? b : a;
  return a > b ? a : b;
#endif
}
template <class T> KILN_DEVICE T minimum(T a, T b) {
#if __has_builtin(__builtin_elementwise_minimum)
  return __builtin_elementwise_minimum(a, b);
#else
  return -maximum<T>(-a, -b);
#endif
}
// A chain of these, with the operands tested in pairs: half the instructions of maximum where the target has none.
KILN_DEVICE f32 chain_max(f32 a, f32 b) {
#if KILN_HAS_MAXIMUM
  return maximum(a, b);
#else
  return __builtin_fmaxf(a, b);
#endif
}
KILN_DEVICE f32 chain_min(f32 a, f32 b) {
#if KILN_HAS_MAXIMUM
  return minimum(a, b);
#else
  return __builtin_fminf(a, b);
#endif
}
KILN_DEVICE f64 chain_max(f64 a, f64 b) { return __builtin_fmax(a, b); }
KILN_DEVICE f64 chain_min(f64 a, f64 b) { return __builtin_fmin(a, b); }
KILN_DEVICE bool chain_nan(f32 a, f32 b) { return KILN_HAS_MAXIMUM ? false : __builtin_isunordered(a, b); }
KILN_DEVICE bool chain_nan(f64 a, f64 b) { return __builtin_isunordered(a, b); }
template <class T> KILN_DEVICE T chain_end(T value, bool nan) { return nan ? not_a_number<T>() : value; }

// ---- across lanes --------------------------------------------------------------------------------------------------
template <int mask, class T> KILN_DEVICE T exchange(T value, u32 lane) {
  if constexpr (sizeof(T) == 8) {
    const u64 bits = __builtin_bit_cast(u64, value);
    const u64 low = exchange_bits<mask>((u32)bits, lane), high = exchange_bits<mask>((u32)(bits >> 32), lane);
    return __builtin_bit_cast(T, low | (high << 32));
  } else {
    return __builtin_bit_cast(T, bits_of<T>(exchange_bits<mask>((u32)__builtin_bit_cast(bits_of<T>, value), lane)));
  }
}
template <class T> KILN_DEVICE T fetch(T value, u32 from) {
  if constexpr (sizeof(T) == 8) {
    const u64 bits = __builtin_bit_cast(u64, value);
    const u64 low = fetch_bits((u32)bits, from), high = fetch_bits((u32)(bits >> 32), from);
    return __builtin_bit_cast(T, low | (high << 32));
  } else {
    return __builtin_bit_cast(T, bits_of<T>(fetch_bits((u32)__builtin_bit_cast(bits_of<T>, value), from)));
  }
}
// Byte `index` of four in a register.
KILN_DEVICE u32 insert_byte(u32 into, int index, u8 value) {
  return (into & ~(0xffu << (8 * index))) | ((u32)value << (8 * index));
}
KILN_DEVICE u32 four_bytes(u8 a, u8 b, u8 c, u8 d) { return (u32)a | ((u32)b << 8) | ((u32)c << 16) | ((u32)d << 24); }
KILN_DEVICE u8 extract_byte(u32 from, int index) { return u8(from >> (8 * index)); }

}  // namespace kiln
