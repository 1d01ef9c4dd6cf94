// VOPD, RDNA3's two operations in one instruction: both read their sources before either writes.
// Source: "RDNA3 Instruction Set Architecture", "Dual Issue VALU" and VOPD's instruction list.
#include "engine/emulator/core/float_rows.hpp"
#include "engine/emulator/core/vector_half_loops.hpp"
#include "engine/emulator/core/vector_minmax.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
constexpr Type F = Type::f32, U = Type::u32, B = Type::b32, N = Type::none;

void fused(Lanes& l) { fma_row(as_floats(l.a), as_floats(l.b), as_floats(l.c), as_floats(l.d)); }

void choose(Lanes& l) {
  alignas(64) u32 mask[lanes];
  expand_mask(l.mask_in, mask);
  const u32 *a = aligned(l.a), *b = aligned(l.b);
  u32* d = aligned(l.d);
#pragma GCC ivdep
  for (int i = 0; i < lanes; ++i) d[i] = (a[i] & ~mask[i]) | (b[i] & mask[i]);
}

void dot_f16(Lanes& l) {
  HalfValues values;
  widen_packed(l.a, values.a);
  widen_packed(l.b, values.b);
  for (int i = 0; i < lanes; ++i) {
    float sum = std::bit_cast<float>(l.c[i]) + values.a[2 * i] * values.b[2 * i];
    sum += values.a[2 * i + 1] * values.b[2 * i + 1];
    l.d[i] = std::bit_cast<u32>(sum);
  }
}
inline float dot_bf16(u32 a, u32 b, float c) {
  const float sum = c + std::bit_cast<float>(a << 16) * std::bit_cast<float>(b << 16);
  return sum + std::bit_cast<float>(a & 0xffff0000u) * std::bit_cast<float>(b & 0xffff0000u);
}

// By opcode; the last three are the second operation's only. fmaak: src[2] is the literal. fmamk: src[1] is, and src[2]
// what stands second in the encoding.
constexpr u32 addend_literal = 1, factor_literal = 2, operation_count = 19;
struct Operations {
  VectorRow rows[operation_count] = {};
  constexpr Operations() {
    constexpr VectorRow unset[operation_count] = {
        {"v_dual_fmac_f32", fused, F, F, F, F, floats | accumulates},
        {"v_dual_fmaak_f32", fused, F, F, F, F, floats},
        {"v_dual_fmamk_f32", fused, F, F, F, F, floats},
        {"v_dual_mul_f32", loop<([](float a, float b) { return a * b; })>, F, F, F, N, floats},
        {"v_dual_add_f32", loop<([](float a, float b) { return a + b; })>, F, F, F, N, floats},
        {"v_dual_sub_f32", loop<([](float a, float b) { return a - b; })>, F, F, F, N, floats},
        {"v_dual_subrev_f32", loop<([](float a, float b) { return b - a; })>, F, F, F, N, floats},
        {"v_dual_mul_dx9_zero_f32",
         loop<([](float a, float b) { return a == 0.0f || b == 0.0f ? 0.0f : a * b; })>, F, F, F, N, floats},
        {"v_dual_mov_b32", loop<([](u32 a) { return a; })>, B, B, N, N},
        {"v_dual_cndmask_b32", choose, B, B, B, N, takes_vcc},
        {"v_dual_max_f32", extreme_of_two<Format32, larger<Format32>>, F, F, F, N, floats},
        {"v_dual_min_f32", extreme_of_two<Format32, smaller<Format32>>, F, F, F, N, floats},
        {"v_dual_dot2acc_f32_f16", dot_f16, F, Type::pkf16, Type::pkf16, F, floats | accumulates},
        {"v_dual_dot2acc_f32_bf16", loop<([](u32 a, u32 b, float c) { return dot_bf16(a, b, c); })>, F, Type::pkbf16,
         Type::pkbf16, F, floats | accumulates},
        {},
        {},
        {"v_dual_add_nc_u32", loop<([](u32 a, u32 b) { return a + b; })>, U, U, U, N},
        {"v_dual_lshlrev_b32", loop<([](u32 a, u32 b) { return b << (a & 31); })>, U, U, U, N},
        {"v_dual_and_b32", loop<([](u32 a, u32 b) { return a & b; })>, U, U, U, N},
    };
    for (u32 i = 0; i < operation_count; ++i) rows[i] = usual_mode(unset[i]);
  }
};
constexpr Operations operations;

u32 first_opcode(const Instruction& in) { return in.opcode & 15u; }
u32 second_opcode(const Instruction& in) { return in.opcode >> 4 & 31u; }

// One of the two as an instruction of its own: its sources in their places.
Instruction half_of(const Instruction& in, u32 opcode, bool second) {
  Instruction one = in;
  one.format = Format::vop2;
  one.operation = &operations.rows[opcode];
  if (second) {
    one.src[0] = in.scale[0];
    one.src[1] = in.scale[1];
    one.dst = in.scalar_dst;
  }
  if (opcode == factor_literal) {
    one.src[2] = one.src[1];
    one.src[1] = in.src[2];
  }
  one.scalar_dst = {};
  return one;
}

void compute_with_modes(Wave& wave, const Instruction& in, u32* result) {
  const VectorRow& row = *static_cast<const VectorRow*>(in.operation);
  alignas(64) RowScratch scratch[3];
  ModifiedSources sources{wave, in, row, wave.exec()};
  Lanes l;
  l.mode = wave.mode;
  l.mask_in = wave.scalar64(code::vcc);
  l.a = fetch(sources, 0, row.a, scratch[0]);
  if (row.b != Type::none) l.b = fetch(sources, 1, row.b, scratch[1]);
  if (row.c != Type::none) l.c = fetch(sources, 2, row.c, scratch[2]);
  l.d = result;
  row.compute(l);
}

// Denormals are not what they usually are.
void execute_with_modes(Wave& wave, const Instruction& in) {
  alignas(64) RowScratch results[2];
  const Instruction first = half_of(in, first_opcode(in), false), second = half_of(in, second_opcode(in), true);
  compute_with_modes(wave, first, results[0]);
  compute_with_modes(wave, second, results[1]);
  finish(wave, first, operations.rows[first_opcode(in)], results[0], wave.exec());
  finish(wave, second, operations.rows[second_opcode(in)], results[1], wave.exec());
}

struct Half {
  u32 opcode;
  const Source* sources;     // two
  const Source* literal;
  int destination;
};
void compute_plain(const Wave& wave, const Half& half, u32* result) {
  const VectorRow& row = operations.rows[half.opcode];
  alignas(64) RowScratch scratch[3];
  Lanes l;
  l.mode = wave.mode;
  l.d = result;
  l.a = fetch_plain(wave, half.sources[0], 1, scratch[0]);
  if (row.b != Type::none) l.b = fetch_plain(wave, half.sources[1], 1, scratch[1]);
  if ((row.flags & accumulates) != 0) l.c = wave.vector[half.destination];
  if ((row.flags & takes_vcc) != 0) l.mask_in = wave.scalar64(code::vcc);
  if (half.opcode == addend_literal) l.c = fetch_plain(wave, *half.literal, 1, scratch[2]);
  if (half.opcode == factor_literal) {
    l.c = l.b;
    l.b = fetch_plain(wave, *half.literal, 1, scratch[2]);
  }
  row.compute(l);
}

void execute_dual(Wave& wave, const Instruction& in) {
  const VectorRow &x = operations.rows[first_opcode(in)], &y = operations.rows[second_opcode(in)];
  if ((wave.mode & x.mode_relevant) != x.mode_usual || (wave.mode & y.mode_relevant) != y.mode_usual) [[unlikely]] {
    return execute_with_modes(wave, in);
  }
  alignas(64) u32 results[2][lanes];
  compute_plain(wave, {first_opcode(in), in.src, &in.src[2], in.dst.index}, results[0]);
  compute_plain(wave, {second_opcode(in), in.scale, &in.src[2], in.scalar_dst.index}, results[1]);
  const u64 exec = wave.exec();
  merge_row(wave.vector[in.dst.index], results[0], exec);
  merge_row(wave.vector[in.scalar_dst.index], results[1], exec);
}

void set_value(Source& source, Type type) {
  if (source.kind == Source::Kind::constant || source.kind == Source::Kind::literal) {
    source.value = constant_value(source, type);
  }
}

bool is_vector(const Source& source) { return source.kind == Source::Kind::vector; }

}  // namespace

bool bind_dual(Instruction& in, Family family) {
  const u32 x = first_opcode(in), y = second_opcode(in);
  if (family != Family::gfx11 || x > 13 || y >= operation_count) return false;
  const VectorRow &first = operations.rows[x], &second = operations.rows[y];
  if (first.compute == nullptr || second.compute == nullptr || !is_vector(in.dst) || !is_vector(in.scalar_dst)) {
    return false;
  }
  set_value(in.src[0], first.a);
  set_value(in.scale[0], second.a);
  set_value(in.src[2], F);
  in.operation = &first;
  in.execute = execute_dual;
  return true;
}

}  // namespace kiln::emulator
