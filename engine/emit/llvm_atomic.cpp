// Atomics of maps: lane after lane, since lanes may meet in one element. Blocks run on several threads, so they are
// real ones; floats' sums and extremes by compare and exchange.
#include <utility>

#include "engine/emit/llvm_elements.hpp"
#include "engine/emit/llvm_expression.hpp"
#include "engine/emit/llvm_operations.hpp"

namespace kiln::emit::llvm_text {
namespace {

using tile::AtomicOp;

std::string align_text(DType type) { return ", align " + std::to_string(dtype_bytes(type)); }

Value as_bits(Builder& ir, const Value& value, DType type) {
  return ir.cast("bitcast", value, integer(dtype_bytes(type) * 8));
}

// What was at `at`, where `with` is put if that was `compare`.
Value compare_exchange(Builder& ir, DType type, const Value& at, const Value& with, const Value& compare) {
  const Type bits = integer(dtype_bytes(type) * 8);
  const std::string before = as_bits(ir, compare, type).typed(), after = as_bits(ir, with, type).typed();
  const Value pair = ir.instruction(bits, "cmpxchg " + at.typed() + ", " + before + ", " + after +
                                              " monotonic monotonic" + align_text(type));
  const Value seen = ir.instruction(bits, "extractvalue { " + text(bits) + ", i1 } " + pair.name + ", 0");
  return ir.cast("bitcast", seen, memory_type(type));
}

// A function (ptr, value in memory form) that applies `op` and gives what was there.
std::string update_function(Context& ctx, Op op, DType type) {
  Builder& ir = ctx.ir;
  const char* const word = op == Op::add ? "add" : op_text(op);
  const std::string symbol = std::string("kiln_atomic_") + word + "_" + dtype_name(type);
  ir.helper(symbol, [&] {
    const Type memory = memory_type(type), bits = integer(dtype_bytes(type) * 8);
    ir.begin_function("define internal " + text(memory) + " @" + symbol + "(ptr %at, " + text(memory) + " %with) #0");
    const Value with = from_memory(ir, {"%with", memory, std::nullopt}, type);
    const Value first = ir.instruction(bits, "load atomic " + text(bits) + ", ptr %at monotonic" + align_text(type));
    ir.jump("again");
    ir.place("again");
    ir.line("  %current = phi " + text(bits) + " [ " + first.name + ", %entry ], [ %seen, %again ]");
    const Value old = ir.cast("bitcast", {"%current", bits, std::nullopt}, memory);
    auto made = operation(ir, op, type, {from_memory(ir, old, type), with});
    if (!made) ctx.fail(std::move(made).error());
    const Value next = made ? to_memory(ir, round_to(ir, *made, type), type) : old;
    ir.line("  %pair = cmpxchg ptr %at, " + text(bits) + " %current, " + as_bits(ir, next, type).typed() +
            " monotonic monotonic" + align_text(type));
    ir.line("  %seen = extractvalue { " + text(bits) + ", i1 } %pair, 0");
    ir.line("  %done = extractvalue { " + text(bits) + ", i1 } %pair, 1");
    ir.line("  br i1 %done, label %end, label %again");
    ir.place("end");
    ir.line("  ret " + old.typed());
    ir.end_function();
  });
  return symbol;
}

std::string instruction_of(AtomicOp op, DType type) {
  const bool sign = is_signed(type);
  switch (op) {
    case AtomicOp::add: return "add";
    case AtomicOp::max: return sign ? "max" : "umax";
    case AtomicOp::min: return sign ? "min" : "umin";
    case AtomicOp::bit_or: return "or";
    case AtomicOp::bit_and: return "and";
    case AtomicOp::bit_xor: return "xor";
    default: return "xchg";
  }
}

// One element; all values scalars in memory form. Gives what was there.
Value update_one(Context& ctx, const bound::MapItem& item, DType type, const Value& at, const Value& with,
                 const Value& compare) {
  if (item.atomic == AtomicOp::cas) return compare_exchange(ctx.ir, type, at, with, compare);
  if (is_float(type) && item.atomic != AtomicOp::exchange) {
    const Op op = item.atomic == AtomicOp::add ? Op::add : item.atomic == AtomicOp::max ? Op::max : Op::min;
    const std::string name = update_function(ctx, op, type);
    return ctx.ir.instruction(memory_type(type), "call " + text(memory_type(type)) + " @" + name + "(" + at.typed() +
                                                     ", " + with.typed() + ")");
  }
  return ctx.ir.instruction(memory_type(type), "atomicrmw " + instruction_of(item.atomic, type) + " " + at.typed() +
                                                   ", " + with.typed() + " monotonic" + align_text(type));
}

}  // namespace

void Evaluator::update(const bound::MapItem& item, bool checked) {
  const Memory memory = tensor_memory(ctx_, item.target);
  const DType type = memory.dtype;
  const std::int64_t bytes = dtype_bytes(type);
  const Access where = access(memory, item.indices, checked);
  const Value with = to_memory(ir_, value(*item.value), type);
  const Value compare = item.compare ? to_memory(ir_, value(*item.compare), type) : with;
  Value mask = both(both(lanes_->mask, where.lane_inside), where.scalar_inside);
  if (item.where) mask = both(mask, value(*item.where));
  const Value& olds = ctx_.index_slot;  // one a lane
  if (item.old >= 0) ir_.store(Builder::zero(memory_type(type, lanes_->count)), olds, 64);
  ir_.loop(Builder::constant(0), Builder::constant(lanes_->count), 1, [&](const Value& lane) {
    const auto own = [&](const Value& all) {
      if (all.type.lanes == 1) return all;
      return ir_.instruction(all.type.with_lanes(1), "extractelement " + all.typed() + ", " + lane.typed());
    };
    const auto act = [&] {
      Value offset = own(where.offset);
      if (where.form == Access::Form::contiguous)
        offset = ir_.add(offset, ir_.mul(lane, Builder::constant(bytes)));
      const Value old = update_one(ctx_, item, type, ir_.offset(memory.base, offset), own(with), own(compare));
      if (item.old >= 0)
        ir_.store(old, ir_.offset(olds, ir_.mul(lane, Builder::constant(bytes))), static_cast<int>(bytes));
    };
    if (mask.empty())
      act();
    else
      ir_.branch(own(mask), act);
  });
  if (item.old < 0) return;
  lets_[item.old] = {nullptr, from_memory(ir_, ir_.load(memory_type(type, lanes_->count), olds, 64), type)};
}

}  // namespace kiln::emit::llvm_text
