#include "engine/ir/bound/program.hpp"

#include <algorithm>

#include "engine/ir/bound/arithmetic.hpp"

namespace kiln::bound {
namespace {

Value constant_of(const Expr& e) { return e.kind == Expr::Kind::real ? real_value(e.real) : integer_value(e.integer); }
ExprPtr make_constant(Value value, DType type) {
  return is_float(type) ? make_real(value.real, type) : make_integer(value.integer, type);
}
bool is_integer_constant(const Expr& e, std::int64_t value) {
  return e.kind == Expr::Kind::integer && e.integer == value;
}

// An expression that reads memory must stay: the read may be a mistake that the interpreter reports.
bool reads_memory(const Expr& e) {
  if (e.kind == Expr::Kind::tile || e.kind == Expr::Kind::tensor) return true;
  for (const auto& arg : e.args)
    if (reads_memory(*arg)) return true;
  return false;
}

// x op b with a constant b, and a op x with a constant a, where that is x or a constant; null otherwise. Integers only:
// with floats x + 0 turns -0 into 0, and x * 0 may be NaN.
ExprPtr identity(Op op, const ExprPtr& a, const ExprPtr& b) {
  if (!is_integer(a->type)) return nullptr;
  const auto right = [&](std::int64_t v) { return is_integer_constant(*b, v); };
  const auto left = [&](std::int64_t v) { return is_integer_constant(*a, v); };
  switch (op) {
    case Op::add: return right(0) ? a : left(0) ? b : nullptr;
    case Op::sub: case Op::shl: case Op::shr: return right(0) ? a : nullptr;
    case Op::mul:
      if (right(1)) return a;
      if (left(1)) return b;
      if (right(0) && !reads_memory(*a)) return b;
      if (left(0) && !reads_memory(*b)) return a;
      return nullptr;
    case Op::floordiv: case Op::ceildiv: return right(1) ? a : nullptr;
    case Op::mod: return right(1) && !reads_memory(*a) ? make_integer(0, a->type) : nullptr;
    default: return nullptr;
  }
}

// `false && x`, `true && x` and their like: the right side is evaluated only when the left one leaves it open.
ExprPtr short_circuit(Op op, const ExprPtr& a, const ExprPtr& b) {
  if (op != Op::logical_and && op != Op::logical_or) return nullptr;
  const std::int64_t neutral = op == Op::logical_and ? 1 : 0;
  if (is_constant(*a)) return is_integer_constant(*a, neutral) ? b : a;
  return is_integer_constant(*b, neutral) ? a : nullptr;
}

Value evaluate(const Expr& node) {
  const Value a = constant_of(*node.args[0]);
  const DType from = node.args[0]->type;
  if (node.kind == Expr::Kind::cast) return convert(a, from, node.type);
  if (node.op == Op::bitcast) return reinterpret(a, from, node.type);
  const Value b = node.args.size() > 1 ? constant_of(*node.args[1]) : a;
  const Value c = node.args.size() > 2 ? constant_of(*node.args[2]) : a;
  return function(node.op, from)(a, b, c);
}

bool can_evaluate(const Expr& node) {
  if (node.args.empty()) return false;
  for (const auto& arg : node.args)
    if (!is_constant(*arg)) return false;
  const DType from = node.args[0]->type;
  switch (node.kind) {
    case Expr::Kind::cast: return conversion(from, node.type) != nullptr;
    case Expr::Kind::unary: case Expr::Kind::binary: case Expr::Kind::call:
      return node.op == Op::bitcast || function(node.op, from) != nullptr;
    default: return false;
  }
}

}  // namespace

ExprPtr make_integer(std::int64_t value, DType type) {
  Expr e;
  e.kind = Expr::Kind::integer;
  e.type = type;
  e.integer = wrap_integer(type, value);
  return std::make_shared<const Expr>(std::move(e));
}

ExprPtr make_real(double value, DType type) {
  Expr e;
  e.kind = Expr::Kind::real;
  e.type = type;
  e.real = round_real(type, value);
  return std::make_shared<const Expr>(std::move(e));
}

ExprPtr make_binary(Op op, ExprPtr a, ExprPtr b) {
  Expr node;
  node.kind = is_operator(op) ? Expr::Kind::binary : Expr::Kind::call;
  node.op = op;
  node.type = result_type(op, a->type);
  node.args = {std::move(a), std::move(b)};
  return fold(std::move(node));
}

ExprPtr fold(Expr node) {
  if (can_evaluate(node)) return make_constant(evaluate(node), node.type);
  if (node.kind == Expr::Kind::select && node.args.size() == 3 && is_constant(*node.args[0]))
    return node.args[node.args[0]->integer != 0 ? 1 : 2];
  if (node.kind == Expr::Kind::cast && node.args.size() == 1 && node.args[0]->type == node.type) return node.args[0];
  if (node.kind == Expr::Kind::binary || node.kind == Expr::Kind::call) {
    if (node.args.size() == 2) {
      if (auto simpler = identity(node.op, node.args[0], node.args[1])) return simpler;
      if (auto simpler = short_circuit(node.op, node.args[0], node.args[1])) return simpler;
    }
  }
  return std::make_shared<const Expr>(std::move(node));
}

std::size_t Program::arguments() const {
  return static_cast<std::size_t>(
      std::count_if(tensors.begin(), tensors.end(), [](const Tensor& tensor) { return !tensor.workspace; }));
}

std::int64_t block_count(const std::vector<std::int64_t>& grid) {
  if (std::find(grid.begin(), grid.end(), 0) != grid.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t extent : grid) {
    if (extent > blocks_max / count) return blocks_max + 1;
    count *= extent;
  }
  return count;
}

std::int64_t Tile::elements() const {
  std::int64_t n = 1;
  for (const auto extent : shape) n *= extent;
  return n;
}

int memory_of(const std::vector<Tensor>& tensors, int tensor) {
  if (!tensors[static_cast<std::size_t>(tensor)].may_alias) return tensor;
  const auto first = std::find_if(tensors.begin(), tensors.end(), [](const Tensor& other) { return other.may_alias; });
  return static_cast<int>(first - tensors.begin());
}

}  // namespace kiln::bound
