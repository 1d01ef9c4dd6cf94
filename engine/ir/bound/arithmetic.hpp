// PROGRAM.md's arithmetic on typed scalar values: the one place where it is implemented. Constant folding and the
// interpreter both call it, so that a folded expression and an executed one cannot differ.
//
// A value of a type is held in 64 bits, canonically: floats as the double that equals them (f32, f16, bf16 values are
// exact in double), signed integers and `index` sign-extended, unsigned ones zero-extended (u64: its bit pattern),
// boolean 0 or 1. Every function takes and gives canonical values. All are pure; any thread.
#pragma once

#include <cstdint>

#include "engine/ir/tile/expression.hpp"
#include "engine/ir/types.hpp"

namespace kiln::bound {

union Value {
  std::int64_t integer;
  double real;
};
inline Value integer_value(std::int64_t integer) { Value v; v.integer = integer; return v; }
inline Value real_value(double real) { Value v; v.real = real; return v; }

// The integer modulo 2^bits, canonical. `type`: an integer type, index or boolean (its lowest bit).
std::int64_t wrap_integer(DType type, std::int64_t value);
// The nearest value of a float type, ties to even; denormals kept, overflow to infinity, NaN stays NaN.
double round_real(DType type, double value);

// Memory, little endian. Reading makes canonical (a boolean is "any bit set", a NaN becomes quiet).
using LoadFunction = Value (*)(const std::uint8_t*);
using StoreFunction = void (*)(std::uint8_t*, Value);
LoadFunction load_function(DType type);    // null for types that are not supported
StoreFunction store_function(DType type);

// Conversion ("Conversion" in PROGRAM.md): to a float one rounding; float to integer truncates and saturates, NaN gives
// 0; between integers wraps; to boolean is "not equal to zero" (NaN is true); index behaves as i64.
using Function = Value (*)(Value, Value, Value);   // operations ignore the arguments that they do not take
Function conversion(DType from, DType to);
Value convert(Value value, DType from, DType to);

// How an operation is written and typed. `function` is null when the operation is not defined for operands of that type:
//   integers and floats    + - * neg min max abs < <= > >=
//   floats                 / and the calls of analysis (exp … fma), floor ceil round, isnan isinf
//   integers               // % ceildiv << >> ~ popcount clz mulhi
//   integers and boolean   & | ^
//   boolean                && || !
//   all                    == !=
// Floats of 64 bits and exp, exp2, log …: by the C library's double functions, then one rounding to the type.
int arity(Op op);                          // 1, 2 or 3
bool is_operator(Op op);                   // written infix or prefix; the others are calls
DType result_type(Op op, DType operand);   // boolean for comparisons, isnan, isinf; else the operand's
Function function(Op op, DType operand);   // not for Op::bitcast: see reinterpret
// The bits of a value as another type of the same width.
Value reinterpret(Value value, DType from, DType to);
// Whether the operation is exactly defined (integers, one correct rounding) or only within some units in the last
// place.
bool is_exact(Op op);

}  // namespace kiln::bound
