#include "engine/ir/bound/atomic.hpp"

namespace kiln::bound {

using tile::AtomicOp;

bool atomic_takes(AtomicOp op, DType type) {
  const bool wide = type == DType::i32 || type == DType::u32 || type == DType::i64 || type == DType::u64;
  switch (op) {
    case AtomicOp::none: return false;
    case AtomicOp::add: return wide || is_float(type);
    case AtomicOp::max: case AtomicOp::min: case AtomicOp::exchange: case AtomicOp::cas:
      return wide || type == DType::f32 || type == DType::f64;
    case AtomicOp::bit_or: case AtomicOp::bit_and: case AtomicOp::bit_xor: return wide;
  }
  return false;
}

Value atomic_result(AtomicOp op, DType type, Value old, Value value, Value compare) {
  const auto apply = [&](Op operation) { return function(operation, type)(old, value, value); };
  switch (op) {
    case AtomicOp::none: return old;
    case AtomicOp::add: return apply(Op::add);
    case AtomicOp::max: return apply(Op::max);
    case AtomicOp::min: return apply(Op::min);
    case AtomicOp::bit_or: return apply(Op::bit_or);
    case AtomicOp::bit_and: return apply(Op::bit_and);
    case AtomicOp::bit_xor: return apply(Op::bit_xor);
    case AtomicOp::exchange: return value;
    case AtomicOp::cas: {
      if (!is_float(type)) return old.integer == compare.integer ? value : old;
      const DType bits = dtype_bits(type) == 64 ? DType::u64 : DType::u32;
      return reinterpret(old, type, bits).integer == reinterpret(compare, type, bits).integer ? value : old;
    }
  }
  return old;
}

}  // namespace kiln::bound
