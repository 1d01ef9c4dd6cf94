// Moves between lanes, register files and the scalar unit, and v_bitop3.
#include <bit>

#include "engine/emulator/core/scalar_access.hpp"
#include "engine/emulator/core/vector_loops.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
constexpr Type B = Type::b32, N = Type::none;

u32 read_lane(const Wave& wave, const Source& source, u32 lane) {
  return source.kind == Source::Kind::vector ? wave.vector[source.index][lane] : scalar32(wave, source);
}

void read_first_lane(Wave& wave, const Instruction& in) {
  const u64 exec = wave.exec();
  const u32 lane = exec == 0 ? 0 : static_cast<u32>(std::countr_zero(exec));
  write_scalar32(wave, in.dst, read_lane(wave, in.src[0], lane));
}
void read_chosen_lane(Wave& wave, const Instruction& in) {
  write_scalar32(wave, in.dst, read_lane(wave, in.src[0], scalar32(wave, in.src[1]) & (wave.size - 1u)));
}
// Whatever EXEC says.
void write_lane(Wave& wave, const Instruction& in) {
  wave.vector[in.dst.index][scalar32(wave, in.src[1]) & (wave.size - 1u)] = scalar32(wave, in.src[0]);
}

void exchange(u32& a, u32& b) {
  const u32 t = a;
  a = b;
  b = t;
}

void swap_registers(Wave& wave, const Instruction& in) {
  u32 *a = wave.vector[in.dst.index], *b = wave.vector[in.src[0].index];
  const u64 exec = wave.exec();
  for (int i = 0; i < lanes; ++i) {
    if (exec >> i & 1) exchange(a[i], b[i]);
  }
}

// Odd rows of `width` lanes of the destination trade places with the even rows of the source before them. The documents
// do not say what a lane receives whose partner is switched off: such a wave stops.
void swap_rows(Wave& wave, const Instruction& in) {
  const int width = static_cast<int>(static_cast<const VectorRow*>(in.operation)->parameter);
  const u64 exec = wave.exec(), even = width == 16 ? 0x0000ffff0000ffffu : 0x00000000ffffffffu;
  if ((exec & even) != (exec >> width & even)) return execute_not_covered(wave, in);
  u32 *destination = wave.vector[in.dst.index], *source = wave.vector[in.src[0].index];
  for (int i = 0; i < lanes; ++i) {
    if ((exec & even) >> i & 1) exchange(source[i], destination[i + width]);
  }
}

void nothing(Wave&, const Instruction&) {}

// Bit i of the result is bit {a[i], b[i], c[i]} of the table.
void combine(u32 table, const u32* a, const u32* b, const u32* c, u32* d) {
  u32 entry[8];
  for (u32 i = 0; i < 8; ++i) entry[i] = 0u - (table >> i & 1u);
  a = aligned(a), b = aligned(b), c = aligned(c), d = aligned(d);
#pragma GCC ivdep
  for (int i = 0; i < lanes; ++i) {
    const u32 x = a[i], y = b[i], z = c[i];
    const u32 none = (entry[1] & z) | (entry[0] & ~z), only_y = (entry[3] & z) | (entry[2] & ~z);
    const u32 only_x = (entry[5] & z) | (entry[4] & ~z), both = (entry[7] & z) | (entry[6] & ~z);
    const u32 without = (only_y & y) | (none & ~y), with = (both & y) | (only_x & ~y);
    d[i] = (with & x) | (without & ~x);
  }
}
void bit_operation(Wave& wave, const Instruction& in) {
  const VectorRow& row = *static_cast<const VectorRow*>(in.operation);
  alignas(64) RowScratch a, b, c, result;
  ModifiedSources sources{wave, in, row, wave.exec()};
  const u32* x = fetch(sources, 0, row.a, a);
  const u32* y = fetch(sources, 1, row.b, b);
  const u32* z = fetch(sources, 2, row.c, c);
  if (row.d == B && sources.writable == ~u64{0}) return combine(in.immediate, x, y, z, wave.vector[in.dst.index]);
  combine(in.immediate, x, y, z, result);
  finish(wave, in, row, result, sources.writable);
}

constexpr Compute copy = loop<([](u32 a) { return a; })>;

constexpr VectorRow rows[] = {
    {"v_readfirstlane_b32", nullptr, B, B, N, N, 0, on_all, read_first_lane},
    {"v_readlane_b32", nullptr, B, B, B, N, 0, on_all, read_chosen_lane},
    {"v_writelane_b32", nullptr, B, B, B, N, 0, on_all, write_lane},
    {"v_swap_b32", nullptr, B, B, N, N, 0, on_all, swap_registers},
    {"v_permlane16_swap_b32", nullptr, B, B, N, N, 0, on_gfx950, swap_rows, 16},
    {"v_permlane32_swap_b32", nullptr, B, B, N, N, 0, on_gfx950, swap_rows, 32},
    {"v_accvgpr_mov_b32", copy, B, B, N, N, plain_bits},
    {"v_nop", nullptr, N, N, N, N, 0, on_all, nothing},
    {"v_pipeflush", nullptr, N, N, N, N, 0, on_gfx11, nothing},
    {"v_clrexcp", nullptr, N, N, N, N, 0, on_all, nothing},
    {"v_bitop3_b32", nullptr, B, B, B, B, plain_bits, on_gfx950, bit_operation},
    {"v_bitop3_b16", nullptr, Type::b16, Type::b16, Type::b16, Type::b16, plain_bits | keeps_high, on_gfx950,
     bit_operation},
};
constexpr SortedRows sorted(rows);

}  // namespace

const VectorTable vector_move_table = sorted.table();

}  // namespace kiln::emulator
