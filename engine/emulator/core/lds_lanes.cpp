// DS instructions that move values between lanes. A lane that is switched off gives 0.
#include <immintrin.h>

#include "engine/emulator/core/lds_table.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// values[lane] = from[source[lane]], 0 where that lane is off; into the destination's active lanes.
void pull(Wave& wave, const Instruction& instruction, const u32* from, const u32* source) {
  const u64 exec = wave.exec();
  alignas(64) u32 values[lanes], visible[lanes];
  std::memcpy(visible, from, sizeof visible);
  if (exec != ~u64(0)) {
    std::memset(visible, 0, sizeof visible);
    write_lanes(visible, from, exec);
  }
#ifdef __AVX512F__
  const __m512i a = _mm512_load_si512(visible), b = _mm512_load_si512(visible + 16);
  const __m512i c = _mm512_load_si512(visible + 32), d = _mm512_load_si512(visible + 48);
  for (int lane = 0; lane < lanes; lane += 16) {
    const __m512i at = _mm512_loadu_si512(source + lane);
    const __m512i low = _mm512_permutex2var_epi32(a, at, b), high = _mm512_permutex2var_epi32(c, at, d);
    const __mmask16 upper = _mm512_test_epi32_mask(at, _mm512_set1_epi32(32));
    _mm512_store_si512(values + lane, _mm512_mask_blend_epi32(upper, low, high));
  }
#else
  for (int lane = 0; lane < lanes; ++lane) values[lane] = visible[source[lane]];
#endif
  write_lanes(wave.vector[instruction.dst.index], values, exec);
}

// The lane within 32 that lane i reads, by ds_swizzle_b32's offset ("LDS & Parallel Data Permute").
u32 swizzle_source(u32 offset, u32 i) {
  if (offset >= 0xe000) {  // order of a Fourier transformation
    const u32 mask = offset & 31;
    u32 reversed = 0;
    for (u32 bit = 0; bit < 5; ++bit) reversed |= (i >> bit & 1) << (4 - bit);
    return reversed >> __builtin_popcount(mask) | (i & mask);
  }
  if (offset >= 0xc000) {  // rotation of the bits outside of the mask
    const u32 mask = offset & 31, amount = offset >> 5 & 31;
    const u32 rotated = offset >> 10 & 1 ? i - amount : i + amount;
    return ((i & mask) | (rotated & ~mask)) & 31;
  }
  if (offset >> 15) return (i & ~3u) | (offset >> (i % 4 * 2) & 3);  // any order within four lanes
  return (((i & offset) | offset >> 5) ^ offset >> 10) & 31;         // and, or, exclusive or
}

}  // namespace

void execute_lds_swizzle(Wave& wave, const Instruction& instruction) {
  const u32* from = wave.vector[instruction.src[0].index];
  const u32 offset = static_cast<u32>(instruction.offset) & 0xffff;
  u32 source[lanes];
  for (u32 lane = 0; lane < lanes; ++lane) source[lane] = swizzle_source(offset, lane & 31) | (lane & 32);
  pull(wave, instruction, from, source);
}

void execute_lds_permute(Wave& wave, const Instruction& instruction) {
  const u32 *address = wave.vector[instruction.src[0].index], *from = wave.vector[instruction.src[1].index];
  const u64 exec = wave.exec();
  const u32 last = wave.size - 1u;
  u32 values[lanes] = {};
  for (int lane = 0; lane < lanes; ++lane) {
    const u32 to = (address[lane] + static_cast<u32>(instruction.offset)) / 4 & last;
    if (exec >> lane & 1) values[to] = from[lane];
  }
  write_lanes(wave.vector[instruction.dst.index], values, exec);
}

void execute_lds_backward_permute(Wave& wave, const Instruction& instruction) {
  const u32 *address = wave.vector[instruction.src[0].index], *from = wave.vector[instruction.src[1].index];
  const u32 last = wave.size - 1u, offset = static_cast<u32>(instruction.offset);
  u32 source[lanes];
  for (int lane = 0; lane < lanes; ++lane) source[lane] = (address[lane] + offset) / 4 & last;
  pull(wave, instruction, from, source);
}

}  // namespace kiln::emulator
