#include "engine/emit/llvm_elements.hpp"

#include "engine/ir/float8.hpp"

namespace kiln::emit::llvm_text {
namespace {

// bf16 bits (i16) of a float: nearest even by integer arithmetic, NaN stays a quiet NaN (x86's instruction would flush
// subnormals).
Value bf16_bits(Builder& ir, const Value& value) {
  const int lanes = value.type.lanes;
  const Type word = integer(32, lanes);
  const Value bits = ir.cast("bitcast", value, word);
  const Value lowest = ir.op("and", ir.op("lshr", bits, Builder::constant(16, word)), Builder::constant(1, word));
  const Value bias = ir.op("add", lowest, Builder::constant(0x7fff, word));
  const Value rounded = ir.op("lshr", ir.op("add", bits, bias), Builder::constant(16, word));
  const Value quiet = ir.op("or", ir.op("lshr", bits, Builder::constant(16, word)), Builder::constant(0x40, word));
  const Value is_nan = ir.compare("fcmp uno", value, value);
  return ir.cast("trunc", ir.select(is_nan, quiet, rounded), integer(16, lanes));
}

Value float_of_bf16_bits(Builder& ir, const Value& bits) {
  const Type word = integer(32, bits.type.lanes);
  const Value wide = ir.op("shl", ir.cast("zext", bits, word), Builder::constant(16, word));
  return ir.cast("bitcast", wide, real(32, bits.type.lanes));
}

// The float that a code of 8 bits stands for; exact.
Value float_of_f8_bits(Builder& ir, const Value& code, const Float8& format) {
  const Type word = integer(32, code.type.lanes), single = real(32, code.type.lanes);
  const auto constant = [&](std::int64_t value) { return Builder::constant(value, word); };
  const Value wide = ir.cast("zext", code, word);
  const Value rest = ir.op("and", wide, constant(0x7f));
  const Value exponent = ir.op("shl", rest, constant(23 - format.mantissa_bits));
  const Value normal = ir.op("add", exponent, constant(std::int64_t(127 - format.bias) << 23));
  // A mantissa alone: as many times the least number.
  const Value least_bits = constant(std::int64_t(128 - format.bias - format.mantissa_bits) << 23);
  const Value least = ir.cast("bitcast", least_bits, single);
  const Value small = ir.cast("bitcast", ir.op("fmul", ir.cast("uitofp", rest, single), least), word);
  Value bits = ir.select(ir.compare("icmp ult", rest, constant(1 << format.mantissa_bits)), small, normal);
  const Value nan = constant(0x7fc00000);
  if (format.fnuz) bits = ir.select(ir.compare("icmp eq", wide, constant(0x80)), nan, bits);
  else bits = ir.select(ir.compare("icmp ugt", rest, constant(format.largest())), nan, bits);
  if (format.infinity) bits = ir.select(ir.compare("icmp eq", rest, constant(0x7c)), constant(0x7f800000), bits);
  const Value sign = ir.op("shl", ir.op("and", wide, constant(0x80)), constant(24));
  return ir.cast("bitcast", ir.op("or", bits, sign), single);
}

// Nearest, ties to even; what rounds beyond the largest number is infinity where the format has one, else NaN.
Value f8_bits(Builder& ir, const Value& value, const Float8& format) {
  const Type word = integer(32, value.type.lanes), single = value.type;
  const auto constant = [&](std::int64_t number) { return Builder::constant(number, word); };
  const Value bits = ir.cast("bitcast", value, word);
  const Value sign = ir.op("and", ir.op("lshr", bits, constant(24)), constant(0x80));
  const Value magnitude = ir.op("and", bits, constant(0x7fffffff));
  const int drop = 23 - format.mantissa_bits;
  const Value lowest = ir.op("and", ir.op("lshr", magnitude, constant(drop)), constant(1));
  const Value rounded = ir.op("add", ir.op("add", magnitude, constant((1 << (drop - 1)) - 1)), lowest);
  const Value normal = ir.op("sub", ir.op("lshr", rounded, constant(drop)),
                             constant(std::int64_t(127 - format.bias) << format.mantissa_bits));
  // Below the least normal number: adding 2^23 units of the least number leaves their count, rounded.
  const Value many = constant(std::int64_t(128 - format.bias - format.mantissa_bits + 23) << 23);
  const Value sum = ir.op("fadd", ir.cast("bitcast", magnitude, single), ir.cast("bitcast", many, single));
  const Value small = ir.op("sub", ir.cast("bitcast", sum, word), many);
  const Value is_small = ir.compare("icmp ult", magnitude, constant(std::int64_t(128 - format.bias) << 23));
  const Value nan = format.fnuz ? constant(0x80) : ir.op("or", sign, constant(0x7f));
  const Value beyond = format.infinity ? ir.op("or", sign, constant(0x7c)) : nan;
  const Value code = ir.select(is_small, small, normal);
  Value result = ir.op("or", sign, code);
  if (format.fnuz) result = ir.select(ir.compare("icmp eq", code, constant(0)), constant(0), result);
  // Numbers that are small cannot be beyond; NaN and infinity are, as integers.
  result = ir.select(ir.compare("icmp ugt", code, constant(format.largest())), beyond, result);
  result = ir.select(ir.compare("icmp ugt", magnitude, constant(0x7f800000)), nan, result);
  return ir.cast("trunc", result, integer(8, value.type.lanes));
}

// double -> float, rounded to odd: a second rounding to f16 or bf16 then gives what one rounding would have given.
Value to_float_odd(Builder& ir, const Value& value) {
  const int lanes = value.type.lanes;
  const Type word = integer(32, lanes);
  const Value nearest = ir.cast("fptrunc", value, real(32, lanes));
  const Value back = ir.cast("fpext", nearest, real(64, lanes));
  const Value bits = ir.cast("bitcast", nearest, word);
  const Type wide = value.type;
  const Value magnitude = ir.call("llvm.fabs." + mangled(wide), wide, {value});
  const Value magnitude_back = ir.call("llvm.fabs." + mangled(wide), wide, {back});
  const Value too_far = ir.compare("fcmp ogt", magnitude_back, magnitude);
  const Value inexact = ir.compare("fcmp one", back, value);
  const Value toward_zero = ir.op("sub", bits, ir.cast("zext", too_far, word));
  return ir.cast("bitcast", ir.op("or", toward_zero, ir.cast("zext", inexact, word)), real(32, lanes));
}

Value real_to_real(Builder& ir, const Value& value, DType from, DType to) {
  const int lanes = value.type.lanes;
  if (from == to) return value;
  if (from == DType::f64) {
    if (to == DType::f32) return ir.cast("fptrunc", value, real(32, lanes));
    return round_to(ir, to_float_odd(ir, value), to);
  }
  if (to == DType::f64) return ir.cast("fpext", value, real(64, lanes));
  return round_to(ir, value, to);
}

Value integer_to_real(Builder& ir, const Value& value, DType from, DType to) {
  const int lanes = value.type.lanes;
  const char* opcode = from != DType::boolean && is_signed(from) ? "sitofp" : "uitofp";
  if (to == DType::f64) return ir.cast(opcode, value, real(64, lanes));
  // Integers over 24 bits must not be rounded to f32 on their way to bf16.
  if (to == DType::bf16 && value.type.bits > 16)
    return real_to_real(ir, ir.cast(opcode, value, real(64, lanes)), DType::f64, to);
  return round_to(ir, ir.cast(opcode, value, real(32, lanes)), to);
}

Value real_to_integer(Builder& ir, const Value& value, DType to) {
  const Type result = value_type(to, value.type.lanes);
  if (to == DType::boolean) return ir.compare("fcmp une", value, Builder::zero(value.type));
  const std::string name = is_signed(to) ? "llvm.fptosi.sat." : "llvm.fptoui.sat.";
  return ir.call(name + mangled(result) + "." + mangled(value.type), result, {value});
}

Value integer_to_integer(Builder& ir, const Value& value, DType from, DType to) {
  const Type result = value_type(to, value.type.lanes);
  if (to == DType::boolean) return from == to ? value : ir.compare("icmp ne", value, Builder::zero(value.type));
  if (result.bits == value.type.bits) return value;
  if (value.known && from != DType::boolean && result.bits == 64) return Builder::constant(*value.known, result);
  if (result.bits < value.type.bits) return ir.cast("trunc", value, result);
  return ir.cast(from != DType::boolean && is_signed(from) ? "sext" : "zext", value, result);
}

}  // namespace

Type value_type(DType type, int lanes) {
  if (type == DType::f64) return real(64, lanes);
  if (is_float(type)) return real(32, lanes);
  if (type == DType::boolean) return integer(1, lanes);
  return integer(dtype_bits(type), lanes);
}

Type memory_type(DType type, int lanes) {
  if (type == DType::f16) return real(16, lanes);
  if (type == DType::bf16) return integer(16, lanes);
  if (float8_format(type)) return integer(8, lanes);
  if (type == DType::boolean) return integer(8, lanes);
  return value_type(type, lanes);
}

Value from_memory(Builder& ir, const Value& raw, DType type) {
  if (type == DType::f16) return ir.cast("fpext", raw, real(32, raw.type.lanes));
  if (type == DType::bf16) return float_of_bf16_bits(ir, raw);
  if (const auto format = float8_format(type)) return float_of_f8_bits(ir, raw, *format);
  if (type == DType::boolean) return ir.compare("icmp ne", raw, Builder::zero(raw.type));
  return raw;
}

Value to_memory(Builder& ir, const Value& value, DType type) {
  if (type == DType::f16) return ir.cast("fptrunc", value, real(16, value.type.lanes));
  if (type == DType::bf16) return bf16_bits(ir, value);
  if (const auto format = float8_format(type)) return f8_bits(ir, value, *format);
  if (type == DType::boolean) return ir.cast("zext", value, integer(8, value.type.lanes));
  return value;
}

Value round_to(Builder& ir, const Value& value, DType type) {
  if (type == DType::f16 || float8_format(type)) return from_memory(ir, to_memory(ir, value, type), type);
  if (type == DType::bf16) return float_of_bf16_bits(ir, bf16_bits(ir, value));
  return value;
}

Value convert(Builder& ir, const Value& value, DType from, DType to) {
  if (from == to) return value;
  if (is_float(from)) return is_float(to) ? real_to_real(ir, value, from, to) : real_to_integer(ir, value, to);
  return is_float(to) ? integer_to_real(ir, value, from, to) : integer_to_integer(ir, value, from, to);
}

Value bitcast(Builder& ir, const Value& value, DType from, DType to) {
  const Value raw = to_memory(ir, value, from);
  return from_memory(ir, ir.cast("bitcast", raw, memory_type(to, value.type.lanes)), to);
}

}  // namespace kiln::emit::llvm_text
