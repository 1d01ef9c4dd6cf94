// Vector instructions that only RDNA3 has, or that have other operands there than in CDNA: 16-bit operations on halves,
// permutes of rows, registers by index, and the operations that came with it.
// Source: "RDNA3 Instruction Set Architecture", the instruction lists. Not covered: v_mullit_f32, v_swaprel_b32.
#include <bit>

#include "engine/emulator/core/float_rows.hpp"
#include "engine/emulator/core/scalar_access.hpp"
#include "engine/emulator/core/vector_half_loops.hpp"
#include "engine/emulator/core/vector_minmax.hpp"

namespace kiln::emulator {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
constexpr Type F = Type::f32, H = Type::f16, U = Type::u32, I = Type::i32, B = Type::b32, N = Type::none;
constexpr Type W = Type::b16, V = Type::u16, J = Type::i16;
constexpr std::uint8_t here = on_gfx11;

// --- Arithmetic ------------------------------------------------------------------------------------------------------

inline bool is_zero(float x) { return x == 0.0f; }

// A factor of 0 makes the product 0, whatever the other is.
void fused_dx9(Lanes& l) {
  alignas(64) float fused[lanes];
  const float *a = as_floats(l.a), *b = as_floats(l.b), *c = as_floats(l.c);
  fma_row(a, b, c, fused);
  for (int i = 0; i < lanes; ++i) {
    const float value = is_zero(a[i]) || is_zero(b[i]) ? c[i] : fused[i];
    l.d[i] = std::bit_cast<u32>(value);
  }
}

void fused_half_row(Lanes& l) {
  HalfValues values;
  widen_sources(l, values, false);
  const u32 nearest = half_rounds_nearest(l);
  for (int i = 0; i < lanes; ++i) values.a[i] = fused_half(values.a[i], values.b[i], values.c[i], nearest);
  narrow_low(values.a, l.d, l.mode);
}

template <class F>
constexpr typename F::Bits max_then_min(typename F::Bits a, typename F::Bits b, typename F::Bits c, bool ieee) {
  return smaller<F>(larger<F>(a, b, ieee), c, ieee);
}
template <class F>
constexpr typename F::Bits min_then_max(typename F::Bits a, typename F::Bits b, typename F::Bits c, bool ieee) {
  return larger<F>(smaller<F>(a, b, ieee), c, ieee);
}
template <class T>
inline T least(T a, T b) { return a < b ? a : b; }
template <class T>
inline T most(T a, T b) { return a > b ? a : b; }

inline u32 clamp_byte(i32 x) { return x < 0 ? 0u : x > 255 ? 255u : static_cast<u32>(x); }
// Towards zero; NaN is 0.
inline u32 to_i16(float x) {
  const float low = x > -32768.0f ? x : -32768.0f, bounded = low < 32767.0f ? low : 32767.0f;
  return x == x ? static_cast<u32>(static_cast<i32>(bounded)) & 0xffffu : 0;
}
inline u32 to_u16(float x) {
  const float low = x > 0.0f ? x : 0.0f, bounded = low < 65535.0f ? low : 65535.0f;
  return x == x ? static_cast<u32>(static_cast<i32>(bounded)) : 0;
}

// The products of two bf16 are exact in f32; they are added one after the other.
inline float bf16_low(u32 x) { return std::bit_cast<float>(x << 16); }
inline float bf16_high(u32 x) { return std::bit_cast<float>(x & 0xffff0000u); }
inline float dot_bf16(u32 a, u32 b, float c) {
  const float sum = c + bf16_low(a) * bf16_low(b);
  return sum + bf16_high(a) * bf16_high(b);
}

inline u32 to_bf16(float x) {
  const u32 word = std::bit_cast<u32>(x), rounded = (word + 0x7fffu + (word >> 16 & 1)) >> 16;
  return x == x ? rounded : (word >> 16 | 0x40u);
}

// v_dot2_f16_f16, v_dot2_bf16_bf16. The documents do not say how sums are rounded in between: here the exact products
// are added in f32, the addend last, and rounded once. Nor do they say what signs of the packed factors mean.
void dot_half(Wave& wave, const Instruction& in) {
  if (((in.neg | in.abs) & 3) != 0) return execute_not_covered(wave, in);
  const VectorRow& row = *static_cast<const VectorRow*>(in.operation);
  alignas(64) RowScratch scratch[3], result;
  ModifiedSources sources{wave, in, row, wave.exec()};
  const u32* a = fetch(sources, 0, row.a, scratch[0]);
  const u32* b = fetch(sources, 1, row.b, scratch[1]);
  const u32* c = fetch(sources, 2, row.c, scratch[2]);
  if (row.d == Type::bf16) {
    for (int i = 0; i < lanes; ++i) {
      result[i] = to_bf16(bf16_low(a[i]) * bf16_low(b[i]) + bf16_high(a[i]) * bf16_high(b[i]) + bf16_low(c[i]));
    }
  } else {
    HalfValues values;
    widen_packed(a, values.a);
    widen_packed(b, values.b);
    widen_low(c, values.c);
    for (int i = 0; i < lanes; ++i) {
      const float products = values.a[2 * i] * values.b[2 * i] + values.a[2 * i + 1] * values.b[2 * i + 1];
      values.c[i] += products;
    }
    narrow_low(values.c, result, wave.mode);
  }
  finish(wave, in, row, result, sources.writable);
}

template <int bits>
inline i64 part_of(u32 x, int i, bool sign) {
  const u32 up = x << (32 - bits - bits * i);
  return sign ? i64{static_cast<i32>(up) >> (32 - bits)} : i64{up >> (32 - bits)};
}
// v_dot4_i32_iu8, v_dot8_i32_iu4: NEG says of each factor whether its parts have signs.
template <int bits>
void dot_mixed(Wave& wave, const Instruction& in) {
  const VectorRow& row = *static_cast<const VectorRow*>(in.operation);
  alignas(64) RowScratch scratch[3], result;
  ModifiedSources sources{wave, in, row, wave.exec()};
  const u32* a = fetch(sources, 0, row.a, scratch[0]);
  const u32* b = fetch(sources, 1, row.b, scratch[1]);
  const u32* c = fetch(sources, 2, row.c, scratch[2]);
  const bool sign_a = (in.neg & 1) != 0, sign_b = (in.neg & 2) != 0;
  for (int lane = 0; lane < lanes; ++lane) {
    i64 sum = static_cast<i32>(c[lane]);
    for (int i = 0; i < 32 / bits; ++i) sum += part_of<bits>(a[lane], i, sign_a) * part_of<bits>(b[lane], i, sign_b);
    if (in.clamp) sum = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
    result[lane] = static_cast<u32>(sum);
  }
  finish(wave, in, row, result, sources.writable);
}

// --- Halves ----------------------------------------------------------------------------------------------------------

void choose_half(Wave& wave, const Instruction& in) {
  const VectorRow& row = *static_cast<const VectorRow*>(in.operation);
  alignas(64) RowScratch scratch[2], result;
  alignas(64) u32 mask[lanes];
  ModifiedSources sources{wave, in, row, wave.exec()};
  const u32* a = fetch(sources, 0, row.a, scratch[0]);
  const u32* b = fetch(sources, 1, row.b, scratch[1]);
  expand_mask(read_mask(wave, in.src[2]), mask);
  for (int i = 0; i < lanes; ++i) result[i] = ((a[i] & ~mask[i]) | (b[i] & mask[i])) & 0xffffu;
  finish(wave, in, row, result, sources.writable);
}

void swap_halves(Wave& wave, const Instruction& in) {
  u32 *a = wave.vector[in.dst.index], *b = wave.vector[in.src[0].index];
  const u32 at_a = (in.op_sel & 8) != 0 ? 16 : 0, at_b = (in.op_sel & 1) != 0 ? 16 : 0;
  const u64 exec = wave.exec();
  for (int i = 0; i < lanes; ++i) {
    if ((exec >> i & 1) == 0) continue;
    const u32 x = a[i] >> at_a & 0xffffu, y = b[i] >> at_b & 0xffffu;
    a[i] = (a[i] & ~(0xffffu << at_a)) | y << at_a;
    b[i] = (b[i] & ~(0xffffu << at_b)) | x << at_b;
  }
}

// --- Between lanes ---------------------------------------------------------------------------------------------------

// Any order within rows of 16 lanes, or from the other row of each pair. The order: four bits a lane in two scalars.
// A lane that is switched off gives 0 with BOUND_CTRL and what was there without, unless FI lets it be read.
void permute_rows(Wave& wave, const Instruction& in) {
  const u32 other_row = static_cast<const VectorRow*>(in.operation)->parameter;
  const u64 order = scalar32(wave, in.src[1]) | u64{scalar32(wave, in.src[2])} << 32, exec = wave.exec();
  alignas(64) RowScratch scratch;
  const u32* from = fetch_plain(wave, in.src[0], 1, scratch);
  alignas(64) u32 moved[lanes];
  u64 writable = exec;
  for (u32 lane = 0; lane < lanes; ++lane) {
    const u32 source = ((lane & ~15u) ^ other_row) | static_cast<u32>(order >> (lane & 15) * 4 & 15);
    const bool valid = in.dpp.fetch_inactive || (exec >> source & 1) != 0;
    moved[lane] = valid ? from[source] : 0;
    if (!valid && !in.dpp.bound_control) writable &= ~(u64{1} << lane);
  }
  merge_row(wave.vector[in.dst.index], moved, writable);
}

// v_permlane64_b32 swaps the halves of a wave of 64; in a wave of 32 it does nothing.
void swap_wave_halves(Wave& wave, const Instruction& in) {
  if (wave.size != 32) execute_not_covered(wave, in);
}

// --- Registers by index ----------------------------------------------------------------------------------------------

constexpr u32 file_registers = 256;

bool in_file(Wave& wave, const Instruction& in, u64 index, bool store) {
  if (index < file_registers) return true;
  Fault fault;
  fault.kind = FaultKind::register_index;
  fault.instruction = in.index;
  fault.address = index;
  fault.registers = file_registers;
  fault.store = store;
  wave.stop(fault);
  return false;
}

// M0, or halves of it, added to the numbers of source and destination.
void move_indexed(Wave& wave, const Instruction& in, u32 by_source, u32 by_destination) {
  const u64 to = u64{in.dst.index} + by_destination, from = u64{in.src[0].index} + by_source;
  alignas(64) RowScratch scratch;
  const bool vector = in.src[0].kind == Source::Kind::vector;
  if (!vector && by_source != 0) return execute_not_covered(wave, in);
  if (!in_file(wave, in, to, true) || (vector && !in_file(wave, in, from, false))) return;
  const u32* value = vector ? wave.vector[from] : fetch_plain(wave, in.src[0], 1, scratch);
  merge_row(wave.vector[to], value, wave.exec());
}
void move_to_indexed(Wave& wave, const Instruction& in) { move_indexed(wave, in, 0, wave.scalar[code::m0]); }
void move_from_indexed(Wave& wave, const Instruction& in) { move_indexed(wave, in, wave.scalar[code::m0], 0); }
void move_both_indexed(Wave& wave, const Instruction& in) {
  move_indexed(wave, in, wave.scalar[code::m0], wave.scalar[code::m0]);
}
void move_both_apart(Wave& wave, const Instruction& in) {
  const u32 m0 = wave.scalar[code::m0];
  move_indexed(wave, in, m0 & 1023, m0 >> 16 & 1023);
}

constexpr VectorRow rows[] = {
    {"v_fma_dx9_zero_f32", fused_dx9, F, F, F, F, floats, here},
    {"v_fmac_dx9_zero_f32", fused_dx9, F, F, F, F, floats | accumulates, here},
    {"v_fmac_f16", fused_half_row, H, H, H, H, floats | rounds_wide | accumulates | keeps_high, here},
    {"v_maxmin_f32", extreme_of_three<Format32, max_then_min<Format32>>, F, F, F, F, floats, here},
    {"v_minmax_f32", extreme_of_three<Format32, min_then_max<Format32>>, F, F, F, F, floats, here},
    {"v_maxmin_f16", extreme_of_three<Format16, max_then_min<Format16>>, H, H, H, H, floats | keeps_high, here},
    {"v_minmax_f16", extreme_of_three<Format16, min_then_max<Format16>>, H, H, H, H, floats | keeps_high, here},
    {"v_maxmin_i32", loop<([](i32 a, i32 b, i32 c) { return least(most(a, b), c); })>, I, I, I, I, 0, here},
    {"v_minmax_i32", loop<([](i32 a, i32 b, i32 c) { return most(least(a, b), c); })>, I, I, I, I, 0, here},
    {"v_maxmin_u32", loop<([](u32 a, u32 b, u32 c) { return least(most(a, b), c); })>, U, U, U, U, 0, here},
    {"v_minmax_u32", loop<([](u32 a, u32 b, u32 c) { return most(least(a, b), c); })>, U, U, U, U, 0, here},
    {"v_xor3_b32", loop<([](u32 a, u32 b, u32 c) { return a ^ b ^ c; })>, U, U, U, U, 0, here},
    {"v_alignbit_b32", loop<([](u32 a, u32 b, u16 c) { return static_cast<u32>((u64{a} << 32 | b) >> (c & 31)); })>,
     U, U, U, V, 0, here},
    {"v_alignbyte_b32", loop<([](u32 a, u32 b, u16 c) { return static_cast<u32>((u64{a} << 32 | b) >> 8 * (c & 3)); })>,
     U, U, U, V, 0, here},
    {"v_dot2_f32_bf16", loop<([](u32 a, u32 b, float c) { return dot_bf16(a, b, c); })>, F, Type::pkbf16, Type::pkbf16,
     F, floats, here},
    {"v_dot2_f16_f16", nullptr, H, Type::pkf16, Type::pkf16, H, floats, here, dot_half},
    {"v_dot2_bf16_bf16", nullptr, Type::bf16, Type::pkbf16, Type::pkbf16, Type::bf16, floats, here, dot_half},
    {"v_dot4_i32_iu8", nullptr, I, B, B, B, plain_bits, here, dot_mixed<8>},
    {"v_dot8_i32_iu4", nullptr, I, B, B, B, plain_bits, here, dot_mixed<4>},
    {"v_dot4_i32_iu8", nullptr, I, B, B, B, plain_bits | saturates, here, dot_mixed<8>},
    {"v_dot8_i32_iu4", nullptr, I, B, B, B, plain_bits | saturates, here, dot_mixed<4>},
    {"v_cvt_pk_i16_f32", loop<([](float a, float b) { return to_i16(a) | to_i16(b) << 16; })>, U, F, F, N, floats,
     here},
    {"v_cvt_pk_u16_f32", loop<([](float a, float b) { return to_u16(a) | to_u16(b) << 16; })>, U, F, F, N, floats,
     here},
    {"v_cvt_i32_i16", loop<([](i16 a) { return static_cast<i32>(a); })>, I, J, N, N, 0, here},
    {"v_cvt_u32_u16", loop<([](u16 a) { return static_cast<u32>(a); })>, U, V, N, N, 0, here},
    {"v_sat_pk_u8_i16", loop<([](u32 a) {
       return static_cast<u16>(clamp_byte(static_cast<i16>(a)) | clamp_byte(static_cast<i16>(a >> 16)) << 8);
     })>,
     W, U, N, N, 0, here},
    {"v_mov_b16", loop<([](u16 a) { return a; })>, W, W, N, N, 0, here},
    {"v_not_b16", loop<([](u16 a) { return static_cast<u16>(~a); })>, W, W, N, N, 0, here},
    {"v_and_b16", loop<([](u16 a, u16 b) { return static_cast<u16>(a & b); })>, W, W, W, N, 0, here},
    {"v_or_b16", loop<([](u16 a, u16 b) { return static_cast<u16>(a | b); })>, W, W, W, N, 0, here},
    {"v_xor_b16", loop<([](u16 a, u16 b) { return static_cast<u16>(a ^ b); })>, W, W, W, N, 0, here},
    {"v_cndmask_b16", nullptr, W, H, H, N, takes_mask, here, choose_half},
    {"v_swap_b16", nullptr, W, W, N, N, 0, here, swap_halves},
    {"v_permlane16_b32", nullptr, B, B, B, B, plain_bits, here, permute_rows, 0},
    {"v_permlanex16_b32", nullptr, B, B, B, B, plain_bits, here, permute_rows, 16},
    {"v_permlane64_b32", nullptr, B, B, N, N, 0, here, swap_wave_halves},
    {"v_movreld_b32", nullptr, B, B, N, N, 0, here, move_to_indexed},
    {"v_movrels_b32", nullptr, B, B, N, N, 0, here, move_from_indexed},
    {"v_movrelsd_b32", nullptr, B, B, N, N, 0, here, move_both_indexed},
    {"v_movrelsd_2_b32", nullptr, B, B, N, N, 0, here, move_both_apart},
};
constexpr SortedRows sorted(rows);

}  // namespace

const VectorTable vector_rdna_table = sorted.table();

}  // namespace kiln::emulator
