// Binding of `copy`: two regions, their extents, bounds and limits.
#include <algorithm>

#include "engine/specialize/statement_binder.hpp"

namespace kiln::specialize {

bool StatementBinder::side_storage(const tile::Region& region, bool written, Side& side) {
  side.name = region.name;
  const Named* found = context_.names.find(region.name);
  if (found && found->kind == Named::Kind::tensor) {
    const bound::Tensor& tensor = context_.tensors[static_cast<std::size_t>(found->id)];
    side.region.is_tensor = true;
    side.region.id = found->id;
    for (const auto& extent : tensor.shape) side.shape.push_back(range_of(context_, extent));
    side.dtype = tensor.dtype;
    if (tensor.access != (written ? Access::read : Access::write)) return true;
    mistake(region.pointer, About::structure,
            {"'" + region.name + "' may only be " + (written ? "read" : "written"),
             written ? "access write or readwrite" : "access read or readwrite", access_name(tensor.access)});
    return false;
  }
  if (found && found->kind == Named::Kind::value) {
    if (found->value)
      mistake(region.pointer, About::structure, {"'" + region.name + "' is neither a tensor nor a tile"});
    return false;
  }
  TileState* state = tile(region.name, region.pointer, side.tile);
  if (!state) return false;
  if (written) state->written = true;
  for (const auto extent : state->tile.shape) side.shape.push_back(point(extent));
  side.dtype = state->tile.dtype;
  return !state->failed;
}

bool StatementBinder::side_axes(const tile::Region& region, Side& side) {
  const bool whole = region.at.empty();
  bool good = true;
  for (std::size_t axis = 0; axis < side.shape.size(); ++axis) {
    const std::int64_t extent = side.shape[axis].hi;
    if (whole) {
      side.extents.push_back({extent, Extent::Kind::exact});
      side.axes.push_back(axis);
      side.starts.push_back(point(0));
      continue;
    }
    Value start = binder_.index(region.at[axis].start);
    good = good && start;
    side.starts.push_back(start ? start.range : point(0));
    side.region.start.push_back(start.expr);
    side.region.ranged.push_back(region.at[axis].range);
    if (!region.at[axis].range) continue;
    side.axes.push_back(axis);
    if (side.region.is_tensor)
      side.extents.push_back({0, Extent::Kind::any});
    else if (start.constant())
      side.extents.push_back(
          {extent - std::clamp<std::int64_t>(start.expr->integer, 0, extent), Extent::Kind::at_most});
    else
      side.extents.push_back({extent, Extent::Kind::unknown});
  }
  return good;
}

bool StatementBinder::side(const tile::Region& region, bool written, Side& side) {
  return side_storage(region, written, side) && side_axes(region, side);
}

// Whole tiles decide; a range over part of a tile gives its rest; tensors follow.
bool StatementBinder::extents(const Stmt& stmt, const Side& from, const Side& to, std::vector<std::int64_t>& shape) {
  if (from.axes.size() != to.axes.size()) {
    mistake(stmt.pointer, About::structure,
            {"the two sides of the copy have different numbers of ranged axes", "as many on either side",
             std::to_string(from.axes.size()) + " in '" + from.name + "', " + std::to_string(to.axes.size()) + " in '" +
                 to.name + "'",
             "an index drops its axis, a range (start:) keeps it"});
    return false;
  }
  if (from.axes.empty()) {
    mistake(stmt.pointer, About::structure,
            {"the copy has no ranged axis", "at least one range, such as 0:", "", "set single elements with a map"});
    return false;
  }
  for (std::size_t i = 0; i < from.axes.size(); ++i) {
    Extent a = from.extents[i], b = to.extents[i];
    if (static_cast<int>(a.kind) > static_cast<int>(b.kind)) std::swap(a, b);
    const bool known = a.kind == Extent::Kind::exact || a.kind == Extent::Kind::at_most;
    if (!known) {
      mistake(stmt.pointer, About::structure,
              {"nothing says how far axis " + std::to_string(i) + " of the copy reaches",
               "a whole tile on one side, or a constant start in the tile"});
      return false;
    }
    const bool rigid = a.kind == Extent::Kind::exact ? b.kind == Extent::Kind::exact : b.kind == Extent::Kind::at_most;
    const bool fits = rigid ? a.size == b.size : (b.kind == Extent::Kind::any || a.size <= b.size);
    if (!fits || a.size < 1) {
      mistake(stmt.pointer, About::size,
              {"the two sides of the copy differ along ranged axis " + std::to_string(i), "equal extents",
               std::to_string(from.extents[i].size) + " in '" + from.name + "', " + std::to_string(to.extents[i].size) +
                   " in '" + to.name + "'"});
      return false;
    }
    shape.push_back(a.size);
  }
  return true;
}

// Inside a tile everything must lie; outside a tensor reads give the fill value and writes are dropped, but the
// arithmetic of the bounds check itself must stay within 64 bits.
void StatementBinder::check_bounds(const tile::Region& region, const Side& side,
                                   const std::vector<std::int64_t>& shape) {
  std::size_t ranged = 0;
  for (std::size_t axis = 0; axis < side.starts.size(); ++axis) {
    const bool is_range = region.at.empty() || region.at[axis].range;
    const std::int64_t length = is_range ? shape[ranged] : 1;
    if (is_range) ++ranged;
    const Range& start = side.starts[axis];
    const std::string pointer = region.at.empty() ? region.pointer : region.at[axis].start.pointer;
    if (start.hi > INT64_MAX - length)
      mistake(pointer, About::size,
              {"the region of '" + region.name + "' may reach beyond 64 bits", "a smaller start",
               std::to_string(start.hi), "bound a scalar or an element: min(max(n, 0), N)"});
    else if (!side.region.is_tensor && (start.lo < 0 || start.hi + length > side.shape[axis].hi))
      mistake(pointer, About::size,
              {"the region reaches outside the tile '" + region.name + "' on axis " + std::to_string(axis),
               "starts from 0 to " + std::to_string(side.shape[axis].hi - length),
               std::to_string(start.lo) + " to " + std::to_string(start.hi)});
  }
}

bool StatementBinder::limits(const tile::Copy& copy, const Side& tensor, bound::Copy& bound) {
  if (copy.limit.size() != tensor.axes.size()) {
    mistake(copy.from.pointer.substr(0, copy.from.pointer.rfind('/')) + "/limit", About::structure,
            {"one limit a ranged axis of '" + tensor.name + "'", std::to_string(tensor.axes.size()),
             std::to_string(copy.limit.size()), "null for none"});
    return false;
  }
  bool good = true;
  for (const auto& text : copy.limit) {
    Value limit = text ? binder_.index(text) : Value{};
    good = good && (!text || limit);
    bound.limit.push_back(std::move(limit.expr));
  }
  return good;
}

void StatementBinder::bind(const Stmt& stmt, const tile::Copy& copy, bound::Body& out) {
  Side from, to;
  const bool good_from = side(copy.from, false, from), good_to = side(copy.to, true, to);
  if (!good_from || !good_to) return;
  if (from.region.is_tensor && to.region.is_tensor)
    return mistake(stmt.pointer, About::structure,
                   {"a copy between two tensors", "a tile on at least one side", "", "copy through a fragment"});
  if (from.tile >= 0 && from.tile == to.tile)
    return mistake(stmt.pointer, About::structure, {"a copy of a tile to itself", "two tiles"});
  bound::Copy bound;
  if (!extents(stmt, from, to, bound.shape)) return;
  check_bounds(copy.from, from, bound.shape);
  check_bounds(copy.to, to, bound.shape);
  bound.schedule = schedule_of(copy, from.region.is_tensor ? from.dtype : to.dtype,
                               from.region.is_tensor || to.region.is_tensor);
  const bool has_tensor = from.region.is_tensor || to.region.is_tensor;
  if (!copy.limit.empty()) {
    if (!has_tensor)
      return mistake(stmt.pointer + "/limit", About::structure,
                     {"a limit is about a tensor, and both sides are tiles"});
    if (!limits(copy, from.region.is_tensor ? from : to, bound)) return;
  }
  if (from.region.is_tensor) {
    bound.fill = copy.fill              ? binder_.value_of_type(copy.fill, from.dtype)
                 : is_float(from.dtype) ? bound::make_real(0, from.dtype)
                                        : bound::make_integer(0, from.dtype);
    if (!bound.fill) return;
  } else if (copy.fill) {
    return mistake(stmt.pointer + "/fill", About::structure,
                   {"fill is the value of reads outside a tensor, and this copy reads a tile"});
  }
  if (from.tile >= 0) from.region.id = context_.use_tile(from.tile);
  if (to.tile >= 0) to.region.id = context_.use_tile(to.tile);
  bound.from = std::move(from.region);
  bound.to = std::move(to.region);
  emit(stmt, out, std::move(bound));
}

}  // namespace kiln::specialize
