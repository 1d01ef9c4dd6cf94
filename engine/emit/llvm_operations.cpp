#include "engine/emit/llvm_operations.hpp"

#include "engine/emit/llvm_elements.hpp"

namespace kiln::emit::llvm_text {
namespace {

Value intrinsic(Builder& ir, const std::string& name, const std::vector<Value>& args) {
  return ir.call("llvm." + name + "." + mangled(args[0].type), args[0].type, args);
}

// ---- integer division: the divisor is made harmless first, the cases that LLVM leaves undefined are chosen afterwards
// ----
struct Division {
  Value quotient, rest;         // of a by the harmless divisor, rounded toward zero
  Value by_zero, by_minus_one;  // by_minus_one is empty for unsigned types
};

Division divide(Builder& ir, bool is_signed, const Value& a, const Value& b) {
  const Type type = a.type;
  Division d;
  d.by_zero = ir.compare("icmp eq", b, Builder::zero(type));
  Value replaced = d.by_zero;
  if (is_signed) {
    d.by_minus_one = ir.compare("icmp eq", b, Builder::constant(-1, type));
    replaced = ir.op("or", d.by_zero, d.by_minus_one);
  }
  const Value divisor = ir.select(replaced, Builder::constant(1, type), b);
  d.quotient = ir.op(is_signed ? "sdiv" : "udiv", a, divisor);
  d.rest = ir.op("sub", a, ir.op("mul", d.quotient, divisor));
  return d;
}

Value floor_divide(Builder& ir, bool is_signed, const Value& a, const Value& b) {
  const Division d = divide(ir, is_signed, a, b);
  const Value zero = Builder::zero(a.type);
  if (!is_signed) return ir.select(d.by_zero, zero, d.quotient);
  const Value inexact = ir.compare("icmp ne", d.rest, zero);
  const Value opposite = ir.compare("icmp slt", ir.op("xor", a, b), zero);
  const Value lower = ir.op("sub", d.quotient, ir.cast("zext", ir.op("and", inexact, opposite), a.type));
  return ir.select(d.by_zero, zero, ir.select(d.by_minus_one, ir.op("sub", zero, a), lower));
}

Value floor_modulo(Builder& ir, bool is_signed, const Value& a, const Value& b) {
  const Division d = divide(ir, is_signed, a, b);
  const Value zero = Builder::zero(a.type);
  if (!is_signed) return ir.select(d.by_zero, zero, d.rest);
  const Value inexact = ir.compare("icmp ne", d.rest, zero);
  const Value opposite = ir.compare("icmp slt", ir.op("xor", d.rest, b), zero);
  const Value moved = ir.select(ir.op("and", inexact, opposite), ir.op("add", d.rest, b), d.rest);
  return ir.select(ir.op("or", d.by_zero, d.by_minus_one), zero, moved);
}

Value ceil_divide(Builder& ir, bool is_signed, const Value& a, const Value& b) {
  const Division d = divide(ir, is_signed, a, b);
  const Value zero = Builder::zero(a.type);
  Value up = ir.compare("icmp ne", d.rest, zero);
  if (is_signed) up = ir.op("and", up, ir.compare("icmp sge", ir.op("xor", a, b), zero));
  const Value upper = ir.op("add", d.quotient, ir.cast("zext", up, a.type));
  if (!is_signed) return ir.select(d.by_zero, zero, upper);
  return ir.select(d.by_zero, zero, ir.select(d.by_minus_one, ir.op("sub", zero, a), upper));
}

// Division of a known index by a known positive constant needs no guards: the common case of index arithmetic.
std::optional<Value> divide_by_constant(Builder& ir, Op op, const Value& a, const Value& b) {
  if (!b.known || *b.known <= 0 || b.type != integer(64) || a.type != b.type) return std::nullopt;
  const Value quotient = ir.op("sdiv", a, b);
  const Value rest = ir.op("sub", a, ir.op("mul", quotient, b));
  const Value zero = Builder::zero(a.type);
  const Value negative = ir.compare("icmp slt", rest, zero);
  if (op == Op::mod) return ir.select(negative, ir.op("add", rest, b), rest);
  if (op == Op::floordiv) return ir.op("sub", quotient, ir.cast("zext", negative, a.type));
  return ir.op("add", quotient, ir.cast("zext", ir.compare("icmp sgt", rest, zero), a.type));
}

Value shift(Builder& ir, Op op, bool is_signed, const Value& a, const Value& b) {
  const Value count = ir.op("and", b, Builder::constant(a.type.bits - 1, a.type));
  return ir.op(op == Op::shl ? "shl" : is_signed ? "ashr" : "lshr", a, count);
}

Value high_half(Builder& ir, bool is_signed, const Value& a, const Value& b) {
  const Type wide = integer(a.type.bits * 2, a.type.lanes);
  const char* extend = is_signed ? "sext" : "zext";
  const Value product = ir.op("mul", ir.cast(extend, a, wide), ir.cast(extend, b, wide));
  return ir.cast("trunc", ir.op("lshr", product, Builder::constant(a.type.bits, wide)), a.type);
}

std::string integer_predicate(Op op, bool is_signed) {
  switch (op) {
    case Op::lt: return is_signed ? "icmp slt" : "icmp ult";
    case Op::le: return is_signed ? "icmp sle" : "icmp ule";
    case Op::gt: return is_signed ? "icmp sgt" : "icmp ugt";
    case Op::ge: return is_signed ? "icmp sge" : "icmp uge";
    case Op::eq: return "icmp eq";
    default: return "icmp ne";
  }
}

const char* real_predicate(Op op) {
  switch (op) {
    case Op::lt: return "fcmp olt";
    case Op::le: return "fcmp ole";
    case Op::gt: return "fcmp ogt";
    case Op::ge: return "fcmp oge";
    case Op::eq: return "fcmp oeq";
    default: return "fcmp une";
  }
}

Error not_built(Op op, DType type) {
  return Error(ErrorCode::unsupported,
               std::string(op_text(op)) + " of " + dtype_name(type) + " is not built yet for host targets");
}

Result<Value> integer_operation(Builder& ir, Op op, DType type, const std::vector<Value>& args) {
  const bool sign = is_signed(type);
  const Value& a = args[0];
  const Value& b = args.size() > 1 ? args[1] : args[0];
  switch (op) {
    case Op::add: return ir.add(a, b);
    case Op::sub: return ir.sub(a, b);
    case Op::mul: return ir.mul(a, b);
    case Op::floordiv:
    case Op::mod:
    case Op::ceildiv:
      if (const auto quick = sign ? divide_by_constant(ir, op, a, b) : std::nullopt) return *quick;
      if (op == Op::floordiv) return floor_divide(ir, sign, a, b);
      return op == Op::mod ? floor_modulo(ir, sign, a, b) : ceil_divide(ir, sign, a, b);
    case Op::shl:
    case Op::shr: return shift(ir, op, sign, a, b);
    case Op::bit_and: return ir.op("and", a, b);
    case Op::bit_or: return ir.op("or", a, b);
    case Op::bit_xor: return ir.op("xor", a, b);
    case Op::bit_not: return ir.op("xor", a, Builder::constant(-1, a.type));
    case Op::neg: return ir.sub(Builder::zero(a.type), a);
    case Op::min: return intrinsic(ir, sign ? "smin" : "umin", {a, b});
    case Op::max: return intrinsic(ir, sign ? "smax" : "umax", {a, b});
    case Op::abs: return sign ? ir.call("llvm.abs." + mangled(a.type), a.type, {a, Builder::truth(false)}) : a;
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::eq:
    case Op::ne: return ir.compare(integer_predicate(op, sign), a, b);
    case Op::popcount: return intrinsic(ir, "ctpop", {a});
    case Op::clz: return ir.call("llvm.ctlz." + mangled(a.type), a.type, {a, Builder::truth(false)});
    case Op::mulhi: return high_half(ir, sign, a, b);
    default: return not_built(op, type);
  }
}

Result<Value> boolean_operation(Builder& ir, Op op, const std::vector<Value>& args) {
  const Value& a = args[0];
  switch (op) {
    case Op::bit_and:
    case Op::logical_and: return ir.op("and", a, args[1]);
    case Op::bit_or:
    case Op::logical_or: return ir.op("or", a, args[1]);
    case Op::bit_xor:
    case Op::ne: return ir.op("xor", a, args[1]);
    case Op::eq: return ir.compare("icmp eq", a, args[1]);
    case Op::bit_not:
    case Op::logical_not: return ir.op("xor", a, Builder::truth(true, a.type.lanes));
    default: return not_built(op, DType::boolean);
  }
}

// fma of narrow types: the product is exact in f64, so that one rounding of the sum remains (but for ties of 53 bits).
Result<Value> fused(Builder& ir, DType type, const std::vector<Value>& args) {
  if (type == DType::f32 || type == DType::f64) return intrinsic(ir, "fma", args);
  std::vector<Value> wide;
  for (const Value& arg : args) wide.push_back(convert(ir, arg, type, DType::f64));
  return convert(ir, intrinsic(ir, "fma", wide), DType::f64, type);
}

Result<Value> real_operation(Builder& ir, Op op, DType type, const std::vector<Value>& args) {
  const Value& a = args[0];
  const Value& b = args.size() > 1 ? args[1] : args[0];
  switch (op) {
    case Op::add: return round_to(ir, ir.op("fadd", a, b), type);
    case Op::sub: return round_to(ir, ir.op("fsub", a, b), type);
    case Op::mul: return round_to(ir, ir.op("fmul", a, b), type);
    case Op::div: return round_to(ir, ir.op("fdiv", a, b), type);
    case Op::neg: return ir.negate(a);
    case Op::abs: return intrinsic(ir, "fabs", {a});
    case Op::min: return intrinsic(ir, "minimum", {a, b});
    case Op::max: return intrinsic(ir, "maximum", {a, b});
    case Op::sqrt: return round_to(ir, intrinsic(ir, "sqrt", {a}), type);
    case Op::floor: return round_to(ir, intrinsic(ir, "floor", {a}), type);
    case Op::ceil: return round_to(ir, intrinsic(ir, "ceil", {a}), type);
    case Op::round: return round_to(ir, intrinsic(ir, "roundeven", {a}), type);
    case Op::fma: return fused(ir, type, args);
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::eq:
    case Op::ne: return ir.compare(real_predicate(op), a, b);
    case Op::isnan: return ir.compare("fcmp uno", a, a);
    case Op::isinf:
      return ir.compare("fcmp oeq", intrinsic(ir, "fabs", {a}), Builder::real_constant(__builtin_inf(), a.type));
    default: break;
  }
  auto result = op == Op::pow ? power(ir, a, b) : math_function(ir, op, a);
  if (!result) return result;
  return round_to(ir, *result, type);
}

}  // namespace

Result<Value> operation(Builder& ir, Op op, DType type, const std::vector<Value>& args) {
  if (type == DType::boolean) return boolean_operation(ir, op, args);
  return is_float(type) ? real_operation(ir, op, type, args) : integer_operation(ir, op, type, args);
}

}  // namespace kiln::emit::llvm_text
