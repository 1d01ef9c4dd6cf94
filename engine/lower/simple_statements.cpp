#include "engine/lower/simple_statements.hpp"

#include <algorithm>
#include <utility>

#include "engine/ir/bound/arithmetic.hpp"

namespace kiln::lower {
namespace {

using bound::Expr;
using bound::ExprPtr;
using tile::ReduceOp;

ExprPtr node(Expr::Kind kind, DType type, std::int64_t number, std::vector<ExprPtr> args, Op op = Op::add) {
  Expr made;
  made.kind = kind;
  made.type = type;
  made.integer = number;
  made.op = op;
  made.args = std::move(args);
  return std::make_shared<const Expr>(std::move(made));
}
ExprPtr operation(Op op, std::vector<ExprPtr> args) {
  const DType type = bound::result_type(op, args[0]->type);
  const auto kind = !bound::is_operator(op) ? Expr::Kind::call
                    : args.size() == 1      ? Expr::Kind::unary
                                            : Expr::Kind::binary;
  return node(kind, type, 0, std::move(args), op);
}
ExprPtr converted(ExprPtr value, DType type) {
  return value->type == type ? value : node(Expr::Kind::cast, type, 0, {std::move(value)});
}

bool finds_place(const bound::Reduce& reduce) {
  return reduce.op == ReduceOp::argmax || reduce.op == ReduceOp::argmin;
}

class Rewriter {
 public:
  Rewriter(bound::Launch& launch, std::vector<Decision>& decisions) : launch_(launch), decisions_(decisions) {}

  void body(bound::Body& statements) {
    bound::Body made;
    for (auto& stmt : statements) {
      pointer_ = stmt.pointer;
      if (const auto* scan = std::get_if<bound::Scan>(&stmt.node)) {
        expand(*scan, made);
        continue;
      }
      if (const auto* reduce = std::get_if<bound::Reduce>(&stmt.node); reduce && finds_place(*reduce)) {
        expand(*reduce, made);
        continue;
      }
      if (auto* loop = std::get_if<bound::For>(&stmt.node)) body(loop->body);
      if (auto* branch = std::get_if<bound::If>(&stmt.node)) {
        body(branch->then);
        body(branch->otherwise);
      }
      made.push_back(std::move(stmt));
    }
    statements = std::move(made);
  }

 private:
  int add_tile(const std::string& name, DType dtype, std::vector<std::int64_t> shape, Space space) {
    bound::Tile tile;
    tile.name = name;
    tile.dtype = dtype;
    tile.shape = std::move(shape);
    tile.space = space;
    launch_.tiles.push_back(std::move(tile));
    return static_cast<int>(launch_.tiles.size()) - 1;
  }
  // A map over `shape` that is empty so far, and its indices.
  bound::Map map_over(const std::vector<std::int64_t>& shape, std::vector<ExprPtr>& at) {
    bound::Map map;
    map.extent = shape;
    at.clear();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      launch_.variables.push_back({"i" + std::to_string(axis), DType::index});
      map.index.push_back(static_cast<int>(launch_.variables.size()) - 1);
      at.push_back(node(Expr::Kind::variable, DType::index, map.index.back(), {}));
    }
    return map;
  }
  ExprPtr element(int tile, std::vector<ExprPtr> at) const {
    return node(Expr::Kind::tile, launch_.tiles[static_cast<std::size_t>(tile)].dtype, tile, std::move(at));
  }
  void add_set(bound::Map map, int tile, std::vector<ExprPtr> at, const ExprPtr& value, bound::Body& out) {
    bound::MapItem item;
    item.target = tile;
    item.indices = std::move(at);
    item.value = converted(value, launch_.tiles[static_cast<std::size_t>(tile)].dtype);
    map.body.push_back(std::move(item));
    out.push_back({pointer_, std::move(map)});
  }

  // Every element with the one `distance` before it, distances doubling: log2(extent) maps.
  void expand(const bound::Scan& scan, bound::Body& out) {
    const bound::Tile from = launch_.tiles[static_cast<std::size_t>(scan.from)];
    const std::int64_t extent = from.shape[static_cast<std::size_t>(scan.axis)];
    // One rounding an element: sums of f16 and bf16 are f32 until they are done.
    const bool narrow = from.dtype == DType::f16 || from.dtype == DType::bf16;
    const DType type = narrow ? DType::f32 : from.dtype;
    int steps = 0, parts[2] = {-1, -1};
    for (std::int64_t distance = 1; distance < extent; distance *= 2) ++steps;
    int current = scan.from, turn = 0;
    for (int step = 0; step <= steps; ++step) {
      // The first one only copies: fragments into local memory, where other lanes find them.
      int& part = parts[turn];
      const bool last = step == steps;
      if (!last && part < 0) part = add_tile(from.name + "_scan", type, from.shape, Space::shared);
      std::vector<ExprPtr> at;
      bound::Map map = map_over(from.shape, at);
      const int target = last ? scan.to : part;
      const ExprPtr value =
          step == 0 ? element(current, at) : combined(scan, current, at, std::int64_t(1) << (step - 1), extent);
      add_set(std::move(map), target, at, value, out);
      current = target;
      turn = 1 - turn;
    }
    decisions_.push_back(
        {"scan", from.name, std::to_string(steps) + " steps through local memory, distances doubling"});
  }
  ExprPtr combined(const bound::Scan& scan, int tile, const std::vector<ExprPtr>& at, std::int64_t distance,
                   std::int64_t extent) const {
    const auto axis = static_cast<std::size_t>(scan.axis);
    auto other = at;
    other[axis] = operation(scan.reverse ? Op::add : Op::sub, {at[axis], bound::make_integer(distance)});
    const ExprPtr exists = scan.reverse ? operation(Op::lt, {at[axis], bound::make_integer(extent - distance)})
                                        : operation(Op::ge, {at[axis], bound::make_integer(distance)});
    const ExprPtr own = element(tile, at), before = element(tile, other);
    const Op op = scan.op == ReduceOp::sum    ? Op::add
                  : scan.op == ReduceOp::prod ? Op::mul
                  : scan.op == ReduceOp::max  ? Op::max
                                              : Op::min;
    return node(Expr::Kind::select, own->type, 0, {exists, operation(op, {before, own}), own});
  }

  // The extreme, then the least place that holds it (a NaN, where that is the extreme).
  void expand(const bound::Reduce& reduce, bound::Body& out) {
    const bound::Tile from = launch_.tiles[static_cast<std::size_t>(reduce.from)];
    const auto to_shape = launch_.tiles[static_cast<std::size_t>(reduce.to)].shape;
    const auto axis = static_cast<std::size_t>(reduce.axis);
    const int extreme = add_tile(from.name + "_extreme", from.dtype, to_shape, Space::fragment);
    const int places = add_tile(from.name + "_places", DType::i32, from.shape, Space::fragment);
    const ReduceOp op = reduce.op == ReduceOp::argmax ? ReduceOp::max : ReduceOp::min;
    out.push_back({pointer_, bound::Reduce{op, reduce.from, extreme, reduce.axis, false}});
    std::vector<ExprPtr> at;
    bound::Map map = map_over(from.shape, at);
    auto rest = at;
    rest.erase(rest.begin() + reduce.axis);
    if (rest.empty()) rest.push_back(bound::make_integer(0));
    const ExprPtr own = element(reduce.from, at), best = element(extreme, rest);
    ExprPtr is_it = operation(Op::eq, {own, best});
    if (is_float(from.dtype))
      is_it = operation(Op::logical_or, {is_it, operation(Op::logical_and, {operation(Op::isnan, {own}),
                                                                           operation(Op::isnan, {best})})});
    const ExprPtr place = converted(at[axis], DType::i32), none = bound::make_integer(INT32_MAX, DType::i32);
    add_set(std::move(map), places, at, node(Expr::Kind::select, DType::i32, 0, {is_it, place, none}), out);
    out.push_back({pointer_, bound::Reduce{ReduceOp::min, places, reduce.to, reduce.axis, false}});
    decisions_.push_back({"reduce", from.name, "the extreme first, then the first place that holds it"});
  }

  bound::Launch& launch_;
  std::vector<Decision>& decisions_;
  std::string pointer_;
};

bool has_any(const bound::Body& body) {
  return std::any_of(body.begin(), body.end(), [](const bound::Stmt& stmt) {
    if (std::holds_alternative<bound::Scan>(stmt.node)) return true;
    if (const auto* reduce = std::get_if<bound::Reduce>(&stmt.node)) return finds_place(*reduce);
    if (const auto* loop = std::get_if<bound::For>(&stmt.node)) return has_any(loop->body);
    const auto* branch = std::get_if<bound::If>(&stmt.node);
    return branch != nullptr && (has_any(branch->then) || has_any(branch->otherwise));
  });
}

}  // namespace

std::optional<bound::Program> with_simple_statements(const bound::Program& program, std::vector<Decision>& decisions) {
  const bool any = std::any_of(program.launches.begin(), program.launches.end(),
                               [](const bound::Launch& launch) { return has_any(launch.body); });
  if (!any) return std::nullopt;
  bound::Program made = program;
  for (auto& launch : made.launches) Rewriter(launch, decisions).body(launch.body);
  return made;
}

}  // namespace kiln::lower
