// 64-bit integer operations, products of 64 bits, and sums of absolute differences over them.
#include "engine/emulator/core/vector_loops.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
constexpr Type U = Type::u32, I = Type::i32, W = Type::u64, V = Type::i64, N = Type::none;

inline u64 product_u(u32 a, u32 b) { return u64{a} * b; }
inline u64 product_i(i32 a, i32 b) { return static_cast<u64>(i64{a} * b); }
// Bit 64 of the sum of two values that are sign-extended to 65 bits.
inline bool bit64(u64 a, u64 b) {
  const u64 sum = a + b;
  const bool overflow = static_cast<i64>((a ^ sum) & (b ^ sum)) < 0;
  return (static_cast<i64>(sum) < 0) != overflow;
}

inline u32 byte_difference(u32 a, u32 b, bool masked) {
  u32 sum = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 x = a >> 8 * i & 0xffu, y = b >> 8 * i & 0xffu;
    sum += masked && y == 0 ? 0 : x > y ? x - y : y - x;
  }
  return sum;
}
// Four windows of four bytes, one byte apart, against the same four bytes.
template <bool masked>
inline u64 window_sums(u64 a, u32 b, u64 c) {
  u64 result = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 sum = byte_difference(static_cast<u32>(a >> 8 * i), b, masked) + static_cast<u32>(c >> 16 * i & 0xffffu);
    result |= u64{sum & 0xffffu} << 16 * i;
  }
  return result;
}

// The same with sums of 32 bits, in four registers.
void wide_window_sums(Wave& wave, const Instruction& in) {
  if (in.src[2].kind != Source::Kind::vector) return execute_not_covered(wave, in);
  alignas(64) RowScratch window_scratch, bytes_scratch;
  const u32* window = fetch_plain(wave, in.src[0], 2, window_scratch);
  const u32* bytes = fetch_plain(wave, in.src[1], 1, bytes_scratch);
  alignas(64) u32 sums[4][lanes];
  for (int i = 0; i < 4; ++i) {
    const u32* addend = wave.vector[in.src[2].index + i];
    for (int lane = 0; lane < lanes; ++lane) {
      const u64 both = window[lane] | u64{window[lanes + lane]} << 32;
      sums[i][lane] = byte_difference(static_cast<u32>(both >> 8 * i), bytes[lane], true) + addend[lane];
    }
  }
  for (int i = 0; i < 4; ++i) merge_row(wave.vector[in.dst.index + i], sums[i], wave.exec());
}

constexpr VectorRow rows[] = {
    {"v_mov_b64", loop<([](u64 a) { return a; })>, Type::b64, Type::b64, N, N, 0, on_fp8},
    {"v_lshlrev_b64", loop<([](u32 a, u64 b) { return b << (a & 63); })>, W, U, W, N},
    {"v_lshrrev_b64", loop<([](u32 a, u64 b) { return b >> (a & 63); })>, W, U, W, N},
    {"v_ashrrev_i64", loop<([](u32 a, i64 b) { return b >> (a & 63); })>, V, U, V, N},
    {"v_lshl_add_u64", loop<([](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; })>, W, W, U, W, 0, on_fp8},
    {"v_mad_u64_u32", carry_loop<([](u32 a, u32 b, u64 c) { return product_u(a, b) + c; }), ([](u32 a, u32 b, u64 c) {
                                   return product_u(a, b) + c < c;
                                 })>,
     W, U, U, W, gives_mask},
    {"v_mad_i64_i32", carry_loop<([](i32 a, i32 b, u64 c) { return product_i(a, b) + c; }), ([](i32 a, i32 b, u64 c) {
                                   return bit64(product_i(a, b), c);
                                 })>,
     V, I, I, V, gives_mask},
    {"v_qsad_pk_u16_u8", loop<([](u64 a, u32 b, u64 c) { return window_sums<false>(a, b, c); })>, W, W, U, W},
    {"v_mqsad_pk_u16_u8", loop<([](u64 a, u32 b, u64 c) { return window_sums<true>(a, b, c); })>, W, W, U, W},
    {"v_mqsad_u32_u8", nullptr, U, W, U, U, plain_bits, on_all, wide_window_sums},
};
constexpr SortedRows sorted(rows);

}  // namespace

const VectorTable vector_integer64_table = sorted.table();

}  // namespace kiln::emulator
