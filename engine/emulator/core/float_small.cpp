#include "engine/emulator/core/float_small.hpp"

#include <bit>

#include "engine/emulator/core/float_half.hpp"
#include "engine/emulator/core/float_rows.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;

// Sign bit above exponent and `fraction` bits. Magnitudes above `largest` are what `overflow` says, NaNs are `nan`.
struct Layout {
  int fraction, bias;
  u32 sign, largest, overflow, infinity, nan;
  bool unsigned_nan;  // NaN has no sign and there is no -0
};

constexpr Layout layout_of(Small format) {
  switch (format) {
    case Small::fp8_fnuz: return {3, 8, 0x80, 0x7f, 0x80, 0x80, 0x80, true};
    case Small::bf8_fnuz: return {2, 16, 0x80, 0x7f, 0x80, 0x80, 0x80, true};
    case Small::fp8: return {3, 7, 0x80, 0x7e, 0x7f, 0x7f, 0x7f, false};
    case Small::bf8: return {2, 15, 0x80, 0x7b, 0x7c, 0x7c, 0x7f, false};
    case Small::fp6: return {3, 1, 0x20, 0x1f, 0x1f, 0x1f, 0x1f, false};
    case Small::bf6: return {2, 3, 0x20, 0x1f, 0x1f, 0x1f, 0x1f, false};
    case Small::fp4: return {1, 1, 0x8, 0x7, 0x7, 0x7, 0x7, false};
    case Small::f16: return {10, 15, 0x8000, 0x7bff, 0x7c00, 0x7c00, 0x7e00, false};
    case Small::bf16: return {7, 127, 0x8000, 0x7f7f, 0x7f80, 0x7f80, 0x7fc0, false};
  }
  return {};
}

// The magnitude's code: exponent and fraction of the format as one number, not yet limited. `bits`: of |value|.
template <Small format, bool stochastic>
inline u32 round_magnitude(u32 bits, u32 random) {
  constexpr Layout f = layout_of(format);
  constexpr int dropped = 23 - f.fraction;
  constexpr u32 smallest_normal = static_cast<u32>(128 - f.bias) << 23;
  u32 normal;
  if constexpr (stochastic) {
    normal = bits + (random >> (32 - dropped));
  } else {
    normal = bits + ((1u << (dropped - 1)) - 1) + (bits >> dropped & 1);
  }
  normal = (normal >> dropped) - (static_cast<u32>(127 - f.bias) << f.fraction);
  if constexpr (format == Small::bf16) return normal;  // f32's own exponents: denormals need nothing of their own
  // Denormals: a fixed point number with `below` bits under the last place. Units of the last place fit 10 bits.
  constexpr int below = 31 - f.fraction - 1;
  constexpr float units = std::bit_cast<float>(static_cast<u32>(127 + f.bias - 1 + f.fraction) << 23);
  const float scaled = std::bit_cast<float>(select(bits < smallest_normal, bits, 0u)) * units;
  const float whole_bits = scaled * static_cast<float>(1u << below);
  const auto fixed = static_cast<u32>(static_cast<std::int32_t>(whole_bits));
  const auto lost = static_cast<u32>(static_cast<float>(static_cast<std::int32_t>(fixed)) != whole_bits);  // sticky
  u32 denormal;
  if constexpr (stochastic) {
    denormal = (fixed + (random >> (32 - below))) >> below;
  } else {
    denormal = ((fixed | lost) + ((1u << (below - 1)) - 1) + (fixed >> below & 1)) >> below;
  }
  return select(bits < smallest_normal, denormal, normal);
}

template <Small format, bool stochastic>
void encode_all(const float* values, const u32* random, bool finite, u32* codes) {
  constexpr Layout f = layout_of(format);
  const u32 overflow = finite ? f.largest : f.overflow;
  for (int i = 0; i < lanes; ++i) {
    const u32 all = std::bit_cast<u32>(values[i]), bits = all & 0x7fffffffu;
    u32 code = round_magnitude<format, stochastic>(bits, stochastic ? random[i] : 0);
    // Above 2^30 the additions may carry out of the exponent's range; only bf16 has such numbers.
    code = select((code > f.largest) | ((format != Small::bf16) & (bits >= 0x60000000u)), overflow, code);
    code = select(bits == 0x7f800000u, f.infinity, code);
    code = select(bits > 0x7f800000u, f.nan, code);
    const u32 sign = (all >> 31) * f.sign;
    const bool unsigned_code = f.unsigned_nan & ((code == 0) | (code == f.nan));
    codes[i] = select(unsigned_code, code, code | sign);
  }
}
template <Small format>
void encode_format(const float* values, const u32* random, bool finite, u32* codes) {
  if (random != nullptr) {
    encode_all<format, true>(values, random, finite, codes);
  } else {
    encode_all<format, false>(values, random, finite, codes);
  }
}

template <Small format>
void decode_format(const u32* codes, float* values) {
  constexpr Layout f = layout_of(format);
  constexpr float scale = std::bit_cast<float>(static_cast<u32>(254 - f.bias) << 23);  // 2^(127 - bias)
  for (int i = 0; i < lanes; ++i) {
    const u32 code = codes[i] & (f.sign * 2 - 1), magnitude = code & (f.sign - 1);
    // The format's fields in f32's places are the value times 2^(bias - 127), denormals included.
    const float value = std::bit_cast<float>(magnitude << (23 - f.fraction)) * scale;
    u32 bits = std::bit_cast<u32>(value);
    if constexpr (f.unsigned_nan) {
      bits = code == f.nan ? 0x7fc00000u : bits;
    } else if constexpr (f.nan != f.largest) {
      bits = magnitude == f.overflow && f.overflow != f.nan ? 0x7f800000u : magnitude > f.largest ? 0x7fc00000u : bits;
    }
    const bool negative = (code & f.sign) != 0 && !(f.unsigned_nan && code == f.nan);
    values[i] = std::bit_cast<float>(bits | (negative ? 0x80000000u : 0));
  }
}

}  // namespace

void encode_small(Small format, const float* values, const u32* random, bool finite, u32* codes) {
  switch (format) {
    case Small::fp8_fnuz: return encode_format<Small::fp8_fnuz>(values, random, finite, codes);
    case Small::bf8_fnuz: return encode_format<Small::bf8_fnuz>(values, random, finite, codes);
    case Small::fp8: return encode_format<Small::fp8>(values, random, finite, codes);
    case Small::bf8: return encode_format<Small::bf8>(values, random, finite, codes);
    case Small::fp6: return encode_format<Small::fp6>(values, random, finite, codes);
    case Small::bf6: return encode_format<Small::bf6>(values, random, finite, codes);
    case Small::fp4: return encode_format<Small::fp4>(values, random, finite, codes);
    case Small::bf16: return encode_format<Small::bf16>(values, random, false, codes);
    case Small::f16: return encode_format<Small::f16>(values, random, finite, codes);
  }
}

void decode_small(Small format, const u32* codes, float* values) {
  switch (format) {
    case Small::fp8_fnuz: return decode_format<Small::fp8_fnuz>(codes, values);
    case Small::bf8_fnuz: return decode_format<Small::bf8_fnuz>(codes, values);
    case Small::fp8: return decode_format<Small::fp8>(codes, values);
    case Small::bf8: return decode_format<Small::bf8>(codes, values);
    case Small::fp6: return decode_format<Small::fp6>(codes, values);
    case Small::bf6: return decode_format<Small::bf6>(codes, values);
    case Small::fp4: return decode_format<Small::fp4>(codes, values);
    case Small::bf16:
      for (int i = 0; i < lanes; ++i) values[i] = std::bit_cast<float>(codes[i] << 16);
      return;
    case Small::f16: return widen_low(codes, values);
  }
}

}  // namespace kiln::emulator
