#include "engine/reference/error_scale.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kiln::reference {
namespace {

double keep(Scaled a, Scaled, Scaled, double) { return a.scale; }
double sum(Scaled a, Scaled b, Scaled, double) { return a.scale + b.scale; }
double larger(Scaled a, Scaled b, Scaled, double) { return std::max(a.scale, b.scale); }
// A zero scale stays zero whatever it is multiplied with (0 · inf).
double times(double scale, double derivative) { return scale == 0 ? 0 : scale * std::fabs(derivative); }

double product(Scaled a, Scaled b, Scaled, double) { return times(a.scale, b.value) + times(b.scale, a.value); }
double quotient(Scaled a, Scaled b, Scaled, double result) {
  return times(a.scale, 1 / b.value) + times(b.scale, result / b.value);
}
double multiply_add(Scaled a, Scaled b, Scaled c, double r) { return product(a, b, c, r) + c.scale; }
double power(Scaled a, Scaled b, Scaled, double result) {
  return times(a.scale, b.value * result / a.value) + times(b.scale, result * std::log(std::fabs(a.value)));
}

double exponential(Scaled a, Scaled, Scaled, double r) { return times(a.scale, r); }
double exponential2(Scaled a, Scaled, Scaled, double r) { return times(a.scale, r * std::numbers::ln2); }
double exponential_minus1(Scaled a, Scaled, Scaled, double r) { return times(a.scale, r + 1); }
double logarithm(Scaled a, Scaled, Scaled, double) { return times(a.scale, 1 / a.value); }
double logarithm2(Scaled a, Scaled, Scaled, double) { return times(a.scale, std::numbers::log2e / a.value); }
double logarithm_plus1(Scaled a, Scaled, Scaled, double) { return times(a.scale, 1 / (1 + a.value)); }
double root(Scaled a, Scaled, Scaled, double r) { return times(a.scale, 0.5 / r); }
double inverse_root(Scaled a, Scaled, Scaled, double r) { return times(a.scale, 0.5 * r / a.value); }
double hyperbolic_tangent(Scaled a, Scaled, Scaled, double r) { return times(a.scale, 1 - r * r); }
double logistic(Scaled a, Scaled, Scaled, double r) { return times(a.scale, r * (1 - r)); }
double error_function(Scaled a, Scaled, Scaled, double) {
  return times(a.scale, 2 * std::numbers::inv_sqrtpi * std::exp(-a.value * a.value));
}
double sine(Scaled a, Scaled, Scaled, double) { return times(a.scale, std::cos(a.value)); }
double cosine(Scaled a, Scaled, Scaled, double) { return times(a.scale, std::sin(a.value)); }

}  // namespace

ScaleFunction scale_function(Op op, DType operand) {
  if (!is_float(operand)) return nullptr;
  switch (op) {
    case Op::add: case Op::sub: return sum;
    case Op::mul: return product;
    case Op::div: return quotient;
    case Op::neg: case Op::abs: return keep;
    case Op::min: case Op::max: return larger;
    case Op::fma: return multiply_add;
    case Op::pow: return power;
    case Op::exp: return exponential;
    case Op::exp2: return exponential2;
    case Op::expm1: return exponential_minus1;
    case Op::log: return logarithm;
    case Op::log2: return logarithm2;
    case Op::log1p: return logarithm_plus1;
    case Op::sqrt: return root;
    case Op::rsqrt: return inverse_root;
    case Op::tanh: return hyperbolic_tangent;
    case Op::sigmoid: return logistic;
    case Op::erf: return error_function;
    case Op::sin: return sine;
    case Op::cos: return cosine;
    default: return nullptr;
  }
}

ScaleFunction scale_of_conversion(DType from, DType to) { return is_float(from) && is_float(to) ? keep : nullptr; }

double finite_scale(double scale) { return std::isfinite(scale) ? scale : 0; }

}  // namespace kiln::reference
