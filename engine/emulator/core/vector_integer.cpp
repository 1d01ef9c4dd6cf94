// 32-bit integer and bit operations.
#include <bit>

#include "engine/emulator/core/vector_loops.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
using u16 = std::uint16_t;
using i16 = std::int16_t;
constexpr Type U = Type::u32, I = Type::i32, B = Type::b32, N = Type::none, H = Type::u16, J = Type::i16;

inline u32 clamp_u32(i64 x) { return x < 0 ? 0 : x > 0xffffffffll ? 0xffffffffu : static_cast<u32>(x); }
inline i32 clamp_i32(i64 x) {
  return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : static_cast<i32>(x);
}
inline i32 signed24(u32 x) { return static_cast<i32>(x << 8) >> 8; }
inline u32 unsigned24(u32 x) { return x & 0xffffffu; }
inline u32 count_ones(u32 x) {
  x = x - (x >> 1 & 0x55555555u);
  x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
  return ((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}
inline u32 reversed(u32 x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8;
  return x >> 16 | x << 16;
}
inline u32 first_one_high(u32 x) { return x == 0 ? ~0u : static_cast<u32>(std::countl_zero(x)); }
inline u32 first_one_low(u32 x) { return x == 0 ? ~0u : static_cast<u32>(std::countr_zero(x)); }
// The first bit that differs from the sign.
inline u32 first_change(u32 x) { return first_one_high(static_cast<i32>(x) < 0 ? ~x : x); }

inline u32 absolute_difference(u32 a, u32 b) { return a > b ? a - b : b - a; }
inline u32 byte_of(u32 x, int i) { return x >> 8 * i & 0xffu; }
inline u32 sum_of_differences(u32 a, u32 b) {
  u32 sum = 0;
  for (int i = 0; i < 4; ++i) sum += absolute_difference(byte_of(a, i), byte_of(b, i));
  return sum;
}
// Bytes of the reference that are 0 do not count.
inline u32 masked_sum_of_differences(u32 a, u32 b) {
  u32 sum = 0;
  for (int i = 0; i < 4; ++i) sum += byte_of(b, i) == 0 ? 0 : absolute_difference(byte_of(a, i), byte_of(b, i));
  return sum;
}
inline u32 halves_difference(u32 a, u32 b) {
  return absolute_difference(a & 0xffffu, b & 0xffffu) + absolute_difference(a >> 16, b >> 16);
}
inline u32 average_bytes(u32 a, u32 b, u32 round) {
  u32 result = 0;
  for (int i = 0; i < 4; ++i) result |= (byte_of(a, i) + byte_of(b, i) + (round >> 8 * i & 1u)) >> 1 << 8 * i;
  return result;
}

// One byte of v_perm_b32: of the eight bytes, the sign of every second one, 0 or 0xff. In 32-bit steps without
// branches.
inline u32 permuted_byte(u32 high, u32 low, u32 select) {
  const u32 byte = ((select & 4) != 0 ? high : low) >> 8 * (select & 3) & 0xffu;
  const u32 sign_bit = ((select & 2) != 0 ? high : low) >> ((select & 1) != 0 ? 31 : 15) & 1u, sign = sign_bit * 0xffu;
  const u32 fixed = select >= 13 ? 0xffu : 0u, special = select >= 12 ? fixed : sign;
  return select >= 8 ? special : byte;
}
inline u32 permuted(u32 high, u32 low, u32 select) {
  return permuted_byte(high, low, byte_of(select, 0)) | permuted_byte(high, low, byte_of(select, 1)) << 8 |
         permuted_byte(high, low, byte_of(select, 2)) << 16 | permuted_byte(high, low, byte_of(select, 3)) << 24;
}

inline u32 field_u(u32 value, u32 at, u32 width) { return (value >> (at & 31)) & ((1u << (width & 31)) - 1); }
inline i32 field_i(u32 value, u32 at, u32 width) {
  const u32 bits = width & 31, part = field_u(static_cast<u32>(static_cast<i32>(value) >> (at & 31)), 0, bits);
  const u32 sign = bits == 0 ? 0 : 1u << (bits - 1);
  return static_cast<i32>((part ^ sign) - sign);
}

template <class T>
inline T median(T a, T b, T c) {
  const T low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}

// Lanes below one's own among those whose bit is set.
template <bool upper>
void count_below(Lanes& l) {
  for (int i = 0; i < lanes; ++i) {
    const u64 below = (u64{1} << i) - 1;
    l.d[i] = count_ones(l.a[i] & static_cast<u32>(upper ? below >> 32 : below)) + l.b[i];
  }
}

void choose(Lanes& l) {
  alignas(64) u32 mask[lanes];
  expand_mask(l.mask_in, mask);
  const u32 *a = aligned(l.a), *b = aligned(l.b);
  u32* d = aligned(l.d);
#pragma GCC ivdep
  for (int i = 0; i < lanes; ++i) d[i] = (a[i] & ~mask[i]) | (b[i] & mask[i]);
}

constexpr VectorRow arithmetic[] = {
    {"v_add_u32", loop<([](u32 a, u32 b) { return a + b; })>, U, U, U, N},
    {"v_sub_u32", loop<([](u32 a, u32 b) { return a - b; })>, U, U, U, N},
    {"v_subrev_u32", loop<([](u32 a, u32 b) { return b - a; })>, U, U, U, N},
    {"v_add_u32", loop<([](u32 a, u32 b) { return a + b < a ? ~0u : a + b; })>, U, U, U, N, saturates},
    {"v_sub_u32", loop<([](u32 a, u32 b) { return a < b ? 0u : a - b; })>, U, U, U, N, saturates},
    {"v_subrev_u32", loop<([](u32 a, u32 b) { return b < a ? 0u : b - a; })>, U, U, U, N, saturates},
    {"v_add_i32", loop<([](u32 a, u32 b) { return a + b; })>, I, I, I, N},
    {"v_sub_i32", loop<([](u32 a, u32 b) { return a - b; })>, I, I, I, N},
    {"v_add_i32", loop<([](i32 a, i32 b) { return clamp_i32(i64{a} + b); })>, I, I, I, N, saturates},
    {"v_sub_i32", loop<([](i32 a, i32 b) { return clamp_i32(i64{a} - b); })>, I, I, I, N, saturates},
    {"v_add3_u32", loop<([](u32 a, u32 b, u32 c) { return a + b + c; })>, U, U, U, U},
    {"v_xad_u32", loop<([](u32 a, u32 b, u32 c) { return (a ^ b) + c; })>, U, U, U, U},
    {"v_lshl_add_u32", loop<([](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; })>, U, U, U, U},
    {"v_add_lshl_u32", loop<([](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); })>, U, U, U, U},
    {"v_mul_lo_u32", loop<([](u32 a, u32 b) { return a * b; })>, U, U, U, N},
    {"v_mul_hi_u32", loop<([](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); })>, U, U, U, N},
    {"v_mul_hi_i32", loop<([](i32 a, i32 b) { return static_cast<u32>(i64{a} * b >> 32); })>, I, I, I, N},
    {"v_mul_i32_i24",
     loop<([](u32 a, u32 b) { return static_cast<u32>(signed24(a)) * static_cast<u32>(signed24(b)); })>, I, I, I, N},
    {"v_mul_u32_u24", loop<([](u32 a, u32 b) { return unsigned24(a) * unsigned24(b); })>, U, U, U, N},
    {"v_mul_hi_i32_i24", loop<([](u32 a, u32 b) { return static_cast<u32>(i64{signed24(a)} * signed24(b) >> 32); })>, I,
     I, I, N},
    {"v_mul_hi_u32_u24",
     loop<([](u32 a, u32 b) { return static_cast<u32>(u64{unsigned24(a)} * unsigned24(b) >> 32); })>, U, U, U, N},
    {"v_mad_i32_i24",
     loop<([](u32 a, u32 b, u32 c) { return static_cast<u32>(signed24(a)) * static_cast<u32>(signed24(b)) + c; })>, I,
     I, I, I},
    {"v_mad_u32_u24", loop<([](u32 a, u32 b, u32 c) { return unsigned24(a) * unsigned24(b) + c; })>, U, U, U, U},
    {"v_mad_i32_i24", loop<([](u32 a, u32 b, i32 c) { return clamp_i32(i64{signed24(a)} * signed24(b) + c); })>, I, I,
     I, I, saturates},
    {"v_mad_u32_u24",
     loop<([](u32 a, u32 b, u32 c) { return clamp_u32(static_cast<i64>(u64{unsigned24(a)} * unsigned24(b) + c)); })>, U,
     U, U, U, saturates},
    {"v_mad_u32_u16", loop<([](u16 a, u16 b, u32 c) { return u32{a} * b + c; })>, U, H, H, U},
    {"v_mad_i32_i16", loop<([](i16 a, i16 b, u32 c) { return static_cast<u32>(i32{a} * b) + c; })>, I, J, J, I},
    {"v_mad_u32_u16", loop<([](u16 a, u16 b, u32 c) { return clamp_u32(static_cast<i64>(u64{a} * b + c)); })>, U, H, H,
     U, saturates},
    {"v_mad_i32_i16", loop<([](i16 a, i16 b, i32 c) { return clamp_i32(i64{a} * b + c); })>, I, J, J, I, saturates},
    {"v_min_i32", loop<([](i32 a, i32 b) { return a < b ? a : b; })>, I, I, I, N},
    {"v_max_i32", loop<([](i32 a, i32 b) { return a > b ? a : b; })>, I, I, I, N},
    {"v_min_u32", loop<([](u32 a, u32 b) { return a < b ? a : b; })>, U, U, U, N},
    {"v_max_u32", loop<([](u32 a, u32 b) { return a > b ? a : b; })>, U, U, U, N},
    {"v_min3_i32", loop<([](i32 a, i32 b, i32 c) { return (a < b ? a : b) < c ? (a < b ? a : b) : c; })>, I, I, I, I},
    {"v_max3_i32", loop<([](i32 a, i32 b, i32 c) { return (a > b ? a : b) > c ? (a > b ? a : b) : c; })>, I, I, I, I},
    {"v_min3_u32", loop<([](u32 a, u32 b, u32 c) { return (a < b ? a : b) < c ? (a < b ? a : b) : c; })>, U, U, U, U},
    {"v_max3_u32", loop<([](u32 a, u32 b, u32 c) { return (a > b ? a : b) > c ? (a > b ? a : b) : c; })>, U, U, U, U},
    {"v_med3_i32", loop<([](i32 a, i32 b, i32 c) { return median(a, b, c); })>, I, I, I, I},
    {"v_med3_u32", loop<([](u32 a, u32 b, u32 c) { return median(a, b, c); })>, U, U, U, U},
    {"v_add_co_u32",
     carry_in_loop<([](u32 a, u32 b, u32) { return a + b; }), ([](u32 a, u32 b, u32) { return a + b < a; })>, U, U, U,
     N, gives_mask},
    {"v_sub_co_u32",
     carry_in_loop<([](u32 a, u32 b, u32) { return a - b; }), ([](u32 a, u32 b, u32) { return b > a; })>, U, U, U, N,
     gives_mask},
    {"v_subrev_co_u32",
     carry_in_loop<([](u32 a, u32 b, u32) { return b - a; }), ([](u32 a, u32 b, u32) { return a > b; })>, U, U, U, N,
     gives_mask},
    {"v_addc_co_u32", carry_in_loop<([](u32 a, u32 b, u32 c) { return a + b + c; }), ([](u32 a, u32 b, u32 c) {
                                      return a + b < a || a + b + c < c;
                                    })>,
     U, U, U, N, gives_mask | takes_mask},
    {"v_subb_co_u32", carry_in_loop<([](u32 a, u32 b, u32 c) { return a - b - c; }), ([](u32 a, u32 b, u32 c) {
                                      return b > a || (b == a && c != 0);
                                    })>,
     U, U, U, N, gives_mask | takes_mask},
    {"v_subbrev_co_u32", carry_in_loop<([](u32 a, u32 b, u32 c) { return b - a - c; }), ([](u32 a, u32 b, u32 c) {
                                         return a > b || (a == b && c != 0);
                                       })>,
     U, U, U, N, gives_mask | takes_mask},
    {"v_sad_u8", loop<([](u32 a, u32 b, u32 c) { return sum_of_differences(a, b) + c; })>, U, U, U, U},
    {"v_sad_hi_u8", loop<([](u32 a, u32 b, u32 c) { return (sum_of_differences(a, b) << 16) + c; })>, U, U, U, U},
    {"v_sad_u16", loop<([](u32 a, u32 b, u32 c) { return halves_difference(a, b) + c; })>, U, U, U, U},
    {"v_sad_u32", loop<([](u32 a, u32 b, u32 c) { return absolute_difference(a, b) + c; })>, U, U, U, U},
    {"v_msad_u8", loop<([](u32 a, u32 b, u32 c) { return masked_sum_of_differences(a, b) + c; })>, U, U, U, U},
    {"v_lerp_u8", loop<([](u32 a, u32 b, u32 c) { return average_bytes(a, b, c); })>, U, U, U, U},
    // Bits.
    {"v_cndmask_b32", choose, B, B, B, N, takes_mask},
    {"v_mov_b32", loop<([](u32 a) { return a; })>, B, B, N, N},
    {"v_not_b32", loop<([](u32 a) { return ~a; })>, U, U, N, N},
    {"v_and_b32", loop<([](u32 a, u32 b) { return a & b; })>, U, U, U, N},
    {"v_or_b32", loop<([](u32 a, u32 b) { return a | b; })>, U, U, U, N},
    {"v_xor_b32", loop<([](u32 a, u32 b) { return a ^ b; })>, U, U, U, N},
    {"v_xnor_b32", loop<([](u32 a, u32 b) { return ~(a ^ b); })>, U, U, U, N},
    {"v_or3_b32", loop<([](u32 a, u32 b, u32 c) { return a | b | c; })>, U, U, U, U},
    {"v_and_or_b32", loop<([](u32 a, u32 b, u32 c) { return (a & b) | c; })>, U, U, U, U},
    {"v_lshl_or_b32", loop<([](u32 a, u32 b, u32 c) { return a << (b & 31) | c; })>, U, U, U, U},
    {"v_lshlrev_b32", loop<([](u32 a, u32 b) { return b << (a & 31); })>, U, U, U, N},
    {"v_lshrrev_b32", loop<([](u32 a, u32 b) { return b >> (a & 31); })>, U, U, U, N},
    {"v_ashrrev_i32", loop<([](u32 a, i32 b) { return b >> (a & 31); })>, I, U, I, N},
    {"v_bfe_u32", loop<([](u32 a, u32 b, u32 c) { return field_u(a, b, c); })>, U, U, U, U},
    {"v_bfe_i32", loop<([](u32 a, u32 b, u32 c) { return field_i(a, b, c); })>, I, I, U, U},
    {"v_bfi_b32", loop<([](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); })>, U, U, U, U},
    {"v_bfm_b32", loop<([](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); })>, U, U, U, N},
    {"v_bfrev_b32", loop<([](u32 a) { return reversed(a); })>, U, U, N, N},
    {"v_ffbh_u32", loop<([](u32 a) { return first_one_high(a); })>, U, U, N, N},
    {"v_ffbl_b32", loop<([](u32 a) { return first_one_low(a); })>, U, U, N, N},
    {"v_ffbh_i32", loop<([](u32 a) { return first_change(a); })>, U, I, N, N},
    {"v_bcnt_u32_b32", loop<([](u32 a, u32 b) { return count_ones(a) + b; })>, U, U, U, N},
    {"v_mbcnt_lo_u32_b32", count_below<false>, U, U, U, N},
    {"v_mbcnt_hi_u32_b32", count_below<true>, U, U, U, N},
    {"v_alignbit_b32", loop<([](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (c & 31)); })>, U,
     U, U, U},
    {"v_alignbyte_b32", loop<([](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> 8 * (c & 3)); })>,
     U, U, U, U},
    {"v_perm_b32", loop<([](u32 a, u32 b, u32 c) { return permuted(a, b, c); })>, U, U, U, U},
    {"v_prng_b32", loop<([](u32 a) { return a << 1 ^ (a >> 31 != 0 ? 197u : 0u); })>, U, U, N, N, 0, on_gfx950},
};
constexpr SortedRows sorted(arithmetic);

}  // namespace

const VectorTable vector_integer_table = sorted.table();

}  // namespace kiln::emulator
