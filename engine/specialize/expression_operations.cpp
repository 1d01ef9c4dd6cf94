// Operations, conversions and calls of the expression binder.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/float8.hpp"
#include "engine/specialize/expression_binder.hpp"

namespace kiln::specialize {

using Kind = tile::Expr::Kind;

namespace {

bool is_comparison(Op op) { return op >= Op::lt && op <= Op::ne; }
bool is_division(Op op) { return op == Op::floordiv || op == Op::mod || op == Op::ceildiv; }

// Whether an expression is nothing but literals: such an operand is bound after the other one, which gives it its type.
bool literals_only(const tile::Expr& expr) {
  switch (expr.kind) {
    case Kind::integer:
    case Kind::real: return true;
    case Kind::unary:
    case Kind::call:
    case Kind::binary:
      return std::all_of(expr.args.begin(), expr.args.end(), [](const auto& arg) { return literals_only(*arg); });
    case Kind::select: return literals_only(*expr.args[1]) && literals_only(*expr.args[2]);
    default: return false;
  }
}

// (x + 3) - 5 is x + -2: index arithmetic is that of mathematical integers. `node` is folded.
bound::ExprPtr gather_constants(bound::ExprPtr node) {
  const auto additive = [](const bound::Expr& e) {
    return e.kind == bound::Expr::Kind::binary && (e.op == Op::add || e.op == Op::sub);
  };
  const auto constant = [](const bound::Expr& e) -> std::optional<std::int64_t> {
    if (e.kind != bound::Expr::Kind::integer || std::abs(e.integer) > (std::int64_t(1) << 60)) return std::nullopt;
    return e.integer;
  };
  if (!additive(*node) || !additive(*node->args[0])) return node;
  const bound::Expr& inner = *node->args[0];
  const auto outer_term = constant(*node->args[1]), inner_term = constant(*inner.args[1]);
  if (!outer_term || !inner_term) return node;
  const std::int64_t sum =
      (node->op == Op::add ? *outer_term : -*outer_term) + (inner.op == Op::add ? *inner_term : -*inner_term);
  return sum < 0 ? bound::make_binary(Op::sub, inner.args[0], bound::make_integer(-sum))
                 : bound::make_binary(Op::add, inner.args[0], bound::make_integer(sum));
}

// Sums and products of different indices reach the ends of their ranges.
void keep_exactness(Op op, const std::vector<Value>& args, Value& value) {
  if (op != Op::add && op != Op::sub && op != Op::mul && op != Op::neg) return;
  value.exact =
      args[0].exact && (args.size() == 1 || (args[1].exact && (args[0].map_indices & args[1].map_indices) == 0));
  value.map_indices = args[0].map_indices | (args.size() > 1 ? args[1].map_indices : 0);
}

std::string operation_words(Op op) { return "'" + std::string(op_text(op)) + "'"; }

std::string hint_for(Op op, DType type) {
  if (op == Op::div) return "// divides integers; cast to a float for a quotient";
  if (is_division(op) && is_float(type)) return "floor(a / b) on floats";
  if (op == Op::bit_and || op == Op::bit_or || op == Op::logical_not)
    return "&& || ! are for booleans, & | ~ for integers";
  if (float8_format(type)) return "floats of 8 bits are stored and converted only: cast(x, f32)";
  if (is_float(type)) return "";
  return "cast to a float first, such as cast(x, f32)";
}

}  // namespace

Value ExpressionBinder::unary(const Expr& expr, std::optional<DType> expected) {
  Value operand = bind(*expr.args[0], expected);
  if (!operand) return {};
  std::vector<Value> args;
  args.push_back(std::move(operand));
  return apply(expr, expr.op, std::move(args));
}

Value ExpressionBinder::logical(const Expr& expr) {
  Value left = bind(*expr.args[0], DType::boolean);
  // A constant left side decides whether the right side is looked at, so that `N > 0 && M % N == 0` is safe.
  if (left.constant() && left.type() == DType::boolean) {
    const bool decided = (left.expr->integer != 0) == (expr.op == Op::logical_or);
    if (decided) return left;
  }
  const bool certain = left.constant();
  conditional_ += certain ? 0 : 1;
  Value right = bind(*expr.args[1], DType::boolean);
  conditional_ -= certain ? 0 : 1;
  if (!left || !right) return {};
  std::vector<Value> args;
  args.push_back(std::move(left));
  args.push_back(std::move(right));
  for (std::size_t i = 0; i < 2; ++i)
    if (!args[i].is_typed() || args[i].type() != DType::boolean)
      return mistake(*expr.args[i], About::structure,
                     {operation_words(expr.op) + " takes booleans", "a comparison or another boolean",
                      type_words(args[i]), "& and | work on integers"});
  return apply(expr, expr.op, std::move(args));
}

Value ExpressionBinder::binary(const Expr& expr, std::optional<DType> expected) {
  if (expr.op == Op::logical_and || expr.op == Op::logical_or) return logical(expr);
  if (is_comparison(expr.op)) expected = std::nullopt;
  const bool right_first = literals_only(*expr.args[0]) && !literals_only(*expr.args[1]);
  const auto hint = [&](const Value& other) {
    return other.is_typed() && !other.literal && other.type() != DType::boolean ? std::optional(other.type())
                                                                                : expected;
  };
  Value a, b;
  if (right_first) {
    b = bind(*expr.args[1], expected);
    a = bind(*expr.args[0], hint(b));
  } else {
    a = bind(*expr.args[0], expected);
    b = bind(*expr.args[1], hint(a));
  }
  if (!a || !b) return {};
  if (!a.is_typed() || !b.is_typed()) return equal_words(expr, a, b);
  if (!unify(expr, a, b)) return {};
  std::vector<Value> args;
  args.push_back(std::move(a));
  args.push_back(std::move(b));
  return apply(expr, expr.op, std::move(args));
}

Value ExpressionBinder::equal_words(const Expr& expr, const Value& a, const Value& b) {
  if ((expr.op != Op::eq && expr.op != Op::ne) || a.kind != b.kind)
    return mistake(expr, About::structure,
                   {operation_words(expr.op) + " between " + type_words(a) + " and " + type_words(b),
                    "types and words compare with == and != among themselves"});
  const bool equal = a.kind == Value::Kind::type ? a.dtype == b.dtype : a.text == b.text;
  return boolean_value(equal == (expr.op == Op::eq));
}

bool ExpressionBinder::unify(const Expr& expr, Value& a, Value& b) {
  const DType left = a.type(), right = b.type();
  if (left == right && !(a.literal != b.literal && left == DType::f64)) return true;
  std::optional<DType> common;
  const bool number_left = left != DType::boolean, number_right = right != DType::boolean;
  if (!number_left || !number_right) {
    if (left == right) return true;
  } else if (a.literal != b.literal) {
    common = a.literal ? right : left;  // the literal takes the other's type
  } else if (is_float(left) != is_float(right)) {
    common = is_float(left) ? left : right;
  } else if (left == DType::index || right == DType::index) {
    common = DType::index;  // exact: an integer is a mathematical integer
  }
  if (!common || (is_float(left) && is_float(right) && !a.literal && !b.literal && left != right)) {
    mistake(expr, About::structure,
            {"operands of two types: " + type_words(a) + " and " + type_words(b), "one type", "",
             "convert one of them: cast(x, " + std::string(dtype_name(left == DType::index ? right : left)) + ")"});
    return false;
  }
  const std::size_t last = expr.args.size() - 1;
  a = convert(*expr.args[last == 2 ? 1 : 0], std::move(a), *common, false);
  b = convert(*expr.args[last], std::move(b), *common, false);
  return bool(a) && bool(b);
}

Value ExpressionBinder::apply(const Expr& expr, Op op, std::vector<Value> args) {
  bool literal = true, reads = false;
  for (const auto& arg : args) {
    if (!arg.is_typed())
      return mistake(expr, About::structure, {operation_words(op) + " on " + type_words(arg), "numbers"});
    literal = literal && arg.literal;
    reads = reads || arg.reads_elements;
  }
  const DType type = args[0].type();
  const bool needs_float = op == Op::div || bound::function(op, DType::index) == nullptr;
  if (bound::function(op, type) == nullptr || (type == DType::index && needs_float))
    return mistake(expr, About::structure,
                   {operation_words(op) + " is not defined on " + type_words(args[0]), "", "", hint_for(op, type)});
  if (type == DType::index && (op == Op::popcount || op == Op::clz || op == Op::mulhi))
    return mistake(expr, About::structure,
                   {operation_words(op) + " needs an integer of a width", "", "", "such as cast(x, u32)"});
  if (is_division(op) && args[1].constant() && args[1].expr->integer == 0)
    return mistake(
        expr, About::size,
        {"division by zero", "a divisor other than 0", "", "at run time it gives 0; a constant 0 is a mistake"});
  if (type == DType::index) return apply_index(expr, op, args);
  bound::Expr node;
  node.kind = !bound::is_operator(op) ? bound::Expr::Kind::call
              : args.size() == 1      ? bound::Expr::Kind::unary
                                      : bound::Expr::Kind::binary;
  node.op = op;
  node.type = bound::result_type(op, type);
  for (auto& arg : args) node.args.push_back(std::move(arg.expr));
  Value value = typed_value(bound::fold(std::move(node)), range_of_type(bound::result_type(op, type)), reads);
  value.literal = literal && value.type() != DType::boolean;
  return value;
}

Value ExpressionBinder::apply_index(const Expr& expr, Op op, const std::vector<Value>& args) {
  const Range second = args.size() > 1 ? args[1].range : args[0].range;
  const bool reads = args[0].reads_elements || (args.size() > 1 && args[1].reads_elements);
  bool literal = args[0].literal && (args.size() == 1 || args[1].literal);
  bound::Expr node;
  node.kind = !bound::is_operator(op) ? bound::Expr::Kind::call
              : args.size() == 1      ? bound::Expr::Kind::unary
                                      : bound::Expr::Kind::binary;
  node.op = op;
  node.type = bound::result_type(op, DType::index);
  for (const auto& arg : args) node.args.push_back(arg.expr);
  if (node.type == DType::boolean) {
    const auto decided = decide(op, args[0].range, second);
    if (decided && !reads) return boolean_value(*decided);
    return typed_value(bound::fold(std::move(node)), {0, 1}, reads);
  }
  const auto range = range_of(op, args[0].range, second);
  if (!range)
    return mistake(
        expr, About::size,
        {"an index expression may leave 64 bits", "values below 2^63", "",
         "operands reach " + std::to_string(args[0].range.lo) + " … " + std::to_string(args[0].range.hi) + " and " +
             std::to_string(second.lo) + " … " + std::to_string(second.hi) +
             "; bound a scalar or an element: min(max(n, 0), N)"});
  if (range->single() && !reads) {
    Value constant = integer_value(range->lo);
    constant.literal = literal;
    return constant;
  }
  if (op == Op::min || op == Op::max) {
    const Op order = op == Op::min ? Op::le : Op::ge;
    if (decide(order, args[0].range, second) == true) return args[0];
    if (decide(order, second, args[0].range) == true) return args[1];
  }
  if (op == Op::mod && args[0].range.lo >= 0 && second.lo > 0 && args[0].range.hi < second.lo) return args[0];
  Value value = typed_value(gather_constants(bound::fold(std::move(node))), *range, reads);
  value.literal = literal;
  keep_exactness(op, args, value);
  return value;
}

// a op b op c …, as a balanced tree, which keeps the depth small.
Value ExpressionBinder::apply_many(const Expr& expr, Op op, std::vector<Value> args) {
  while (args.size() > 1) {
    std::vector<Value> next;
    for (std::size_t i = 0; i < args.size(); i += 2) {
      if (i + 1 == args.size()) {
        next.push_back(std::move(args[i]));
        continue;
      }
      Value joined = apply(expr, op, {args[i], args[i + 1]});
      if (!joined) return {};
      next.push_back(std::move(joined));
    }
    args = std::move(next);
  }
  return std::move(args[0]);
}

Value ExpressionBinder::select(const Expr& expr, std::optional<DType> expected) {
  Value condition = bind(*expr.args[0], DType::boolean);
  if (condition && (!condition.is_typed() || condition.type() != DType::boolean))
    condition =
        mistake(*expr.args[0], About::structure, {"a condition is a boolean", "a comparison", type_words(condition)});
  if (condition.constant()) return bind(*expr.args[condition.expr->integer != 0 ? 1 : 2], expected);
  ++conditional_;
  Value a = bind(*expr.args[1], expected);
  Value b = bind(*expr.args[2], a.is_typed() && !a.literal ? std::optional(a.type()) : expected);
  --conditional_;
  if (!condition || !a || !b) return {};
  if (!a.is_typed() || !b.is_typed())
    return mistake(expr, About::structure,
                   {"only a compile-time condition chooses between types or words", "", type_words(a)});
  if (a.literal && b.literal) {
    if (!expected && (is_float(a.type()) || is_float(b.type())))
      return mistake(expr, About::structure,
                     {"nothing says of which type this conditional between literals is", "a type", "",
                      "cast one of them, such as cast(0.0, f32)"});
    const DType type = expected && *expected != DType::boolean ? *expected : DType::index;
    a = convert(*expr.args[1], std::move(a), type, false);
    b = convert(*expr.args[2], std::move(b), type, false);
    if (!a || !b) return {};
  }
  if (!unify(expr, a, b)) return {};
  const Range range = hull(a.range, b.range);
  const bool reads = condition.reads_elements || a.reads_elements || b.reads_elements;
  bound::Expr node;
  node.kind = bound::Expr::Kind::select;
  node.type = a.type();
  node.args = {std::move(condition.expr), std::move(a.expr), std::move(b.expr)};
  return typed_value(bound::fold(std::move(node)), range, reads);
}

Value ExpressionBinder::call(const Expr& expr, std::optional<DType> expected) {
  std::vector<Value> args(expr.args.size());
  std::optional<DType> type = expr.op == Op::isnan || expr.op == Op::isinf ? std::nullopt : expected;
  // Operands that say their type first, then the literals.
  for (const bool literals : {false, true}) {
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (literals_only(*expr.args[i]) != literals) continue;
      args[i] = bind(*expr.args[i], type);
      if (args[i].is_typed() && !args[i].literal && args[i].type() != DType::index) type = args[i].type();
    }
  }
  for (const auto& arg : args) {
    if (!arg) return {};
    if (!arg.is_typed())
      return mistake(expr, About::structure, {operation_words(expr.op) + " takes numbers", "", type_words(arg)});
  }
  for (std::size_t i = 1; i < args.size(); ++i)
    if (!unify(expr, args[0], args[i])) return {};
  for (std::size_t i = 1; i < args.size(); ++i) {
    args[i] = convert(*expr.args[i], std::move(args[i]), args[0].type(), false);
    if (!args[i]) return {};
  }
  if (expr.op == Op::min || expr.op == Op::max) return apply_many(expr, expr.op, std::move(args));
  return apply(expr, expr.op, std::move(args));
}

std::optional<DType> ExpressionBinder::named_type(const Expr& expr) {
  if (expr.text == "index") return DType::index;
  auto type = dtype_from_name(expr.text);
  if (const Named* found = context_.names.find(expr.text))
    if (found->kind == Named::Kind::value && found->value.kind == Value::Kind::type) type = found->value.dtype;
  if (!type) {
    mistake(expr, About::structure, {"'" + expr.text + "' is no type", "a type's name, or an option of type dtype"});
  } else if (!is_supported(*type)) {
    mistake(expr, About::structure,
            {std::string("not yet: the type ") + dtype_name(*type) +
             " is part of the design, and this version does not know its elements"});
    type.reset();
  }
  return type;
}

Value ExpressionBinder::cast(const Expr& expr) {
  const auto type = named_type(expr);
  Value value = bind(*expr.args[0], std::nullopt);
  if (!type || !value) return {};
  if (!value.is_typed())
    return mistake(expr, About::structure, {"cast takes a value", "a number or boolean", type_words(value)});
  return convert(expr, std::move(value), *type, true);
}

Value ExpressionBinder::bitcast(const Expr& expr) {
  const auto type = named_type(expr);
  Value value = bind(*expr.args[0], std::nullopt);
  if (!type || !value) return {};
  const bool sized =
      value.is_typed() && !value.literal && value.type() != DType::index && value.type() != DType::boolean;
  if (!sized || *type == DType::index || *type == DType::boolean || dtype_bits(*type) != dtype_bits(value.type()))
    return mistake(
        expr, About::structure,
        {"bitcast from " + type_words(value) + " to " + dtype_name(*type), "two element types of the same width"});
  bound::Expr node;
  node.kind = bound::Expr::Kind::call;
  node.op = Op::bitcast;
  node.type = *type;
  const bool reads = value.reads_elements;
  node.args = {std::move(value.expr)};
  return typed_value(bound::fold(std::move(node)), range_of_type(*type), reads);
}

Value ExpressionBinder::convert_literal(const Expr& expr, const Value& value, DType type) {
  const bool real = is_float(value.type());
  if (is_float(type)) {
    const bound::Value number = bound::is_constant(*value.expr) && real ? bound::real_value(value.expr->real)
                                                                        : bound::integer_value(value.expr->integer);
    const double rounded = bound::convert(number, value.type(), type).real;
    if (!std::isfinite(rounded) && (!real || std::isfinite(value.expr->real)))
      return mistake(expr, About::structure,
                     {std::string("the literal does not fit in ") + dtype_name(type), "a smaller number, or inf"});
    return typed_value(bound::make_real(rounded, type));
  }
  if (real)
    return mistake(
        expr, About::structure,
        {std::string("a real literal where ") + (type == DType::index ? "an index" : dtype_name(type)) + " is needed",
         "an integer", "", "make the other operand a float: cast(x, f32)"});
  const std::int64_t number = value.expr->integer;
  const Range fits = type == DType::u64 ? Range{0, INT64_MAX} : range_of_type(type);
  if (number < fits.lo || number > fits.hi || type == DType::boolean)
    return mistake(
        expr, About::structure,
        {std::string("the literal does not fit in ") + dtype_name(type),
         type == DType::boolean ? "true or false" : std::to_string(fits.lo) + " to " + std::to_string(fits.hi),
         std::to_string(number)});
  return integer_value(number, type);
}

Value ExpressionBinder::convert(const Expr& expr, Value value, DType type, bool is_explicit) {
  if (!value.is_typed()) {
    if (!value) return {};
    return mistake(expr, About::structure,
                   {type_words(value) + " is not a value", type == DType::index ? "an index" : dtype_name(type)});
  }
  const DType from = value.type();
  if (value.literal && value.constant() && !is_explicit) return convert_literal(expr, value, type);
  if (from == type) {
    value.literal = false;
    return value;
  }
  const bool integer = is_integer(from);
  const bool implicit = integer && (is_float(type) || type == DType::index);
  if (!is_explicit && !implicit)
    return mistake(
        expr, About::structure,
        {"the value is " + type_words(value), type == DType::index ? "an index" : dtype_name(type), "",
         type == DType::boolean ? "compare it: x != 0" : "convert it: cast(x, " + std::string(dtype_name(type)) + ")"});
  if (type == DType::index && !integer)
    return mistake(expr, About::structure,
                   {"only integers become an index", "an integer", type_words(value), "cast to an integer type first"});
  if (type == DType::index && value.constant()) return integer_value(value.expr->integer);
  bound::Expr node;
  node.kind = bound::Expr::Kind::cast;
  node.type = type;
  node.args = {value.expr};
  const Range range = integer && value.range.within(range_of_type(type)) ? value.range : range_of_type(type);
  return typed_value(bound::fold(std::move(node)), range, value.reads_elements);
}

}  // namespace kiln::specialize
