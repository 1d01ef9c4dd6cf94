#include "engine/ir/kernel/verify_map.hpp"

#include <algorithm>

#include "engine/ir/bound/atomic.hpp"

namespace kiln::kernel {
namespace {

using bound::Expr;
using layout::Conversion;
using layout::RegLayout;

// The map axis of each index, -1 for a constant; nullopt when an index is neither.
std::optional<std::vector<int>> axes_of(const Map& map, const std::vector<ExprPtr>& indices) {
  std::vector<int> axes;
  for (const auto& index : indices) {
    if (index->kind == Expr::Kind::integer) { axes.push_back(-1); continue; }
    if (index->kind != Expr::Kind::variable) return std::nullopt;
    const auto at = std::find(map.index.begin(), map.index.end(), static_cast<int>(index->integer));
    if (at == map.index.end()) return std::nullopt;
    axes.push_back(static_cast<int>(at - map.index.begin()));
  }
  return axes;
}

// The iteration's layout seen through `axes`: unused axes sliced away, the others in the order of the indices.
RegLayout seen_through(const RegLayout& iteration, const std::vector<int>& axes) {
  RegLayout seen = iteration;
  std::vector<int> left;
  for (int axis = 0; axis < iteration.rank(); ++axis) left.push_back(axis);
  for (int axis = iteration.rank() - 1; axis >= 0; --axis) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
    seen = layout::slice(seen, axis);
    left.erase(left.begin() + axis);
  }
  std::vector<int> order;
  for (const int axis : axes) {
    order.push_back(static_cast<int>(std::find(left.begin(), left.end(), axis) - left.begin()));
  }
  return layout::permute(seen, order);
}

class Checker {
 public:
  Checker(const MapCheck& check, const Map& map) : check_(check), map_(map), inside_(check.ranges) {
    for (std::size_t axis = 0; axis < map.index.size(); ++axis) {
      inside_.variables[map.index[axis]] = {0, map.extent[axis] - 1};
    }
  }

  void run() {
    for (const auto& item : map_.body) {
      const auto before = inside_.assumptions;
      if (item.where) {
        read_all(*item.where);
        assume(inside_, *item.where);
      }
      read_all(*item.value);
      if (item.compare) read_all(*item.compare);
      for (const auto& index : item.indices) read_all(*index);
      if (item.let < 0) target(item);
      inside_.assumptions = before;
      if (item.let >= 0) inside_.assumptions.set_condition(item.let, *item.value);
    }
  }

 private:
  const Storage& storage(int id) const { return check_.subject.storage(id); }

  void target(const bound::MapItem& item) {
    const bool may_leave = next_is_checked();
    if (item.tensor) tensor_target(item);
    else storage_target(item, may_leave);
  }

  // Map::checked of the next access, in its order.
  bool next_is_checked() {
    const auto at = next_access_++;
    return at >= map_.checked.size() || map_.checked[at];
  }

  void read_all(const Expr& node) {
    if (node.kind == Expr::Kind::tensor) next_is_checked();
    if (node.kind == Expr::Kind::tile) {
      const bool may_leave = next_is_checked();
      const int id = static_cast<int>(node.integer);
      if (check_.subject.is_regs(id)) registers(storage(id), node.args);
      else lds(storage(id), node.args, may_leave);
    }
    for (const auto& arg : node.args) read_all(*arg);
  }

  void tensor_target(const bound::MapItem& item) {
    const auto& tensors = check_.subject.program.tensors;
    if (item.target < 0 || item.target >= static_cast<int>(tensors.size()) || tensors[item.target].scalar) {
      return check_.wrong("no such tensor");
    }
    if (item.atomic != tile::AtomicOp::none) atomic(item, tensors[item.target]);
    if (tensors[item.target].access == Access::read) check_.wrong(tensors[item.target].name + " is read only");
    if (item.indices.size() != tensors[item.target].shape.size()) {
      check_.wrong("a target has another rank than " + tensors[item.target].name);
    }
  }

  void atomic(const bound::MapItem& item, const bound::Tensor& tensor) {
    if (tensor.access != Access::readwrite || !bound::atomic_takes(item.atomic, tensor.dtype))
      check_.wrong("no atomic for " + tensor.name);
    for (const auto* basis : {&map_.iteration.reg, &map_.iteration.lane, &map_.iteration.wave}) {
      for (const auto& vector : basis->vectors) {
        if (std::all_of(vector.begin(), vector.end(), [](std::int64_t moved) { return moved == 0; }))
          return check_.wrong("lanes, waves or registers repeat an atomic on " + tensor.name);
      }
    }
  }

  void storage_target(const bound::MapItem& item, bool may_leave) {
    if (item.atomic != tile::AtomicOp::none) return check_.wrong("an atomic on a tile");
    if (!check_.subject.is_storage(item.target)) return check_.wrong("no such storage");
    const Storage& to = storage(item.target);
    if (item.indices.size() != to.shape.size()) return check_.wrong("a target has another rank than " + to.name);
    if (to.kind == Storage::Kind::lds) return lds(to, item.indices, may_leave);
    if (!registers(to, item.indices)) return;
    const auto axes = axes_of(map_, item.indices);
    for (std::size_t axis = 0; axis < map_.index.size(); ++axis) {
      const bool used = std::find(axes->begin(), axes->end(), static_cast<int>(axis)) != axes->end();
      if (!used && map_.extent[axis] > 1) {
        return check_.wrong("iterations of an axis all write the same elements of " + to.name);
      }
    }
  }

  bool registers(const Storage& regs, const std::vector<ExprPtr>& indices) {
    const auto fail = [&](const std::string& what) { check_.wrong(regs.name + what); return false; };
    if (1 << regs.reg_layout.wave.bits() != check_.role.waves) return fail(" is not over the role's waves");
    const auto axes = axes_of(map_, indices);
    if (!axes) return fail(", in registers, is indexed by more than the map's own indices");
    RegLayout held = regs.reg_layout;
    std::vector<int> used;
    for (int axis = held.rank() - 1; axis >= 0; --axis) {
      if ((*axes)[axis] >= 0) continue;
      // A constant index: every lane must hold that element.
      const auto constant = indices[axis]->integer;
      if (constant < 0 || constant >= regs.shape[axis]) return fail(": a constant index leaves it");
      for (const auto* basis : {&held.lane, &held.wave}) {
        for (const auto& vector : basis->vectors) {
          if (vector[axis] != 0) return fail(": an element at a constant index is not in every lane");
        }
      }
      held = layout::slice(held, axis);
    }
    for (std::size_t axis = 0; axis < axes->size(); ++axis) {
      const int along = (*axes)[axis];
      if (along < 0) continue;
      if (std::find(used.begin(), used.end(), along) != used.end()) {
        return fail(": an index of the map stands on two axes");
      }
      if (map_.extent[along] != regs.shape[axis]) return fail(": the map's extent is not the array's");
      used.push_back(along);
    }
    if (layout::conversion(held, seen_through(map_.iteration, used)) > Conversion::registers) {
      return fail(" lies otherwise than the map's iteration");
    }
    return true;
  }

  void lds(const Storage& lds, const std::vector<ExprPtr>& indices, bool may_leave) {
    if (may_leave) return;
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      const auto range = range_of(*indices[axis], inside_);
      if (range && (range->lo < 0 || range->hi >= lds.shape[axis])) {
        check_.wrong("it leaves " + lds.name + " along axis " + std::to_string(axis));
      }
    }
  }

  const MapCheck& check_;
  const Map& map_;
  Ranges inside_;
  std::size_t next_access_ = 0;
};

}  // namespace

void check_map(const MapCheck& check, const Map& map) {
  const auto variables = static_cast<int>(check.subject.launch.variables.size());
  bool fits = map.index.size() == map.extent.size() && !map.index.empty();
  for (const int index : map.index) fits = fits && index >= 0 && index < variables;
  for (const auto extent : map.extent) fits = fits && extent >= 1 && extent <= (1 << 24);
  for (const auto& item : map.body) {
    fits = fits && item.value && item.let < variables && item.old < variables && (item.let < 0 || !item.where) &&
           (!item.where || item.where->type == DType::boolean);
    fits = fits && (item.atomic == tile::AtomicOp::cas) == (item.compare != nullptr);
    for (const auto& index : item.indices) fits = fits && index;
  }
  if (!fits) return check.wrong("its indices and extents do not fit");
  if (!check.subject.target.is_host()) {
    const auto& layout = map.iteration;
    if (layout.reg.bits() > 12 || layout.lane.bits() > 6 || layout.wave.bits() > 6) {
      return check.wrong("its layout has too many bits");
    }
    if (const auto covered = layout.covers(); !covered) return check.wrong(covered.error().message);
    if (map.iteration.unit.size() != map.extent.size() || map.iteration.shape() != map.extent) {
      return check.wrong("its iteration's layout is for another shape");
    }
    const int lanes = 1 << map.iteration.lane.bits(), waves = 1 << map.iteration.wave.bits();
    if (lanes != check.subject.launch.wave || waves != check.role.waves) {
      return check.wrong("its iteration is not over the role's lanes and waves");
    }
  }
  Checker(check, map).run();
}

}  // namespace kiln::kernel
