#include "engine/specialize/expression_binder.hpp"

#include <cmath>

#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/bound/symbols.hpp"

namespace kiln::specialize {

using bound::ExprPtr;
using Kind = tile::Expr::Kind;

bool BindContext::spend(std::int64_t units) {
  if (stopped) return false;
  if (auto status = budget.spend(units); !status) stopped = status.error();
  return !stopped;
}

int BindContext::use_tile(int index) {
  TileState& state = tiles[static_cast<std::size_t>(index)];
  if (state.id < 0 && !findings.in_dead_code()) {
    state.id = static_cast<int>(launch.tiles.size());
    launch.tiles.push_back(state.tile);
  }
  return state.id;
}

int BindContext::new_variable(const std::string& name, DType type) {
  launch.variables.push_back({name, type});
  return static_cast<int>(launch.variables.size()) - 1;
}

std::string type_words(const Value& value) {
  switch (value.kind) {
    case Value::Kind::mistake: return "a mistake";
    case Value::Kind::type: return std::string("the type ") + dtype_name(value.dtype);
    case Value::Kind::word: return "the word " + value.text;
    case Value::Kind::typed: break;
  }
  if (value.literal) return value.type() == DType::index ? "an integer literal" : "a real literal";
  return value.type() == DType::index ? "an index" : dtype_name(value.type());
}

bool leaves(const Value& index, const Range& extent, bool certain) {
  if (index.range.hi < 0 || index.range.lo >= extent.hi) return true;
  return certain && index.exact && (index.range.lo < 0 || index.range.hi >= extent.hi);
}

Range range_of(const BindContext& context, const bound::Extent& extent) {
  return bound::range_of(extent, context.symbols).value_or(Range{});
}

std::string range_words(const Range& range) {
  return range.single() ? std::to_string(range.lo) : std::to_string(range.lo) + " to " + std::to_string(range.hi);
}

Value ExpressionBinder::mistake(const Expr& expr, About about, Finding finding) {
  context_.findings.add(*text_, expr, about, std::move(finding));
  return {};
}

Value ExpressionBinder::bind(const tile::Text& text, std::optional<DType> expected) {
  if (!text) return {};
  const tile::Text* before = text_;
  text_ = &text;
  Value value = bind(*text.expr, expected);
  text_ = before;
  return value;
}

Value ExpressionBinder::bind(const Expr& expr, std::optional<DType> expected) {
  if (!context_.spend()) return {};
  switch (expr.kind) {
    case Kind::integer:
    case Kind::real:
    case Kind::boolean: return leaf(expr);
    case Kind::name: return name(expr);
    case Kind::unary: return unary(expr, expected);
    case Kind::binary: return binary(expr, expected);
    case Kind::select: return select(expr, expected);
    case Kind::call: return expr.op == Op::bitcast ? bitcast(expr) : call(expr, expected);
    case Kind::cast: return cast(expr);
    case Kind::element: return element(expr);
  }
  return {};
}

Value ExpressionBinder::leaf(const Expr& expr) {
  if (expr.kind == Kind::boolean) return boolean_value(expr.integer != 0);
  Value value =
      expr.kind == Kind::integer ? integer_value(expr.integer) : typed_value(bound::make_real(expr.real, DType::f64));
  value.literal = true;
  return value;
}

Value ExpressionBinder::name(const Expr& expr) {
  if (const Named* found = context_.names.find(expr.text)) return named(expr, *found);
  if (const auto type = dtype_from_name(expr.text)) return type_value(*type);
  return built_in_name(expr);
}

Value ExpressionBinder::built_in_name(const Expr& expr) {
  const auto& target = context_.target;
  if (expr.text == "target.wave") return integer_value(target.wave);
  if (expr.text == "target.lds_bytes") return integer_value(target.lds_bytes);
  if (expr.text == "target.threads_max") return integer_value(target.threads_max);
  if (expr.text == "target.is_host") return boolean_value(target.is_host());
  for (int axis = 0; axis < 3; ++axis) {
    if (expr.text != std::string("bid.") + "xyz"[axis]) continue;
    if (context_.grid[axis].single()) return integer_value(context_.grid[axis].lo);
    bound::Expr block;
    block.kind = bound::Expr::Kind::block;
    block.integer = axis;
    return typed_value(std::make_shared<const bound::Expr>(std::move(block)), context_.grid[axis]);
  }
  return mistake(expr, About::structure, {"nothing is called '" + expr.text + "'"});
}

Value ExpressionBinder::named(const Expr& expr, const Named& named) {
  if (named.kind == Named::Kind::value) return named.value;
  if (named.kind == Named::Kind::absent)
    return mistake(expr, About::structure,
                   {"'" + expr.text + "' does not exist with these options: its 'when' is false", "", "",
                    "use it only under the same condition"});
  if (named.kind == Named::Kind::unset)
    return mistake(expr, About::structure,
                   {"the dynamic symbol '" + expr.text + "' has no value, and compiling needs one here",
                    "a value", "nothing", "set " + expr.text + "=…, or set the tunable whose default needs it"});
  return mistake(expr, About::structure,
                 {"'" + expr.text + "' is not a value", "an element, such as " + expr.text + "[i]"});
}

Value ExpressionBinder::element(const Expr& expr) {
  const Named* found = context_.names.find(expr.text);
  if (!found) return mistake(expr, About::structure, {"nothing is called '" + expr.text + "'"});
  if (found->kind != Named::Kind::tile && found->kind != Named::Kind::tensor) {
    if (found->kind != Named::Kind::value) return named(expr, *found);
    return found->value ? mistake(expr, About::structure, {"'" + expr.text + "' has no elements"}) : Value{};
  }
  bound::Expr node;
  if (found->kind == Named::Kind::tile) {
    TileState& state = context_.tiles[static_cast<std::size_t>(found->id)];
    node.kind = bound::Expr::Kind::tile;
    node.type = state.tile.dtype;
    if (!element_indices(expr, bound::extents_of(state.tile.shape), node) || state.failed) return {};
    node.integer = context_.use_tile(found->id);
  } else {
    const bound::Tensor& tensor = context_.tensors[static_cast<std::size_t>(found->id)];
    node.kind = bound::Expr::Kind::tensor;
    node.type = tensor.dtype;
    if (tensor.access == Access::write)
      return mistake(expr, About::structure,
                     {"'" + expr.text + "' may only be written", "access read or readwrite", "access write"});
    if (!element_indices(expr, tensor.shape, node)) return {};
    node.integer = found->id;
  }
  return typed_value(std::make_shared<const bound::Expr>(std::move(node)), range_of_type(node.type), true);
}

bool ExpressionBinder::element_indices(const Expr& expr, const bound::Extents& shape, bound::Expr& node) {
  bool good = true;
  for (std::size_t axis = 0; axis < expr.args.size(); ++axis) {
    const Expr& arg = *expr.args[axis];
    Value index = bind(arg, DType::index);
    if (index) index = convert(arg, std::move(index), DType::index, false);
    if (!index) {
      good = false;
      continue;
    }
    const bool is_tile = node.kind == bound::Expr::Kind::tile;
    if (axis < shape.size() && leaves(index, range_of(context_, shape[axis]), is_tile && conditional_ == 0)) {
      const Range extent = range_of(context_, shape[axis]);
      mistake(arg, About::size,
              {"index out of range: axis " + std::to_string(axis) + " of '" + expr.text + "' has extent " +
                   range_words(extent),
               "0 to " + std::to_string(extent.hi - 1), range_words(index.range)});
    }
    node.args.push_back(std::move(index.expr));
  }
  return good;
}

Value ExpressionBinder::index(const tile::Text& text) {
  Value value = bind(text, DType::index);
  if (!value) return {};
  text_ = &text;
  return convert(*text.expr, std::move(value), DType::index, false);
}

std::optional<std::int64_t> ExpressionBinder::constant(const tile::Text& text, std::int64_t least, std::int64_t most,
                                                       const std::string& what) {
  const Value value = index(text);
  if (!value) return std::nullopt;
  text_ = &text;
  if (!value.constant()) {
    not_known(text, what, "a compile-time integer");
    return std::nullopt;
  }
  const std::int64_t number = value.expr->integer;
  if (number >= least && number <= most) return number;
  mistake(*text.expr, About::size,
          {what + " is out of range", std::to_string(least) + " to " + std::to_string(most), std::to_string(number)});
  return std::nullopt;
}

std::optional<bound::Extent> ExpressionBinder::extent(const tile::Text& text, std::int64_t least, std::int64_t most,
                                                       const std::string& what) {
  const Value value = index(text);
  if (!value) return std::nullopt;
  if (value.constant()) return constant(text, least, most, what);
  text_ = &text;
  if (!bound::range_of(*value.expr, context_.symbols)) {
    mistake(*text.expr, About::structure,
            {what + " is known when the kernel is launched", "index arithmetic over symbols"});
    return std::nullopt;
  }
  if (value.range.lo >= least && value.range.hi <= most) return bound::Extent(value.expr);
  mistake(*text.expr, About::structure,
          {what + " is out of range for some values of the dynamic symbols",
           std::to_string(least) + " to " + std::to_string(most), range_words(value.range),
           "promise what the symbols are: \"min\", \"max\""});
  return std::nullopt;
}

// A value that must be known now is not: because of a dynamic symbol, or of what only a block knows.
void ExpressionBinder::not_known(const tile::Text& text, const std::string& what, std::string expected) {
  std::string dynamic;
  const auto look = [&](const auto& self, const Expr& expr) -> void {
    const Named* found = expr.kind == Kind::name ? context_.names.find(expr.text) : nullptr;
    if (found && found->kind == Named::Kind::value && found->value.is_typed() &&
        found->value.expr->kind == bound::Expr::Kind::symbol)
      dynamic = expr.text;
    for (const auto& arg : expr.args) self(self, *arg);
  };
  look(look, *text.expr);
  std::string hint;
  if (!dynamic.empty())
    hint = "'" + dynamic + "' is dynamic: use a tunable, whose default may depend on it, or make it static";
  mistake(*text.expr, About::structure,
          {what + " is known when the kernel is compiled", std::move(expected), "", std::move(hint)});
}

Value ExpressionBinder::runtime_condition(const tile::Text& text) {
  Value value = bind(text, DType::boolean);
  if (!value) return {};
  if (value.is_typed() && value.type() == DType::boolean) return value;
  text_ = &text;
  return mistake(
      *text.expr, About::structure,
      {"a condition is a boolean", "a comparison, an option of type boolean, true or false", type_words(value)});
}

std::optional<bool> ExpressionBinder::condition(const tile::Text& text) {
  const Value value = runtime_condition(text);
  if (!value) return std::nullopt;
  if (value.constant()) return value.expr->integer != 0;
  text_ = &text;
  not_known(text, "the condition", "a compile-time boolean");
  return std::nullopt;
}

std::optional<DType> ExpressionBinder::element_type(const tile::Text& text) {
  const Value value = bind(text);
  if (!value) return std::nullopt;
  text_ = &text;
  if (value.kind != Value::Kind::type) {
    mistake(*text.expr, About::structure,
            {"a type is needed", "a type's name such as f16, or an option of type dtype", type_words(value)});
    return std::nullopt;
  }
  if (is_supported(value.dtype)) return value.dtype;
  mistake(*text.expr, About::structure,
          {std::string("not yet: the type ") + dtype_name(value.dtype) +
               " is part of the design, and this version does not know its elements",
           "f64 f32 f16 bf16 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz i64 i32 i16 i8 u64 u32 u16 u8 bool",
           dtype_name(value.dtype)});
  return std::nullopt;
}

bound::ExprPtr ExpressionBinder::value_of_type(const tile::Text& text, DType type) {
  Value value = bind(text, type);
  if (!value) return nullptr;
  text_ = &text;
  return convert(*text.expr, std::move(value), type, false).expr;
}

}  // namespace kiln::specialize
