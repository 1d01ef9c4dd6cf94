// Floats of 8 bits, by integer arithmetic: round to nearest even, denormals kept, NaN stays NaN. The OCP formats are
// those of "OCP 8-bit Floating Point Specification (OFP8)" 1.0; the FNUZ ones ("finite, NaN, unsigned zero") those of
// gfx942's instruction set: a bias larger by one, no infinity, one NaN where the other formats have -0.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace kiln {

struct Float8 {
  int mantissa_bits, bias;
  bool fnuz, infinity;
  // The largest finite code; what rounds beyond it is infinity where the format has one, else NaN.
  [[nodiscard]] constexpr unsigned largest() const { return fnuz ? 0x7f : infinity ? 0x7b : 0x7e; }
};
inline constexpr Float8 e4m3fn{3, 7, false, false}, e4m3fnuz{3, 8, true, false};
inline constexpr Float8 e5m2{2, 15, false, true}, e5m2fnuz{2, 16, true, false};

// Exact: f32 and f16 hold every value of the four formats.
inline float f8_to_f32(Float8 format, std::uint8_t code) {
  const float sign = (code & 0x80u) != 0 ? -1.0f : 1.0f;
  const unsigned rest = code & 0x7fu;
  if (format.fnuz ? code == 0x80u : rest > format.largest() + (format.infinity ? 1 : 0))
    return std::bit_cast<float>(0x7fc00000u);
  if (rest > format.largest()) return sign * HUGE_VALF;
  const int exponent = static_cast<int>(rest >> format.mantissa_bits);
  const auto mantissa = static_cast<float>(rest & ((1u << format.mantissa_bits) - 1));
  const auto hidden = static_cast<float>(1u << format.mantissa_bits);
  const int scale = (exponent == 0 ? 1 : exponent) - format.bias - format.mantissa_bits;
  return sign * std::ldexp(exponent == 0 ? mantissa : mantissa + hidden, scale);
}

// From double in one rounding (f32 and f16 are exact in double).
inline std::uint8_t f64_to_f8(Float8 format, double value) {
  const unsigned sign = std::signbit(value) ? 0x80u : 0u;
  const unsigned nan = format.fnuz ? 0x80u : sign | 0x7fu;
  if (std::isnan(value)) return static_cast<std::uint8_t>(nan);
  const unsigned beyond = format.infinity ? sign | 0x7cu : nan;
  if (std::isinf(value)) return static_cast<std::uint8_t>(beyond);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int exponent = static_cast<int>((bits >> 52) & 2047) - 1023, least = 1 - format.bias;
  if (exponent > format.bias + 1) return static_cast<std::uint8_t>(beyond);
  if (exponent < least - format.mantissa_bits - 1) return static_cast<std::uint8_t>(format.fnuz ? 0 : sign);
  const std::uint64_t full = (bits & 0xfffffffffffffull) | (std::uint64_t(1) << 52);
  const int drop = 52 - format.mantissa_bits + (exponent < least ? least - exponent : 0);
  std::uint64_t kept = full >> drop;
  const std::uint64_t rest = full & ((std::uint64_t(1) << drop) - 1), half = std::uint64_t(1) << (drop - 1);
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  // A carry out of the mantissa goes into the exponent.
  const std::uint64_t code =
      exponent < least ? kept : (static_cast<std::uint64_t>(exponent - least) << format.mantissa_bits) + kept;
  if (code > format.largest()) return static_cast<std::uint8_t>(beyond);
  return static_cast<std::uint8_t>(format.fnuz && code == 0 ? 0 : sign | code);
}

}  // namespace kiln
