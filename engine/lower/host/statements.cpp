#include "engine/lower/host/statements.hpp"

#include <algorithm>
#include <functional>

namespace kiln::lower::host {
namespace {

using bound::Expr;
using bound::ExprPtr;

// Element accesses, outer before inner, in order of appearance: the order of kernel::Map::checked.
void visit_accesses(const Expr& expr, const std::function<void(const Expr&)>& visit) {
  if (expr.kind == Expr::Kind::tile || expr.kind == Expr::Kind::tensor) visit(expr);
  for (const auto& arg : expr.args) visit_accesses(*arg, visit);
}

ExprPtr variable(int id) {
  Expr node;
  node.kind = Expr::Kind::variable;
  node.integer = id;
  node.type = DType::index;
  return std::make_shared<const Expr>(std::move(node));
}

}  // namespace

bound::Extents Translator::shape_of(bool tensor, int id) const {
  return tensor ? program_.tensors[id].shape : bound::extents_of(out_.storages[id].shape);
}
const std::string& Translator::name_of(bool tensor, int id) const {
  return tensor ? program_.tensors[id].name : out_.storages[id].name;
}

void Translator::note_left(const bound::Stmt& stmt, const std::string& what, const std::string& why) {
  constexpr std::size_t lines_max = 1000;
  if (report_.bounds_left.size() < lines_max) report_.bounds_left.push_back(stmt.pointer + ": " + what + ": " + why);
}

bool Translator::access_checked(const bound::Stmt& stmt, bool tensor, int id, const std::vector<ExprPtr>& indices) {
  const auto shape = shape_of(tensor, id);
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    if (stays_inside(*indices[axis], 1, shape[axis], facts_)) continue;
    note_left(stmt, name_of(tensor, id) + " axis " + std::to_string(axis),
              how_it_leaves(*indices[axis], 1, shape[axis], facts_));
    return true;
  }
  return false;
}

kernel::Map Translator::checked_map(const bound::Stmt& stmt, std::vector<int> index, std::vector<std::int64_t> extent,
                                    std::vector<bound::MapItem> items) {
  kernel::Map map;
  map.index = std::move(index);
  map.extent = std::move(extent);
  map.body = std::move(items);
  const auto note = [&](const Expr& access) {
    map.checked.push_back(
        access_checked(stmt, access.kind == Expr::Kind::tensor, static_cast<int>(access.integer), access.args));
  };
  for (const auto& item : map.body) {
    const Facts before = facts_;
    if (item.where) {
      visit_accesses(*item.where, note);
      // Atomics go lane by lane: what they read is read whether or not the condition holds.
      if (item.atomic == tile::AtomicOp::none) facts_.assume(*item.where);
    }
    visit_accesses(*item.value, note);
    if (item.compare) visit_accesses(*item.compare, note);
    for (const auto& at : item.indices) visit_accesses(*at, note);
    if (item.let < 0) map.checked.push_back(access_checked(stmt, item.tensor, item.target, item.indices));
    facts_ = before;
    if (item.let >= 0) facts_.set_let(item.let, *item.value);
  }
  return map;
}

void Translator::map(const bound::Stmt& stmt, const bound::Map& map, kernel::Body& out) {
  for (std::size_t i = 0; i < map.index.size(); ++i) facts_.set_index(map.index[i], map.extent[i]);
  kernel::Map node = checked_map(stmt, map.index, map.extent, map.body);
  for (const Need& need : needs_of_map(map, needs_)) node.limit.push_back(need.bound());
  out.push_back({stmt.pointer, "", std::move(node)});
}

void Translator::reduce(const bound::Stmt& stmt, const bound::Reduce& reduce, kernel::Body& out) {
  kernel::Reduce node{reduce.op, reduce.from, reduce.to, reduce.axis, reduce.accumulate, -1};
  const auto& to = needs_[reduce.to];
  const int rank = static_cast<int>(launch_.tiles[reduce.from].shape.size());
  for (int axis = 0; axis < rank; ++axis) {
    node.limit.push_back(axis == reduce.axis ? nullptr : to[axis < reduce.axis ? axis : axis - 1].bound());
  }
  out.push_back({stmt.pointer, "", std::move(node)});
}

// From which index along `axis` on the tile holds zeros, by the one copy that writes it, a sibling in front of the
// product.
ExprPtr Translator::zero_beyond(const bound::Body& siblings, const bound::Stmt& gemm, int tile, int axis) const {
  if (plans_.tiles[tile].writers != 1) return nullptr;
  for (const auto& stmt : siblings) {
    if (&stmt == &gemm) return nullptr;
    const auto* copy = std::get_if<bound::Copy>(&stmt.node);
    if (copy == nullptr || copy->to.is_tensor || copy->to.id != tile || !copy->from.is_tensor || !copy->limit.empty())
      continue;
    const bool zero_fill = !copy->fill || (copy->fill->kind == Expr::Kind::integer && copy->fill->integer == 0) ||
                           (copy->fill->kind == Expr::Kind::real && copy->fill->real == 0);
    const bool whole =
        std::all_of(copy->to.start.begin(), copy->to.start.end(), [](const auto& e) { return constant_of(*e) == 0; });
    if (!zero_fill || !whole || copy->shape != launch_.tiles[tile].shape) return nullptr;
    const auto& tensor = program_.tensors[copy->from.id];
    int next = 0;
    for (std::size_t t = 0; t < tensor.shape.size(); ++t) {
      if (!copy->from.ranged[t] || next++ != axis) continue;
      if (stays_inside(*copy->from.start[t], copy->shape[axis], tensor.shape[t], facts_)) return nullptr;
      return bound::make_binary(Op::sub, tensor.shape[t].expr(), copy->from.start[t]);
    }
  }
  return nullptr;
}

// The operand again, as f32 where it is narrower, contiguous along the axis that streams.
int Translator::operand_copy(const bound::Stmt& stmt, int tile, int contiguous, std::int64_t rows, std::int64_t columns,
                             kernel::Body& out) {
  TilePlan plan = plans_.tiles[tile];
  const DType type = launch_.tiles[tile].dtype;
  plan.dtype = type == DType::f16 || type == DType::bf16 ? DType::f32 : type;
  plan.contiguous = contiguous;
  plan.rows_min = rows;
  plan.columns_min = columns;
  const int id = static_cast<int>(out_.storages.size());
  out_.storages.push_back(make_storage(launch_.tiles[tile].name + "_operand", -1, launch_.tiles[tile].shape, plan));
  plans_.tiles.push_back(plan);
  const std::vector<int> index = {new_variable("i0"), new_variable("i1")};
  for (int axis = 0; axis < 2; ++axis) facts_.set_index(index[axis], launch_.tiles[tile].shape[axis]);
  bound::MapItem item;
  item.target = id;
  item.indices = {variable(index[0]), variable(index[1])};
  item.value = element(false, tile, item.indices);
  out.push_back({stmt.pointer, "the operand as the product streams it",
                 checked_map(stmt, index, launch_.tiles[tile].shape, {std::move(item)})});
  return id;
}

void Translator::gemm(const bound::Body& siblings, const bound::Stmt& stmt, const bound::Gemm& gemm,
                      kernel::Body& out) {
  const GemmPlan plan = plans_.gemms[next_gemm_++];
  const auto& a_shape = launch_.tiles[gemm.a].shape;
  const auto& c_shape = launch_.tiles[gemm.c].shape;
  kernel::Mma node;
  node.instruction = "host.fma";
  node.k = a_shape[gemm.transpose_a ? 0 : 1];
  node.a_transposed = gemm.transpose_a;
  node.b_transposed = gemm.transpose_b;
  node.clear = gemm.clear;
  node.block_m = plan.block.m;
  node.block_n = plan.block.n;
  const std::int64_t m = round_up(c_shape[0], plan.block.m), n = round_up(c_shape[1], plan.block.n);
  node.a = gemm.a;
  if (plan.copy_a) {
    const int contiguous = plans_.tiles[gemm.a].contiguous;
    const bool along_m = contiguous == (gemm.transpose_a ? 1 : 0);
    node.a = operand_copy(stmt, gemm.a, contiguous, along_m ? 0 : m, along_m ? m : 0, out);
  }
  node.b = plan.copy_b ? operand_copy(stmt, gemm.b, gemm.transpose_b ? 0 : 1, 0, n, out) : gemm.b;
  node.c = gemm.c;
  node.m_limit = needs_[gemm.c][0].bound();
  node.n_limit = needs_[gemm.c][1].bound();
  // Zeros on both sides add nothing.
  const ExprPtr a_end = zero_beyond(siblings, stmt, gemm.a, gemm.transpose_a ? 0 : 1);
  const ExprPtr b_end = zero_beyond(siblings, stmt, gemm.b, gemm.transpose_b ? 1 : 0);
  if (a_end && b_end && same_expression(*a_end, *b_end)) node.k_limit = a_end;
  report_.decisions.push_back({"anchor", stmt.pointer,
                               "host.fma in blocks of " + std::to_string(plan.block.m) + "x" +
                                   std::to_string(plan.block.n) + " for a product of " + std::to_string(c_shape[0]) +
                                   "x" + std::to_string(c_shape[1]) + "x" + std::to_string(node.k) +
                                   ": the least time by the estimate of all that fit the registers"});
  out.push_back({stmt.pointer, "", std::move(node)});
}

Status Translator::loop(const bound::Stmt& stmt, const bound::For& loop, kernel::Body& out) {
  facts_.set_loop(loop.var, *loop.from, *loop.to, *loop.step);
  kernel::For node;
  node.var = loop.var;
  node.from = loop.from;
  node.to = loop.to;
  node.step = loop.step;
  KILN_CHECK(body(loop.body, node.body));
  out.push_back({stmt.pointer, "", std::move(node)});
  return {};
}

Status Translator::statement(const bound::Body& siblings, const bound::Stmt& stmt, kernel::Body& out) {
  KILN_CHECK(budget_.spend());
  if (const auto* node = std::get_if<bound::For>(&stmt.node)) return loop(stmt, *node, out);
  if (const auto* node = std::get_if<bound::Copy>(&stmt.node)) {
    copy(stmt, *node, out);
  } else if (const auto* node = std::get_if<bound::Fill>(&stmt.node)) {
    out.push_back({stmt.pointer, "", kernel::Fill{node->tile, node->value}});
  } else if (const auto* node = std::get_if<bound::Gemm>(&stmt.node)) {
    gemm(siblings, stmt, *node, out);
  } else if (const auto* node = std::get_if<bound::Map>(&stmt.node)) {
    map(stmt, *node, out);
  } else if (const auto* node = std::get_if<bound::Reduce>(&stmt.node)) {
    reduce(stmt, *node, out);
  } else if (const auto* node = std::get_if<bound::If>(&stmt.node)) {
    kernel::If branch;
    branch.condition = node->condition;
    KILN_CHECK(body(node->then, branch.then));
    KILN_CHECK(body(node->otherwise, branch.otherwise));
    out.push_back({stmt.pointer, "", std::move(branch)});
  } else if (const auto* node = std::get_if<bound::Let>(&stmt.node)) {
    facts_.set_let(node->var, *node->value);
    out.push_back({stmt.pointer, "", kernel::Let{node->var, node->value}});
  } else if (const auto* node = std::get_if<bound::Leave>(&stmt.node)) {
    out.push_back({stmt.pointer, "", kernel::Leave{node->condition}});
  }
  return {};
}

Status Translator::body(const bound::Body& statements, kernel::Body& out) {
  for (const auto& stmt : statements) KILN_CHECK(statement(statements, stmt, out));
  return {};
}

Result<kernel::Body> Translator::translate() {
  kernel::Body out;
  KILN_CHECK(body(launch_.body, out));
  return out;
}

}  // namespace kiln::lower::host
