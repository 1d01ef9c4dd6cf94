#include "engine/emit/llvm_expression.hpp"

#include <algorithm>

#include "engine/emit/llvm_elements.hpp"
#include "engine/emit/llvm_operations.hpp"

namespace kiln::emit::llvm_text {

using bound::Expr;
using bound::ExprPtr;
using Kind = Expr::Kind;

void visit_accesses(const Expr& expr, const std::function<void(const Expr&)>& visit) {
  if (expr.kind == Kind::tile || expr.kind == Kind::tensor) visit(expr);
  for (const auto& arg : expr.args) visit_accesses(*arg, visit);
}

Value limited(Context& ctx, std::int64_t extent, const std::vector<ExprPtr>& limits, std::size_t number) {
  const Value whole = Builder::constant(extent);
  if (number >= limits.size() || !limits[number]) return whole;
  return ctx.ir.min_signed(whole, Evaluator(ctx).index_value(*limits[number]));
}

Value Evaluator::variable(int id) {
  if (const auto let = lets_.find(id); let != lets_.end()) {
    if (at_base_ && let->second.value.type.lanes > 1)
      return let->second.expr ? value(*let->second.expr) : ir_.extract(let->second.value, 0);
    return let->second.value;
  }
  if (lanes_ && lanes_->variable == id) {
    if (at_base_) return lanes_->base;
    const Type type = integer(64, lanes_->count);
    return ir_.add(ir_.splat(lanes_->base, lanes_->count), Builder::lane_numbers(type));
  }
  const auto found = ctx_.variables.find(id);
  if (found != ctx_.variables.end()) return found->second;
  fail(Error(ErrorCode::internal, "variable " + std::to_string(id) + " is used before it is set"));
  return Builder::constant(0);
}

std::optional<std::int64_t> Evaluator::lane_step(const Expr& expr) const {
  if (!lanes_) return 0;
  const auto of = [&](int i) { return lane_step(*expr.args[i]); };
  switch (expr.kind) {
    case Kind::integer:
    case Kind::real:
    case Kind::block:
    case Kind::symbol:
    case Kind::scalar: return 0;
    case Kind::variable: {
      const int id = static_cast<int>(expr.integer);
      if (const auto let = lets_.find(id); let != lets_.end()) {
        if (let->second.value.type.lanes == 1) return 0;
        return expr.type == DType::index && let->second.expr ? lane_step(*let->second.expr) : std::nullopt;
      }
      return id == lanes_->variable ? 1 : 0;
    }
    default: break;
  }
  const bool all_uniform =
      std::all_of(expr.args.begin(), expr.args.end(), [&](const auto& arg) { return lane_step(*arg) == 0; });
  if (all_uniform) return 0;
  if (expr.type != DType::index) return std::nullopt;  // element types wrap
  if (expr.kind == Kind::unary && expr.op == Op::neg && of(0)) return -*of(0);
  if (expr.kind != Kind::binary || !of(0) || !of(1)) return std::nullopt;
  std::int64_t step = 0;
  if (expr.op == Op::add && !__builtin_add_overflow(*of(0), *of(1), &step)) return step;
  if (expr.op == Op::sub && !__builtin_sub_overflow(*of(0), *of(1), &step)) return step;
  if (expr.op != Op::mul) return std::nullopt;
  const bool left = expr.args[0]->kind == Kind::integer;
  if (!left && expr.args[1]->kind != Kind::integer) return std::nullopt;
  const std::int64_t factor = expr.args[left ? 0 : 1]->integer;
  return __builtin_mul_overflow(factor, *of(left ? 1 : 0), &step) ? std::nullopt : std::optional(step);
}

Value Evaluator::uniform_value(const Expr& expr) {
  const bool before = std::exchange(at_base_, true);
  const Value result = value(expr);
  at_base_ = before;
  return result;
}

Value Evaluator::index_value(const Expr& expr) {
  ++index_depth_;
  const Value result = uniform_value(expr);
  --index_depth_;
  return result;
}

Value Evaluator::value(const Expr& expr) {
  if (known_) {
    if (const auto found = known_->find(&expr); found != known_->end()) return found->second;
  }
  switch (expr.kind) {
    case Kind::integer: return Builder::constant(expr.integer, value_type(expr.type));
    case Kind::real: return Builder::real_constant(expr.real, value_type(expr.type));
    case Kind::block: return ctx_.block[static_cast<std::size_t>(expr.integer)];
    case Kind::variable: return variable(static_cast<int>(expr.integer));
    case Kind::symbol: return ctx_.symbols[static_cast<std::size_t>(expr.integer)];
    case Kind::scalar: {
      const Value raw = ir_.load(memory_type(expr.type), ctx_.tensors[expr.integer], 1, tensor_scope);
      return from_memory(ir_, index_depth_ > 0 ? once(raw) : raw, expr.type);
    }
    case Kind::tile:
    case Kind::tensor: return element(expr);
    case Kind::select: {
      const Value condition = value(*expr.args[0]), a = value(*expr.args[1]), b = value(*expr.args[2]);
      return ir_.select(condition, a, b);
    }
    case Kind::cast: return convert(ir_, value(*expr.args[0]), expr.args[0]->type, expr.type);
    case Kind::unary:
    case Kind::binary:
    case Kind::call: break;
  }
  if (expr.op == Op::bitcast) return bitcast(ir_, value(*expr.args[0]), expr.args[0]->type, expr.type);
  const bool comparison = expr.op >= Op::lt && expr.op <= Op::ne;
  if (comparison && lanes_ && !at_base_ && expr.args[0]->type == DType::index) {
    if (const Value quick = compare_indices(expr); !quick.empty()) return quick;
  }
  std::vector<Value> args;
  int lanes = 1;
  for (const auto& arg : expr.args) {
    args.push_back(value(*arg));
    lanes = std::max(lanes, args.back().type.lanes);
  }
  for (auto& arg : args) arg = ir_.splat(arg, lanes);
  auto result = operation(ir_, expr.op, expr.args[0]->type, args);
  if (result) return *result;
  fail(std::move(result).error());
  return Builder::zero(value_type(expr.type, lanes));
}

// a < b of index expressions that grow by constants: one comparison of lane numbers with a scalar, instead of 64-bit
// vectors.
Value Evaluator::compare_indices(const Expr& expr) {
  const auto a = lane_step(*expr.args[0]), b = lane_step(*expr.args[1]);
  if (!a || !b || std::abs(*a - *b) != 1) return {};
  const Value first = uniform_value(*expr.args[0]), second = uniform_value(*expr.args[1]);
  const bool rising = *a - *b == 1;
  const Value bound =
      ir_.call("llvm.ssub.sat.i64", integer(64), rising ? std::vector{second, first} : std::vector{first, second});
  const auto predicate = [&]() -> std::string {
    switch (expr.op) {  // rising: lane op bound; falling: bound op lane
      case Op::lt: return rising ? "icmp slt" : "icmp sgt";
      case Op::le: return rising ? "icmp sle" : "icmp sge";
      case Op::gt: return rising ? "icmp sgt" : "icmp slt";
      case Op::ge: return rising ? "icmp sge" : "icmp sle";
      case Op::eq: return "icmp eq";
      default: return "icmp ne";
    }
  }();
  return lanes_where(predicate, bound);
}

// Lanes whose number stands in `predicate` to a scalar bound.
Value Evaluator::lanes_where(const std::string& predicate, const Value& bound) {
  const Value low = ir_.max_signed(bound, Builder::constant(-2));
  const Value small = ir_.cast("trunc", ir_.min_signed(low, Builder::constant(lanes_->count + 1)), integer(32));
  return ir_.compare(predicate, Builder::lane_numbers(integer(32, lanes_->count)), ir_.splat(small, lanes_->count));
}

Value Evaluator::both(const Value& a, const Value& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  const int lanes = std::max(a.type.lanes, b.type.lanes);
  return ir_.op("and", ir_.splat(a, lanes), ir_.splat(b, lanes));
}

// A loaded value that decides about addresses passes through memory that only this thread sees, volatile: the optimizer
// cannot load it a second time, after somebody else changed it.
Value Evaluator::once(const Value& value) {
  ir_.line("  store volatile " + value.typed() + ", " + ctx_.index_slot.typed() + ", align 64");
  return ir_.instruction(value.type,
                         "load volatile " + text(value.type) + ", " + ctx_.index_slot.typed() + ", align 64");
}

Value Evaluator::address(const Memory& memory, const std::vector<Value>& indices) {
  int lanes = 1;
  for (const Value& index : indices) lanes = std::max(lanes, index.type.lanes);
  Value uniform = Builder::constant(0), varying;
  for (int axis = 0; axis < memory.rank(); ++axis) {
    const Value& stride = memory.stride_bytes[axis];
    const Value& index = indices[axis];
    if (index.type.lanes == 1) {
      uniform = ir_.add(uniform, ir_.mul(index, stride));
    } else {
      const Value part = ir_.mul(index, ir_.splat(stride, lanes));
      varying = varying.empty() ? part : ir_.add(varying, part);
    }
  }
  return varying.empty() ? uniform : ir_.add(varying, ir_.splat(uniform, lanes));
}

// Each index was evaluated once; what is checked here is what addresses are made of.
void Evaluator::check(const Memory& memory, const std::vector<Value>& indices, const std::vector<ExprPtr>& exprs,
                      Access& access) {
  for (int axis = 0; axis < memory.rank(); ++axis) {
    const Value& index = indices[axis];
    const Value& extent = memory.extents[axis];
    const std::int64_t step = access.form == Access::Form::contiguous ? *lane_step(*exprs[axis]) : 0;
    const bool same_in_all_lanes = step == 0 && index.type.lanes == 1;
    if (same_in_all_lanes && index.known && extent.known && *index.known >= 0 && *index.known < *extent.known) continue;
    if (step == 1) {
      const Value after = ir_.call("llvm.ssub.sat.i64", integer(64), {extent, index});
      const Value before = ir_.call("llvm.ssub.sat.i64", integer(64), {Builder::constant(0), index});
      access.lane_inside = both(access.lane_inside, lanes_where("icmp slt", after));
      access.lane_inside = both(access.lane_inside, lanes_where("icmp sge", before));
      continue;
    }
    Value all = index;
    if (step != 0) {
      const Type type = integer(64, lanes_->count);
      all = ir_.add(ir_.splat(index, type.lanes), ir_.mul(Builder::lane_numbers(type), Builder::constant(step, type)));
    }
    // As unsigned numbers: negative ones are large.
    const Value limit = extent.known ? Builder::constant(*extent.known, all.type) : ir_.splat(extent, all.type.lanes);
    const Value inside = ir_.compare("icmp ult", all, limit);
    Value& result = all.type.lanes == 1 ? access.scalar_inside : access.lane_inside;
    result = both(result, inside);
  }
}

Evaluator::Access Evaluator::access(const Memory& memory, const std::vector<ExprPtr>& indices, bool checked) {
  Access result;
  result.once = index_depth_ > 0;
  bool affine = true, uniform = true;
  std::int64_t bytes = 0;
  for (int axis = 0; axis < memory.rank(); ++axis) {
    const auto step = at_base_ ? std::optional<std::int64_t>(0) : lane_step(*indices[axis]);
    affine = affine && step.has_value();
    uniform = uniform && step == 0;
    std::int64_t more = 0;
    const auto& stride = memory.stride_bytes[axis].known;
    if (step != 0 && (!step || !stride || __builtin_mul_overflow(*step, *stride, &more))) affine = false;
    bytes += more;
  }
  if (!uniform) {
    result.form = affine && bytes == dtype_bytes(memory.dtype) ? Access::Form::contiguous : Access::Form::scattered;
  }
  ++index_depth_;
  std::vector<Value> values;
  for (const auto& index : indices) {
    values.push_back(result.form == Access::Form::scattered ? value(*index) : uniform_value(*index));
  }
  --index_depth_;
  if (checked) check(memory, values, indices, result);
  result.offset = address(memory, values);
  if (result.form == Access::Form::scattered) result.offset = ir_.splat(result.offset, lanes_->count);
  return result;
}

Value Evaluator::load_uniform(const Memory& memory, const Access& access) {
  const Type type = memory_type(memory.dtype);
  Value at = ir_.offset(memory.base, access.offset);
  if (!access.scalar_inside.empty()) {  // outside: the zero beside the code
    at = ir_.instruction(pointer(), "select " + access.scalar_inside.typed() + ", " + at.typed() + ", ptr @kiln_zero");
    return ir_.load(type, at, memory.align);
  }
  return ir_.load(type, at, memory.align, memory.scope);
}

Value Evaluator::load(const Memory& memory, const Access& access) {
  if (access.form == Access::Form::uniform) return load_uniform(memory, access);
  const Type type = memory_type(memory.dtype, lanes_->count);
  Value mask = both(both(lanes_->mask, access.lane_inside), access.scalar_inside);
  const Value at = ir_.offset(memory.base, access.offset);
  if (access.form == Access::Form::contiguous) {
    if (mask.empty()) return ir_.load(type, at, memory.align, memory.scope);
    return ir_.load_masked(type, at, memory.align, ir_.splat(mask, lanes_->count), Builder::zero(type));
  }
  if (mask.empty()) mask = Builder::truth(true);
  return ir_.gather(type, at, memory.align, ir_.splat(mask, lanes_->count), Builder::zero(type));
}

Value Evaluator::element(const Expr& expr) {
  const int id = static_cast<int>(expr.integer);
  const Memory memory = expr.kind == Kind::tile ? storage_memory(ctx_, id) : tensor_memory(ctx_, id);
  const bool checked = !checked_ || checked_->contains(&expr);
  const Access where = access(memory, expr.args, checked);
  Value raw = load(memory, where);
  if (where.once && expr.kind == Kind::tensor) raw = once(raw);
  return convert(ir_, from_memory(ir_, raw, memory.dtype), memory.dtype, expr.type);
}

void Evaluator::let(int variable, const ExprPtr& expr) {
  // An integer may become an index later.
  const bool may_index = is_integer(expr->type) || expr->type == DType::boolean;
  index_depth_ += may_index ? 1 : 0;
  const Value result = value(*expr);
  index_depth_ -= may_index ? 1 : 0;
  lets_[variable] = {expr, result};
}

// Skipped where no lane sets anything: what is the same in all lanes may then be proved from the condition.
void Evaluator::store(const bound::MapItem& item, bool checked) {
  if (!item.where) return set(item, checked);
  const Value where = value(*item.where);
  if (where.type.lanes == 1) return ir_.branch(where, [&] { set(item, checked); });
  Lanes masked = *lanes_;
  masked.mask = both(lanes_->mask, where);
  masked.conditional = true;
  const Value any = ir_.call("llvm.vector.reduce.or." + mangled(masked.mask.type), integer(1), {masked.mask});
  ir_.branch(any, [&] {
    const Lanes* outer = std::exchange(lanes_, &masked);
    set(item, checked);
    lanes_ = outer;
  });
}

void Evaluator::set(const bound::MapItem& item, bool checked) {
  const Memory memory = item.tensor ? tensor_memory(ctx_, item.target) : storage_memory(ctx_, item.target);
  Access where = access(memory, item.indices, checked);
  if (where.form == Access::Form::uniform && lanes_->conditional) {  // by the lane that is active
    where.form = Access::Form::scattered;
    where.offset = ir_.splat(where.offset, lanes_->count);
  }
  Value result = value(*item.value);
  if (where.form == Access::Form::uniform)
    result = ir_.extract(result, 0);
  else
    result = ir_.splat(result, lanes_->count);
  result = to_memory(ir_, convert(ir_, result, item.value->type, memory.dtype), memory.dtype);
  const Value at = ir_.offset(memory.base, where.offset);
  if (where.form == Access::Form::uniform) {
    const auto write = [&] { ir_.store(result, at, memory.align, memory.scope); };
    if (where.scalar_inside.empty())
      write();
    else
      ir_.branch(where.scalar_inside, write);
    return;
  }
  Value mask = both(both(lanes_->mask, where.lane_inside), where.scalar_inside);
  if (where.form == Access::Form::contiguous && mask.empty()) return ir_.store(result, at, memory.align, memory.scope);
  if (mask.empty()) mask = Builder::truth(true);
  mask = ir_.splat(mask, lanes_->count);
  if (where.form == Access::Form::contiguous)
    ir_.store_masked(result, at, memory.align, mask);
  else
    ir_.scatter(result, at, memory.align, mask);
}

}  // namespace kiln::emit::llvm_text
