// What atomics of maps do to an element.
#pragma once

#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/tile/program.hpp"

namespace kiln::bound {

// add: i32 u32 i64 u64 f16 bf16 f32 f64; max, min, exchange, cas: those of 4 and 8 bytes; or, and, xor: the integers of
// those.
bool atomic_takes(tile::AtomicOp op, DType type);
// What the element becomes. cas compares bits.
Value atomic_result(tile::AtomicOp op, DType type, Value old, Value value, Value compare);

}  // namespace kiln::bound
