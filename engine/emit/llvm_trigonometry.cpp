// Sine and cosine. The argument is reduced to a quarter turn by a product with the bits of 2/π that matter for
// its exponent (Payne and Hanek), so that large arguments lose nothing; both types then share two Taylor polynomials in f64.
#include <array>
#include <cinttypes>
#include <cstdio>

#include "engine/emit/llvm_math.hpp"

namespace kiln::emit::llvm_text {
namespace {

// 2/π in binary, behind 55 zeros: bit i, the first one 0, has the weight 2^(54 - i). A window of it at an f64's
// exponent less 1022 holds what counts for x·2/π modulo 4.
constexpr std::array<std::uint64_t, 20> two_over_pi = {
    0x0000000000000145, 0xf306dc9c882a53f8, 0x4eafa3ea69bb81b6, 0xc52b3278872083fc, 0xa2c757bd778ac36e,
    0x48dc74849ba5c00c, 0x925dd413a32439fc, 0x3bd63962534e7dd1, 0x046bea5d768909d3, 0x38e04d68befc8273,
    0x23ac7306a673e939, 0x08bf177bf250763f, 0xf12fffbc0b301fde, 0x5e2316b414da3eda, 0x6cfd9e4f96136e9e,
    0x8c7ecd3cbfd45aea, 0x4f758fd7cbe2f67a, 0x0e73ef14a525d4d7, 0xf6bf623f1aba10ac, 0x06608df8f6d757e1};
constexpr int exponent_half = 1022;  // of 0.5: below it nothing is reduced
constexpr double half_pi = 1.5707963267948966, half_pi_rest = 6.123233995736766e-17;

// |x| = k·π/2 + high + low with |high| ≤ π/4; `low` is empty where f64 has more digits than the result needs.
struct QuarterTurn {
  Value k;  // modulo 4
  Value high, low;
};

// `m` is of f64 in all that follows; a word is 64 bits.
Value shift_left(const Math& m, const Value& a, int bits) { return m.ir.op("shl", a, m.w(bits)); }
Value shift_right(const Math& m, const Value& a, int bits) { return m.ir.op("lshr", a, m.w(bits)); }
Value sum(const Math& m, const Value& a, const Value& b) { return m.ir.op("add", a, b); }
Value product(const Math& m, const Value& a, const Value& b) { return m.ir.op("mul", a, b); }

Value product_high(const Math& m, const Value& a, const Value& b) {
  const Type wide = integer(128, m.type.lanes);
  const Value whole = m.ir.op("mul", m.ir.cast("zext", a, wide), m.ir.cast("zext", b, wide));
  return m.ir.cast("trunc", m.ir.op("lshr", whole, Builder::constant(64, wide)), m.word());
}

// 64 bits from bit `shift` (0 to 63) of two words on.
Value window(const Math& m, const Value& first, const Value& second, const Value& shift) {
  const Value rest = m.ir.op("sub", m.w(63), shift);
  return m.ir.op("or", m.ir.op("shl", first, shift), m.ir.op("lshr", shift_right(m, second, 1), rest));
}

struct Parts {
  Value small;     // |x| < 0.5
  Value offset;    // of the window
  Value mantissa;  // 53 bits
};
Parts take_apart(const Math& m, const Value& magnitude) {
  const Value bits = m.bits(magnitude);
  const Value above = m.ir.op("sub", shift_right(m, bits, 52), m.w(exponent_half));
  const Value small = m.ir.compare("icmp slt", above, m.w(0));
  const std::int64_t fraction = (std::int64_t(1) << 52) - 1;
  return {small, m.ir.select(small, m.w(0), above),
          m.ir.op("or", m.ir.op("and", bits, m.w(fraction)), m.w(fraction + 1))};
}

// The nearest quarter turn of a product in units of 2^-62 quarters, and what is left, signed.
struct Nearest {
  Value k, rest;
};
Nearest nearest_quarter(const Math& m, const Value& turns) {
  const Value k = shift_right(m, sum(m, turns, m.w(std::int64_t(1) << 61)), 62);
  return {k, m.ir.op("sub", turns, shift_left(m, k, 62))};
}

QuarterTurn with_small(const Math& m, const Value& magnitude, const Parts& parts, QuarterTurn turn) {
  turn.k = m.ir.select(parts.small, m.w(0), turn.k);
  turn.high = m.ir.select(parts.small, magnitude, turn.high);
  if (!turn.low.empty()) turn.low = m.ir.select(parts.small, m.c(0.0), turn.low);
  return turn;
}

// Of an f32 that was widened: 24 bits of mantissa, exponents whose windows lie in the first five words. 104 bits of the
// window serve; the nearest that an f32 comes to a multiple of π/2 leaves over 30 of the result's 62.
QuarterTurn reduce_narrow(const Math& m, const Value& magnitude) {
  const Parts parts = take_apart(m, magnitude);
  const Value mantissa = shift_right(m, parts.mantissa, 29);
  const Value at = sum(m, parts.offset, m.w(29));
  const Value first = m.ir.compare("icmp ult", at, m.w(64)), second = m.ir.compare("icmp ult", at, m.w(128));
  const auto word = [&](std::size_t i) {
    const auto bits = [&](std::size_t n) { return m.w(static_cast<std::int64_t>(two_over_pi[n])); };
    return m.ir.select(first, bits(i), m.ir.select(second, bits(i + 1), bits(i + 2)));
  };
  const Value shift = m.ir.op("and", at, m.w(63));
  const Value middle = word(1);
  const Value high = window(m, word(0), middle, shift), low = window(m, middle, word(2), shift);
  const Value carried = shift_right(m, product(m, mantissa, shift_right(m, low, 24)), 40);
  const Nearest nearest = nearest_quarter(m, sum(m, product(m, mantissa, high), carried));
  const Value rest = m.ir.cast("sitofp", nearest.rest, m.type);
  return with_small(m, magnitude, parts, {nearest.k, m.mul(rest, m.c(half_pi * 0x1p-62)), {}});
}

// The table as a constant of the module, written once.
Value table(Builder& ir) {
  const std::string name = "kiln_two_over_pi";
  ir.helper(name, [&] {
    std::string words;
    for (const std::uint64_t word : two_over_pi) {
      char digits[32];
      std::snprintf(digits, sizeof digits, "%" PRId64, static_cast<std::int64_t>(word));
      words += std::string(words.empty() ? "" : ", ") + "i64 " + digits;
    }
    ir.global("@" + name + " = internal constant [" + std::to_string(two_over_pi.size()) + " x i64] [" + words + "]");
  });
  return {"@" + name, pointer(), std::nullopt};
}

// All of f64: two words of quarters. Arguments next to a multiple of π/2 leave some 64 bits of them.
QuarterTurn reduce_wide(const Math& m, const Value& magnitude) {
  const Parts parts = take_apart(m, magnitude);
  const Value place = shift_right(m, parts.offset, 6), shift = m.ir.op("and", parts.offset, m.w(63));
  const Value all = Builder::truth(true, m.type.lanes);
  std::array<Value, 4> words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Value at = shift_left(m, sum(m, place, m.w(static_cast<std::int64_t>(i))), 3);
    words[i] = m.ir.gather(m.word(), m.ir.offset(table(m.ir), at), 8, all, Builder::zero(m.word()));
  }
  std::array<Value, 3> bits;
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = window(m, words[i], words[i + 1], shift);
  const Value middle = product(m, parts.mantissa, bits[1]);
  const Value low = sum(m, middle, product_high(m, parts.mantissa, bits[2]));
  const Value carry = m.ir.cast("zext", m.ir.compare("icmp ult", low, middle), m.word());
  const Value high = sum(m, product(m, parts.mantissa, bits[0]), product_high(m, parts.mantissa, bits[1]));
  const Nearest nearest = nearest_quarter(m, sum(m, high, carry));
  // As a magnitude: the parts of a negative number would cancel.
  const Value negative = m.ir.compare("icmp slt", nearest.rest, m.w(0));
  const Value borrow = m.ir.cast("zext", m.ir.compare("icmp eq", low, m.w(0)), m.word());
  const Value upper =
      m.ir.select(negative, sum(m, m.ir.op("xor", nearest.rest, m.w(-1)), borrow), nearest.rest);
  const Value lower = m.ir.select(negative, m.ir.op("sub", m.w(0), low), low);
  const Value leading = m.ir.cast("sitofp", upper, m.type);
  const Value cut = m.ir.op("sub", upper, m.ir.cast("fptosi", leading, m.word()));
  const Value trailing = m.fma(m.ir.cast("uitofp", lower, m.type), m.c(0x1p-64), m.ir.cast("sitofp", cut, m.type));
  const Value head = m.add(leading, trailing), tail = m.add(m.sub(leading, head), trailing);
  const Value scale = m.c(half_pi * 0x1p-62);
  const Value result = m.mul(head, scale);
  const Value error = m.fma(head, scale, m.negate(result));
  const Value rest = m.add(error, m.fma(head, m.c(half_pi_rest * 0x1p-62), m.mul(tail, scale)));
  return with_small(m, magnitude, parts, {nearest.k, m.ir.select(negative, m.negate(result), result),
                                          m.ir.select(negative, m.negate(rest), rest)});
}

// Taylor: to r^17, r^18, whose next terms are below 2^-58 of the results for |r| ≤ π/4.
Value sine_core(const Math& m, const QuarterTurn& turn) {
  const Value& r = turn.high;
  const Value z = m.mul(r, r);
  const Value p = m.polynomial(z, {1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
                                   1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6});
  const Value cubic = m.mul(m.mul(r, z), p);
  if (turn.low.empty()) return m.add(r, cubic);
  return m.add(r, m.add(cubic, m.mul(turn.low, m.fma(z, m.c(-0.5), m.c(1.0)))));
}

Value cosine_core(const Math& m, const QuarterTurn& turn) {
  const Value z = m.mul(turn.high, turn.high);
  const Value p = m.polynomial(z, {-1.0 / 6402373705728000, 1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600,
                                   -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24});
  const Value half = m.mul(z, m.c(0.5)), near = m.sub(m.c(1.0), half);
  const Value lost = m.sub(m.sub(m.c(1.0), near), half);
  Value rest = m.mul(m.mul(z, z), p);
  if (!turn.low.empty()) rest = m.sub(rest, m.mul(turn.high, turn.low));
  return m.add(near, m.add(lost, rest));
}

// sin(|x| + quarters·π/2), with the sign of x in front when it is odd in x.
Value turned(const Math& m, const Value& x, const QuarterTurn& turn, int quarters, bool odd) {
  const Value k = sum(m, turn.k, m.w(quarters));
  const Value of_cosine = m.ir.compare("icmp ne", m.ir.op("and", k, m.w(1)), m.w(0));
  const Value magnitude = m.ir.select(of_cosine, cosine_core(m, turn), sine_core(m, turn));
  Value sign = shift_left(m, shift_right(m, k, 1), 63);
  if (odd) sign = m.ir.op("xor", sign, m.ir.op("and", m.bits(x), m.w(INT64_MIN)));
  const Value result = m.from_bits(m.ir.op("xor", m.bits(magnitude), sign));
  const Value undefined = m.ir.compare("fcmp ueq", m.abs(x), m.c(__builtin_inf()));  // inf or NaN
  return m.ir.select(undefined, m.c(__builtin_nan("")), result);
}

Value trigonometric(const Math& m, const Value& x, int quarters, bool odd) {
  if (m.type.bits == 64) return turned(m, x, reduce_wide(m, m.abs(x)), quarters, odd);
  const Math wide{m.ir, real(64, m.type.lanes)};
  const Value widened = m.ir.cast("fpext", x, wide.type);
  const Value result = turned(wide, widened, reduce_narrow(wide, wide.abs(widened)), quarters, odd);
  return m.ir.cast("fptrunc", result, m.type);
}

}  // namespace

Value sine(const Math& m, const Value& x) { return trigonometric(m, x, 0, true); }
Value cosine(const Math& m, const Value& x) { return trigonometric(m, x, 1, false); }

}  // namespace kiln::emit::llvm_text
