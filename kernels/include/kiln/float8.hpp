// Floats of 8 bits. Those of gfx942's instructions have the bias larger by one, no infinity and one NaN (FNUZ), those
// of later cards are OCP's: a conversion instruction is used for its own format only, any other one is converted here.
#pragma once

#include <kiln/arithmetic.hpp>

namespace kiln {

#if defined(__gfx942__)
#define KILN_FLOAT8_INSTRUCTIONS 1
constexpr bool instructions_fnuz = true;
#elif defined(__gfx950__)
#define KILN_FLOAT8_INSTRUCTIONS 1
constexpr bool instructions_fnuz = false;
#else
#define KILN_FLOAT8_INSTRUCTIONS 0
constexpr bool instructions_fnuz = false;
#endif

// Exact.
template <int mantissa_bits, int bias, bool fnuz> KILN_DEVICE f32 from_float8(u8 x) {
#if KILN_FLOAT8_INSTRUCTIONS
  if constexpr (fnuz == instructions_fnuz) {
    if constexpr (mantissa_bits == 3) return __builtin_amdgcn_cvt_f32_fp8((i32)x, 0);
    else return __builtin_amdgcn_cvt_f32_bf8((i32)x, 0);
  }
#endif
  const u32 rest = x & 0x7fu, exponent = rest >> mantissa_bits, mantissa = rest & ((1u << mantissa_bits) - 1);
  const u32 normal = (rest << (23 - mantissa_bits)) + (u32(127 - bias) << 23);
  constexpr f32 least = __builtin_bit_cast(f32, u32(127 + 1 - bias - mantissa_bits) << 23);
  u32 bits = exponent != 0 ? normal : __builtin_bit_cast(u32, (f32)mantissa * least);
  if constexpr (fnuz) bits = x == 0x80u ? 0x7fc00000u : bits;
  else if constexpr (mantissa_bits == 3) bits = rest == 0x7fu ? 0x7fc00000u : bits;
  else bits = rest > 0x7cu ? 0x7fc00000u : rest == 0x7cu ? 0x7f800000u : bits;
  return __builtin_bit_cast(f32, bits | (u32)(x & 0x80u) << 24);
}

// Nearest, ties to even. What rounds beyond the largest number is infinity where the format has one, else NaN.
template <int mantissa_bits, int bias, bool fnuz> KILN_DEVICE u8 to_float8(f32 x) {
  constexpr u32 largest = fnuz ? 0x7fu : mantissa_bits == 3 ? 0x7eu : 0x7bu;
  const u32 bits = __builtin_bit_cast(u32, x), sign = bits >> 24 & 0x80u, magnitude_bits = bits & 0x7fffffffu;
  const u32 nan = fnuz ? 0x80u : sign | 0x7fu, beyond = !fnuz && mantissa_bits == 2 ? sign | 0x7cu : nan;
  if (magnitude_bits > 0x7f800000u) return u8(nan);
  constexpr int drop = 23 - mantissa_bits;
  constexpr u32 least_normal = u32(128 - bias) << 23;
  u32 code;
  if (magnitude_bits < least_normal) {  // adding 2^23 units of the least number leaves their count, rounded
    constexpr f32 many = __builtin_bit_cast(f32, u32(127 + 1 - bias - mantissa_bits + 23) << 23);
    code = __builtin_bit_cast(u32, __builtin_bit_cast(f32, magnitude_bits) + many) - __builtin_bit_cast(u32, many);
  } else {
    const u32 rounded = magnitude_bits + ((1u << (drop - 1)) - 1) + (magnitude_bits >> drop & 1u);
    code = (rounded >> drop) - (u32(127 - bias) << mantissa_bits);
    if (code > largest) return u8(beyond);
  }
  return u8(fnuz && code == 0 ? 0 : sign | code);
}

// bf16 holds them all: nothing is rounded.
KILN_DEVICE bf16 upper_half(f32 x) { return bf16(__builtin_bit_cast(u32, x) >> 16); }

#define KILN_FLOAT8(type, mantissa_bits, bias, fnuz)                                                        \
  KILN_DEVICE f32 from_##type(type x) { return from_float8<mantissa_bits, bias, fnuz>(x); }                 \
  KILN_DEVICE bf16 bf16_from_##type(type x) { return upper_half(from_##type(x)); }                          \
  KILN_DEVICE type to_##type(f32 x) { return to_float8<mantissa_bits, bias, fnuz>(x); }                     \
  KILN_DEVICE type to_##type(f64 x) { return to_float8<mantissa_bits, bias, fnuz>(to_odd_f32(x)); }
KILN_FLOAT8(f8e4m3fn, 3, 7, false)
KILN_FLOAT8(f8e4m3fnuz, 3, 8, true)
KILN_FLOAT8(f8e5m2, 2, 15, false)
KILN_FLOAT8(f8e5m2fnuz, 2, 16, true)
#undef KILN_FLOAT8

}  // namespace kiln
