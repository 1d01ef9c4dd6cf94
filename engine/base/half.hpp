// f16 and bf16 as bits, by integer arithmetic: round to nearest even, denormals kept, NaN stays NaN (quiet).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace kiln {

inline float f16_to_f32(std::uint16_t h) {
  const std::uint32_t sign = std::uint32_t(h & 0x8000u) << 16;
  const std::uint32_t exponent = (h >> 10) & 31u;
  std::uint32_t mantissa = h & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13) | (mantissa ? 0x400000u : 0u));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  if (mantissa == 0) return std::bit_cast<float>(sign);
  const int shift = std::countl_zero(mantissa) - 21;
  mantissa = (mantissa << shift) & 0x3ffu;
  return std::bit_cast<float>(sign | (std::uint32_t(113 - shift) << 23) | (mantissa << 13));
}

// From double in one rounding (f32 is exact in double, so this serves both).
inline std::uint16_t f64_to_f16(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint16_t sign = std::uint16_t((bits >> 48) & 0x8000u);
  const int exponent = int((bits >> 52) & 2047) - 1023;
  const std::uint64_t mantissa = bits & 0xfffffffffffffull;
  if (exponent == 1024) return std::uint16_t(sign | 0x7c00u | (mantissa ? 0x200u | (mantissa >> 42) : 0));
  if (exponent > 15) return std::uint16_t(sign | 0x7c00u);
  if (exponent < -25) return sign;
  const std::uint64_t full = mantissa | (std::uint64_t(1) << 52);
  const int drop = exponent >= -14 ? 42 : 42 + (-14 - exponent);
  std::uint64_t kept = full >> drop;
  const std::uint64_t rest = full & ((std::uint64_t(1) << drop) - 1), half = std::uint64_t(1) << (drop - 1);
  if (rest > half || (rest == half && (kept & 1))) ++kept;
  const std::uint64_t biased = exponent >= -14 ? (std::uint64_t(exponent + 14) << 10) + kept : kept;
  return std::uint16_t(sign | biased);
}

inline float bf16_to_f32(std::uint16_t b) {
  const std::uint32_t quiet = (b & 0x7fffu) > 0x7f80u ? 0x400000u : 0u;
  return std::bit_cast<float>(std::uint32_t(b) << 16 | quiet);
}

inline std::uint16_t f64_to_bf16(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint16_t sign = std::uint16_t((bits >> 48) & 0x8000u);
  const int exponent = int((bits >> 52) & 2047) - 1023;
  const std::uint64_t mantissa = bits & 0xfffffffffffffull;
  if (exponent == 1024) return std::uint16_t(sign | 0x7f80u | (mantissa ? 0x40u | (mantissa >> 45) : 0));
  if (exponent > 127) return std::uint16_t(sign | 0x7f80u);
  if (exponent < -134) return sign;
  const std::uint64_t full = mantissa | (std::uint64_t(1) << 52);
  const int drop = exponent >= -126 ? 45 : 45 + (-126 - exponent);
  std::uint64_t kept = full >> drop;
  const std::uint64_t rest = full & ((std::uint64_t(1) << drop) - 1), half = std::uint64_t(1) << (drop - 1);
  if (rest > half || (rest == half && (kept & 1))) ++kept;
  const std::uint64_t biased = exponent >= -126 ? (std::uint64_t(exponent + 126) << 7) + kept : kept;
  return std::uint16_t(sign | biased);
}

}  // namespace kiln
