// Binding of `map`.
#include <algorithm>

#include "engine/ir/bound/atomic.hpp"
#include "engine/specialize/map_state.hpp"
#include "engine/specialize/statement_binder.hpp"

namespace kiln::specialize {

bool StatementBinder::map_space(const Stmt& stmt, const tile::Map& map, MapState& state) {
  std::int64_t iterations = 1;
  for (const auto& text : map.extent) {
    const auto extent = binder_.constant(text, 0, bound::map_iterations_max, "an extent of the map");
    if (!extent) return false;
    state.bound.extent.push_back(*extent);
    state.space.extents.push_back(std::max<std::int64_t>(*extent, 1));
    state.empty = state.empty || *extent == 0;
    if (iterations <= bound::map_iterations_max) iterations *= state.space.extents.back();
  }
  if (iterations <= bound::map_iterations_max) return true;
  mistake(stmt.pointer + "/extent", About::size,
          {"the map has too many iterations", "at most " + std::to_string(bound::map_iterations_max)});
  return false;
}

bool StatementBinder::map_let(const tile::MapItem& item, MapState& state) {
  Value value = binder_.bind(item.value);
  if (!value || !value.is_typed() || value.constant()) {
    const bool good = bool(value);
    context_.names.declare(item.let, std::move(value));
    return good;
  }
  bound::MapItem bound;
  bound.let = context_.new_variable(item.let, value.type());
  bound.value = value.expr;
  state.space.lets.emplace(bound.let, value.expr);
  bound::Expr variable;
  variable.kind = bound::Expr::Kind::variable;
  variable.type = value.type();
  variable.integer = bound.let;
  context_.names.declare(item.let, typed_value(std::make_shared<const bound::Expr>(std::move(variable)), value.range,
                                               value.reads_elements));
  state.bound.body.push_back(std::move(bound));
  return true;
}

namespace {

std::string target_pointer(const tile::MapItem& item) {
  return item.pointer + (item.atomic == tile::AtomicOp::none ? "/set" : "/to");
}

}  // namespace

bool StatementBinder::atomic_target(const tile::MapItem& item, const bound::Tensor& tensor) {
  bool good = true;
  const auto wrong = [&](const std::string& field, Finding finding) {
    mistake(item.pointer + field, About::structure, std::move(finding));
    good = false;
  };
  if (tensor.access != Access::readwrite)
    wrong("/to", {"'" + item.target + "' is updated by an atomic", "access readwrite", access_name(tensor.access)});
  if (!bound::atomic_takes(item.atomic, tensor.dtype))
    wrong("/atomic", {std::string("atomic ") + tile::atomic_op_name(item.atomic) + " on " + dtype_name(tensor.dtype),
                      "i32 u32 i64 u64 f32 f64, add also f16 and bf16; or, and, xor on integers"});
  if (tensor.align_bytes < dtype_bytes(tensor.dtype))
    wrong("/to", {"'" + item.target + "' is updated by an atomic and need not be aligned",
                  "a base and pitches that are multiples of " + std::to_string(dtype_bytes(tensor.dtype)) + " bytes",
                  std::to_string(tensor.align_bytes)});
  return good;
}

// The tile or tensor that an item sets; its bound id is set by the caller once all is well.
bool StatementBinder::map_target(const tile::MapItem& item, bound::MapItem& bound, bound::Extents& shape,
                                 DType& dtype) {
  const std::string pointer = target_pointer(item);
  const Named* found = context_.names.find(item.target);
  if (found && found->kind == Named::Kind::tensor) {
    const bound::Tensor& tensor = context_.tensors[static_cast<std::size_t>(found->id)];
    bound.tensor = true;
    bound.target = found->id;
    shape = tensor.shape;
    dtype = tensor.dtype;
    if (item.atomic != tile::AtomicOp::none) return atomic_target(item, tensor);
    if (tensor.access != Access::read) return true;
    mistake(pointer, About::structure, {"'" + item.target + "' may only be read", "access write or readwrite", "read"});
    return false;
  }
  TileState* state = tile(item.target, pointer, bound.target);
  if (!state) return false;
  if (item.atomic != tile::AtomicOp::none) {
    mistake(pointer, About::structure,
            {"'" + item.target + "' is a tile", "an atomic updates an element of a tensor", "",
             "combine elements of a tile with reduce"});
    return false;
  }
  state->written = true;
  shape = bound::extents_of(state->tile.shape);
  dtype = state->tile.dtype;
  return !state->failed;
}

// The variable that an atomic sets to what the element was.
void StatementBinder::declare_old(const tile::MapItem& item, DType dtype, bound::MapItem& bound, MapState& state) {
  bound.old = context_.new_variable(item.old, dtype);
  bound::Expr element;  // it may be anything, as an element may
  element.kind = bound::Expr::Kind::tensor;
  element.type = dtype;
  element.integer = bound.target;
  element.args = bound.indices;
  state.space.lets.emplace(bound.old, std::make_shared<const bound::Expr>(std::move(element)));
  bound::Expr variable;
  variable.kind = bound::Expr::Kind::variable;
  variable.type = dtype;
  variable.integer = bound.old;
  context_.names.declare(item.old, typed_value(std::make_shared<const bound::Expr>(std::move(variable)),
                                               range_of_type(dtype), true));
}

bool StatementBinder::map_indices(const tile::MapItem& item, const bound::Extents& shape, MapState& state,
                                  bound::MapItem& bound) {
  bool good = true;
  for (std::size_t axis = 0; axis < item.indices.size() && axis < shape.size(); ++axis) {
    Value index = binder_.index(item.indices[axis]);
    good = good && index;
    if (!index) continue;
    const Range extent = range_of(context_, shape[axis]);
    if (!state.empty && !bound.where && leaves(index, extent, !bound.tensor))
      mistake(target_pointer(item), About::size,
              {"index out of range: axis " + std::to_string(axis) + " of '" + item.target + "' has extent " +
                   range_words(extent),
               "0 to " + std::to_string(extent.hi - 1), range_words(index.range)});
    bound.indices.push_back(std::move(index.expr));
  }
  return good;
}

// Whether no two iterations write one element, as far as that is decided now: under a condition only running tells.
bool StatementBinder::writes_once(const tile::MapItem& item, const bound::MapItem& bound, MapState& state) {
  std::int64_t points = 1;
  for (const auto extent : state.space.extents) points = std::min(points * std::min(extent, points_max), points_max);
  if (!context_.spend(points / 8)) return false;
  const std::string twice = find_double_write(state.space, bound.indices, state.map.index);
  if (twice.empty()) return true;
  mistake(item.pointer + "/set", About::size,
          {twice, "an element of its own for every iteration of the map", "",
           "a sum or a maximum over an index is the statement reduce"});
  return false;
}

bool StatementBinder::map_set(const tile::MapItem& item, MapState& state) {
  if (!item.where) return map_set_where(item, nullptr, state);
  const Value where = binder_.runtime_condition(item.where);
  if (where && where.constant()) return where.expr->integer == 0 ? drop(item) : map_set_where(item, nullptr, state);
  binder_.enter_condition();
  const bool good = map_set_where(item, where ? where.expr : bound::make_integer(0, DType::boolean), state);
  binder_.leave_condition();
  return good && where;
}

// Of an atomic that never happens the old value stays, 0.
bool StatementBinder::drop(const tile::MapItem& item) {
  if (item.old.empty()) return true;
  bound::MapItem bound;
  bound::Extents shape;
  DType dtype = DType::f32;
  if (!map_target(item, bound, shape, dtype)) return false;
  context_.names.declare(
      item.old, typed_value(is_float(dtype) ? bound::make_real(0, dtype) : bound::make_integer(0, dtype)));
  return true;
}

// `where`: null for everywhere.
bool StatementBinder::map_set_where(const tile::MapItem& item, bound::ExprPtr where, MapState& state) {
  bound::MapItem bound;
  bound.where = std::move(where);
  bound::Extents shape;
  DType dtype = DType::f32;
  if (!map_target(item, bound, shape, dtype)) return false;
  bool good = map_indices(item, shape, state, bound);
  bound.value = binder_.value_of_type(item.value, dtype);
  bound.atomic = item.atomic;
  if (item.compare) {
    bound.compare = binder_.value_of_type(item.compare, dtype);
    good = good && bound.compare;
  }
  if (!item.old.empty()) declare_old(item, dtype, bound, state);
  if (!good || !bound.value) return false;
  const bool atomic = bound.atomic != tile::AtomicOp::none;
  if (!atomic && !bound.where && !writes_once(item, bound, state)) return false;
  if (!bound.tensor) bound.target = context_.use_tile(bound.target);
  state.bound.body.push_back(std::move(bound));
  return true;
}

void StatementBinder::bind(const Stmt& stmt, const tile::Map& map, bound::Body& out) {
  MapState state{stmt, map, {}, {}};
  const std::size_t mark = context_.names.mark(), variables = context_.launch.variables.size();
  state.good = map_space(stmt, map, state);
  const bool dead = !state.good || state.empty;
  if (dead) context_.findings.enter_dead_code();
  for (std::size_t i = 0; i < map.index.size(); ++i) {
    const int id = context_.new_variable(map.index[i], DType::index);
    state.bound.index.push_back(id);
    state.space.variables.push_back(id);
    if (state.space.extents.size() <= i) state.space.extents.push_back(1);
    bound::Expr variable;
    variable.kind = bound::Expr::Kind::variable;
    variable.integer = id;
    Value value =
        typed_value(std::make_shared<const bound::Expr>(std::move(variable)), {0, state.space.extents[i] - 1});
    value.exact = true;
    value.map_indices = 1u << i;
    context_.names.declare(map.index[i], std::move(value));
  }
  for (const auto& item : map.body) {
    if (!context_.spend()) break;
    const bool good = item.message       ? map_message(item, state)
                      : item.let.empty() ? map_set(item, state)
                                         : map_let(item, state);
    state.good = state.good && good;
  }
  if (dead) context_.findings.leave_dead_code();
  context_.names.leave(mark);
  if (!state.good || state.empty || state.bound.body.empty()) return context_.launch.variables.resize(variables);
  keep_failures(state);
  emit(stmt, out, std::move(state.bound));
  leave_after(state, out);
}

}  // namespace kiln::specialize
