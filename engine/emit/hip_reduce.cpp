// Reductions: a lane's registers first, then lanes by butterfly, then waves through LDS. f16 and bf16 are combined in
// f32.
#include "engine/emit/hip_context.hpp"

namespace kiln::emit::hip {
namespace {

using tile::ReduceOp;

DType combining_type(DType type) { return type == DType::f16 || type == DType::bf16 ? DType::f32 : type; }
bool is_maximum(ReduceOp op) { return op == ReduceOp::max || op == ReduceOp::min || op == ReduceOp::absmax; }

struct Combiner {
  ReduceOp op;
  DType type;   // that values are combined in

  Result<std::string> combined(const std::string& a, const std::string& b) const {
    switch (op) {
      case ReduceOp::sum: return operation(Op::add, type, {a, b});
      case ReduceOp::prod: return operation(Op::mul, type, {a, b});
      case ReduceOp::min: return operation(Op::min, type, {a, b});
      case ReduceOp::max: case ReduceOp::absmax: return operation(Op::max, type, {a, b});
      case ReduceOp::any: return std::string("bool(" + a + " | " + b + ")");
      case ReduceOp::all: return std::string("bool(" + a + " & " + b + ")");
      case ReduceOp::argmax: case ReduceOp::argmin: break;
    }
    return Error(ErrorCode::internal, "reduction of unknown kind");
  }
  // As a neat tree: shorter chains, and smaller rounding errors of sums.
  Result<std::string> tree(const std::vector<std::string>& values, std::size_t first, std::size_t count) const {
    if (count == 1) return values[first];
    KILN_TRY(const std::string a, tree(values, first, count / 2));
    KILN_TRY(const std::string b, tree(values, first + count / 2, count - count / 2));
    return combined(a, b);
  }
};

// `type` of `name` with the values of one lane combined.
Status print_registers(Context& context, const Combiner& combiner, const std::vector<std::string>& values,
                       const std::string& name) {
  const std::string type = type_name(combiner.type);
  const bool chain =
      is_maximum(combiner.op) && (combiner.type == DType::f32 || combiner.type == DType::f64) && values.size() > 2;
  if (!chain) {
    KILN_TRY(const std::string text, combiner.tree(values, 0, values.size()));
    context.line(type + " " + name + " = " + text + ";");
    return ok();
  }
  const std::string step = combiner.op == ReduceOp::min ? "chain_min(" : "chain_max(", nan = context.fresh("n");
  context.line(type + " " + name + " = " + values[0] + ";");
  context.line("bool " + nan + " = false;");
  for (std::size_t i = 1; i < values.size(); ++i) context.line(name + " = " + step + name + ", " + values[i] + ");");
  for (std::size_t i = 0; i < values.size(); i += 2) {
    context.line(nan + " |= chain_nan(" + values[i] + ", " + values[i + 1 < values.size() ? i + 1 : i] + ");");
  }
  context.line(name + " = chain_end(" + name + ", " + nan + ");");
  return ok();
}

Status print_lanes(Context& context, const Combiner& combiner, const kernel::Storage& from, int axis,
                   const std::string& name) {
  for (int bit = 0; bit < from.reg_layout.lane.bits(); ++bit) {
    if (from.reg_layout.lane.vectors[bit][axis] == 0) continue;
    const std::string exchange = "exchange<" + std::to_string(1 << bit) + ">(";
    const std::string other =
        combiner.type == DType::boolean ? "bool(" + exchange + "u8(" + name + "), lane))" : exchange + name + ", lane)";
    KILN_TRY(const std::string text, combiner.combined(name, other));
    context.line(name + " = " + text + ";");
  }
  return ok();
}

std::vector<std::string> values_of(const kernel::Storage& from, const kernel::Reduce& reduce,
                                   const layout::Coordinate& kept, const Combiner& combiner) {
  std::vector<std::string> values;
  for (int reg = 0; reg < from.reg_layout.registers(); ++reg) {
    auto place = from.reg_layout.of_register(reg);
    place.erase(place.begin() + reduce.axis);
    if (place != kept) continue;
    std::string value = converted(register_value(from, reduce.from, reg), from.dtype, combiner.type);
    if (reduce.op == ReduceOp::absmax) {
      if (is_float(combiner.type)) value = "absolute<" + type_name(combiner.type) + ">(" + value + ")";
      else if (is_integer(combiner.type)) value = "magnitude<" + type_name(combiner.type) + ">(" + value + ")";
    }
    if ((reduce.op == ReduceOp::any || reduce.op == ReduceOp::all) && combiner.type == DType::boolean)
      value = converted(value, combiner.type, DType::boolean);
    values.push_back(value);
  }
  return values;
}

// The layout of `to` with an axis of parts in front; with `own`, waves move along it.
layout::RegLayout scratch_layout(const layout::RegLayout& to, const kernel::ReduceParts& parts, bool own) {
  layout::RegLayout result = to;
  result.unit.insert(result.unit.begin(), parts.count());
  result.repeat.insert(result.repeat.begin(), 1);
  for (auto* basis : {&result.reg, &result.lane, &result.wave}) {
    for (auto& vector : basis->vectors) vector.insert(vector.begin(), 0);
  }
  for (std::size_t i = 0; own && i < parts.wave_bits.size(); ++i)
    result.wave.vectors[parts.wave_bits[i]][0] = std::int64_t(1) << i;
  return result;
}

Status print_waves(Context& context, const Combiner& combiner, const kernel::Reduce& reduce,
                   const kernel::ReduceParts& parts, const std::vector<std::string>& names) {
  const kernel::Storage& to = context.storage(reduce.to);
  if (reduce.scratch < 0) return Error(ErrorCode::unsupported, "a reduction across waves without scratch");
  const DType held = context.storage(reduce.scratch).dtype;
  const std::string type = element_type(held);
  const auto own = scratch_layout(to.reg_layout, parts, true), all = scratch_layout(to.reg_layout, parts, false);
  const auto place_of = [&](std::size_t reg, std::int64_t part) {
    auto place = to.reg_layout.of_register(static_cast<int>(reg));
    place.insert(place.begin(), part);
    return place;
  };
  for (std::size_t reg = 0; reg < names.size(); ++reg) {
    const std::string value = converted(names[reg], combiner.type, held);
    context.line("store_lds<" + type + ">(lds, " + lds_address(context, own, reduce.scratch, place_of(reg, 0)) + ", " +
                 cast_to(type, value) + ");");
  }
  print_barrier(context);
  for (std::size_t reg = 0; reg < names.size(); ++reg) {
    for (int part = 0; part < parts.count(); ++part) {
      const std::string load =
          "load_lds<" + type + ">(lds, " + lds_address(context, all, reduce.scratch, place_of(reg, part)) + ")";
      const std::string value = converted(held == DType::boolean ? "(" + load + " != 0)" : load, held, combiner.type);
      std::string text = value;
      if (part > 0) {
        KILN_TRY(text, combiner.combined(names[reg], value));
      }
      context.line(names[reg] + " = " + text + ";");
    }
  }
  return ok();
}

}  // namespace

Status print_reduce(Context& context, const kernel::Reduce& reduce) {
  const kernel::Storage& from = context.storage(reduce.from);
  const kernel::Storage& to = context.storage(reduce.to);
  const bool truth = reduce.op == ReduceOp::any || reduce.op == ReduceOp::all;
  const Combiner combiner{reduce.op, truth ? DType::boolean : combining_type(from.dtype)};
  const auto parts = kernel::reduce_parts(from.reg_layout, reduce.axis);
  context.line("{");
  ++context.depth;
  std::vector<std::string> names;
  for (int reg = 0; reg < to.reg_layout.registers(); ++reg) {
    const auto values = values_of(from, reduce, to.reg_layout.of_register(reg), combiner);
    if (values.empty())
      return Error(ErrorCode::unsupported, "a reduction whose result does not have its operand's layout");
    names.push_back(context.fresh("y"));
    KILN_CHECK(print_registers(context, combiner, values, names.back()));
    KILN_CHECK(print_lanes(context, combiner, from, reduce.axis, names.back()));
  }
  if (parts.count() > 1) KILN_CHECK(print_waves(context, combiner, reduce, parts, names));
  for (std::size_t reg = 0; reg < names.size(); ++reg) {
    std::string value = names[reg];
    if (reduce.accumulate) {
      const std::string old = converted(register_value(to, reduce.to, static_cast<int>(reg)), to.dtype, combiner.type);
      KILN_TRY(value, combiner.combined(old, value));
    }
    context.line(register_store(to, reduce.to, static_cast<int>(reg), converted(value, combiner.type, to.dtype)));
  }
  --context.depth;
  context.line("}");
  return ok();
}

}  // namespace kiln::emit::hip
