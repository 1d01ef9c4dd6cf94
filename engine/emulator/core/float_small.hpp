// Floats of 8 bits and less, and bf16, to and from f32, for rows of 64 lanes.
//
// fp8 is e4m3, bf8 e5m2. The FNUZ forms (gfx942) have one NaN, where -0 would be, no infinities, and biases 8 and 16;
// the OCP forms (gfx950) have biases 7 and 15, bf8 with infinities. fp6 is e2m3, bf6 e3m2, fp4 e2m1: all values finite.
// Sources: AMD's ISA documents of MI300 and CDNA4; OCP "8-bit Floating Point Specification" and "Microscaling Formats".
//
// What overflows: fp8 and bf8 become NaN (OCP bf8: infinity), or with MODE.FP16_OVFL the largest value, except infinity
// itself; fp6, bf6 and fp4 become the largest value, NaN too. To nearest even, or stochastic: the bits that do not fit,
// as a fraction of the last place, are raised by a random fraction and cut off. The random fraction is the upper bits
// of the random number (the documents name S1[31:12] for fp8 and S1[31:11] for bf8).
#pragma once

#include <cstdint>

#include "engine/emulator/core/wave.hpp"

namespace kiln::emulator {

enum class Small : std::uint8_t { fp8_fnuz, bf8_fnuz, fp8, bf8, fp6, bf6, fp4, bf16, f16 };

constexpr int width_of(Small format) {
  switch (format) {
    case Small::bf16: case Small::f16: return 16;
    case Small::fp6: case Small::bf6: return 6;
    case Small::fp4: return 4;
    default: return 8;
  }
}

// `random`: null for to nearest even. `finite`: MODE.FP16_OVFL.
void encode_small(Small format, const float* values, const std::uint32_t* random, bool finite, std::uint32_t* codes);
// Bits above the format's width are ignored. f16 and bf16 keep denormals.
void decode_small(Small format, const std::uint32_t* codes, float* values);

}  // namespace kiln::emulator
