// VOP3P: two 16-bit or two 32-bit operations at once, and the operations that mix f16 and f32 (v_fma_mix*).
#include "engine/emulator/core/float_rows.hpp"
#include "engine/emulator/core/rounding.hpp"
#include "engine/emulator/core/vector_half_loops.hpp"
#include "engine/emulator/core/vector_minmax.hpp"

namespace kiln::emulator {
namespace {

using u16 = std::uint16_t;
using i16 = std::int16_t;
using u32 = std::uint32_t;
using i32 = std::int32_t;
constexpr Type P = Type::pkf16, Q = Type::pk16, W = Type::pkf32, N = Type::none;
constexpr u32 basic = floats | rounds_wide;

inline u16 clamp_u16(i32 x) { return static_cast<u16>(x < 0 ? 0 : x > 0xffff ? 0xffff : x); }
inline u16 clamp_i16(i32 x) { return static_cast<u16>(x < -32768 ? -32768 : x > 32767 ? 32767 : x); }

inline u32 join(u16 low, u16 high) { return low | u32{high} << 16; }

// A 16-bit function on both halves. `f` takes T, which is u16 or i16, and gives u16.
template <auto f, class T>
inline void run_halves(Lanes& l, u16 (*)(T, T)) {
  const u32 *a = aligned(l.a), *b = aligned(l.b);
  u32* d = aligned(l.d);
#pragma GCC ivdep
  for (int i = 0; i < lanes; ++i) {
    d[i] =
        join(f(static_cast<T>(a[i]), static_cast<T>(b[i])), f(static_cast<T>(a[i] >> 16), static_cast<T>(b[i] >> 16)));
  }
}
template <auto f, class T>
inline void run_halves(Lanes& l, u16 (*)(T, T, T)) {
  const u32 *a = aligned(l.a), *b = aligned(l.b), *c = aligned(l.c);
  u32* d = aligned(l.d);
#pragma GCC ivdep
  for (int i = 0; i < lanes; ++i) {
    d[i] = join(f(static_cast<T>(a[i]), static_cast<T>(b[i]), static_cast<T>(c[i])),
                f(static_cast<T>(a[i] >> 16), static_cast<T>(b[i] >> 16), static_cast<T>(c[i] >> 16)));
  }
}
template <auto f>
void halves_loop(Lanes& l) {
  run_halves<f>(l, +f);
}

template <bool maximum>
void extreme(Lanes& l) {
  const bool ieee = (l.mode & mode_bit::ieee) != 0;
  const u32 *a = aligned(l.a), *b = aligned(l.b);
  u32* d = aligned(l.d);
#pragma GCC ivdep
  for (int i = 0; i < lanes; ++i) {
    d[i] = join(select_extreme<Format16, maximum>(static_cast<u16>(a[i]), static_cast<u16>(b[i]), ieee),
                select_extreme<Format16, maximum>(static_cast<u16>(a[i] >> 16), static_cast<u16>(b[i] >> 16), ieee));
  }
}

void fused(Lanes& l) {
  HalfValues values;
  widen_sources(l, values, true);
  const u32 nearest = half_rounds_nearest(l);
  for (int i = 0; i < 2 * lanes; ++i) values.a[i] = fused_half(values.a[i], values.b[i], values.c[i], nearest);
  narrow_packed(values.a, l.d, l.mode);
}

// Two f32 a lane, in two rows.
template <auto f>
inline void run_pair(Lanes& l, float (*)(float, float)) {
  const u32 *a = aligned(l.a), *b = aligned(l.b);
  u32* d = aligned(l.d);
#pragma GCC ivdep
  for (int i = 0; i < lanes; ++i) {
    const float low = f(load_lane<float>(a, i), load_lane<float>(b, i));
    const float high = f(load_lane<float>(a + lanes, i), load_lane<float>(b + lanes, i));
    store_lane(d, i, low);
    store_lane(d + lanes, i, high);
  }
}
template <auto f>
void pair_loop(Lanes& l) {
  run_pair<f>(l, +f);
}

void fused_pair(Lanes& l) {
  const float *a = as_floats(l.a), *b = as_floats(l.b), *c = as_floats(l.c);
  float* d = as_floats(l.d);
  for (int i = 0; i < lanes; i += Floats::size) {
    const auto low = Floats::fma(Floats::load(a + i), Floats::load(b + i), Floats::load(c + i));
    const int j = i + lanes;
    const auto high = Floats::fma(Floats::load(a + j), Floats::load(b + j), Floats::load(c + j));
    Floats::store(d + i, low);
    Floats::store(d + j, high);
  }
}

// v_pk_mov_b32: op_sel says which dword of either source.
void move_pair(Wave& wave, const Instruction& in) {
  alignas(64) RowScratch low, high, result;
  const u32* a = fetch_plain(wave, in.src[0], 2, low) + (in.op_sel & 1 ? lanes : 0);
  const u32* b = fetch_plain(wave, in.src[1], 2, high) + (in.op_sel & 2 ? lanes : 0);
  for (int i = 0; i < lanes; ++i) {
    result[i] = a[i];
    result[i + lanes] = b[i];
  }
  u32* destination = wave.vector[in.dst.index];
  merge_row(destination, result, wave.exec());
  merge_row(destination + lanes, result + lanes, wave.exec());
}

// One source of v_fma_mix*: op_sel_hi says f16, op_sel which half.
void fetch_mixed(const Wave& wave, const Instruction& in, int index, float* out) {
  alignas(64) RowScratch scratch;
  Source source = in.src[index];
  const bool half = (in.op_sel_hi >> index & 1) != 0, upper = (in.op_sel >> index & 1) != 0;
  const bool constant = source.kind == Source::Kind::constant || source.kind == Source::Kind::literal;
  if (half && constant) source.value = constant_value(source, Type::f16);
  const u32* value = fetch_plain(wave, source, 1, scratch);
  alignas(64) u32 bits[lanes];
  for (int i = 0; i < lanes; ++i) bits[i] = half && upper ? value[i] >> 16 : value[i];
  const u32 allowed = half ? mode_bit::denormal_in_wide : mode_bit::denormal_in32,
            exponent = half ? 0x7c00u : 0x7f800000u;
  if ((wave.mode & allowed) == 0) [[unlikely]] {
    for (int i = 0; i < lanes; ++i)
      bits[i] = (bits[i] & exponent) == 0 ? bits[i] & (half ? 0x8000u : 0x80000000u) : bits[i];
  }
  if (half) {
    widen_low(bits, out);
  } else {
    for (int i = 0; i < lanes; ++i) out[i] = std::bit_cast<float>(bits[i]);
  }
  const u32 clear = in.abs >> index & 1 ? 0x80000000u : 0, flip = in.neg >> index & 1 ? 0x80000000u : 0;
  if ((clear | flip) == 0) return;
  for (int i = 0; i < lanes; ++i) out[i] = std::bit_cast<float>((std::bit_cast<u32>(out[i]) & ~clear) ^ flip);
}

// The sum is rounded to f32, and for a f16 result then to f16.
void mix(Wave& wave, const Instruction& in) {
  const VectorRow& row = *static_cast<const VectorRow*>(in.operation);
  HalfValues values;
  alignas(64) RowScratch result;
  fetch_mixed(wave, in, 0, values.a);
  fetch_mixed(wave, in, 1, values.b);
  fetch_mixed(wave, in, 2, values.c);
  fma_row(values.a, values.b, values.c, values.a);
  if (row.d == Type::f32) {
    for (int i = 0; i < lanes; ++i) result[i] = std::bit_cast<u32>(values.a[i]);
    return finish(wave, in, row, result, wave.exec());
  }
  const u32 wide = wave.mode >> 2 & 3;
  if (wide == (wave.mode & 3)) {
    narrow_low(values.a, result, wave.mode);
  } else {
    const Rounding rounding(wide);
    narrow_low(values.a, result, wave.mode);
  }
  if (row.parameter == 0) return finish(wave, in, row, result, wave.exec());
  Instruction upper = in;
  upper.op_sel = 8;
  finish(wave, upper, row, result, wave.exec());
}

constexpr VectorRow rows[] = {
    {"v_pk_add_f16", packed_half_loop<([](float a, float b) { return a + b; })>, P, P, P, N, basic},
    {"v_pk_mul_f16", packed_half_loop<([](float a, float b) { return a * b; })>, P, P, P, N, basic},
    {"v_pk_fma_f16", fused, P, P, P, P, basic},
    {"v_pk_fmac_f16", fused, P, P, P, P, basic | accumulates},
    {"v_pk_min_f16", extreme<false>, P, P, P, N, floats},
    {"v_pk_max_f16", extreme<true>, P, P, P, N, floats},
    {"v_pk_minimum3_f16", halves_loop<([](u16 a, u16 b, u16 c) {
       return propagating<Format16, false>(propagating<Format16, false>(a, b), c);
     })>,
     P, P, P, P, floats, on_gfx950},
    {"v_pk_maximum3_f16", halves_loop<([](u16 a, u16 b, u16 c) {
       return propagating<Format16, true>(propagating<Format16, true>(a, b), c);
     })>,
     P, P, P, P, floats, on_gfx950},
    {"v_pk_add_u16", halves_loop<([](u16 a, u16 b) { return static_cast<u16>(a + b); })>, Q, Q, Q, N},
    {"v_pk_sub_u16", halves_loop<([](u16 a, u16 b) { return static_cast<u16>(a - b); })>, Q, Q, Q, N},
    {"v_pk_add_i16", halves_loop<([](u16 a, u16 b) { return static_cast<u16>(a + b); })>, Q, Q, Q, N},
    {"v_pk_sub_i16", halves_loop<([](u16 a, u16 b) { return static_cast<u16>(a - b); })>, Q, Q, Q, N},
    {"v_pk_add_u16", halves_loop<([](u16 a, u16 b) { return clamp_u16(a + b); })>, Q, Q, Q, N, saturates},
    {"v_pk_sub_u16", halves_loop<([](u16 a, u16 b) { return clamp_u16(a - b); })>, Q, Q, Q, N, saturates},
    {"v_pk_add_i16", halves_loop<([](i16 a, i16 b) { return clamp_i16(a + b); })>, Q, Q, Q, N, saturates},
    {"v_pk_sub_i16", halves_loop<([](i16 a, i16 b) { return clamp_i16(a - b); })>, Q, Q, Q, N, saturates},
    {"v_pk_mul_lo_u16", halves_loop<([](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); })>, Q, Q, Q, N},
    {"v_pk_mad_u16", halves_loop<([](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); })>, Q, Q, Q, Q},
    {"v_pk_mad_i16", halves_loop<([](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); })>, Q, Q, Q, Q},
    {"v_pk_mad_u16", halves_loop<([](u16 a, u16 b, u16 c) {
       return static_cast<u16>(u32{a} * b + c > 0xffffu ? 0xffffu : u32{a} * b + c);
     })>,
     Q, Q, Q, Q, saturates},
    {"v_pk_mad_i16", halves_loop<([](i16 a, i16 b, i16 c) { return clamp_i16(i32{a} * b + c); })>, Q, Q, Q, Q,
     saturates},
    {"v_pk_lshlrev_b16", halves_loop<([](u16 a, u16 b) { return static_cast<u16>(u32{b} << (a & 15)); })>, Q, Q, Q, N},
    {"v_pk_lshrrev_b16", halves_loop<([](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); })>, Q, Q, Q, N},
    {"v_pk_ashrrev_i16", halves_loop<([](i16 a, i16 b) { return static_cast<u16>(b >> (a & 15)); })>, Q, Q, Q, N},
    {"v_pk_max_i16", halves_loop<([](i16 a, i16 b) { return static_cast<u16>(a > b ? a : b); })>, Q, Q, Q, N},
    {"v_pk_min_i16", halves_loop<([](i16 a, i16 b) { return static_cast<u16>(a < b ? a : b); })>, Q, Q, Q, N},
    {"v_pk_max_u16", halves_loop<([](u16 a, u16 b) { return a > b ? a : b; })>, Q, Q, Q, N},
    {"v_pk_min_u16", halves_loop<([](u16 a, u16 b) { return a < b ? a : b; })>, Q, Q, Q, N},
    {"v_pk_fma_f32", fused_pair, W, W, W, W, floats},
    {"v_pk_mul_f32", pair_loop<([](float a, float b) { return a * b; })>, W, W, W, N, floats},
    {"v_pk_add_f32", pair_loop<([](float a, float b) { return a + b; })>, W, W, W, N, floats},
    {"v_pk_mov_b32", nullptr, Type::pkb32, Type::pkb32, Type::pkb32, N, 0, on_all, move_pair},
    {"v_fma_mix_f32", nullptr, Type::f32, Type::f32, Type::f32, Type::f32, floats, on_all, mix},
    {"v_fma_mixlo_f16", nullptr, Type::f16, Type::f32, Type::f32, Type::f32, floats | keeps_high, on_all, mix, 0},
    {"v_fma_mixhi_f16", nullptr, Type::f16, Type::f32, Type::f32, Type::f32, floats | keeps_high, on_all, mix, 1},
};
constexpr SortedRows sorted(rows);

}  // namespace

const VectorTable vector_packed_table = sorted.table();

}  // namespace kiln::emulator
