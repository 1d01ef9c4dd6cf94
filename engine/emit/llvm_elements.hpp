// How elements are held in SSA values and in memory, and every conversion between element types.
//
// In values: f64 is a double; f32, f16 and bf16 are a float that is representable in the type; integers are integers of
// their width; boolean is an i1. In memory: f16 is a half, bf16 an i16, boolean a byte.
#pragma once

#include "engine/emit/llvm_builder.hpp"
#include "engine/ir/types.hpp"

namespace kiln::emit::llvm_text {

Type value_type(DType type, int lanes = 1);
Type memory_type(DType type, int lanes = 1);
Value from_memory(Builder& ir, const Value& raw, DType type);
Value to_memory(Builder& ir, const Value& value, DType type);

// A float of any value, rounded to f16 or bf16 (nearest even) and given back as a float; f32 gives it back as it is.
Value round_to(Builder& ir, const Value& value, DType type);
// PROGRAM.md, "Conversion": one rounding; float to integer saturates, NaN gives 0.
Value convert(Builder& ir, const Value& value, DType from, DType to);
// The value's bits read as another type of equal width.
Value bitcast(Builder& ir, const Value& value, DType from, DType to);

}  // namespace kiln::emit::llvm_text
