#include "engine/emulator/core/memory_transfer.hpp"

#include <immintrin.h>

#include <bit>

namespace kiln::emulator {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u64 all = ~u64(0);

// Lane l at `at[0]` + l * 4.
bool is_dense(const u64* at) {
  if (at[lanes - 1] - at[0] != (lanes - 1) * 4) return false;
  u64 differs = 0;
  for (int lane = 0; lane < lanes; ++lane) differs |= at[lane] ^ (at[0] + static_cast<u64>(lane) * 4);
  return differs == 0;
}

template <class T>
T read(u64 address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}
template <class T>
void write(u64 address, T value) {
  std::memcpy(reinterpret_cast<void*>(address), &value, sizeof value);
}

template <class T>
void gather(u32* values, const u64* at) {
  for (int lane = 0; lane < lanes; ++lane) values[lane] = static_cast<u32>(read<T>(at[lane]));
}

#ifndef __AVX512F__
void transpose(__m128i& a, __m128i& b, __m128i& c, __m128i& d) {
  const __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
  const __m128i ab_high = _mm_unpackhi_epi32(a, b), cd_high = _mm_unpackhi_epi32(c, d);
  a = _mm_unpacklo_epi64(ab, cd);
  b = _mm_unpackhi_epi64(ab, cd);
  c = _mm_unpacklo_epi64(ab_high, cd_high);
  d = _mm_unpackhi_epi64(ab_high, cd_high);
}
#endif

__m128i load128(u64 address) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(address)); }
__m128i load64(u64 address) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(address)); }
void put(u32* to, __m128i value) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value); }
__m128i get(const u32* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }

void gather2(u32 (*rows)[lanes], const u64* at) {
  for (int lane = 0; lane < lanes; lane += 4) {
    const __m128i first = _mm_unpacklo_epi64(load64(at[lane]), load64(at[lane + 1]));
    const __m128i second = _mm_unpacklo_epi64(load64(at[lane + 2]), load64(at[lane + 3]));
    const __m128 a = _mm_castsi128_ps(first), b = _mm_castsi128_ps(second);
    put(rows[0] + lane, _mm_castps_si128(_mm_shuffle_ps(a, b, 0x88)));
    put(rows[1] + lane, _mm_castps_si128(_mm_shuffle_ps(a, b, 0xdd)));
  }
}
void gather3(u32 (*rows)[lanes], const u64* at) {
  for (int lane = 0; lane < lanes; ++lane) {
    for (int n = 0; n < 3; ++n) rows[n][lane] = read<u32>(at[lane] + n * 4);
  }
}
#ifdef __AVX512F__
// Four dwords of sixteen lanes: register k holds lanes k, k + 4, k + 8 and k + 12, so that transposing its quarters
// gives the rows in order. (The zeroing forms with full masks: g++ 12 warns about the plain ones' own headers.)
struct Sixteen {
  __m512i part[4];

  static __m512i low32(__m512i a, __m512i b) { return _mm512_maskz_unpacklo_epi32(0xffff, a, b); }
  static __m512i high32(__m512i a, __m512i b) { return _mm512_maskz_unpackhi_epi32(0xffff, a, b); }
  static __m512i low64(__m512i a, __m512i b) { return _mm512_maskz_unpacklo_epi64(0xff, a, b); }
  static __m512i high64(__m512i a, __m512i b) { return _mm512_maskz_unpackhi_epi64(0xff, a, b); }
  void transpose() {
    const __m512i ab = low32(part[0], part[1]), cd = low32(part[2], part[3]);
    const __m512i ab_high = high32(part[0], part[1]), cd_high = high32(part[2], part[3]);
    part[0] = low64(ab, cd);
    part[1] = high64(ab, cd);
    part[2] = low64(ab_high, cd_high);
    part[3] = high64(ab_high, cd_high);
  }
};
void gather4(u32 (*rows)[lanes], const u64* at) {
  for (int lane = 0; lane < lanes; lane += 16) {
    Sixteen values;
    for (int k = 0; k < 4; ++k) {
      const u64* from = at + lane + k;
      __m512i part = _mm512_castsi128_si512(load128(from[0]));
      part = _mm512_maskz_inserti32x4(0xffff, part, load128(from[4]), 1);
      part = _mm512_maskz_inserti32x4(0xffff, part, load128(from[8]), 2);
      values.part[k] = _mm512_maskz_inserti32x4(0xffff, part, load128(from[12]), 3);
    }
    values.transpose();
    for (int k = 0; k < 4; ++k) _mm512_storeu_si512(rows[k] + lane, values.part[k]);
  }
}
#else
void gather4(u32 (*rows)[lanes], const u64* at) {
  for (int lane = 0; lane < lanes; lane += 4) {
    __m128i a = load128(at[lane]), b = load128(at[lane + 1]), c = load128(at[lane + 2]), d = load128(at[lane + 3]);
    transpose(a, b, c, d);
    put(rows[0] + lane, a);
    put(rows[1] + lane, b);
    put(rows[2] + lane, c);
    put(rows[3] + lane, d);
  }
}
#endif

void gather_dwords(u32 (*rows)[lanes], const u64* at, int count) {
  switch (count) {
    case 1:
      if (is_dense(at)) {
        std::memcpy(rows[0], reinterpret_cast<const void*>(at[0]), sizeof(u32) * lanes);
      } else {
        gather<u32>(rows[0], at);
      }
      return;
    case 2: return gather2(rows, at);
    case 3: return gather3(rows, at);
    default: return gather4(rows, at);
  }
}

void gather_small(u32* values, const u64* at, const Transfer& transfer) {
  if (transfer.bytes == 1) return transfer.sign ? gather<std::int8_t>(values, at) : gather<u8>(values, at);
  return transfer.sign ? gather<std::int16_t>(values, at) : gather<u16>(values, at);
}

// The half of the register that d16 loads write.
void insert_half(u32* row, const u32* values, u64 mask, Half half) {
  alignas(64) u32 merged[lanes];
  const u32 kept = half == Half::low ? 0xffff0000 : 0xffff, shift = half == Half::low ? 0 : 16;
  for (int lane = 0; lane < lanes; ++lane) merged[lane] = (row[lane] & kept) | (values[lane] << shift & ~kept);
  write_lanes(row, merged, mask);
}

// The intrinsic for it wants an aligned address in spite of the instruction.
void put_upper64(u64 address, __m128i value) { write<u64>(address, static_cast<u64>(value[1])); }

void scatter2(u32 (*rows)[lanes], const u64* at) {
  for (int lane = 0; lane < lanes; lane += 4) {
    const __m128i low = _mm_unpacklo_epi32(get(rows[0] + lane), get(rows[1] + lane));
    const __m128i high = _mm_unpackhi_epi32(get(rows[0] + lane), get(rows[1] + lane));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(at[lane]), low);
    put_upper64(at[lane + 1], low);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(at[lane + 2]), high);
    put_upper64(at[lane + 3], high);
  }
}
#ifdef __AVX512F__
void put128(u64 address, __m128i value) { _mm_storeu_si128(reinterpret_cast<__m128i*>(address), value); }
void scatter4(u32 (*rows)[lanes], const u64* at) {
  for (int lane = 0; lane < lanes; lane += 16) {
    Sixteen values;
    for (int k = 0; k < 4; ++k) values.part[k] = _mm512_loadu_si512(rows[k] + lane);
    values.transpose();
    for (int k = 0; k < 4; ++k) put128(at[lane + k], _mm512_maskz_extracti32x4_epi32(15, values.part[k], 0));
    for (int k = 0; k < 4; ++k) put128(at[lane + k + 4], _mm512_maskz_extracti32x4_epi32(15, values.part[k], 1));
    for (int k = 0; k < 4; ++k) put128(at[lane + k + 8], _mm512_maskz_extracti32x4_epi32(15, values.part[k], 2));
    for (int k = 0; k < 4; ++k) put128(at[lane + k + 12], _mm512_maskz_extracti32x4_epi32(15, values.part[k], 3));
  }
}
#else
void scatter4(u32 (*rows)[lanes], const u64* at) {
  for (int lane = 0; lane < lanes; lane += 4) {
    __m128i a = get(rows[0] + lane), b = get(rows[1] + lane), c = get(rows[2] + lane), d = get(rows[3] + lane);
    transpose(a, b, c, d);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at[lane]), a);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at[lane + 1]), b);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at[lane + 2]), c);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at[lane + 3]), d);
  }
}
#endif

// One lane of `count` dwords.
void scatter_lane(u32 (*rows)[lanes], u64 address, int lane, int count) {
  for (int n = 0; n < count; ++n) write<u32>(address + n * 4, rows[n][lane]);
}

void store_small(const u32* row, const Addresses& addresses, const Transfer& transfer) {
  const int shift = transfer.half == Half::high ? 16 : 0;
  for (u64 left = addresses.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const u32 value = row[lane] >> shift;
    if (transfer.bytes == 1) write<u8>(addresses.at[lane], static_cast<u8>(value));
    else write<u16>(addresses.at[lane], static_cast<u16>(value));
  }
}

}  // namespace

void write_lanes(u32* row, const u32* values, u64 mask) {
  if (mask == all) {
    std::memcpy(row, values, sizeof(u32) * lanes);
    return;
  }
#ifdef __AVX512F__
  for (int lane = 0; lane < lanes; lane += 16) {
    _mm512_mask_storeu_epi32(row + lane, static_cast<__mmask16>(mask >> lane), _mm512_loadu_si512(values + lane));
  }
#else
  for (int half = 0; half < 2; ++half) {
    const u32 bits = static_cast<u32>(mask >> (half * 32));
    for (int lane = 0; lane < 32; ++lane) {
      const int at = half * 32 + lane;
      row[at] = (bits >> lane & 1) ? values[at] : row[at];
    }
  }
#endif
}

void fill_inactive(Addresses& addresses) {
  if (addresses.active == all) return;
  const u64 first = addresses.at[std::countr_zero(addresses.active)];
#ifdef __AVX512F__
  const __m512i other = _mm512_set1_epi64(static_cast<long long>(first));
  for (int lane = 0; lane < lanes; lane += 8) {
    _mm512_mask_storeu_epi64(addresses.at + lane, static_cast<__mmask8>(~addresses.active >> lane), other);
  }
#else
  for (int lane = 0; lane < lanes; ++lane) {
    addresses.at[lane] = (addresses.active >> lane & 1) ? addresses.at[lane] : first;
  }
#endif
}

bool check_addresses(Wave& wave, const Instruction& instruction, Addresses& addresses, u32 bytes, bool store) {
  fill_inactive(addresses);
  u64 least = all, most = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    least = addresses.at[lane] < least ? addresses.at[lane] : least;
    most = addresses.at[lane] > most ? addresses.at[lane] : most;
  }
  if (most <= all - bytes) {
    const MemoryRange& last = wave.last_range;
    const bool inside = least >= last.begin && most + bytes <= last.end;
    const MemoryRange* range = inside ? &last : find_range(wave, least, most + bytes - least);
    if (range && (!store || range->writable)) return true;
  }
  // Lanes in several ranges, or the one that is at fault.
  for (u64 left = addresses.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (!check_access(wave, instruction, lane, addresses.at[lane], bytes, store)) return false;
  }
  return true;
}

void load_lanes(Row rows, const Addresses& addresses, const Transfer& transfer) {
  alignas(64) u32 values[4][lanes];
  if (transfer.bytes < 4) {
    gather_small(values[0], addresses.at, transfer);
    if (transfer.half == Half::whole) write_lanes(rows[0], values[0], addresses.active);
    else insert_half(rows[0], values[0], addresses.active, transfer.half);
    return;
  }
  const int count = dwords(transfer);
  if (addresses.active == all) return gather_dwords(rows, addresses.at, count);
  gather_dwords(values, addresses.at, count);
  for (int n = 0; n < count; ++n) write_lanes(rows[n], values[n], addresses.active);
}

void store_lanes(Row rows, const Addresses& addresses, const Transfer& transfer) {
  if (transfer.bytes < 4) return store_small(rows[0], addresses, transfer);
  const int count = dwords(transfer);
  if (addresses.active == all && count != 3) {
    if (count == 2) return scatter2(rows, addresses.at);
    if (count == 4) return scatter4(rows, addresses.at);
    if (is_dense(addresses.at)) {
      std::memcpy(reinterpret_cast<void*>(addresses.at[0]), rows[0], sizeof(u32) * lanes);
      return;
    }
    for (int lane = 0; lane < lanes; ++lane) write<u32>(addresses.at[lane], rows[0][lane]);
    return;
  }
  for (u64 left = addresses.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    scatter_lane(rows, addresses.at[lane], lane, count);
  }
}

void zero_lanes(Row rows, u64 mask, const Transfer& transfer) {
  alignas(64) static constexpr u32 zeros[lanes] = {};
  if (transfer.half != Half::whole) return insert_half(rows[0], zeros, mask, transfer.half);
  for (int n = 0; n < dwords(transfer); ++n) write_lanes(rows[n], zeros, mask);
}

void log_lines(Wave& wave, const u64* segments, int count) {
  LineLog* const log = wave.group->lines;
  if (log == nullptr || (log->capacity - log->count < lanes * 2 && !log->make_room(*log))) return;
  const u64 first = log->count;
  for (int i = 0; i < count; ++i) {
    const u64 line = segments[i] / (line_bytes / 64);
    u64 at = log->count;
    while (at > first && log->lines[at - 1] != line) --at;
    if (at == first) log->lines[log->count++] = line;
  }
}

void count_traffic(Wave& wave, const Instruction& instruction, const Addresses& addresses, u32 bytes) {
  const Execution& execution = *wave.execution;
  if (!execution.profiled) return;
  execution.counts.bytes[instruction.index] += static_cast<u64>(std::popcount(addresses.active)) * bytes;
  u64 segments[lanes * 2];
  int count = 0;
  for (u64 left = addresses.active; left != 0; left &= left - 1) {
    const u64 address = addresses.at[std::countr_zero(left)];
    for (u64 segment = address / 64; segment <= (address + bytes - 1) / 64; ++segment) {
      int at = count;  // neighbours lie close to each other: from the end
      while (at > 0 && segments[at - 1] != segment) --at;
      if (at == 0) segments[count++] = segment;
    }
  }
  execution.counts.segments[instruction.index] += static_cast<u64>(count);
  log_lines(wave, segments, count);
}

}  // namespace kiln::emulator
