// Expressions of kernel programs as HIP C++ text. Index arithmetic is printed in 32 bits where ranges prove that it
// fits.
#include "engine/emit/hip_context.hpp"
#include "engine/ir/bound/symbols.hpp"

namespace kiln::emit::hip {
namespace {


Text index_text(std::string text, bool wide) { return {std::move(text), wide}; }

class Renderer {
 public:
  Renderer(Context& context, const MapPoint* point, bool once) : context_(context), point_(point), once_(once) {}

  Result<Text> render(const Expr& expr) {
    switch (expr.kind) {
      case Expr::Kind::integer: return constant(expr);
      case Expr::Kind::real: return Text{literal(expr.type, 0, expr.real)};
      case Expr::Kind::block: return Text{std::string("b") + "xyz"[expr.integer % 3], false};
      case Expr::Kind::variable: return variable(expr);
      case Expr::Kind::scalar: return scalar(expr);
      case Expr::Kind::symbol: return Text{"s" + std::to_string(expr.integer), false};
      case Expr::Kind::unary: case Expr::Kind::binary: case Expr::Kind::call: return operation_of(expr);
      case Expr::Kind::select: return select(expr);
      case Expr::Kind::cast: return cast(expr);
      case Expr::Kind::tile: return tile(expr);
      case Expr::Kind::tensor: return tensor(expr);
    }
    return Error(ErrorCode::internal, "expression of unknown kind");
  }

 private:
  bool wide(const Expr& expr) const { return expr.type == DType::index && !fits_i32(context_.range(expr)); }

  Result<Text> constant(const Expr& expr) {
    if (expr.type != DType::index) return Text{literal(expr.type, expr.integer, static_cast<double>(expr.integer))};
    return index_text(text_of(expr.integer), expr.integer > INT32_MAX || expr.integer < INT32_MIN);
  }

  bool is_lane_index(int id) const { return point_ != nullptr && point_->registers.contains(id); }
  // Requires: is_lane_index(id).
  Text lane_index(int id) {
    const std::int64_t first = point_->registers.at(id);
    const std::string& lane = point_->lane_names.at(id);
    if (lane == "0u") return index_text(text_of(first), false);
    return index_text(cast_to("i32", first == 0 ? lane : lane + " + " + unsigned_text(first)), false);
  }

  Result<Text> variable(const Expr& expr) {
    const int id = static_cast<int>(expr.integer);
    if (is_lane_index(id)) return lane_index(id);
    const std::string name = "v" + std::to_string(id);
    const auto declared = context_.ranges.variables.find(id);
    const bool known = declared != context_.ranges.variables.end();
    const bool is_i32 = known && fits_i32(declared->second), needs_i64 = wide(expr);
    // Under a condition fewer bits may do than the variable has.
    return Text{expr.type == DType::index && !is_i32 && !needs_i64 ? cast_to("i32", name) : name, needs_i64};
  }

  Result<Text> scalar(const Expr& expr) {
    const auto& tensor = context_.program.tensors[expr.integer];
    const std::string name = "p" + std::to_string(expr.integer);
    return Text{tensor.dtype == DType::boolean ? "(" + name + " != 0)" : name, tensor.dtype == DType::index};
  }

  Result<Text> select(const Expr& expr) {
    KILN_TRY(const Text condition, render(*expr.args[0]));
    KILN_TRY(Text yes, render(*expr.args[1]));
    KILN_TRY(Text no, render(*expr.args[2]));
    const bool is_wide = expr.type == DType::index && (yes.wide || no.wide);
    if (is_wide) {
      yes.text = as_i64(yes);
      no.text = as_i64(no);
    }
    if (expr.type == DType::index)
      return Text{"(" + condition.text + " ? " + yes.text + " : " + no.text + ")", is_wide};
    return Text{"pick<" + type_name(expr.type) + ">(" + condition.text + ", " + yes.text + ", " + no.text + ")",
                is_wide};
  }

  Result<Text> cast(const Expr& expr) {
    const Expr& from = *expr.args[0];
    KILN_TRY(const Text value, render(from));
    if (from.type == expr.type) return value;
    if (expr.type != DType::index) return Text{converted(value.text, from.type, expr.type)};
    const bool narrow = is_integer(from.type) && (dtype_bits(from.type) < 32 || from.type == DType::i32);
    if (narrow || from.type == DType::boolean) return index_text(cast_to("i32", value.text), false);
    return index_text(converted(value.text, from.type, DType::i64), true);
  }

  Result<Text> operation_of(const Expr& expr) {
    const DType operand = expr.args[0]->type;
    if (operand == DType::index && expr.op != Op::bitcast) return index_operation(expr);
    std::vector<std::string> args;
    for (const auto& arg : expr.args) {
      KILN_TRY(Text value, render(*arg));
      args.push_back(std::move(value.text));
    }
    if (expr.op == Op::bitcast) return bitcast(expr, args[0]);
    KILN_TRY(std::string text, operation(expr.op, operand, args));
    return Text{std::move(text)};
  }

  Result<Text> bitcast(const Expr& expr, const std::string& value) {
    const DType from = expr.args[0]->type;
    if (from == expr.type) return Text{value};
    std::string text = from == DType::boolean ? cast_to("u8", value)
                       : from == DType::index ? cast_to("i64", value)
                                              : value;
    // clang 19 takes the bits of a vector's first element for those of any: a value of its own is no element.
    if (expr.args[0]->kind == Expr::Kind::tile) text = cast_to(element_type(from), text);
    text = "__builtin_bit_cast(" + element_type(expr.type) + ", " + text + ")";
    return Text{expr.type == DType::boolean ? "(" + text + " != 0)" : text, expr.type == DType::index};
  }

  // Operands in the width that they and the result need.
  Result<Text> index_operation(const Expr& expr) {
    std::vector<Text> args;
    for (const auto& arg : expr.args) {
      KILN_TRY(Text value, render(*arg));
      args.push_back(std::move(value));
    }
    const bool truth = expr.type == DType::boolean;
    bool in_64 = !truth && wide(expr);
    for (const auto& arg : args) in_64 = in_64 || arg.wide;
    if (expr.op == Op::popcount || expr.op == Op::clz || expr.op == Op::mulhi || expr.op == Op::shl ||
        expr.op == Op::shr)
      in_64 = true;
    if (truth && in_64) {
      KILN_TRY(const std::string quick, lane_comparison(expr));
      if (!quick.empty()) return Text{quick};
    }
    std::vector<std::string> texts;
    for (const auto& arg : args) texts.push_back(in_64 ? as_i64(arg) : arg.text);
    KILN_TRY(std::string text, index_text_of(expr, texts, in_64));
    if (truth) return Text{std::move(text)};
    if (in_64 && !wide(expr)) return index_text(cast_to("i32", text), false);
    return index_text(std::move(text), in_64);
  }

  // A sum of index expressions in two parts: what differs from lane to lane, and what all lanes share.
  struct Parts {
    std::vector<std::pair<std::int64_t, int>> lane;    // factor, index variable of the map
    ExprPtr shared = bound::make_integer(0);
  };
  bool is_shared(const Expr& expr) const {
    if (expr.kind == Expr::Kind::tile || expr.kind == Expr::Kind::tensor) return false;
    const int id = static_cast<int>(expr.integer);
    if (expr.kind == Expr::Kind::variable && (point_->registers.contains(id) || point_->lets.contains(id))) return false;
    return std::all_of(expr.args.begin(), expr.args.end(), [&](const auto& arg) { return is_shared(*arg); });
  }
  bool split(const ExprPtr& expr, std::int64_t sign, Parts& parts) const {
    if (expr->kind == Expr::Kind::variable && point_->registers.contains(static_cast<int>(expr->integer))) {
      parts.lane.emplace_back(sign, static_cast<int>(expr->integer));
      return true;
    }
    if (expr->kind == Expr::Kind::binary && (expr->op == Op::add || expr->op == Op::sub))
      return split(expr->args[0], sign, parts) && split(expr->args[1], expr->op == Op::add ? sign : -sign, parts);
    if (!is_shared(*expr)) return false;
    parts.shared = bound::make_binary(sign > 0 ? Op::add : Op::sub, parts.shared, expr);
    return true;
  }
  // n + j < S of 64 bits as j < S - n with the right side clamped to 32: computed once for all lanes. "" for others.
  Result<std::string> lane_comparison(const Expr& expr) {
    Parts parts;
    if (point_ == nullptr || !split(expr.args[0], 1, parts) || !split(expr.args[1], -1, parts) || parts.lane.empty())
      return std::string();
    std::string lane;
    std::int64_t reach = 0;  // of the lanes' part, either way
    for (const auto& [sign, id] : parts.lane) {
      reach += context_.ranges.variables.at(id).hi;
      const Text text = lane_index(id);
      lane += (lane.empty() ? (sign < 0 ? "-" : "") : sign < 0 ? " - " : " + ") + text.text;
    }
    if (reach >= INT32_MAX) return std::string();
    const auto negated = bound::make_binary(Op::sub, bound::make_integer(0), parts.shared);
    if (!context_.range(*negated)) return std::string();  // beyond 64 bits, for all that is known
    KILN_TRY(const Text other, render(*negated));
    const std::string right = other.wide ? "nearest_i32(" + other.text + ")" : other.text;
    return operation(expr.op, DType::i32, {"(" + lane + ")", right});
  }

  Result<std::string> index_text_of(const Expr& expr, const std::vector<std::string>& a, bool in_64) {
    const std::string type = in_64 ? "i64" : "i32";
    switch (expr.op) {
      case Op::add: return "(" + a[0] + " + " + a[1] + ")";
      case Op::sub: return "(" + a[0] + " - " + a[1] + ")";
      case Op::mul: return "(" + a[0] + " * " + a[1] + ")";
      case Op::neg: return "(-" + a[0] + ")";
      case Op::bit_not: return "(~" + a[0] + ")";
      case Op::bit_and: return "(" + a[0] + " & " + a[1] + ")";
      case Op::bit_or: return "(" + a[0] + " | " + a[1] + ")";
      case Op::bit_xor: return "(" + a[0] + " ^ " + a[1] + ")";
      case Op::floordiv: case Op::mod: case Op::ceildiv: return division(expr, a, type);
      default: return operation(expr.op, in_64 ? DType::i64 : DType::i32, a);
    }
  }

  // Division of what is never negative by a positive constant is unsigned division.
  std::string division(const Expr& expr, const std::vector<std::string>& a, const std::string& type) {
    const auto range = context_.range(*expr.args[0]);
    const Expr& divisor = *expr.args[1];
    const bool easy = range && range->lo >= 0 && divisor.kind == Expr::Kind::integer && divisor.integer > 0 &&
                      divisor.integer <= INT32_MAX && range->hi < (std::int64_t(1) << 62) - divisor.integer;
    const std::string unsigned_type = type == "i64" ? "u64" : "u32";
    if (!easy) {
      const char* name = expr.op == Op::mod        ? "floor_modulo<"
                         : expr.op == Op::floordiv ? "floor_divide<"
                                                   : "ceil_divide<";
      return name + type + ">(" + a[0] + ", " + a[1] + ")";
    }
    const std::string by = std::to_string(divisor.integer) + "u";
    const std::string value = cast_to(unsigned_type, a[0]);
    if (expr.op == Op::mod) return cast_to(type, value + " % " + by);
    if (expr.op == Op::floordiv) return cast_to(type, value + " / " + by);
    return cast_to(type, "(" + value + " + " + std::to_string(divisor.integer - 1) + "u) / " + by);
  }

  Result<Text> tile(const Expr& expr) {
    const int id = static_cast<int>(expr.integer);
    const kernel::Storage& storage = context_.storage(id);
    if (storage.kind == kernel::Storage::Kind::regs) {
      KILN_TRY(const int reg, register_at(storage, expr.args));
      return Text{register_value(storage, id, reg)};
    }
    KILN_TRY(const ElementPlace place, lds_place(context_, id, expr.args, point_));
    const std::string name = context_.fresh("x"), type = element_type(storage.dtype);
    const std::string load = "load_lds<" + type + ">(lds, " +
                             (place.mask.empty() ? place.offset : place.mask + " ? " + place.offset + " : 0u") + ")";
    context_.line("const " + type + " " + name + " = " +
                  (place.mask.empty() ? load : place.mask + " ? " + load + " : " + type + "(0)") + ";");
    return Text{storage.dtype == DType::boolean ? "(" + name + " != 0)" : name};
  }

  Result<Text> tensor(const Expr& expr) {
    const int id = static_cast<int>(expr.integer);
    const bound::Tensor& tensor = context_.program.tensors[id];
    const std::string type = element_type(tensor.dtype), name = context_.fresh("x"), base = "p" + std::to_string(id);
    if (most_of(context_, bound::elements_span(tensor)) == 0) return Text{literal(tensor.dtype, 0, 0)};
    KILN_TRY(const ElementPlace place, tensor_place(context_, tensor, expr.args, point_));
    const std::string at = place.mask.empty() ? place.offset : "(" + place.mask + " ? " + place.offset + " : 0)";
    const std::string bytes = std::to_string(dtype_bytes(tensor.dtype));
    const std::string load = once_ ? "load_once<" + type + ">(" + base + ", " + at + ")"
                                   : "load_global<" + type + ", " + bytes + ">(" + base + ", 0, " + at + ")";
    context_.line("const " + type + " " + name + " = " +
                  (place.mask.empty() ? load : place.mask + " ? " + load + " : " + type + "(0)") + ";");
    return Text{tensor.dtype == DType::boolean ? "(" + name + " != 0)" : name};
  }

 public:
  Result<int> register_at(const kernel::Storage& storage, const std::vector<ExprPtr>& indices) {
    layout::Coordinate coordinate;
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      const auto value = storage.shape[axis] == 1
                             ? std::optional<std::int64_t>(0)
                             : kernel::evaluate(*indices[axis], point_ ? point_->registers : kernel::Known{});
      if (!value)
        return Error(ErrorCode::unsupported,
                     "element of register array " + storage.name + " at an index known at run time only");
      coordinate.push_back(*value);
    }
    const auto reg = storage.reg_layout.register_of(coordinate);
    if (!reg)
      return Error(ErrorCode::unsupported, "element of register array " + storage.name + " that lives in other lanes");
    return *reg;
  }

 private:
  Context& context_;
  const MapPoint* point_;
  bool once_;
};

}  // namespace

std::int64_t most_of(const Context& context, const bound::Extent& extent) {
  const auto range = bound::range_of(extent, context.program.symbols);
  return range ? range->hi : INT64_MAX;
}

Result<std::string> size_text(Context& context, const bound::Extent& extent, std::int64_t factor, bool wide) {
  if (extent.is_static()) return wide ? text_of(extent.value() * factor) : unsigned_text(extent.value() * factor);
  const auto value = bound::make_binary(Op::mul, extent.expr(), bound::make_integer(factor));
  KILN_TRY(const Text text, render(context, *value, nullptr));
  return context.hoisted("n", wide ? "i64" : "u32", wide ? as_i64(text) : cast_to("u32", text.text));
}

std::string as_i64(const Text& text) { return text.wide ? text.text : cast_to("i64", text.text); }

Result<Text> render(Context& context, const Expr& expr, const MapPoint* point, bool once) {
  return Renderer(context, point, once).render(expr);
}

Result<int> register_of_element(Context& context, const kernel::Storage& storage, const std::vector<ExprPtr>& indices,
                                const MapPoint* point) {
  return Renderer(context, point, false).register_at(storage, indices);
}

namespace {

// Index variables that hold the place; those that may leave 0 … extent - 1 are masked.
struct Indices { std::vector<Text> texts; std::string mask; };
Result<Indices> bounded_indices(Context& context, const std::vector<ExprPtr>& indices,
                                const bound::Extents& shape, const MapPoint* point) {
  Indices result;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    KILN_TRY(Text text, render(context, *indices[axis], point, true));
    const auto range = context.range(*indices[axis]);
    const auto extent = bound::range_of(shape[axis], context.program.symbols);
    if (!range || !extent || range->lo < 0 || range->hi >= extent->lo) {
      const std::string name = context.fresh("i");
      context.line(std::string("const ") + (text.wide ? "i64 " : "i32 ") + name + " = " + text.text + ";");
      text.text = name;
      const std::string type = text.wide ? "u64" : "u32";
      std::string limit;
      if (shape[axis].is_static()) {
        limit = text.wide ? std::to_string(shape[axis].value()) + "ul" : unsigned_text(shape[axis].value());
      } else {
        KILN_TRY(const std::string size, size_text(context, shape[axis], 1, text.wide));
        limit = text.wide ? cast_to("u64", size) : size;
      }
      const std::string test = cast_to(type, name) + " < " + limit;
      result.mask += (result.mask.empty() ? "" : " && ") + test;
    }
    result.texts.push_back(std::move(text));
  }
  if (!result.mask.empty()) {
    const std::string name = context.fresh("m");
    context.line("const bool " + name + " = " + result.mask + ";");
    result.mask = name;
  }
  return result;
}

}  // namespace

Result<ElementPlace> tensor_place(Context& context, const bound::Tensor& tensor, const std::vector<ExprPtr>& indices,
                                  const MapPoint* point) {
  KILN_TRY(const Indices at, bounded_indices(context, indices, tensor.shape, point));
  const int bytes = dtype_bytes(tensor.dtype);
  const bool narrow = most_of(context, bound::elements_span(tensor)) <= INT32_MAX / bytes;
  std::string offset;
  for (std::size_t axis = 0; axis < at.texts.size(); ++axis) {
    KILN_TRY(const std::string weight, size_text(context, tensor.strides[axis], bytes, !narrow));
    const std::string term = narrow ? cast_to("u32", at.texts[axis].text) + " * " + weight
                                    : as_i64(at.texts[axis]) + " * " + weight;
    offset += (offset.empty() ? "" : " + ") + term;
  }
  if (offset.empty()) offset = "0u";
  return ElementPlace{at.mask, "(" + offset + ")"};
}

Result<ElementPlace> lds_place(Context& context, int storage, const std::vector<ExprPtr>& indices,
                               const MapPoint* point) {
  const auto shape = bound::extents_of(context.storage(storage).shape);
  KILN_TRY(const Indices at, bounded_indices(context, indices, shape, point));
  std::vector<std::string> coordinate;
  for (const auto& text : at.texts) coordinate.push_back(cast_to("u32", text.text));
  return ElementPlace{at.mask, lds_address_of(context, storage, coordinate)};
}

}  // namespace kiln::emit::hip
