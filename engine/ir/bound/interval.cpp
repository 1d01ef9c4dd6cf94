#include "engine/ir/bound/interval.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace kiln::bound {
namespace {

__extension__ typedef __int128 Wide;

struct WideRange {
  Wide lo, hi;
};

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                       most = std::numeric_limits<std::int64_t>::max();

Wide floor_divide(Wide a, Wide b) {
  const Wide quotient = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? quotient - 1 : quotient;
}
Wide ceil_divide(Wide a, Wide b) { return -floor_divide(-a, b); }

template <class F>
WideRange corners(const Range& a, const Range& b, F&& f) {
  const std::array<Wide, 4> values{f(Wide(a.lo), Wide(b.lo)), f(Wide(a.lo), Wide(b.hi)), f(Wide(a.hi), Wide(b.lo)),
                                   f(Wide(a.hi), Wide(b.hi))};
  const auto [lo, hi] = std::minmax_element(values.begin(), values.end());
  return {*lo, *hi};
}

WideRange join(const WideRange& a, const WideRange& b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

// Division is monotonic in either operand while the divisor keeps its sign; by zero it gives 0.
template <class F>
WideRange divide(const Range& a, const Range& b, F&& f) {
  WideRange result{0, 0};
  bool any = b.lo <= 0 && b.hi >= 0;
  for (const Range part :
       {Range{std::max<std::int64_t>(b.lo, 1), b.hi}, Range{b.lo, std::min<std::int64_t>(b.hi, -1)}}) {
    if (part.lo > part.hi) continue;
    const WideRange values = corners(a, part, f);
    result = any ? join(result, values) : values;
    any = true;
  }
  return result;
}

// The result has the divisor's sign and is smaller than it.
WideRange modulo(const Range& a, const Range& b) {
  if (b.lo > 0 && a.lo >= 0 && a.hi < b.lo) return {a.lo, a.hi};
  if (a.single() && b.single() && b.lo != 0) {
    const Wide rest = Wide(a.lo) - Wide(b.lo) * floor_divide(a.lo, b.lo);
    return {rest, rest};
  }
  WideRange result{std::min<Wide>(0, Wide(b.lo) + 1), std::max<Wide>(0, Wide(b.hi) - 1)};
  if (a.lo >= 0 && b.lo >= 0) result.hi = std::min<Wide>(result.hi, a.hi);
  return result;
}

// All ones up to the highest bit of either.
Wide ones(std::int64_t a, std::int64_t b) {
  const int bits = std::bit_width(static_cast<std::uint64_t>(a) | static_cast<std::uint64_t>(b));
  return (Wide(1) << bits) - 1;
}

WideRange bitwise(Op op, const Range& a, const Range& b) {
  if (a.single() && b.single()) {
    const std::int64_t value = op == Op::bit_and ? a.lo & b.lo : op == Op::bit_or ? a.lo | b.lo : a.lo ^ b.lo;
    return {value, value};
  }
  if (op == Op::bit_and) {
    if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
    if (a.lo >= 0) return {0, a.hi};
    if (b.lo >= 0) return {0, b.hi};
  } else if (a.lo >= 0 && b.lo >= 0) {
    return {0, ones(a.hi, b.hi)};
  }
  return {least, most};
}

WideRange shift(Op op, const Range& a, const Range& b) {
  const bool in_width = b.lo >= 0 && b.hi <= 63;
  if (op == Op::shr) {
    if (!in_width) return {std::min<Wide>(a.lo, 0), std::max<Wide>(a.hi, 0)};
    return corners(a, b, [](Wide x, Wide n) { return floor_divide(x, Wide(1) << static_cast<int>(n)); });
  }
  const Range count = in_width ? b : Range{0, 63};
  return corners(a, count, [](Wide x, Wide n) { return x * (Wide(1) << static_cast<int>(n)); });
}

WideRange wide_range_of(Op op, const Range& a, const Range& b) {
  switch (op) {
    case Op::add: return {Wide(a.lo) + b.lo, Wide(a.hi) + b.hi};
    case Op::sub: return {Wide(a.lo) - b.hi, Wide(a.hi) - b.lo};
    case Op::mul: return corners(a, b, [](Wide x, Wide y) { return x * y; });
    case Op::floordiv: return divide(a, b, floor_divide);
    case Op::ceildiv: return divide(a, b, ceil_divide);
    case Op::mod: return modulo(a, b);
    case Op::shl:
    case Op::shr: return shift(op, a, b);
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor: return bitwise(op, a, b);
    case Op::min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case Op::max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case Op::neg: return {-Wide(a.hi), -Wide(a.lo)};
    case Op::bit_not: return {-Wide(a.hi) - 1, -Wide(a.lo) - 1};
    case Op::abs: {
      const Wide low = a.lo < 0 ? -Wide(a.lo) : Wide(a.lo), high = a.hi < 0 ? -Wide(a.hi) : Wide(a.hi);
      return {a.lo <= 0 && a.hi >= 0 ? 0 : std::min(low, high), std::max(low, high)};
    }
    default: return {least, most};
  }
}

}  // namespace

Range hull(const Range& a, const Range& b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Range range_of_type(DType type) {
  const int bits = dtype_bits(type);
  if (type == DType::boolean) return {0, 1};
  if (bits == 64) return {};
  if (is_signed(type)) return {-(std::int64_t(1) << (bits - 1)), (std::int64_t(1) << (bits - 1)) - 1};
  return {0, (std::int64_t(1) << bits) - 1};
}

std::optional<Range> range_of(Op op, const Range& a, const Range& b) {
  const WideRange wide = wide_range_of(op, a, b);
  if (wide.lo < least || wide.hi > most) return std::nullopt;
  return Range{static_cast<std::int64_t>(wide.lo), static_cast<std::int64_t>(wide.hi)};
}

std::optional<bool> decide(Op op, const Range& a, const Range& b) {
  switch (op) {
    case Op::lt:
      if (a.hi < b.lo) return true;
      if (a.lo >= b.hi) return false;
      return std::nullopt;
    case Op::le:
      if (a.hi <= b.lo) return true;
      if (a.lo > b.hi) return false;
      return std::nullopt;
    case Op::gt: return decide(Op::lt, b, a);
    case Op::ge: return decide(Op::le, b, a);
    case Op::eq:
      if (a.hi < b.lo || b.hi < a.lo) return false;
      if (a.single() && a == b) return true;
      return std::nullopt;
    case Op::ne: {
      const auto equal = decide(Op::eq, a, b);
      return equal ? std::optional(!*equal) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

}  // namespace kiln::bound
