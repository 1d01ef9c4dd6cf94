// Elementary functions as vector IR of our own: LLVM would turn its intrinsics into scalar calls of a C library, and
// objects import none. Bounds: exp, exp2, log, sin, cos 2 ulp; tanh, erf 4 ulp (PROGRAM.md); tests/unit/host measures them
// across f32.
#include <numbers>

#include "engine/emit/llvm_elements.hpp"
#include "engine/emit/llvm_math.hpp"
#include "engine/emit/llvm_operations.hpp"

namespace kiln::emit::llvm_text {
namespace {

constexpr double infinity = __builtin_inf();

// ---- exponentials ----
// Coefficients: Cephes expf.c and exp2f.c (Moshier); reduction by Cody and Waite in two parts.
Value exp_f32(const Math& m, const Value& x) {
  const Value v = m.clamp(x, -104.0, 89.0);
  const auto n = m.nearest(m.mul(v, m.c(std::numbers::log2e)));
  const Value r = m.fma(n.real, m.c(2.12194440e-4), m.fma(n.real, m.c(-0.693359375), v));
  const Value p = m.polynomial(
      r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
  return m.scale(m.add(m.fma(p, m.mul(r, r), r), m.c(1.0)), n.integer);
}

Value exp2_f32(const Math& m, const Value& x) {
  const Value v = m.clamp(x, -151.0, 129.0);
  const auto n = m.nearest(v);
  const Value r = m.sub(v, n.real);
  const Value p = m.polynomial(r, {1.535336188319500e-4, 1.339887440266574e-3, 9.618437357674640e-3,
                                   5.550332471162809e-2, 2.402264791363012e-1, 6.931472028550421e-1, 1.0});
  return m.scale(p, n.integer);
}

constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;  // fdlibm e_log.c

// e^r - 1 for |r| <= ln2 / 2: Taylor to r^13, whose next term is below 2^-58 of the first.
Value expm1_core_f64(const Math& m, const Value& r) {
  const Value p = m.polynomial(r, {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                                   1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5});
  return m.fma(p, m.mul(r, r), r);
}

struct Reduced {
  Math::Rounded n;
  Value r;
};
Reduced reduce_f64(const Math& m, const Value& x) {
  const auto n = m.nearest(m.mul(x, m.c(std::numbers::log2e)));
  return {n, m.fma(n.real, m.c(-ln2_low), m.fma(n.real, m.c(-ln2_high), x))};
}

Value exp_f64(const Math& m, const Value& x) {
  const Reduced reduced = reduce_f64(m, m.clamp(x, -746.0, 710.0));
  return m.scale(m.add(expm1_core_f64(m, reduced.r), m.c(1.0)), reduced.n.integer);
}

Value exp2_f64(const Math& m, const Value& x) {
  const Value v = m.clamp(x, -1076.0, 1025.0);
  const auto n = m.nearest(v);
  const Value fraction = m.sub(v, n.real);  // exact
  const Value high = m.mul(fraction, m.c(std::numbers::ln2));
  const Value low = m.fma(fraction, m.c(std::numbers::ln2), m.negate(high));
  const Value core = expm1_core_f64(m, high);
  return m.scale(m.add(m.add(core, m.fma(low, m.add(core, m.c(1.0)), m.c(0.0))), m.c(1.0)), n.integer);
}

Value expm1_f64(const Math& m, const Value& x) {
  const Reduced reduced = reduce_f64(m, m.clamp(x, -50.0, 40.0));
  const Value power = m.power_of_two(reduced.n.integer);
  const Value small = m.fma(expm1_core_f64(m, reduced.r), power, m.sub(power, m.c(1.0)));
  const Value kept = m.ir.select(m.ir.compare("fcmp oeq", x, m.c(0.0)), x, small);  // -0 stays -0
  return m.ir.select(m.ir.compare("fcmp ogt", x, m.c(38.0)), exp_f64(m, x), kept);
}

// ---- logarithms ----
// Splits a positive x into 2^k · f with f in [sqrt(1/2), sqrt(2)); subnormals are scaled up first.
struct Split {
  Value k, f;
};
Split split(const Math& m, const Value& x) {
  const bool single = m.type.bits == 32;
  const int mantissa = single ? 23 : 52;
  const std::int64_t root = single ? 0x3f3504f3 : 0x3fe6a09e667f3bcd;
  const Value tiny = m.ir.compare("fcmp olt", x, m.c(single ? 0x1p-126 : 0x1p-1022));
  const Value grown = m.ir.select(tiny, m.mul(x, m.c(single ? 0x1p24 : 0x1p54)), x);
  const Value from_root = m.ir.op("sub", m.bits(grown), m.w(root));
  const Value exponent = m.ir.op("ashr", from_root, m.w(mantissa));
  const Value k = m.ir.op("sub", exponent, m.ir.select(tiny, m.w(single ? 24 : 54), m.w(0)));
  const Value kept = m.ir.op("and", from_root, m.w((std::int64_t(1) << mantissa) - 1));
  return {m.ir.cast("sitofp", k, m.type), m.from_bits(m.ir.op("add", kept, m.w(root)))};
}

// 0 -> -inf, negative -> NaN, inf and NaN as they are.
Value log_edges(const Math& m, const Value& x, const Value& result) {
  const Value special = m.ir.compare("fcmp ueq", x, m.c(infinity));  // inf or NaN
  const Value kept = m.ir.select(special, x, result);
  const Value negative = m.ir.select(m.ir.compare("fcmp olt", x, m.c(0.0)), m.c(__builtin_nan("")), kept);
  return m.ir.select(m.ir.compare("fcmp oeq", x, m.c(0.0)), m.c(-infinity), negative);
}

// Coefficients: Cephes logf.c.
Value log_f32(const Math& m, const Value& x) {
  const Split s = split(m, x);
  const Value f = m.sub(s.f, m.c(1.0)), z = m.mul(f, f);
  const Value p =
      m.polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
                       -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  Value y = m.mul(m.mul(p, f), z);
  y = m.fma(s.k, m.c(-2.12194440e-4), y);
  y = m.fma(m.c(-0.5), z, y);
  return log_edges(m, x, m.fma(s.k, m.c(0.693359375), m.add(f, y)));
}

// fdlibm e_log.c.
Value log_f64(const Math& m, const Value& x) {
  const Split split_x = split(m, x);
  const Value f = m.sub(split_x.f, m.c(1.0));
  const Value s = m.div(f, m.add(f, m.c(2.0))), z = m.mul(s, s);
  const Value series = m.polynomial(
      z, {1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
          2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01});
  const Value half_square = m.mul(m.mul(m.c(0.5), f), f);
  const Value inner = m.fma(s, m.fma(series, z, half_square), m.mul(split_x.k, m.c(ln2_low)));
  const Value rest = m.sub(m.sub(half_square, inner), f);
  return log_edges(m, x, m.sub(m.mul(split_x.k, m.c(ln2_high)), rest));
}

// log(1 + x): the rounding of 1 + x is undone by x / (u - 1) (Kahan; Higham, "Accuracy and Stability", problem 1.5).
Value log1p_f64(const Math& m, const Value& x) {
  const Value u = m.add(x, m.c(1.0)), back = m.sub(u, m.c(1.0));
  const Value exact = m.ir.select(m.ir.compare("fcmp oeq", back, m.c(0.0)), m.c(1.0), back);
  const Value result = m.div(m.mul(log_f64(m, u), x), exact);
  const Value tiny = m.ir.select(m.ir.compare("fcmp oeq", back, m.c(0.0)), x, result);
  const Value edge = m.ir.compare("fcmp oeq", m.abs(u), m.c(infinity));
  const Value pole = m.ir.compare("fcmp oeq", u, m.c(0.0));
  return m.ir.select(edge, log_f64(m, u), m.ir.select(pole, m.c(-infinity), tiny));
}

// ---- what is made of them ----
// Coefficients: Cephes tanhf.c.
Value tanh_f32(const Math& m, const Value& x) {
  const Value z = m.mul(x, x), magnitude = m.abs(x);
  const Value p =
      m.polynomial(z, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1});
  const Value small = m.fma(m.mul(p, z), x, x);
  const Value e = m.add(exp_f32(m, m.add(magnitude, magnitude)), m.c(1.0));
  const Value large = m.with_sign(m.sub(m.c(1.0), m.div(m.c(2.0), e)), x);
  return m.ir.select(m.ir.compare("fcmp olt", magnitude, m.c(0.625)), small, large);
}

Value tanh_f64(const Math& m, const Value& x) {
  const Value magnitude = m.clamp(m.abs(x), 0.0, 20.0);
  const Value e = expm1_f64(m, m.add(magnitude, magnitude));
  return m.with_sign(m.div(e, m.add(e, m.c(2.0))), x);
}

// From e^-|x|, so that small results keep their digits.
template <class Exp>
Value sigmoid(const Math& m, const Value& x, Exp exp) {
  const Value e = exp(m, m.negate(m.abs(x)));
  const Value numerator = m.ir.select(m.ir.compare("fcmp olt", x, m.c(0.0)), e, m.c(1.0));
  return m.div(numerator, m.add(m.c(1.0), e));
}

// Two minimax polynomials, N. Juffa's (public domain): below 0.9277 odd in x, above 1 - exp(polynomial).
Value erf_f32(const Math& m, const Value& x) {
  const Value t = m.abs(x), s = m.mul(x, x);
  const Value top = m.fma(m.c(-1.72853470e-5), t, m.c(3.83197126e-4));
  const Value next = m.fma(m.c(-3.88396438e-3), t, m.c(2.42546219e-2));
  Value r = m.fma(top, s, next);
  for (const double k : {-1.06777877e-1, -6.34846687e-1, -1.28717512e-1}) r = m.fma(r, t, m.c(k));
  r = m.fma(r, t, m.negate(t));
  // Beyond 4 the result is 1; the polynomial would turn around further out.
  const Value far = m.ir.select(m.ir.compare("fcmp ogt", t, m.c(4.0)), m.c(1.0), m.sub(m.c(1.0), exp_f32(m, r)));
  const Value p =
      m.polynomial(s, {-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1});
  const Value near = m.fma(p, x, x);
  const Value result = m.ir.select(m.ir.compare("fcmp ogt", t, m.c(0.927734375)), m.with_sign(far, x), near);
  return m.ir.select(m.ir.compare("fcmp uno", x, x), x, result);
}

Value through_f64(const Math& m, const Value& x, Value (*function)(const Math&, const Value&)) {
  const Math wide{m.ir, real(64, m.type.lanes)};
  return m.ir.cast("fptrunc", function(wide, m.ir.cast("fpext", x, wide.type)), m.type);
}

Value log2_f64(const Math& m, const Value& x) { return m.mul(log_f64(m, x), m.c(std::numbers::log2e)); }

Result<Value> body_f32(const Math& m, Op op, const Value& x) {
  switch (op) {
    case Op::exp: return exp_f32(m, x);
    case Op::exp2: return exp2_f32(m, x);
    case Op::log: return log_f32(m, x);
    case Op::tanh: return tanh_f32(m, x);
    case Op::erf: return erf_f32(m, x);
    case Op::sigmoid: return sigmoid(m, x, exp_f32);
    case Op::sin: return sine(m, x);
    case Op::cos: return cosine(m, x);
    case Op::log2: return through_f64(m, x, log2_f64);
    case Op::log1p: return through_f64(m, x, log1p_f64);
    case Op::expm1: return through_f64(m, x, expm1_f64);
    default: return Error(ErrorCode::unsupported, std::string(op_text(op)) + " is not built yet for host targets");
  }
}

Result<Value> body_f64(const Math& m, Op op, const Value& x) {
  switch (op) {
    case Op::exp: return exp_f64(m, x);
    case Op::exp2: return exp2_f64(m, x);
    case Op::log: return log_f64(m, x);
    case Op::log2: return log2_f64(m, x);
    case Op::log1p: return log1p_f64(m, x);
    case Op::expm1: return expm1_f64(m, x);
    case Op::tanh: return tanh_f64(m, x);
    case Op::sigmoid: return sigmoid(m, x, exp_f64);
    case Op::sin: return sine(m, x);
    case Op::cos: return cosine(m, x);
    default:
      return Error(ErrorCode::unsupported, std::string(op_text(op)) + " of f64 is not built yet for host targets");
  }
}

std::string function_head(const std::string& name, Type type, const char* parameters) {
  std::string list;
  for (const char* p = parameters; *p; ++p) list += std::string(list.empty() ? "" : ", ") + text(type) + " %" + *p;
  return "define internal " + text(type) + " @" + name + "(" + list + ") alwaysinline nounwind";
}

// |x|^y = 2^(y·log2|x|) in f64, then the sign and C's special cases (C17 F.10.4.4).
Value power_f32(const Math& m, const Value& x, const Value& y) {
  const Math d{m.ir, real(64, m.type.lanes)};
  const Value xd = m.ir.cast("fpext", x, d.type), yd = m.ir.cast("fpext", y, d.type);
  const Value magnitude = m.ir.cast("fptrunc", exp2_f64(d, d.mul(yd, log2_f64(d, d.abs(xd)))), m.type);
  const auto floor = [&](const Value& v) { return m.ir.call("llvm.floor." + mangled(d.type), d.type, {v}); };
  const Value half = d.mul(yd, d.c(0.5));
  const Value whole = m.ir.compare("fcmp oeq", floor(yd), yd);
  const Value odd = m.ir.op("and", whole, m.ir.compare("fcmp one", floor(half), half));
  const Value negative = m.ir.compare("icmp slt", m.bits(x), m.w(0));
  const Value signed_result = m.ir.select(m.ir.op("and", odd, negative), m.negate(magnitude), magnitude);
  const Value finite_below =
      m.ir.op("and", m.ir.compare("fcmp olt", x, m.c(0.0)), m.ir.compare("fcmp ogt", x, m.c(-infinity)));
  const Value undefined = m.ir.op("and", finite_below, m.ir.op("xor", whole, Builder::truth(true, m.type.lanes)));
  const Value defined = m.ir.select(undefined, m.c(__builtin_nan("")), signed_result);
  const Value unit_base =
      m.ir.op("and", m.ir.compare("fcmp oeq", x, m.c(-1.0)), m.ir.compare("fcmp oeq", m.abs(y), m.c(infinity)));
  const Value one = m.ir.op(
      "or", m.ir.op("or", m.ir.compare("fcmp oeq", x, m.c(1.0)), m.ir.compare("fcmp oeq", y, m.c(0.0))), unit_base);
  return m.ir.select(one, m.c(1.0), defined);
}

}  // namespace

Result<Value> math_function(Builder& ir, Op op, const Value& x) {
  if (op == Op::rsqrt) {
    const Value root = ir.call("llvm.sqrt." + mangled(x.type), x.type, {x});
    return ir.op("fdiv", Builder::real_constant(1.0, x.type), root);
  }
  if (x.type.lanes == 1) {  // scalars are rare: one vector version serves
    auto vector = math_function(ir, op, ir.splat(x, x.type.bits == 32 ? 4 : 2));
    if (!vector) return vector;
    return ir.extract(*vector, 0);
  }
  const std::string name = "kiln_" + std::string(op_text(op)) + "_" + mangled(x.type);
  Status status;
  ir.helper(name, [&] {
    ir.begin_function(function_head(name, x.type, "x"));
    const Math m{ir, x.type};
    const Value argument{"%x", x.type, std::nullopt};
    auto result = x.type.bits == 32 ? body_f32(m, op, argument) : body_f64(m, op, argument);
    if (!result)
      status = Error(std::move(result).error());
    else
      ir.line("  ret " + result->typed());
    ir.end_function();
  });
  if (!status) return Error(std::move(status).error());
  return ir.call(name, x.type, {x});
}

Result<Value> power(Builder& ir, const Value& x, const Value& y) {
  if (x.type.bits == 64) return Error(ErrorCode::unsupported, "pow of f64 is not built yet for host targets");
  if (x.type.lanes == 1) {
    auto vector = power(ir, ir.splat(x, 4), ir.splat(y, 4));
    if (!vector) return vector;
    return ir.extract(*vector, 0);
  }
  const std::string name = "kiln_pow_" + mangled(x.type);
  ir.helper(name, [&] {
    ir.begin_function(function_head(name, x.type, "xy"));
    const Math m{ir, x.type};
    ir.line("  ret " + power_f32(m, {"%x", x.type, std::nullopt}, {"%y", x.type, std::nullopt}).typed());
    ir.end_function();
  });
  return ir.call(name, x.type, {x, y});
}

}  // namespace kiln::emit::llvm_text
