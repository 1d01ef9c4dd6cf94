// Dot products of small integers, f16 and bf16 in a dword. Those of floats add one exact product after the other in
// f32.
#include "engine/emulator/core/vector_half_loops.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
constexpr Type P = Type::pkf16, Q = Type::pk16, K = Type::pkbf16, B = Type::b32, F = Type::f32;

template <int bits>
inline i32 signed_part(u32 x, int i) { return static_cast<i32>(x << (32 - bits - bits * i)) >> (32 - bits); }
template <int bits>
inline u32 unsigned_part(u32 x, int i) { return x >> bits * i & ((1u << bits) - 1); }

// Products of `bits`-wide parts and the addend, exact: the largest sum is below 2^34.
template <int bits>
inline i64 signed_dot(u32 a, u32 b, u32 c) {
  i64 sum = static_cast<i32>(c);
  for (int i = 0; i < 32 / bits; ++i) sum += i64{signed_part<bits>(a, i)} * signed_part<bits>(b, i);
  return sum;
}
template <int bits>
inline std::uint64_t unsigned_dot(u32 a, u32 b, u32 c) {
  std::uint64_t sum = c;
  for (int i = 0; i < 32 / bits; ++i) sum += std::uint64_t{unsigned_part<bits>(a, i)} * unsigned_part<bits>(b, i);
  return sum;
}
inline u32 clamp_signed(i64 x) {
  return static_cast<u32>(x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : static_cast<i32>(x));
}
inline u32 clamp_unsigned(std::uint64_t x) { return x > 0xffffffffu ? 0xffffffffu : static_cast<u32>(x); }

template <int bits>
constexpr Compute dot_i = loop<([](u32 a, u32 b, u32 c) { return static_cast<u32>(signed_dot<bits>(a, b, c)); })>;
template <int bits>
constexpr Compute dot_u = loop<([](u32 a, u32 b, u32 c) { return static_cast<u32>(unsigned_dot<bits>(a, b, c)); })>;
template <int bits>
constexpr Compute dot_i_clamped = loop<([](u32 a, u32 b, u32 c) { return clamp_signed(signed_dot<bits>(a, b, c)); })>;
template <int bits>
constexpr Compute dot_u_clamped =
    loop<([](u32 a, u32 b, u32 c) { return clamp_unsigned(unsigned_dot<bits>(a, b, c)); })>;

void dot_f16(Lanes& l) {
  HalfValues values;
  widen_packed(l.a, values.a);
  widen_packed(l.b, values.b);
  const u32* c = l.c;
  u32* d = l.d;
  for (int i = 0; i < lanes; ++i) {
    float sum = std::bit_cast<float>(c[i]) + values.a[2 * i] * values.b[2 * i];
    sum += values.a[2 * i + 1] * values.b[2 * i + 1];
    d[i] = std::bit_cast<u32>(sum);
  }
}

inline float low_bf16(u32 x) { return std::bit_cast<float>(x << 16); }
inline float high_bf16(u32 x) { return std::bit_cast<float>(x & 0xffff0000u); }
// The three-operand form adds the accumulator last, the two-operand form first.
inline float dot_bf16(u32 a, u32 b, float c) { return low_bf16(a) * low_bf16(b) + high_bf16(a) * high_bf16(b) + c; }
inline float dot_bf16_onto(u32 a, u32 b, float c) {
  return c + low_bf16(a) * low_bf16(b) + high_bf16(a) * high_bf16(b);
}

constexpr VectorRow rows[] = {
    {"v_dot2_f32_f16", dot_f16, F, P, P, F, floats},
    {"v_dot2c_f32_f16", dot_f16, F, P, P, F, floats | accumulates},
    {"v_dot2_f32_bf16", loop<([](u32 a, u32 b, float c) { return dot_bf16(a, b, c); })>, F, K, K, F, floats, on_gfx950},
    {"v_dot2c_f32_bf16", loop<([](u32 a, u32 b, float c) { return dot_bf16_onto(a, b, c); })>, F, K, K, F,
     floats | accumulates, on_gfx950},
    {"v_dot2_i32_i16", dot_i<16>, B, Q, Q, B, plain_bits},
    {"v_dot2_u32_u16", dot_u<16>, B, Q, Q, B, plain_bits},
    {"v_dot4_i32_i8", dot_i<8>, B, B, B, B, plain_bits},
    {"v_dot4_u32_u8", dot_u<8>, B, B, B, B, plain_bits},
    {"v_dot8_i32_i4", dot_i<4>, B, B, B, B, plain_bits},
    {"v_dot8_u32_u4", dot_u<4>, B, B, B, B, plain_bits},
    {"v_dot2c_i32_i16", dot_i<16>, B, B, B, B, plain_bits | accumulates},
    {"v_dot4c_i32_i8", dot_i<8>, B, B, B, B, plain_bits | accumulates},
    {"v_dot8c_i32_i4", dot_i<4>, B, B, B, B, plain_bits | accumulates},
    {"v_dot2_i32_i16", dot_i_clamped<16>, B, Q, Q, B, plain_bits | saturates},
    {"v_dot2_u32_u16", dot_u_clamped<16>, B, Q, Q, B, plain_bits | saturates},
    {"v_dot4_i32_i8", dot_i_clamped<8>, B, B, B, B, plain_bits | saturates},
    {"v_dot4_u32_u8", dot_u_clamped<8>, B, B, B, B, plain_bits | saturates},
    {"v_dot8_i32_i4", dot_i_clamped<4>, B, B, B, B, plain_bits | saturates},
    {"v_dot8_u32_u4", dot_u_clamped<4>, B, B, B, B, plain_bits | saturates},
    {"v_dot2c_i32_i16", dot_i_clamped<16>, B, B, B, B, plain_bits | accumulates | saturates},
    {"v_dot4c_i32_i8", dot_i_clamped<8>, B, B, B, B, plain_bits | accumulates | saturates},
    {"v_dot8c_i32_i4", dot_i_clamped<4>, B, B, B, B, plain_bits | accumulates | saturates},
};
constexpr SortedRows sorted(rows);

}  // namespace

const VectorTable vector_dot_table = sorted.table();

}  // namespace kiln::emulator
