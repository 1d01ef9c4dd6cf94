// PROGRAM.md's operations as LLVM IR: exactly defined for every input, nothing that LLVM leaves undefined.
#pragma once

#include <vector>

#include "engine/base/result.hpp"
#include "engine/emit/llvm_builder.hpp"
#include "engine/ir/tile/expression.hpp"
#include "engine/ir/types.hpp"

namespace kiln::emit::llvm_text {

// `op` on operands of one type (and one lane count), in the type's value form (llvm_elements.hpp). Errors: unsupported.
Result<Value> operation(Builder& ir, Op op, DType type, const std::vector<Value>& args);

// Functions on floats (or doubles), any lane count; the name says the op. Errors: unsupported, for the f64 ones not
// built yet.
Result<Value> math_function(Builder& ir, Op op, const Value& x);
Result<Value> power(Builder& ir, const Value& x, const Value& y);

}  // namespace kiln::emit::llvm_text
