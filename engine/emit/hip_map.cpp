// Fill and map: every lane does its registers, one after the other.
#include <set>

#include "engine/emit/hip_context.hpp"
#include "engine/ir/bound/symbols.hpp"

namespace kiln::emit::hip {
namespace {

Status print_fill_lds(Context& context, int id, const std::string& value) {
  const kernel::Storage& storage = context.storage(id);
  if (context.launch.roles.size() != 1) return Error(ErrorCode::unsupported, "fill of LDS by one of several roles");
  const std::string type = element_type(storage.dtype), name = context.fresh("i");
  const std::string bytes = std::to_string(dtype_bytes(storage.dtype));
  const std::string from = unsigned_text(storage.offset_bytes);
  context.line("#pragma clang loop unroll(disable)");
  context.line("for (u32 " + name + " = thread * " + bytes + "u; " + name + " < " +
               unsigned_text(storage.stage_bytes() * storage.stages) + "; " + name +
               " += " + std::to_string(context.launch.threads) + "u * " + bytes + "u) store_lds<" + type + ">(lds, " +
               from + " + " + name + ", " + cast_to(type, value) + ");");
  return ok();
}

const char* atomic_function(tile::AtomicOp op) {
  switch (op) {
    case tile::AtomicOp::add: return "atomic_add";
    case tile::AtomicOp::max: return "atomic_max";
    case tile::AtomicOp::min: return "atomic_min";
    case tile::AtomicOp::bit_or: return "atomic_or";
    case tile::AtomicOp::bit_and: return "atomic_and";
    case tile::AtomicOp::bit_xor: return "atomic_xor";
    case tile::AtomicOp::exchange: return "atomic_exchange";
    case tile::AtomicOp::cas: return "atomic_cas";
    case tile::AtomicOp::none: break;
  }
  return "";
}

// bf16 values are bits: what updates them is told by a name of its own.
Status print_atomic(Context& context, const bound::MapItem& item, const MapPoint& point, const std::string& value) {
  const bound::Tensor& tensor = context.program.tensors[item.target];
  const std::string type = element_type(tensor.dtype), old = "v" + std::to_string(item.old);
  const bound::Extent elements = bound::elements_span(tensor);
  if (most_of(context, elements) == 0) return ok();
  const bool half = dtype_bytes(tensor.dtype) == 2;
  const bool even = elements.is_static() && elements.value() % 2 == 0;
  if (half && (tensor.align_bytes < 4 || !even))
    return Error(ErrorCode::unsupported,
                 "not yet: an atomic on " + tensor.name + ", whose 16-bit elements do not fill words: its base must be "
                 "aligned to 4 bytes and its elements an even number");
  std::string compare;
  if (item.compare) {
    KILN_TRY(const Text text, render(context, *item.compare, &point));
    compare = ", " + cast_to(type, text.text);
  }
  KILN_TRY(const ElementPlace place, tensor_place(context, tensor, item.indices, &point));
  const std::string name = tensor.dtype == DType::bf16 ? "atomic_add_bf16"
                                                       : atomic_function(item.atomic) + ("<" + type + ">");
  const std::string guard = place.mask.empty() ? "" : "if (" + place.mask + ") ";
  context.line(guard + (item.old >= 0 ? old + " = " : "") + name + "(p" + std::to_string(item.target) + ", " +
               cast_to("i64", place.offset) + ", " + cast_to(type, value) + compare + ");");
  return ok();
}

// Lets that decide about addresses, by themselves or through others: what they load is loaded once.
void collect_once(const Expr& expr, bool decides, std::set<int>& once) {
  if (decides && expr.kind == Expr::Kind::variable) once.insert(static_cast<int>(expr.integer));
  const bool element = expr.kind == Expr::Kind::tile || expr.kind == Expr::Kind::tensor;
  for (const auto& arg : expr.args) collect_once(*arg, decides || element, once);
}
std::set<int> lets_loaded_once(const kernel::Map& map) {
  std::set<int> once;
  for (auto item = map.body.rbegin(); item != map.body.rend(); ++item) {
    for (const auto& index : item->indices) collect_once(*index, true, once);
    collect_once(*item->value, item->let >= 0 && once.contains(item->let), once);
    if (item->compare) collect_once(*item->compare, false, once);
    if (item->where) collect_once(*item->where, false, once);
  }
  return once;
}

Status print_let(Context& context, const bound::MapItem& item, const MapPoint& point, bool once) {
  KILN_TRY(const Text value, render(context, *item.value, &point, once));
  const auto range = context.range(*item.value);
  if (range) context.ranges.variables[item.let] = *range;
  context.ranges.assumptions.set_condition(item.let, *item.value);
  std::string type = type_name(item.value->type);
  if (item.value->type == DType::index && !value.wide && fits_i32(range)) type = "i32";
  context.line("const " + type + " v" + std::to_string(item.let) + " = " + value.text + ";");
  return ok();
}

Status print_set(Context& context, const bound::MapItem& item, const MapPoint& point) {
  KILN_TRY(const Text value, render(context, *item.value, &point));
  if (item.atomic != tile::AtomicOp::none) return print_atomic(context, item, point, value.text);
  if (item.tensor) {
    const bound::Tensor& tensor = context.program.tensors[item.target];
    if (most_of(context, bound::elements_span(tensor)) == 0) return ok();
    KILN_TRY(const ElementPlace place, tensor_place(context, tensor, item.indices, &point));
    const std::string type = element_type(tensor.dtype);
    context.line((place.mask.empty() ? "" : "if (" + place.mask + ") ") + "store_global<" + type + ", " +
                 std::to_string(dtype_bytes(tensor.dtype)) + ">(p" + std::to_string(item.target) + ", 0, " +
                 place.offset + ", " + cast_to(type, value.text) + ");");
    return ok();
  }
  const kernel::Storage& storage = context.storage(item.target);
  if (storage.kind == kernel::Storage::Kind::regs) {
    KILN_TRY(const int reg, register_of_element(context, storage, item.indices, &point));
    context.line(register_store(storage, item.target, reg, value.text));
    return ok();
  }
  KILN_TRY(const ElementPlace place, lds_place(context, item.target, item.indices, &point));
  const std::string type = element_type(storage.dtype);
  context.line((place.mask.empty() ? "" : "if (" + place.mask + ") ") + "store_lds<" + type + ">(lds, " + place.offset +
               ", " + cast_to(type, value.text) + ");");
  return ok();
}

// What stands behind the condition may be proved from it.
Status print_item(Context& context, const bound::MapItem& item, const MapPoint& point, bool once) {
  if (item.let >= 0) return print_let(context, item, point, once);
  if (item.old >= 0) {
    const std::string type = element_type(context.program.tensors[item.target].dtype);
    context.line(type + " v" + std::to_string(item.old) + " = " + type + "(0);");
  }
  if (!item.where) return print_set(context, item, point);
  KILN_TRY(const Text where, render(context, *item.where, &point));
  context.line("if (" + where.text + ") {");
  ++context.depth;
  const auto before = context.ranges.assumptions;
  kernel::assume(context.ranges, *item.where);
  KILN_CHECK(print_set(context, item, point));
  context.ranges.assumptions = before;
  --context.depth;
  context.line("}");
  return ok();
}

}  // namespace

Status print_fill(Context& context, const kernel::Fill& fill) {
  const kernel::Storage& storage = context.storage(fill.storage);
  std::string value = element_type(storage.dtype) + "(0)";
  bool zero = true;
  if (fill.value) {
    KILN_TRY(const Text text, render(context, *fill.value, nullptr));
    value = storage.dtype == DType::boolean ? cast_to("u8", text.text) : text.text;
    zero = (fill.value->kind == Expr::Kind::integer && fill.value->integer == 0);
  }
  if (storage.kind == kernel::Storage::Kind::lds) return print_fill_lds(context, fill.storage, value);
  const int registers = storage.reg_layout.registers(), step = storage.vector_elements;
  const bool dwords = dtype_bits(storage.dtype) == 8 && step % 4 == 0;
  if (!zero && dwords) value = "four_bytes(u8(" + value + "), u8(" + value + "), u8(" + value + "), u8(" + value + "))";
  for (int reg = 0; reg < registers; reg += step) {
    const std::string to = "r" + std::to_string(fill.storage) + "[" + std::to_string(reg / step) + "]";
    context.line(to + " = " + (step == 1 ? value : data_type(storage.dtype, step) + "(" + (zero ? "0" : value) + ")") +
                 ";");
  }
  return ok();
}

Status print_map(Context& context, const kernel::Map& map) {
  const auto saved = context.ranges;
  const auto once = lets_loaded_once(map);
  MapPoint point;
  for (const auto& item : map.body)
    if (item.let >= 0) point.lets.insert(item.let);
  for (std::size_t i = 0; i < map.index.size(); ++i) {
    std::vector<std::int64_t> weights(map.index.size(), 0);
    weights[i] = 1;
    point.lane_names[map.index[i]] = context.lane_sum(lane_part(map.iteration, weights));
    context.ranges.variables[map.index[i]] = {0, std::max<std::int64_t>(map.extent[i] - 1, 0)};
  }
  for (int reg = 0; reg < map.iteration.registers(); ++reg) {
    const auto place = map.iteration.of_register(reg);
    for (std::size_t i = 0; i < map.index.size(); ++i) point.registers[map.index[i]] = place[i];
    context.line("{");
    ++context.depth;
    for (const auto& item : map.body)
      KILN_CHECK(print_item(context, item, point, item.let >= 0 && once.contains(item.let)));
    --context.depth;
    context.line("}");
  }
  context.ranges = saved;
  return ok();
}

}  // namespace kiln::emit::hip
