// Types, literals, conversions and operations as HIP C++ text.
#include <bit>
#include <cmath>
#include <cstdio>

#include "engine/base/half.hpp"
#include "engine/emit/hip_context.hpp"
#include "engine/ir/float8.hpp"

namespace kiln::emit::hip {
namespace {

std::string call(const std::string& name, const std::vector<std::string>& args) {
  std::string text = name + "(";
  for (std::size_t i = 0; i < args.size(); ++i) text += (i ? ", " : "") + args[i];
  return text + ")";
}

std::string hex_float(double value, const char* suffix) {
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%a%s", value, suffix);
  return std::signbit(value) ? "(" + std::string(buffer) + ")" : buffer;
}

std::string real_literal(DType type, double value) {
  if (type == DType::bf16) return "bf16(" + std::to_string(f64_to_bf16(value)) + "u)";
  if (const auto format = float8_format(type))
    return type_name(type) + "(" + std::to_string(f64_to_f8(*format, value)) + "u)";
  const std::string name = type_name(type);
  if (std::isnan(value)) return "not_a_number<" + name + ">()";
  std::string text = std::isinf(value) ? (value < 0 ? "(-__builtin_inff())" : "__builtin_inff()")
                                       : hex_float(value, type == DType::f64 ? "" : "f");
  if (type == DType::f16 || (type == DType::f64 && std::isinf(value))) text = name + "(" + text + ")";
  return text;
}

// ---- integers ------------------------------------------------------------------------------------------------------
std::string modular(DType type, const std::string& a, const char* op, const std::string& b) {
  const std::string u = dtype_bits(type) == 64 ? "(u64)" : "(u32)";
  return cast_to(type_name(type), u + a + " " + op + " " + u + b);
}

Result<std::string> integer_operation(Op op, DType type, const std::vector<std::string>& a) {
  const std::string name = type_name(type), of = "<" + name + ">";
  switch (op) {
    case Op::add: return modular(type, a[0], "+", a[1]);
    case Op::sub: return modular(type, a[0], "-", a[1]);
    case Op::mul: return modular(type, a[0], "*", a[1]);
    case Op::neg: return modular(type, "0", "-", a[0]);
    case Op::floordiv: return call("floor_divide" + of, a);
    case Op::mod: return call("floor_modulo" + of, a);
    case Op::ceildiv: return call("ceil_divide" + of, a);
    case Op::shl: return call("shift_left" + of, a);
    case Op::shr: return call("shift_right" + of, a);
    case Op::bit_and: return cast_to(name, a[0] + " & " + a[1]);
    case Op::bit_or: return cast_to(name, a[0] + " | " + a[1]);
    case Op::bit_xor: return cast_to(name, a[0] + " ^ " + a[1]);
    case Op::bit_not: return cast_to(name, "~" + a[0]);
    case Op::min: return call("smaller" + of, a);
    case Op::max: return call("larger" + of, a);
    case Op::abs: return call("magnitude" + of, a);
    case Op::popcount: return call("ones" + of, a);
    case Op::clz: return call("leading_zeros" + of, a);
    case Op::mulhi: return call("multiply_high" + of, a);
    default: return Error(ErrorCode::unsupported, std::string("operation ") + op_text(op) + " on " + name);
  }
}

Result<std::string> boolean_operation(Op op, const std::vector<std::string>& a) {
  switch (op) {
    case Op::bit_and: case Op::logical_and: return cast_to("bool", a[0] + " & " + a[1]);
    case Op::bit_or: case Op::logical_or: return cast_to("bool", a[0] + " | " + a[1]);
    case Op::bit_xor: return "(" + a[0] + " != " + a[1] + ")";
    case Op::logical_not: return "(!" + a[0] + ")";
    default: return Error(ErrorCode::unsupported, std::string("operation ") + op_text(op) + " on boolean");
  }
}

// ---- floats --------------------------------------------------------------------------------------------------------
const char* comparison(Op op) {
  switch (op) {
    case Op::lt: return " < ";
    case Op::le: return " <= ";
    case Op::gt: return " > ";
    case Op::ge: return " >= ";
    case Op::eq: return " == ";
    case Op::ne: return " != ";
    default: return nullptr;
  }
}

const char* analysis(Op op) {
  switch (op) {
    case Op::exp: return "exp";
    case Op::exp2: return "exp2";
    case Op::log: return "log";
    case Op::log2: return "log2";
    case Op::log1p: return "log1p";
    case Op::expm1: return "expm1";
    case Op::sqrt: return "sqrt";
    case Op::rsqrt: return "rsqrt";
    case Op::tanh: return "tanh";
    case Op::sigmoid: return "sigmoid";
    case Op::erf: return "erf";
    case Op::sin: return "sin";
    case Op::cos: return "cos";
    case Op::pow: return "pow";
    default: return nullptr;
  }
}

// `type` f64 or f32, or f16 for what is exact there.
Result<std::string> float_operation(Op op, DType type, const std::vector<std::string>& a) {
  const std::string name = type_name(type), of = "<" + name + ">";
  if (const char* function = analysis(op)) return call(std::string(function) + "_" + name, a);
  switch (op) {
    case Op::add: return "(" + a[0] + " + " + a[1] + ")";
    case Op::sub: return "(" + a[0] + " - " + a[1] + ")";
    case Op::mul: return "(" + a[0] + " * " + a[1] + ")";
    case Op::div: return "(" + a[0] + " / " + a[1] + ")";
    case Op::neg: return "(-" + a[0] + ")";
    case Op::abs: return call("absolute" + of, a);
    case Op::min: return call("minimum" + of, a);
    case Op::max: return call("maximum" + of, a);
    case Op::floor: return call("floor_of", a);
    case Op::ceil: return call("ceil_of", a);
    case Op::round: return call("round_of", a);
    case Op::fma:
      return call(type == DType::f64 ? "__builtin_fma" : type == DType::f32 ? "__builtin_fmaf" : "__builtin_fmaf16", a);
    case Op::isnan: return "(" + a[0] + " != " + a[0] + ")";
    case Op::isinf: return "(absolute" + of + "(" + a[0] + ") == " + real_literal(type, INFINITY) + ")";
    default: return Error(ErrorCode::unsupported, std::string("operation ") + op_text(op) + " on " + name);
  }
}

bool native_f16(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::neg:
    case Op::abs:
    case Op::min:
    case Op::max:
    case Op::fma:
    case Op::isnan: case Op::isinf: return true;
    default: return false;
  }
}

}  // namespace

std::string type_name(DType type) {
  if (type == DType::boolean) return "bool";
  return type == DType::index ? "i64" : dtype_name(type);
}
std::string element_type(DType type) { return type == DType::boolean ? "u8" : type_name(type); }

std::string text_of(std::int64_t value) {
  if (value == INT64_MIN) return "(-9223372036854775807l - 1)";
  if (value == INT32_MIN) return "(-2147483647 - 1)";
  std::string text = std::to_string(value);
  if (value > INT32_MAX || value < INT32_MIN) text += "l";
  return value < 0 ? "(" + text + ")" : text;
}
std::string unsigned_text(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return std::to_string(bits) + (bits > UINT32_MAX ? "ul" : "u");
}
bool fits_i32(const std::optional<kernel::Interval>& interval) {
  return interval && interval->lo >= INT32_MIN && interval->hi <= INT32_MAX;
}

std::string literal(DType type, std::int64_t integer, double real) {
  if (is_float(type)) return real_literal(type, real);
  if (type == DType::boolean) return integer ? "true" : "false";
  if (type == DType::index) return text_of(integer);
  if (type == DType::i64) return integer == INT64_MIN ? text_of(integer) : "i64(" + std::to_string(integer) + "l)";
  if (is_signed(type)) return type_name(type) + "(" + text_of(integer) + ")";
  return type_name(type) + "(" + unsigned_text(integer) + ")";
}

std::string converted(const std::string& text, DType from, DType to) {
  if (from == to) return text;
  if (from == DType::bf16) return converted("from_bf16(" + text + ")", DType::f32, to);
  if (float8_format(from) && to == DType::bf16) return "bf16_from_" + type_name(from) + "(" + text + ")";
  if (float8_format(from)) return converted("from_" + type_name(from) + "(" + text + ")", DType::f32, to);
  if (to == DType::boolean) return "(" + text + " != " + (is_float(from) ? type_name(from) + "(0)" : "0") + ")";
  if (to == DType::bf16) {
    if (from == DType::f64) return "to_bf16(" + text + ")";
    if (from == DType::boolean) return "to_bf16(" + cast_to("f32", text) + ")";
    if (is_float(from)) return "to_bf16(" + cast_to("f32", text) + ")";
    return "integer_to_bf16<" + type_name(from) + ">(" + text + ")";
  }
  // Integers that f32 does not hold are beyond all floats of 8 bits.
  if (float8_format(to)) return "to_" + type_name(to) + "(" + (from == DType::f64 ? text : cast_to("f32", text)) + ")";
  const std::string name = type_name(to);
  if (is_float(from) && !is_float(to)) {
    const std::string wide = from == DType::f16 ? "f32" : type_name(from);
    return "saturate<" + name + ", " + wide + ">(" + text + ")";
  }
  // Integers beyond f16's range round to infinity in f32's neighbourhood too: two roundings are one.
  if (to == DType::f16 && !is_float(from)) return cast_to("f16", cast_to("f32", text));
  return cast_to(name, text);
}

Result<std::string> operation(Op op, DType type, const std::vector<std::string>& args) {
  if (const char* sign = comparison(op)) {
    if (type == DType::bf16) return "(from_bf16(" + args[0] + ")" + sign + "from_bf16(" + args[1] + "))";
    return "(" + args[0] + sign + args[1] + ")";
  }
  if (type == DType::boolean) return boolean_operation(op, args);
  if (!is_float(type)) return integer_operation(op, type, args);
  if (type == DType::bf16 && op == Op::fma) return call("fma_bf16", args);
  if (type == DType::f64 || type == DType::f32 || (type == DType::f16 && native_f16(op)))
    return float_operation(op, type, args);
  std::vector<std::string> wide;
  for (const auto& arg : args) wide.push_back(converted(arg, type, DType::f32));
  KILN_TRY(const std::string result, float_operation(op, DType::f32, wide));
  if (op == Op::isnan || op == Op::isinf) return result;
  return converted(result, DType::f32, type);
}

std::int64_t power_of_two_divisor(const Expr& expr, const Divisors& known) {
  constexpr std::int64_t most = 1 << 20;
  const auto at = [&](std::size_t i) { return power_of_two_divisor(*expr.args[i], known); };
  switch (expr.kind) {
    case Expr::Kind::integer:
      return expr.integer == 0 ? most : std::min(most, expr.integer & -expr.integer);
    case Expr::Kind::variable: {
      const auto found = known.variables.find(static_cast<int>(expr.integer));
      return found == known.variables.end() ? 1 : found->second;
    }
    case Expr::Kind::symbol: return std::min(most, known.symbols[static_cast<std::size_t>(expr.integer)]);
    case Expr::Kind::unary: return expr.op == Op::neg ? at(0) : 1;
    case Expr::Kind::select: return std::min(at(1), at(2));
    case Expr::Kind::cast: return expr.type == DType::index && !is_float(expr.args[0]->type) ? at(0) : 1;
    case Expr::Kind::binary: case Expr::Kind::call:
      if (expr.op == Op::add || expr.op == Op::sub || expr.op == Op::min || expr.op == Op::max)
        return std::min(at(0), at(1));
      if (expr.op == Op::mul) return std::min(most, at(0) * at(1));
      return 1;
    default: return 1;
  }
}

}  // namespace kiln::emit::hip
