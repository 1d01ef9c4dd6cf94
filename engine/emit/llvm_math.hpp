// What the elementary functions in vector IR are made of.
#pragma once

#include <initializer_list>
#include <string>

#include "engine/emit/llvm_elements.hpp"

namespace kiln::emit::llvm_text {

// The body of a function of one argument %x, with short names for what it is made of.
struct Math {
  Builder& ir;
  Type type;
  [[nodiscard]] Value c(double v) const { return Builder::real_constant(v, type); }
  [[nodiscard]] Type word() const { return integer(type.bits, type.lanes); }
  [[nodiscard]] Value w(std::int64_t v) const { return Builder::constant(v, word()); }
  [[nodiscard]] Value add(const Value& a, const Value& b) const { return ir.op("fadd", a, b); }
  [[nodiscard]] Value sub(const Value& a, const Value& b) const { return ir.op("fsub", a, b); }
  [[nodiscard]] Value mul(const Value& a, const Value& b) const { return ir.op("fmul", a, b); }
  [[nodiscard]] Value div(const Value& a, const Value& b) const { return ir.op("fdiv", a, b); }
  [[nodiscard]] Value fma(const Value& a, const Value& b, const Value& d) const {
    return ir.call("llvm.fma." + mangled(type), type, {a, b, d});
  }
  [[nodiscard]] Value negate(const Value& a) const { return ir.negate(a); }
  [[nodiscard]] Value abs(const Value& a) const { return ir.call("llvm.fabs." + mangled(type), type, {a}); }
  [[nodiscard]] Value with_sign(const Value& magnitude, const Value& sign) const {
    return ir.call("llvm.copysign." + mangled(type), type, {magnitude, sign});
  }
  // Horner: coefficients from the highest power down.
  [[nodiscard]] Value polynomial(const Value& x, std::initializer_list<double> coefficients) const {
    Value sum;
    for (const double k : coefficients) sum = sum.empty() ? c(k) : fma(sum, x, c(k));
    return sum;
  }
  // NaN stays: the comparison is false for it.
  [[nodiscard]] Value clamp(const Value& x, double low, double high) const {
    const Value below = ir.select(ir.compare("fcmp ogt", x, c(high)), c(high), x);
    return ir.select(ir.compare("fcmp olt", below, c(low)), c(low), below);
  }
  [[nodiscard]] Value bits(const Value& x) const { return ir.cast("bitcast", x, word()); }
  [[nodiscard]] Value from_bits(const Value& x) const { return ir.cast("bitcast", x, type); }
  // 2^n for a small integer n.
  [[nodiscard]] Value power_of_two(const Value& n) const {
    const int mantissa = type.bits == 32 ? 23 : 52, bias = type.bits == 32 ? 127 : 1023;
    return from_bits(ir.op("shl", ir.op("add", n, w(bias)), w(mantissa)));
  }
  // x·2^n, where 2^n itself may not be representable: two factors, only the second of which rounds.
  [[nodiscard]] Value scale(const Value& x, const Value& n) const {
    const Value half = ir.op("ashr", n, w(1));
    return mul(mul(x, power_of_two(half)), power_of_two(ir.op("sub", n, half)));
  }
  // Nearest integer of a small x, as float and as integer: adding 1.5·2^(mantissa bits) leaves it in the low bits.
  struct Rounded {
    Value real, integer;
  };
  [[nodiscard]] Rounded nearest(const Value& x) const {
    const Value magic = c(type.bits == 32 ? 12582912.0 : 6755399441055744.0);
    const Value moved = add(x, magic);
    return {sub(moved, magic), ir.op("sub", bits(moved), bits(magic))};
  }
};

// llvm_trigonometry.cpp. `m` of f32 or f64; any finite argument, within 2 units in the last place; NaN for inf and NaN.
Value sine(const Math& m, const Value& x);
Value cosine(const Math& m, const Value& x);

}  // namespace kiln::emit::llvm_text
