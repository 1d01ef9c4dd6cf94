#include "engine/ir/bound/arithmetic.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "engine/base/half.hpp"
#include "engine/ir/float8.hpp"

namespace kiln::bound {
namespace {

// ---- types as C++ types -------------------------------------------------------------------------------------------
template <DType type> struct Traits;
template <> struct Traits<DType::i64> { using Type = std::int64_t; };
template <> struct Traits<DType::index> { using Type = std::int64_t; };
template <> struct Traits<DType::i32> { using Type = std::int32_t; };
template <> struct Traits<DType::i16> { using Type = std::int16_t; };
template <> struct Traits<DType::i8> { using Type = std::int8_t; };
template <> struct Traits<DType::u64> { using Type = std::uint64_t; };
template <> struct Traits<DType::u32> { using Type = std::uint32_t; };
template <> struct Traits<DType::u16> { using Type = std::uint16_t; };
template <> struct Traits<DType::u8> { using Type = std::uint8_t; };

template <DType type> using Integer = typename Traits<type>::Type;
// The same width, unsigned: arithmetic on it wraps by definition. Narrow types widen, so that no promotion makes it
// signed.
template <DType type> using Modular = std::conditional_t<sizeof(Integer<type>) == 8, std::uint64_t, std::uint32_t>;

template <DType type> Integer<type> get(Value v) { return static_cast<Integer<type>>(v.integer); }
template <DType type, class T>
Value give(T v) {
  return integer_value(static_cast<std::int64_t>(static_cast<Integer<type>>(v)));
}

template <DType type> double round_as(double v) {
  if constexpr (type == DType::f32) return static_cast<double>(static_cast<float>(v));
  if constexpr (type == DType::f16) return static_cast<double>(f16_to_f32(f64_to_f16(v)));
  if constexpr (type == DType::bf16) return static_cast<double>(bf16_to_f32(f64_to_bf16(v)));
  if (const auto format = float8_format(type)) return static_cast<double>(f8_to_f32(*format, f64_to_f8(*format, v)));
  return v;
}

// ---- floats -------------------------------------------------------------------------------------------------------
// Of a + b where a and b are doubles: the nearest double, with its last bit set when the sum is not exact ("round to
// odd"). Rounding it again to 51 or fewer bits gives what one rounding of the exact sum would (Boldo, Melquiond,
// "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE TC 57(4), 2008).
double add_round_to_odd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (error == 0 || (bits & 1)) return sum;
  return std::nextafter(sum,
                        error > 0 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity());
}

template <DType type> double fused_multiply_add(double a, double b, double c) {
  if constexpr (type == DType::f64) return std::fma(a, b, c);
  return add_round_to_odd(a * b, c);  // the product of two values of at most 24 bits is exact
}

double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
double minimum(double a, double b) { return -maximum(-a, -b); }

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// What the operation gives before the one rounding to its type. Sums, products, quotients and roots of f32, f16 and
// bf16 values go through double: a second rounding is harmless there, since 53 >= 2·24 + 2 (Figueroa, "When is double
// rounding innocuous?", 1995).
template <Op op, DType type> double real_result(double a, double b, double c) {
  switch (op) {
    case Op::add: return a + b;
    case Op::sub: return a - b;
    case Op::mul: return a * b;
    case Op::div: return a / b;
    case Op::neg: return -a;
    case Op::min: return minimum(a, b);
    case Op::max: return maximum(a, b);
    case Op::abs: return std::fabs(a);
    case Op::exp: return std::exp(a);
    case Op::exp2: return std::exp2(a);
    case Op::log: return std::log(a);
    case Op::log2: return std::log2(a);
    case Op::log1p: return std::log1p(a);
    case Op::expm1: return std::expm1(a);
    case Op::sqrt: return std::sqrt(a);
    case Op::rsqrt: return 1.0 / std::sqrt(a);
    case Op::tanh: return std::tanh(a);
    case Op::sigmoid: return sigmoid(a);
    case Op::erf: return std::erf(a);
    case Op::sin: return std::sin(a);
    case Op::cos: return std::cos(a);
    case Op::pow: return std::pow(a, b);
    case Op::floor: return std::floor(a);
    case Op::ceil: return std::ceil(a);
    case Op::round: return std::nearbyint(a);  // ties to even: the rounding mode is never changed
    case Op::fma: return fused_multiply_add<type>(a, b, c);
    default: return 0;
  }
}
constexpr bool gives_real(Op op) {
  switch (op) {
    case Op::add: case Op::sub: case Op::mul: case Op::div: case Op::neg: case Op::min: case Op::max: case Op::abs:
    case Op::exp: case Op::exp2: case Op::log: case Op::log2: case Op::log1p: case Op::expm1: case Op::sqrt:
    case Op::rsqrt: case Op::tanh: case Op::sigmoid: case Op::erf: case Op::sin: case Op::cos: case Op::pow:
    case Op::floor: case Op::ceil: case Op::round: case Op::fma: return true;
    default: return false;
  }
}
template <Op op> bool real_test(double a, double b) {
  switch (op) {
    case Op::lt: return a < b;
    case Op::le: return a <= b;
    case Op::gt: return a > b;
    case Op::ge: return a >= b;
    case Op::eq: return a == b;
    case Op::ne: return a != b;
    case Op::isnan: return std::isnan(a);
    case Op::isinf: return std::isinf(a);
    default: return false;
  }
}
constexpr bool is_comparison(Op op) { return op >= Op::lt && op <= Op::ne; }

template <Op op, DType type> Value real_operation(Value a, Value b, Value c) {
  return real_value(round_as<type>(real_result<op, type>(a.real, b.real, c.real)));
}
template <Op op> Value real_predicate(Value a, Value b, Value) { return integer_value(real_test<op>(a.real, b.real)); }

// ---- integers -----------------------------------------------------------------------------------------------------
template <class T> T floor_divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));  // the smallest // -1 wraps
    const T quotient = static_cast<T>(a / b);
    return static_cast<T>(a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient);
  }
  return static_cast<T>(a / b);
}
template <class T> T floor_modulo(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
    const T rest = static_cast<T>(a % b);
    return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
  }
  return static_cast<T>(a % b);
}
template <class T> T ceil_divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return floor_divide(a, b);
    const T quotient = static_cast<T>(a / b);
    return static_cast<T>(a % b != 0 && (a < 0) == (b < 0) ? quotient + 1 : quotient);
  }
  return static_cast<T>(a / b + (a % b != 0 ? 1 : 0));
}
template <class T> T high_half(T a, T b) {
  if constexpr (sizeof(T) == 8) {
    using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> 64);
  } else {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (8 * sizeof(T)));
  }
}

template <Op op, DType type> Value integer_operation(Value av, Value bv, Value) {
  using M = Modular<type>;
  using T = Integer<type>;
  using U = std::make_unsigned_t<T>;
  const T a = get<type>(av), b = get<type>(bv);
  [[maybe_unused]] constexpr int bits = 8 * sizeof(T);
  switch (op) {
    case Op::add: return give<type>(static_cast<M>(a) + static_cast<M>(b));
    case Op::sub: return give<type>(static_cast<M>(a) - static_cast<M>(b));
    case Op::mul: return give<type>(static_cast<M>(a) * static_cast<M>(b));
    case Op::floordiv: return give<type>(floor_divide(a, b));
    case Op::mod: return give<type>(floor_modulo(a, b));
    case Op::ceildiv: return give<type>(ceil_divide(a, b));
    case Op::shl: return give<type>(static_cast<M>(a) << (static_cast<unsigned>(b) & (bits - 1)));
    case Op::shr: return give<type>(a >> (static_cast<unsigned>(b) & (bits - 1)));
    case Op::bit_and: return give<type>(a & b);
    case Op::bit_or: return give<type>(a | b);
    case Op::bit_xor: return give<type>(a ^ b);
    case Op::bit_not: return give<type>(~a);
    case Op::neg: return give<type>(M(0) - static_cast<M>(a));
    case Op::abs: return give<type>(a < 0 ? M(0) - static_cast<M>(a) : static_cast<M>(a));
    case Op::min: return give<type>(b < a ? b : a);
    case Op::max: return give<type>(a < b ? b : a);
    case Op::popcount: return give<type>(std::popcount(static_cast<U>(a)));
    case Op::clz: return give<type>(std::countl_zero(static_cast<U>(a)));
    case Op::mulhi: return give<type>(high_half(a, b));
    case Op::lt: return integer_value(a < b);
    case Op::le: return integer_value(a <= b);
    case Op::gt: return integer_value(a > b);
    case Op::ge: return integer_value(a >= b);
    case Op::eq: return integer_value(a == b);
    case Op::ne: return integer_value(a != b);
    default: return integer_value(0);
  }
}
constexpr bool takes_integers(Op op) {
  switch (op) {
    case Op::add: case Op::sub: case Op::mul: case Op::floordiv: case Op::mod: case Op::ceildiv: case Op::shl:
    case Op::shr: case Op::bit_and: case Op::bit_or: case Op::bit_xor: case Op::bit_not: case Op::neg: case Op::abs:
    case Op::min: case Op::max: case Op::popcount: case Op::clz: case Op::mulhi: return true;
    default: return is_comparison(op);
  }
}

template <Op op> Value boolean_operation(Value av, Value bv, Value) {
  const bool a = av.integer != 0, b = bv.integer != 0;
  switch (op) {
    case Op::bit_and: case Op::logical_and: return integer_value(a && b);
    case Op::bit_or: case Op::logical_or: return integer_value(a || b);
    case Op::bit_xor: case Op::ne: return integer_value(a != b);
    case Op::eq: return integer_value(a == b);
    case Op::logical_not: return integer_value(!a);
    default: return integer_value(0);
  }
}
constexpr bool takes_booleans(Op op) {
  switch (op) {
    case Op::bit_and: case Op::bit_or: case Op::bit_xor: case Op::logical_and: case Op::logical_or: case Op::eq:
    case Op::ne: case Op::logical_not: return true;
    default: return false;
  }
}

// ---- from (op, type) to a function --------------------------------------------------------------------------------
template <Op op, DType type> constexpr Function for_real() {
  if constexpr (gives_real(op)) return &real_operation<op, type>;
  else if constexpr (is_comparison(op) || op == Op::isnan || op == Op::isinf) return &real_predicate<op>;
  else return nullptr;
}
template <Op op, DType type> constexpr Function for_integer() {
  if constexpr (takes_integers(op)) return &integer_operation<op, type>;
  else return nullptr;
}
template <Op op> Function for_type(DType type) {
  switch (type) {
    case DType::f64: return for_real<op, DType::f64>();
    case DType::f32: return for_real<op, DType::f32>();
    case DType::f16: return for_real<op, DType::f16>();
    case DType::bf16: return for_real<op, DType::bf16>();
    case DType::index:
    case DType::i64: return for_integer<op, DType::i64>();
    case DType::i32: return for_integer<op, DType::i32>();
    case DType::i16: return for_integer<op, DType::i16>();
    case DType::i8: return for_integer<op, DType::i8>();
    case DType::u64: return for_integer<op, DType::u64>();
    case DType::u32: return for_integer<op, DType::u32>();
    case DType::u16: return for_integer<op, DType::u16>();
    case DType::u8: return for_integer<op, DType::u8>();
    case DType::boolean:
      if constexpr (takes_booleans(op)) return &boolean_operation<op>;
      return nullptr;
    default: return nullptr;
  }
}
template <int op = 0> Function find(Op wanted, DType type) {
  if constexpr (op > static_cast<int>(op_last)) return nullptr;
  else return wanted == static_cast<Op>(op) ? for_type<static_cast<Op>(op)>(type) : find<op + 1>(wanted, type);
}

// ---- conversion ---------------------------------------------------------------------------------------------------
enum class From { real, signed_integer, unsigned_integer };
From from_class(DType type) {
  return is_float(type) ? From::real : is_signed(type) ? From::signed_integer : From::unsigned_integer;
}

// The double nearest to an integer, with its last bit set when inexact: rounding it again is then one rounding.
template <class T> double integer_round_to_odd(T v) {
  const auto high = static_cast<double>(static_cast<T>(v & ~T(0xffff)));  // at most 48 bits: exact
  return add_round_to_odd(high, static_cast<double>(v & T(0xffff)));
}

template <From from, DType to> double to_real(Value v) {
  if constexpr (from == From::real) return round_as<to>(v.real);
  if constexpr (to == DType::f64)
    return from == From::signed_integer ? static_cast<double>(v.integer)
                                        : static_cast<double>(static_cast<std::uint64_t>(v.integer));
  if constexpr (from == From::signed_integer) return round_as<to>(integer_round_to_odd(v.integer));
  return round_as<to>(integer_round_to_odd(static_cast<std::uint64_t>(v.integer)));
}
template <class T> T saturate(double v) {
  constexpr double above = sizeof(T) == 8 ? (std::is_signed_v<T> ? 0x1p63 : 0x1p64)
                                          : static_cast<double>(std::numeric_limits<T>::max()) + 1.0;
  if (std::isnan(v)) return 0;
  const double whole = std::trunc(v);
  if (whole >= above) return std::numeric_limits<T>::max();
  if (whole <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(whole);
}
template <From from, DType to> Value conversion_to(Value v, Value, Value) {
  if constexpr (to <= DType::f8e5m2fnuz) {  // the floats
    return real_value(to_real<from, to>(v));
  } else if constexpr (to == DType::boolean) {
    if constexpr (from == From::real) return integer_value(v.real != 0);
    return integer_value(v.integer != 0);
  } else {
    if constexpr (from == From::real) return give<to>(saturate<Integer<to>>(v.real));
    return give<to>(v.integer);
  }
}
template <From from> Function conversion_from(DType to) {
  switch (to) {
    case DType::f64: return &conversion_to<from, DType::f64>;
    case DType::f32: return &conversion_to<from, DType::f32>;
    case DType::f16: return &conversion_to<from, DType::f16>;
    case DType::bf16: return &conversion_to<from, DType::bf16>;
    case DType::f8e4m3fn: return &conversion_to<from, DType::f8e4m3fn>;
    case DType::f8e4m3fnuz: return &conversion_to<from, DType::f8e4m3fnuz>;
    case DType::f8e5m2: return &conversion_to<from, DType::f8e5m2>;
    case DType::f8e5m2fnuz: return &conversion_to<from, DType::f8e5m2fnuz>;
    case DType::index:
    case DType::i64: return &conversion_to<from, DType::i64>;
    case DType::i32: return &conversion_to<from, DType::i32>;
    case DType::i16: return &conversion_to<from, DType::i16>;
    case DType::i8: return &conversion_to<from, DType::i8>;
    case DType::u64: return &conversion_to<from, DType::u64>;
    case DType::u32: return &conversion_to<from, DType::u32>;
    case DType::u16: return &conversion_to<from, DType::u16>;
    case DType::u8: return &conversion_to<from, DType::u8>;
    case DType::boolean: return &conversion_to<from, DType::boolean>;
    default: return nullptr;
  }
}

}  // namespace

std::int64_t wrap_integer(DType type, std::int64_t value) {
  switch (type) {
    case DType::i32: return static_cast<std::int32_t>(value);
    case DType::i16: return static_cast<std::int16_t>(value);
    case DType::i8: return static_cast<std::int8_t>(value);
    case DType::u32: return static_cast<std::uint32_t>(value);
    case DType::u16: return static_cast<std::uint16_t>(value);
    case DType::u8: return static_cast<std::uint8_t>(value);
    case DType::boolean: return value & 1;
    default: return value;
  }
}

double round_real(DType type, double value) {
  switch (type) {
    case DType::f32: return round_as<DType::f32>(value);
    case DType::f16: return round_as<DType::f16>(value);
    case DType::bf16: return round_as<DType::bf16>(value);
    case DType::f8e4m3fn: return round_as<DType::f8e4m3fn>(value);
    case DType::f8e4m3fnuz: return round_as<DType::f8e4m3fnuz>(value);
    case DType::f8e5m2: return round_as<DType::f8e5m2>(value);
    case DType::f8e5m2fnuz: return round_as<DType::f8e5m2fnuz>(value);
    default: return value;
  }
}

Function conversion(DType from, DType to) {
  switch (from_class(from)) {
    case From::real: return conversion_from<From::real>(to);
    case From::signed_integer: return conversion_from<From::signed_integer>(to);
    case From::unsigned_integer: return conversion_from<From::unsigned_integer>(to);
  }
  return nullptr;
}

Value convert(Value value, DType from, DType to) {
  if (from == to) return value;
  return conversion(from, to)(value, value, value);
}

int arity(Op op) {
  switch (op) {
    case Op::fma: return 3;
    case Op::neg: case Op::bit_not: case Op::logical_not: case Op::exp: case Op::exp2: case Op::log: case Op::log2:
    case Op::log1p: case Op::expm1: case Op::sqrt: case Op::rsqrt: case Op::tanh: case Op::sigmoid: case Op::erf:
    case Op::sin: case Op::cos: case Op::abs: case Op::floor: case Op::ceil: case Op::round: case Op::isnan:
    case Op::isinf: case Op::popcount: case Op::clz: case Op::bitcast: return 1;
    default: return 2;
  }
}

bool is_operator(Op op) { return op <= Op::logical_not; }

DType result_type(Op op, DType operand) {
  const bool truth = is_comparison(op) || op == Op::logical_and || op == Op::logical_or || op == Op::logical_not ||
                     op == Op::isnan || op == Op::isinf;
  return truth ? DType::boolean : operand;
}

Function function(Op op, DType operand) { return find(op, operand); }

Value reinterpret(Value value, DType from, DType to) {
  std::uint8_t bytes[8] = {};
  const auto store = store_function(from);
  const auto load = load_function(to);
  if (!store || !load) return value;  // index: as i64
  store(bytes, value);
  return load(bytes);
}

bool is_exact(Op op) {
  switch (op) {
    case Op::exp: case Op::exp2: case Op::log: case Op::log2: case Op::log1p: case Op::expm1: case Op::rsqrt:
    case Op::tanh: case Op::sigmoid: case Op::erf: case Op::sin: case Op::cos: case Op::pow: return false;
    default: return true;
  }
}

}  // namespace kiln::bound
