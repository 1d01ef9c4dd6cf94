#include "engine/lower/host/statements.hpp"

namespace kiln::lower::host {
namespace {

using bound::Expr;
using bound::ExprPtr;

ExprPtr make_node(Expr::Kind kind, Op op, DType type, std::vector<ExprPtr> args) {
  Expr node;
  node.kind = kind;
  node.op = op;
  node.type = type;
  node.args = std::move(args);
  return bound::fold(std::move(node));
}

ExprPtr cast_to(ExprPtr value, DType type) { return make_node(Expr::Kind::cast, Op::add, type, {std::move(value)}); }

ExprPtr variable(int id) {
  Expr node;
  node.kind = Expr::Kind::variable;
  node.integer = id;
  node.type = DType::index;
  return std::make_shared<const Expr>(std::move(node));
}

ExprPtr both(const ExprPtr& a, const ExprPtr& b) {
  return a ? make_node(Expr::Kind::binary, Op::logical_and, DType::boolean, {a, b}) : b;
}

}  // namespace

ExprPtr Translator::element(bool tensor, int id, std::vector<ExprPtr> indices) const {
  Expr node;
  node.kind = tensor ? Expr::Kind::tensor : Expr::Kind::tile;
  node.integer = id;
  node.type = tensor ? program_.tensors[id].dtype : launch_.tiles[id].dtype;
  node.args = std::move(indices);
  return std::make_shared<const Expr>(std::move(node));
}

int Translator::new_variable(const std::string& name) {
  out_.variables.push_back({name, DType::index});
  return static_cast<int>(out_.variables.size()) - 1;
}

void Translator::copy(const bound::Stmt& stmt, const bound::Copy& copy, kernel::Body& out) {
  if (!direct(stmt, copy, out)) copy_as_map(stmt, copy, out);
}

// A rectangle between a tensor and a tile's rectangle at a constant place: packed row by row.
bool Translator::direct(const bound::Stmt& stmt, const bound::Copy& copy, kernel::Body& out) {
  if (copy.from.is_tensor == copy.to.is_tensor) return false;
  const bool to_lds = copy.from.is_tensor;
  const auto& global = to_lds ? copy.from : copy.to;
  const auto& local = to_lds ? copy.to : copy.from;
  kernel::Direct node;
  node.to_lds = to_lds;
  node.lds.storage = local.id;
  std::vector<int> ranged_axes;  // of the tile, in order
  for (std::size_t axis = 0; axis < local.start.size(); ++axis) {
    const auto start = constant_of(*local.start[axis]);
    if (!start) return false;
    const std::int64_t extent = local.ranged[axis] ? copy.shape[ranged_axes.size()] : 1;
    if (*start < 0 || *start + extent > launch_.tiles[local.id].shape[axis]) return false;
    if (local.ranged[axis]) ranged_axes.push_back(static_cast<int>(axis));
    node.lds.start.push_back(*start);
    node.shape.push_back(extent);
  }
  if (local.start.empty()) {
    for (std::size_t axis = 0; axis < copy.shape.size(); ++axis) ranged_axes.push_back(static_cast<int>(axis));
    node.shape = copy.shape;
  }
  const auto& tensor = program_.tensors[global.id];
  node.global.tensor = global.id;
  node.global.start = global.start;
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    const bool ranged = global.ranged[axis];
    const ExprPtr limit = ranged && next < copy.limit.size() ? copy.limit[next] : nullptr;
    const std::int64_t extent = ranged ? copy.shape[next] : 1;
    node.global.tile_axis.push_back(ranged ? ranged_axes[next] : -1);
    const bool inside = !limit && stays_inside(*global.start[axis], extent, tensor.shape[axis], facts_);
    if (!inside) {
      note_left(stmt, tensor.name + " axis " + std::to_string(axis),
                limit ? "a limit is given" : how_it_leaves(*global.start[axis], extent, tensor.shape[axis], facts_));
    }
    node.global.checked.push_back(!inside);
    node.global.limit.push_back(limit);
    next += ranged ? 1 : 0;
  }
  if (to_lds) node.fill = copy.fill;
  const int contiguous = out_.storages[local.id].lds_layout.contiguous;
  const bool packs_across = to_lds && contiguous + 1 < static_cast<int>(node.shape.size());
  out.push_back({stmt.pointer, packs_across ? "transposed while it is packed" : "", std::move(node)});
  return true;
}

// Everything else: element by element, with the tensor's bounds and the fill value as a selection.
void Translator::copy_as_map(const bound::Stmt& stmt, const bound::Copy& copy, kernel::Body& out) {
  std::vector<int> index;
  for (std::size_t i = 0; i < copy.shape.size(); ++i) index.push_back(new_variable("i" + std::to_string(i)));
  const auto indices = [&](const bound::Region& region, ExprPtr* inside) {
    std::vector<ExprPtr> list;
    std::size_t next = 0;
    const auto shape = shape_of(region.is_tensor, region.id);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const bool ranged = region.start.empty() || region.ranged[axis];
      ExprPtr at = region.start.empty() ? bound::make_integer(0) : region.start[axis];
      const ExprPtr limit = ranged && inside && next < copy.limit.size() ? copy.limit[next] : nullptr;
      if (ranged) at = bound::make_binary(Op::add, at, variable(index[next++]));
      if (inside) {
        *inside = both(*inside, bound::make_binary(Op::ge, at, bound::make_integer(0)));
        *inside = both(*inside, bound::make_binary(Op::lt, at, shape[axis].expr()));
        if (limit) *inside = both(*inside, bound::make_binary(Op::lt, at, limit));
      }
      list.push_back(std::move(at));
    }
    return list;
  };
  ExprPtr inside;
  bound::MapItem item;
  item.tensor = copy.to.is_tensor;
  item.target = copy.to.id;
  const DType from_type =
      copy.from.is_tensor ? program_.tensors[copy.from.id].dtype : launch_.tiles[copy.from.id].dtype;
  const DType to_type = copy.to.is_tensor ? program_.tensors[copy.to.id].dtype : launch_.tiles[copy.to.id].dtype;
  ExprPtr value =
      element(copy.from.is_tensor, copy.from.id, indices(copy.from, copy.from.is_tensor ? &inside : nullptr));
  if (inside) {
    const ExprPtr fill = copy.fill             ? copy.fill
                         : is_float(from_type) ? bound::make_real(0, from_type)
                                               : bound::make_integer(0, from_type);
    value = make_node(Expr::Kind::select, Op::add, from_type, {inside, value, fill});
  }
  item.value = cast_to(value, to_type);
  ExprPtr target_inside;
  item.indices = indices(copy.to, copy.to.is_tensor ? &target_inside : nullptr);
  if (copy.to.is_tensor && !copy.limit.empty() && target_inside) {
    // Beyond the limit nothing is written: such elements get an index that is outside.
    item.indices[0] =
        make_node(Expr::Kind::select, Op::add, DType::index, {target_inside, item.indices[0], bound::make_integer(-1)});
  }
  for (std::size_t i = 0; i < index.size(); ++i) facts_.set_index(index[i], copy.shape[i]);
  if (index.empty()) {  // a single element
    index.push_back(new_variable("i0"));
    facts_.set_index(index[0], 1);
    out.push_back({stmt.pointer, "", checked_map(stmt, index, {1}, {std::move(item)})});
    return;
  }
  kernel::Map map = checked_map(stmt, index, copy.shape, {std::move(item)});
  if (!copy.to.is_tensor && is_whole(copy.to, copy.shape, launch_.tiles[copy.to.id].shape)) {
    for (const Need& need : needs_[copy.to.id]) map.limit.push_back(need.bound());
  }
  out.push_back({stmt.pointer, "", std::move(map)});
}

}  // namespace kiln::lower::host
