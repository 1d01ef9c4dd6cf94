// Error scales: beside each float value, the Σ|a·b| of the gemms (and the Σ|x| of the sums) that it came from, carried
// through arithmetic to first order, so that a gemm with an epilogue still has the figure that its tolerance needs.
//
// Rules, with s(x) the scale of x: constants, parameters and integers have 0; gemm gives s(c) + Σ(|a·b| + s(a)·|b| +
// |a|·s(b)); reduce: sum gives Σ(|x| + s(x)), a gemm with ones; max, min and absmax take the largest; copies and casts
// between floats keep it; an operation gives the sum of its operands' scales, each times the magnitude of the
// operation's derivative there (min and max: the larger scale; select: the chosen one's). A scale that is not finite
// becomes 0.
#pragma once

#include "engine/ir/bound/arithmetic.hpp"

namespace kiln::reference {

struct Scaled {
  double value, scale;
};
// The scale of an operation's result, given its operands (those that it does not take are ignored) and its value.
using ScaleFunction = double (*)(Scaled a, Scaled b, Scaled c, double result);
// Null where the scale is 0: integers, floor, comparisons.
ScaleFunction scale_function(Op op, DType operand);
ScaleFunction scale_of_conversion(DType from, DType to);
double finite_scale(double scale);

}  // namespace kiln::reference
