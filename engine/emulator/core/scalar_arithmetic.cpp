// SOP1, SOP2, SOPC and SOPK that compute: results and SCC by "AMD Instinct MI300 Instruction Set Architecture", chapter
// "Scalar ALU Operations" and the instruction lists.
#include <bit>
#include <type_traits>

#include "engine/emulator/core/scalar.hpp"

namespace kiln::emulator {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

template <class T>
T read(const Wave& wave, const Source& source) {
  if constexpr (sizeof(T) == 8) return scalar64(wave, source);
  else return scalar32(wave, source);
}
template <class T>
void write(Wave& wave, const Source& destination, T value) {
  if constexpr (sizeof(T) == 8) write_scalar64(wave, destination, value);
  else write_scalar32(wave, destination, value);
}

// `operation`: result of the sources; it may read SCC and change it.
template <class D, class A, auto operation>
void unary(Wave& wave, const Instruction& instruction) {
  bool scc = wave.scc;
  const D result = operation(read<A>(wave, instruction.src[0]), scc);
  write<D>(wave, instruction.dst, result);
  wave.scc = scc;
}
template <class D, class A, class B, auto operation>
void binary(Wave& wave, const Instruction& instruction) {
  bool scc = wave.scc;
  const D result = operation(read<A>(wave, instruction.src[0]), read<B>(wave, instruction.src[1]), scc);
  write<D>(wave, instruction.dst, result);
  wave.scc = scc;
}
template <class A, class B, auto condition>
void compare(Wave& wave, const Instruction& instruction) {
  wave.scc = condition(read<A>(wave, instruction.src[0]), read<B>(wave, instruction.src[1]));
}
// Written only if SCC is set.
template <class T>
void conditional_move(Wave& wave, const Instruction& instruction) {
  if (wave.scc) write<T>(wave, instruction.dst, read<T>(wave, instruction.src[0]));
}
// The destination is a source too.
template <class T, bool one>
void set_bit(Wave& wave, const Instruction& instruction) {
  const T bit = T(1) << (scalar32(wave, instruction.src[0]) & (sizeof(T) * 8 - 1));
  const T old = read<T>(wave, instruction.dst);
  write<T>(wave, instruction.dst, one ? old | bit : old & ~bit);
}
// SOPK: the register is the destination field's, whatever its role.
template <auto operation>
void with_immediate(Wave& wave, const Instruction& instruction) {
  bool scc = wave.scc;
  const u32 old = scalar32(wave, instruction.dst);
  const u32 immediate = static_cast<u32>(static_cast<std::int16_t>(instruction.immediate));
  write_scalar32(wave, instruction.dst, operation(old, immediate, scc));
  wave.scc = scc;
}
template <auto condition, bool sign>
void compare_immediate(Wave& wave, const Instruction& instruction) {
  const Source& source = instruction.dst.kind == Source::Kind::none ? instruction.src[0] : instruction.dst;
  const u32 raw = instruction.immediate;
  const u32 immediate = sign ? static_cast<u32>(static_cast<std::int16_t>(raw)) : raw;
  wave.scc = condition(scalar32(wave, source), immediate);
}

template <class T>
constexpr T nonzero(T value, bool& scc) {
  scc = value != 0;
  return value;
}

constexpr u32 add_carry(u32 a, u32 b, u32 carry, bool& scc) {
  const u64 sum = u64(a) + b + carry;
  scc = sum >> 32;
  return static_cast<u32>(sum);
}
constexpr u32 sub_borrow(u32 a, u32 b, u32 borrow, bool& scc) {
  scc = u64(b) + borrow > a;
  return a - b - borrow;
}
constexpr u32 add_overflow(u32 a, u32 b, bool& scc) {
  const u32 sum = a + b;
  scc = (~(a ^ b) & (a ^ sum)) >> 31;
  return sum;
}
constexpr u32 sub_overflow(u32 a, u32 b, bool& scc) {
  const u32 difference = a - b;
  scc = ((a ^ b) & (a ^ difference)) >> 31;
  return difference;
}

// Offset in the low bits of `field`, width in bits 16..22.
template <class T, bool sign>
constexpr T bit_field(T value, u32 field, bool& scc) {
  constexpr u32 bits = sizeof(T) * 8;
  const u32 offset = field & (bits - 1), width = field >> 16 & 127;
  if (width == 0) return nonzero<T>(0, scc);
  T result = sign ? static_cast<T>(static_cast<std::make_signed_t<T>>(value) >> offset) : value >> offset;
  if (width < bits) {
    result &= (T(1) << width) - 1;
    if (sign) {
      const T top = T(1) << (width - 1);
      result = (result ^ top) - top;
    }
  }
  return nonzero<T>(result, scc);
}

template <class T>
constexpr T whole_quads(T value, bool& scc) {  // each bit: is any bit of its group of four set
  T any = value | value >> 1;
  any = (any | any >> 2) & static_cast<T>(0x1111111111111111);
  return nonzero<T>(any * 15, scc);
}
template <class T>
constexpr T quad_mask(T value, bool& scc) {
  T result = 0;
  for (unsigned quad = 0; quad < sizeof(T) * 2; ++quad) result |= T((value >> (quad * 4) & 15) != 0) << quad;
  return nonzero<T>(result, scc);
}
template <class T>
constexpr T reversed(T value, bool&) {
  T result = 0;
  for (unsigned bit = 0; bit < sizeof(T) * 8; ++bit) result |= (value >> bit & 1) << (sizeof(T) * 8 - 1 - bit);
  return result;
}
template <class T>
constexpr u32 first_one(T value, bool&) {
  return value == 0 ? ~0u : static_cast<u32>(std::countr_zero(value));
}
template <class T>
constexpr u32 leading(T value, bool&) {
  return value == 0 ? ~0u : static_cast<u32>(std::countl_zero(value));
}
template <class T>
constexpr u32 leading_sign(T value, bool& scc) {  // how many bits from the top equal the sign; ~0 if all do
  const T folded = static_cast<std::make_signed_t<T>>(value) < 0 ? ~value : value;
  return leading<T>(folded, scc);
}
constexpr u64 doubled_bits(u32 value, bool&) {
  u64 result = 0;
  for (int bit = 0; bit < 32; ++bit) result |= u64(value >> bit & 1) * 3 << (bit * 2);
  return result;
}
constexpr u32 absolute_difference(u32 a, u32 b, bool& scc) {
  const u32 difference = a - b;
  return nonzero<u32>(difference >> 31 ? 0 - difference : difference, scc);
}

constexpr Type b32 = Type::b32, b64 = Type::b64;

// Bitwise operations of both widths.
#define KILN_BITWISE_OF(T, expression) binary<T, T, T, [](T a, T b, bool& s) { return nonzero<T>((expression), s); }>
#define KILN_BITWISE(name, expression)                                \
  {name "_b32", KILN_BITWISE_OF(u32, expression), {b32, b32}}, {      \
    name "_b64", KILN_BITWISE_OF(u64, expression), {b64, b64}, true   \
  }
#define KILN_LAMBDA2(A, D, expression) [](A a, u32 b, [[maybe_unused]] bool& s) -> D { return (expression); }
#define KILN_LAMBDA1(A, D, expression) [](A a, [[maybe_unused]] bool& s) -> D { return (expression); }
#define KILN_U32(name, expression) {name, binary<u32, u32, u32, KILN_LAMBDA2(u32, u32, expression)>, {b32, b32}}
#define KILN_U64(name, expression) {name, binary<u64, u64, u32, KILN_LAMBDA2(u64, u64, expression)>, {b64, b32}, true}
#define KILN_FROM32(name, expression) {name, unary<u32, u32, KILN_LAMBDA1(u32, u32, expression)>, {b32}}
#define KILN_FROM64(name, expression) {name, unary<u32, u64, KILN_LAMBDA1(u64, u32, expression)>, {b64}}
#define KILN_PAIR(name, expression) {name, unary<u64, u64, KILN_LAMBDA1(u64, u64, expression)>, {b64}, true}
#define KILN_IS(cast, operator_) [](u32 a, u32 b) { return (static_cast<cast>(a) operator_ static_cast<cast>(b)); }
#define KILN_COMPARE(name, cast, operator_) {name, compare<u32, u32, KILN_IS(cast, operator_)>, {b32, b32}}
#define KILN_COMPARE_K(name, cast, operator_, sign) {name, compare_immediate<KILN_IS(cast, operator_), sign>}

constexpr ScalarRow unsorted[] = {
    // SOP2
    KILN_U32("s_add_u32", add_carry(a, b, 0, s)),
    KILN_U32("s_addc_u32", add_carry(a, b, s, s)),
    KILN_U32("s_sub_u32", sub_borrow(a, b, 0, s)),
    KILN_U32("s_subb_u32", sub_borrow(a, b, s, s)),
    KILN_U32("s_add_i32", add_overflow(a, b, s)),
    KILN_U32("s_sub_i32", sub_overflow(a, b, s)),
    KILN_U32("s_min_i32", (s = i32(a) < i32(b)) ? a : b),
    KILN_U32("s_min_u32", (s = a < b) ? a : b),
    KILN_U32("s_max_i32", (s = i32(a) >= i32(b)) ? a : b),
    KILN_U32("s_max_u32", (s = a >= b) ? a : b),
    KILN_U32("s_cselect_b32", s ? a : b),
    {"s_cselect_b64", binary<u64, u64, u64, [](u64 a, u64 b, bool& s) { return s ? a : b; }>, {b64, b64}, true},
    KILN_BITWISE("s_and", a & b),
    KILN_BITWISE("s_or", a | b),
    KILN_BITWISE("s_xor", a ^ b),
    KILN_BITWISE("s_andn2", a & ~b),
    KILN_BITWISE("s_orn2", a | ~b),
    KILN_BITWISE("s_nand", ~(a & b)),
    KILN_BITWISE("s_nor", ~(a | b)),
    KILN_BITWISE("s_xnor", ~(a ^ b)),
    KILN_U32("s_lshl_b32", nonzero<u32>(a << (b & 31), s)),
    KILN_U64("s_lshl_b64", nonzero<u64>(a << (b & 63), s)),
    KILN_U32("s_lshr_b32", nonzero<u32>(a >> (b & 31), s)),
    KILN_U64("s_lshr_b64", nonzero<u64>(a >> (b & 63), s)),
    KILN_U32("s_ashr_i32", nonzero<u32>(u32(i32(a) >> (b & 31)), s)),
    KILN_U64("s_ashr_i64", nonzero<u64>(u64(i64(a) >> (b & 63)), s)),
    KILN_U32("s_bfm_b32", ((1u << (a & 31)) - 1) << (b & 31)),
    {"s_bfm_b64", binary<u64, u32, u32, KILN_LAMBDA2(u32, u64, ((u64(1) << (a & 63)) - 1) << (b & 63))>, {b32, b32},
     true},
    KILN_U32("s_mul_i32", a * b),
    KILN_U32("s_mul_hi_u32", u32(u64(a) * b >> 32)),
    KILN_U32("s_mul_hi_i32", u32(u64(i64(i32(a)) * i32(b)) >> 32)),
    KILN_U32("s_bfe_u32", (bit_field<u32, false>(a, b, s))),
    KILN_U32("s_bfe_i32", (bit_field<u32, true>(a, b, s))),
    KILN_U64("s_bfe_u64", (bit_field<u64, false>(a, b, s))),
    KILN_U64("s_bfe_i64", (bit_field<u64, true>(a, b, s))),
    KILN_U32("s_absdiff_i32", absolute_difference(a, b, s)),
    KILN_U32("s_lshl1_add_u32", (s = ((u64(a) << 1) + b) >> 32 != 0, (a << 1) + b)),
    KILN_U32("s_lshl2_add_u32", (s = ((u64(a) << 2) + b) >> 32 != 0, (a << 2) + b)),
    KILN_U32("s_lshl3_add_u32", (s = ((u64(a) << 3) + b) >> 32 != 0, (a << 3) + b)),
    KILN_U32("s_lshl4_add_u32", (s = ((u64(a) << 4) + b) >> 32 != 0, (a << 4) + b)),
    KILN_U32("s_pack_ll_b32_b16", (a & 0xffff) | b << 16),
    KILN_U32("s_pack_lh_b32_b16", (a & 0xffff) | (b & 0xffff0000)),
    KILN_U32("s_pack_hh_b32_b16", a >> 16 | (b & 0xffff0000)),
    // SOP1
    KILN_FROM32("s_mov_b32", a),
    KILN_PAIR("s_mov_b64", a),
    {"s_cmov_b32", conditional_move<u32>, {b32}},
    {"s_cmov_b64", conditional_move<u64>, {b64}, true},
    KILN_FROM32("s_not_b32", nonzero<u32>(~a, s)),
    KILN_PAIR("s_not_b64", nonzero<u64>(~a, s)),
    KILN_FROM32("s_wqm_b32", whole_quads<u32>(a, s)),
    KILN_PAIR("s_wqm_b64", whole_quads<u64>(a, s)),
    KILN_FROM32("s_quadmask_b32", quad_mask<u32>(a, s)),
    KILN_PAIR("s_quadmask_b64", quad_mask<u64>(a, s)),
    KILN_FROM32("s_brev_b32", reversed<u32>(a, s)),
    KILN_PAIR("s_brev_b64", reversed<u64>(a, s)),
    KILN_FROM32("s_bcnt0_i32_b32", nonzero<u32>(u32(std::popcount(~a)), s)),
    KILN_FROM64("s_bcnt0_i32_b64", nonzero<u32>(u32(std::popcount(~a)), s)),
    KILN_FROM32("s_bcnt1_i32_b32", nonzero<u32>(u32(std::popcount(a)), s)),
    KILN_FROM64("s_bcnt1_i32_b64", nonzero<u32>(u32(std::popcount(a)), s)),
    KILN_FROM32("s_ff0_i32_b32", first_one<u32>(~a, s)),
    KILN_FROM64("s_ff0_i32_b64", first_one<u64>(~a, s)),
    KILN_FROM32("s_ff1_i32_b32", first_one<u32>(a, s)),
    KILN_FROM64("s_ff1_i32_b64", first_one<u64>(a, s)),
    KILN_FROM32("s_flbit_i32_b32", leading<u32>(a, s)),
    KILN_FROM64("s_flbit_i32_b64", leading<u64>(a, s)),
    KILN_FROM32("s_flbit_i32", leading_sign<u32>(a, s)),
    KILN_FROM64("s_flbit_i32_i64", leading_sign<u64>(a, s)),
    KILN_FROM32("s_sext_i32_i8", u32(i32(std::int8_t(a)))),
    KILN_FROM32("s_sext_i32_i16", u32(i32(std::int16_t(a)))),
    {"s_bitset0_b32", set_bit<u32, false>, {b32}},
    {"s_bitset0_b64", set_bit<u64, false>, {b32}, true},
    {"s_bitset1_b32", set_bit<u32, true>, {b32}},
    {"s_bitset1_b64", set_bit<u64, true>, {b32}, true},
    KILN_FROM32("s_abs_i32", nonzero<u32>(a >> 31 ? 0 - a : a, s)),
    {"s_bitreplicate_b64_b32", unary<u64, u32, doubled_bits>, {b32}, true},
    // SOPC
    KILN_COMPARE("s_cmp_eq_i32", i32, ==),
    KILN_COMPARE("s_cmp_lg_i32", i32, !=),
    KILN_COMPARE("s_cmp_gt_i32", i32, >),
    KILN_COMPARE("s_cmp_ge_i32", i32, >=),
    KILN_COMPARE("s_cmp_lt_i32", i32, <),
    KILN_COMPARE("s_cmp_le_i32", i32, <=),
    KILN_COMPARE("s_cmp_eq_u32", u32, ==),
    KILN_COMPARE("s_cmp_lg_u32", u32, !=),
    KILN_COMPARE("s_cmp_gt_u32", u32, >),
    KILN_COMPARE("s_cmp_ge_u32", u32, >=),
    KILN_COMPARE("s_cmp_lt_u32", u32, <),
    KILN_COMPARE("s_cmp_le_u32", u32, <=),
    {"s_cmp_eq_u64", compare<u64, u64, [](u64 a, u64 b) { return a == b; }>, {b64, b64}},
    {"s_cmp_lg_u64", compare<u64, u64, [](u64 a, u64 b) { return a != b; }>, {b64, b64}},
    {"s_bitcmp0_b32", compare<u32, u32, [](u32 a, u32 b) { return ((a >> (b & 31) & 1) == 0); }>, {b32, b32}},
    {"s_bitcmp1_b32", compare<u32, u32, [](u32 a, u32 b) { return ((a >> (b & 31) & 1) == 1); }>, {b32, b32}},
    {"s_bitcmp0_b64", compare<u64, u32, [](u64 a, u32 b) { return ((a >> (b & 63) & 1) == 0); }>, {b64, b32}},
    {"s_bitcmp1_b64", compare<u64, u32, [](u64 a, u32 b) { return ((a >> (b & 63) & 1) == 1); }>, {b64, b32}},
    // SOPK
    {"s_movk_i32", with_immediate<[](u32, u32 k, bool&) { return k; }>},
    {"s_cmovk_i32", with_immediate<[](u32 old, u32 k, bool& s) { return s ? k : old; }>},
    {"s_addk_i32", with_immediate<add_overflow>},
    {"s_mulk_i32", with_immediate<[](u32 old, u32 k, bool&) { return old * k; }>},
    KILN_COMPARE_K("s_cmpk_eq_i32", i32, ==, true),
    KILN_COMPARE_K("s_cmpk_lg_i32", i32, !=, true),
    KILN_COMPARE_K("s_cmpk_gt_i32", i32, >, true),
    KILN_COMPARE_K("s_cmpk_ge_i32", i32, >=, true),
    KILN_COMPARE_K("s_cmpk_lt_i32", i32, <, true),
    KILN_COMPARE_K("s_cmpk_le_i32", i32, <=, true),
    KILN_COMPARE_K("s_cmpk_eq_u32", u32, ==, false),
    KILN_COMPARE_K("s_cmpk_lg_u32", u32, !=, false),
    KILN_COMPARE_K("s_cmpk_gt_u32", u32, >, false),
    KILN_COMPARE_K("s_cmpk_ge_u32", u32, >=, false),
    KILN_COMPARE_K("s_cmpk_lt_u32", u32, <, false),
    KILN_COMPARE_K("s_cmpk_le_u32", u32, <=, false),
};

constexpr SortedTable table(unsorted);

}  // namespace

const ScalarRow* find_scalar_arithmetic(std::string_view name) { return table.find(name); }

}  // namespace kiln::emulator
