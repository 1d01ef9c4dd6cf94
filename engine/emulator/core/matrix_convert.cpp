// The operands of matrix instructions as f32, and their exchanges between lanes.
#include <immintrin.h>

#include <bit>
#include <cstring>

#include "engine/emulator/core/matrix.hpp"

namespace kiln::emulator {
namespace {

constexpr std::uint32_t quiet_nan = 0x7fc00000u;

// A format of at most 8 bits: sign, exponent, `fraction` bits. Its fields moved to f32's places are the value divided
// by 2^(127 - bias), denormals included, so one exact multiplication gives it.
struct SmallFloat {
  std::uint8_t bits, fraction, bias;
  std::uint8_t infinity;   // magnitudes from here on are infinity (the first) and NaN; 0xff: there are none
  bool has_infinity;
  bool negative_zero_is_nan;
};

constexpr SmallFloat small_float(MatrixInput input) {
  switch (input) {
    case MatrixInput::fp8_fnuz: return {8, 3, 8, 0xff, false, true};
    case MatrixInput::bf8_fnuz: return {8, 2, 16, 0xff, false, true};
    case MatrixInput::fp8: return {8, 3, 7, 0x7f, false, false};
    case MatrixInput::bf8: return {8, 2, 15, 0x7c, true, false};
    case MatrixInput::fp6: return {6, 3, 1, 0xff, false, false};
    case MatrixInput::bf6: return {6, 2, 3, 0xff, false, false};
    default: return {4, 1, 1, 0xff, false, false};  // fp4
  }
}

// The bits of element `index` of every lane, in the low bits of `out`.
void extract(const MatrixRegister* registers, int index, int bits, std::uint32_t (&out)[lanes]) {
  const int word = index * bits / 32, shift = index * bits % 32;
  const std::uint32_t mask = (1u << bits) - 1;
  if (shift + bits <= 32) {
    for (int lane = 0; lane < lanes; ++lane) out[lane] = registers[word][lane] >> shift & mask;
  } else {
    for (int lane = 0; lane < lanes; ++lane) {
      out[lane] = (registers[word][lane] >> shift | registers[word + 1][lane] << (32 - shift)) & mask;
    }
  }
}

void convert_small(const SmallFloat format, const MatrixRegister* registers, int elements, MatrixPlanes& planes) {
  const std::uint32_t sign_bit = 1u << (format.bits - 1);
  const int up = 23 - format.fraction;
  const float scale = std::bit_cast<float>(static_cast<std::uint32_t>(254 - format.bias) << 23);
  for (int element = 0; element < elements; ++element) {
    alignas(64) std::uint32_t raw[lanes], bits[lanes];
    extract(registers, element, format.bits, raw);
    float (&plane)[lanes] = planes[element];
    for (int lane = 0; lane < lanes; ++lane) {
      plane[lane] = std::bit_cast<float>((raw[lane] & (sign_bit - 1)) << up) * scale;
    }
    std::memcpy(bits, plane, sizeof bits);
    for (int lane = 0; lane < lanes; ++lane) {
      const std::uint32_t magnitude = raw[lane] & (sign_bit - 1);
      std::uint32_t value = bits[lane];
      value = magnitude >= format.infinity ? quiet_nan : value;
      value = format.has_infinity && magnitude == format.infinity ? 0x7f800000u : value;
      value |= raw[lane] & sign_bit ? 0x80000000u : 0u;
      bits[lane] = format.negative_zero_is_nan && raw[lane] == sign_bit ? quiet_nan : value;
    }
    std::memcpy(plane, bits, sizeof bits);
  }
}

void convert_f16(const MatrixRegister* registers, int elements, MatrixPlanes& planes) {
  for (int pair = 0; pair < elements / 2; ++pair) {
    const std::uint32_t* from = registers[pair];
    float* low = planes[2 * pair];
    float* high = planes[2 * pair + 1];
    for (int lane = 0; lane < lanes; lane += 8) {
      const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + lane));
      // Packing works within halves of the vector: low 0-3, high 0-3, low 4-7, high 4-7.
      const __m256i packed =
          _mm256_packus_epi32(_mm256_and_si256(both, _mm256_set1_epi32(0xffff)), _mm256_srli_epi32(both, 16));
      const __m256 first = _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
      const __m256 second = _mm256_cvtph_ps(_mm256_extracti128_si256(packed, 1));
      _mm256_storeu_ps(low + lane, _mm256_permute2f128_ps(first, second, 0x20));
      _mm256_storeu_ps(high + lane, _mm256_permute2f128_ps(first, second, 0x31));
    }
  }
}

void flush_f16(int elements, MatrixPlanes& planes) {
  for (int element = 0; element < elements; ++element) {
    alignas(64) std::uint32_t bits[lanes];
    std::memcpy(bits, planes[element], sizeof bits);
    for (int lane = 0; lane < lanes; ++lane) {
      const bool small = (bits[lane] & 0x7fffffffu) < 0x38800000u;  // 2^-14, f16's smallest normal number
      bits[lane] = small ? bits[lane] & 0x80000000u : bits[lane];
    }
    std::memcpy(planes[element], bits, sizeof bits);
  }
}

void convert_bf16(const MatrixRegister* registers, int elements, MatrixPlanes& planes) {
  for (int pair = 0; pair < elements / 2; ++pair) {
    alignas(64) std::uint32_t low[lanes], high[lanes];
    for (int lane = 0; lane < lanes; ++lane) {
      low[lane] = registers[pair][lane] << 16;
      high[lane] = registers[pair][lane] & 0xffff0000u;
    }
    std::memcpy(planes[2 * pair], low, sizeof low);
    std::memcpy(planes[2 * pair + 1], high, sizeof high);
  }
}

void convert_xf32(const MatrixRegister* registers, int elements, MatrixPlanes& planes) {
  for (int element = 0; element < elements; ++element) {
    alignas(64) std::uint32_t bits[lanes];
    for (int lane = 0; lane < lanes; ++lane) {
      const std::uint32_t value = registers[element][lane];
      const std::uint32_t rounded = value + 0xfffu + (value >> 13 & 1u);
      const std::uint32_t nan = value | (value & 0x1fffu ? 0x400000u : 0u);  // a payload in the lost bits stays a NaN
      bits[lane] = ((value & 0x7f800000u) == 0x7f800000u ? nan : rounded) & 0xffffe000u;
    }
    std::memcpy(planes[element], bits, sizeof bits);
  }
}

void convert_i8(const MatrixRegister* registers, int elements, MatrixPlanes& planes) {
  for (int element = 0; element < elements; ++element) {
    // 2^23 + 128 + x as an f32's bits: the loops stay ones that the compiler makes vectors of.
    alignas(64) std::uint32_t bits[lanes];
    for (int lane = 0; lane < lanes; ++lane) {
      bits[lane] = ((registers[element / 4][lane] >> (element % 4 * 8) & 0xffu) ^ 0x80u) | 0x4b000000u;
    }
    std::memcpy(planes[element], bits, sizeof bits);
    for (float& value : planes[element]) value -= 8388736.0f;
  }
}

}  // namespace

int matrix_registers(MatrixInput input, int elements) {
  switch (input) {
    case MatrixInput::f64: return elements * 2;
    case MatrixInput::f32:
    case MatrixInput::xf32: return elements;
    case MatrixInput::f16:
    case MatrixInput::bf16: return elements / 2;
    case MatrixInput::fp6:
    case MatrixInput::bf6: return elements * 6 / 32;
    case MatrixInput::fp4: return elements / 8;
    default: return elements / 4;
  }
}

void convert_matrix(MatrixInput input, const MatrixRegister* registers, int elements, bool flush,
                    MatrixPlanes& planes) {
  switch (input) {
    case MatrixInput::f32: std::memcpy(planes, registers, sizeof(MatrixRegister) * elements); return;
    case MatrixInput::xf32: convert_xf32(registers, elements, planes); return;
    case MatrixInput::f16:
      convert_f16(registers, elements, planes);
      if (flush) flush_f16(elements, planes);
      return;
    case MatrixInput::bf16: convert_bf16(registers, elements, planes); return;
    case MatrixInput::i8: convert_i8(registers, elements, planes); return;
    case MatrixInput::f64: return;  // matrix_f64.cpp reads it
    default: convert_small(small_float(input), registers, elements, planes); return;
  }
}

void broadcast_blocks(MatrixPlanes& planes, const MatrixLayout& layout, int cbsz, int abid) {
  for (int element = 0; element < layout.elements; ++element) {
    float from[lanes];
    std::memcpy(from, planes[element], sizeof from);
    for (int lane = 0; lane < lanes; ++lane) {
      const int block = lane / layout.size % layout.blocks;
      const int source = (block >> cbsz << cbsz) + abid;
      planes[element][lane] = from[lane + (source - block) * layout.size];
    }
  }
}

void permute_groups(MatrixPlanes& planes, int elements, int blgp) {
  for (int element = 0; element < elements; ++element) {
    float from[lanes];
    std::memcpy(from, planes[element], sizeof from);
    for (int lane = 0; lane < lanes; ++lane) {
      int source = lane;
      if (blgp == 1 || blgp == 2) source = lane % 32 + (blgp - 1) * 32;
      if (blgp == 3) source = (lane + 16) % 64;
      if (blgp >= 4) source = lane % 16 + (blgp - 4) * 16;
      planes[element][lane] = from[source];
    }
  }
}

}  // namespace kiln::emulator
