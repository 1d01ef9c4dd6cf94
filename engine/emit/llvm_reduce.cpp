// Reductions along one axis of a tile: in vectors, combined as a tree at the end.
#include <algorithm>
#include <limits>

#include "engine/emit/llvm_context.hpp"
#include "engine/emit/llvm_elements.hpp"
#include "engine/emit/llvm_expression.hpp"
#include "engine/emit/llvm_operations.hpp"

namespace kiln::emit::llvm_text {
namespace {

using tile::ReduceOp;

class ReducePrinter {
 public:
  ReducePrinter(Context& ctx, const kernel::Reduce& reduce)
      : ctx_(ctx),
        ir_(ctx.ir),
        reduce_(reduce),
        from_(storage_memory(ctx, reduce.from)),
        to_(storage_memory(ctx, reduce.to)) {
    const bool wide = from_.dtype == DType::f64 || to_.dtype == DType::f64;
    type_ = is_float(to_.dtype) ? (wide ? DType::f64 : DType::f32) : to_.dtype;
    lanes_ = ctx.vector_bytes / std::max(4, dtype_bytes(type_));
    contiguous_ = ctx.storage(reduce.from).lds_layout.contiguous;
  }
  void emit();

 private:
  void level(int axis, const Value& from, const Value& to);
  void row(const Value& from, const Value& to);
  void column_vectors(const Value& from, const Value& to);
  void columns(const Value& from, const Value& to, const Value& first, const Value& mask);
  Value load(const Value& at, int lanes, const Value& mask);
  Value combine(const Value& a, const Value& b);
  Value neutral(int lanes) const;
  Value across(Value vector);
  void finish(const Value& result, const Value& to, const Value& mask);
  [[nodiscard]] int to_axis(int axis) const { return axis < reduce_.axis ? axis : axis - 1; }
  Value at(const Value& base, const Value& index, std::int64_t stride) {
    return ir_.offset(base, ir_.mul(index, Builder::constant(stride)));
  }

  Context& ctx_;
  Builder& ir_;
  const kernel::Reduce& reduce_;
  Memory from_, to_;
  DType type_ = DType::f32;  // in which it is combined
  int lanes_ = 8, contiguous_ = 1;
};

Value ReducePrinter::neutral(int lanes) const {
  const Type type = value_type(type_, lanes);
  const bool floating = type.is_real();
  const auto real_or = [&](double real, std::int64_t whole) {
    return floating ? Builder::real_constant(real, type) : Builder::constant(whole, type);
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const int bits = type.bits;
  const std::int64_t highest = is_signed(type_) ? std::int64_t((std::uint64_t(1) << (bits - 1)) - 1) : -1;
  const std::int64_t lowest = is_signed(type_) ? std::int64_t(-1) - highest : 0;
  switch (reduce_.op) {
    case ReduceOp::prod: return real_or(1, 1);
    case ReduceOp::max: return real_or(-infinity, lowest);
    case ReduceOp::min: return real_or(infinity, highest);
    case ReduceOp::all: return real_or(1, 1);
    default: return Builder::zero(type);  // sum, absmax, any
  }
}

Value ReducePrinter::combine(const Value& a, const Value& b) {
  const auto op = [&]() -> Op {
    switch (reduce_.op) {
      case ReduceOp::prod: return Op::mul;
      case ReduceOp::max:
      case ReduceOp::absmax: return Op::max;
      case ReduceOp::min: return Op::min;
      case ReduceOp::any: return Op::bit_or;
      case ReduceOp::all: return Op::bit_and;
      default: return Op::add;
    }
  }();
  auto result = operation(ir_, op, type_, {a, b});
  if (result) return *result;
  ctx_.fail(std::move(result).error());
  return a;
}

// Elements of the source as what is combined; lanes outside the mask are neutral.
Value ReducePrinter::load(const Value& at, int lanes, const Value& mask) {
  const Type type = memory_type(from_.dtype, lanes);
  const Value raw = mask.empty() ? ir_.load(type, at, from_.align, from_.scope)
                                 : ir_.load_masked(type, at, from_.align, mask, Builder::zero(type));
  Value value = convert(ir_, from_memory(ir_, raw, from_.dtype), from_.dtype, type_);
  if (reduce_.op == ReduceOp::absmax) {
    if (auto magnitude = operation(ir_, Op::abs, type_, {value})) value = *magnitude;
  }
  return mask.empty() ? value : ir_.select(mask, value, neutral(lanes));
}

Value ReducePrinter::across(Value vector) {
  for (int half = vector.type.lanes / 2; half >= 1; half /= 2) {
    std::vector<int> low, high;
    for (int i = 0; i < half; ++i) {
      low.push_back(i);
      high.push_back(half + i);
    }
    if (half == 1) return combine(ir_.extract(vector, 0), ir_.extract(vector, 1));
    vector = combine(ir_.shuffle(vector, vector, low), ir_.shuffle(vector, vector, high));
  }
  return ir_.extract(vector, 0);
}

void ReducePrinter::finish(const Value& result, const Value& to, const Value& mask) {
  const int lanes = result.type.lanes;
  const Type type = memory_type(to_.dtype, lanes);
  Value total = result;
  if (reduce_.accumulate) {
    const Value raw = mask.empty() ? ir_.load(type, to, to_.align, to_.scope)
                                   : ir_.load_masked(type, to, to_.align, mask, Builder::zero(type));
    total = combine(convert(ir_, from_memory(ir_, raw, to_.dtype), to_.dtype, type_), total);
  }
  const Value out = to_memory(ir_, convert(ir_, total, type_, to_.dtype), to_.dtype);
  if (mask.empty())
    ir_.store(out, to, to_.align, to_.scope);
  else
    ir_.store_masked(out, to, to_.align, mask);
}

// The reduced axis is the contiguous one: four vectors at a time, then one, then the rest under a mask.
void ReducePrinter::row(const Value& from, const Value& to) {
  const std::int64_t extent = from_.extent(reduce_.axis);
  const std::int64_t bytes = dtype_bytes(from_.dtype);
  constexpr int parallel = 4;
  const std::int64_t block = std::int64_t(parallel) * lanes_;
  const std::int64_t blocks_end = extent / block * block, vectors_end = extent / lanes_ * lanes_;
  std::vector<Value> sums(parallel, neutral(lanes_));
  sums = ir_.loop_carrying(
      Builder::constant(0), Builder::constant(blocks_end), block, sums, [&](const Value& i, std::vector<Value> s) {
        for (int part = 0; part < parallel; ++part) {
          const Value where = at(from, ir_.add(i, Builder::constant(std::int64_t(part) * lanes_)), bytes);
          s[part] = combine(s[part], load(where, lanes_, {}));
        }
        return s;
      });
  for (std::int64_t i = blocks_end; i < extent; i += lanes_) {
    const Value mask = i < vectors_end ? Value() : Builder::lane_mask(lanes_, static_cast<int>(extent - i));
    const auto part = static_cast<std::size_t>((i - blocks_end) / lanes_);
    sums[part] = combine(sums[part], load(ir_.offset(from, Builder::constant(i * bytes)), lanes_, mask));
  }
  finish(across(combine(combine(sums[0], sums[1]), combine(sums[2], sums[3]))), to, {});
}

// Another axis is contiguous: one vector of results at a time.
void ReducePrinter::columns(const Value& from, const Value& to, const Value& first, const Value& mask) {
  const Value start = at(from, first, dtype_bytes(from_.dtype));
  const auto sums = ir_.loop_carrying(
      Builder::constant(0), Builder::constant(from_.extent(reduce_.axis)), 1, {neutral(lanes_)},
      [&](const Value& i, const std::vector<Value>& s) {
        return std::vector{combine(s[0], load(at(start, i, from_.stride(reduce_.axis)), lanes_, mask))};
      });
  const std::int64_t stride = to_.stride(to_axis(contiguous_));
  if (stride == dtype_bytes(to_.dtype)) return finish(sums[0], at(to, first, stride), mask);
  for (int lane = 0; lane < lanes_; ++lane) {
    const Value target = at(to, ir_.add(first, Builder::constant(lane)), stride);
    const auto write = [&] { finish(ir_.extract(sums[0], lane), target, {}); };
    if (mask.empty())
      write();
    else
      ir_.branch(ir_.extract(mask, lane), write);
  }
}

void ReducePrinter::column_vectors(const Value& from, const Value& to) {
  const std::int64_t extent = from_.extent(contiguous_), full = extent / lanes_ * lanes_;
  const Value end = limited(ctx_, full, reduce_.limit, contiguous_);
  ir_.loop(Builder::constant(0), end, lanes_, [&](const Value& i) { columns(from, to, i, {}); });
  if (full < extent) {
    columns(from, to, Builder::constant(full), Builder::lane_mask(lanes_, static_cast<int>(extent - full)));
  }
}

void ReducePrinter::level(int axis, const Value& from, const Value& to) {
  if (axis == from_.rank()) {
    if (reduce_.axis == contiguous_)
      row(from, to);
    else
      column_vectors(from, to);
    return;
  }
  if (axis == reduce_.axis || axis == contiguous_) return level(axis + 1, from, to);
  ir_.loop(Builder::constant(0), limited(ctx_, from_.extent(axis), reduce_.limit, axis), 1, [&](const Value& i) {
    level(axis + 1, at(from, i, from_.stride(axis)), at(to, i, to_.stride(to_axis(axis))));
  });
}

void ReducePrinter::emit() { level(0, from_.base, to_.base); }

}  // namespace

void emit_reduce(Context& ctx, const kernel::Reduce& reduce) { ReducePrinter(ctx, reduce).emit(); }

}  // namespace kiln::emit::llvm_text
