// Step 4, emission: copies between tensors, shared tiles and fragments. What is no copy of a whole tile becomes a map.
#include <algorithm>

#include "engine/lower/amd/builder.hpp"
#include "engine/lower/amd/nodes.hpp"
#include "engine/lower/amd/thread_maps.hpp"

namespace kiln::lower::amd {
namespace {

// Bytes of one access to memory: as wide as the registers' run and the tensor's side allow.
int memory_bytes(const kernel::Storage& regs, int axis, int elements_max) {
  const int element = dtype_bytes(regs.dtype);
  if (axis < 0) return element;
  int elements = elements_max;
  while (elements > 1 && !kernel::vector_accesses(regs, axis, elements * element)) elements /= 2;
  return elements * element;
}

// The axis along which an access is contiguous when none is: any (each access is one element).
int access_axis(int memory_axis) { return std::max(memory_axis, 0); }

// A map over shape with `to[…] = cast(from[…])`, each side's starts added.
class CopyMap {
 public:
  CopyMap(Builder& builder, const bound::Copy& copy) : builder_(builder), copy_(copy) {
    for (const auto extent : copy.shape) {
      map_.index.push_back(builder.add_variable("i"));
      map_.extent.push_back(extent);
    }
  }
  bound::Map make() {
    bound::MapItem item;
    item.tensor = copy_.to.is_tensor;
    item.target = copy_.to.id;
    item.indices = indices(copy_.to);
    item.value = element(copy_.from, indices(copy_.from));
    if (copy_.from.is_tensor) item.value = filled(item.value, copy_.from, indices(copy_.from));
    if (copy_.to.is_tensor && !copy_.limit.empty()) item.indices = limited(item.indices);
    const DType wanted = type_of(copy_.to);
    if (item.value->type != wanted) item.value = make_node(bound::Expr::Kind::cast, wanted, {item.value});
    map_.body.push_back(std::move(item));
    return map_;
  }

 private:
  DType type_of(const bound::Region& region) const {
    return region.is_tensor ? builder_.subject.program.tensors[region.id].dtype
        : builder_.subject.tile(region.id).dtype;
  }
  std::vector<bound::ExprPtr> indices(const bound::Region& region) const {
    std::vector<bound::ExprPtr> list;
    std::size_t ranged = 0;
    for (std::size_t axis = 0; axis < region.start.size(); ++axis) {
      if (!region.ranged[axis]) { list.push_back(region.start[axis]); continue; }
      const auto index = make_node(bound::Expr::Kind::variable, DType::index, {}, map_.index[ranged++]);
      list.push_back(bound::make_binary(Op::add, region.start[axis], index));
    }
    return list;
  }
  bound::ExprPtr element(const bound::Region& region, std::vector<bound::ExprPtr> at) const {
    return make_node(region.is_tensor ? bound::Expr::Kind::tensor : bound::Expr::Kind::tile, type_of(region),
                std::move(at), region.id);
  }
  // Reads outside give 0 by themselves; another fill, or a limit inside the tensor, is a selection.
  bound::ExprPtr filled(bound::ExprPtr value, const bound::Region& region,
                        const std::vector<bound::ExprPtr>& at) const {
    const auto zero = bound::make_integer(0);
    std::size_t ranged = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      auto end = builder_.subject.program.tensors[region.id].shape[axis].expr();
      if (region.ranged[axis]) {
        if (ranged < copy_.limit.size() && copy_.limit[ranged]) end =
            bound::make_binary(Op::min, end, copy_.limit[ranged]);
        ++ranged;
      }
      const auto above = make_node(bound::Expr::Kind::binary, DType::boolean, {at[axis], zero}, 0, Op::ge);
      const auto below = make_node(bound::Expr::Kind::binary, DType::boolean, {at[axis], end}, 0, Op::lt);
      const auto inside = make_node(bound::Expr::Kind::binary, DType::boolean, {above, below}, 0, Op::logical_and);
      value = make_node(bound::Expr::Kind::select, value->type, {inside, value, fill_value(value->type)});
    }
    return value;
  }
  bound::ExprPtr fill_value(DType type) const {
    if (copy_.fill) return copy_.fill;
    return make_node(is_float(type) ? bound::Expr::Kind::real : bound::Expr::Kind::integer, type, {});
  }
  // Writes beyond a limit go nowhere: to an index outside, where checked stores are dropped.
  std::vector<bound::ExprPtr> limited(std::vector<bound::ExprPtr> at) const {
    std::size_t ranged = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      if (!copy_.to.ranged[axis]) continue;
      if (ranged < copy_.limit.size() && copy_.limit[ranged]) {
        const auto below = make_node(bound::Expr::Kind::binary, DType::boolean, {at[axis], copy_.limit[ranged]}, 0, Op::lt);
        at[axis] = make_node(bound::Expr::Kind::select, DType::index, {below, at[axis], bound::make_integer(-1)});
      }
      ++ranged;
    }
    return at;
  }

  Builder& builder_;
  const bound::Copy& copy_;
  bound::Map map_;
};

std::vector<bound::ExprPtr> uniform_all(Builder& builder, const std::vector<bound::ExprPtr>& list, kernel::Body& to) {
  std::vector<bound::ExprPtr> made;
  for (const auto& expr : list) made.push_back(builder.uniform(expr, to));
  return made;
}

void make_uniform(Builder& builder, kernel::GlobalRef& ref, kernel::Body& to) {
  ref.start = uniform_all(builder, ref.start, to);
  ref.limit = uniform_all(builder, ref.limit, to);
}

}  // namespace

Result<int> Builder::load_tile(const bound::Stmt& stmt, const bound::Copy& copy,
                               const std::vector<bound::ExprPtr>& start,
                               kernel::Body& to) {
  const CopyPlan& made = plan.copies.at(&stmt);
  TensorSide side = tensor_access(subject, facts, copy, start);
  const auto& axes = plan.tiles[side.tile].axes;
  for (int& axis : side.ref.tile_axis) {
    if (axis >= 0) axis = static_cast<int>(std::find(axes.begin(), axes.end(), axis) - axes.begin());
  }
  const int elements = std::min(side.vector_elements_max, made.vector_elements);
  const int regs = add_regs(name_of(side.tile) + "_next", subject.program.tensors[side.tensor].dtype, made.map);
  const int bytes = memory_bytes(storage(regs), made.memory_axis, elements);
  storage(regs).vector_elements = bytes / dtype_bytes(storage(regs).dtype);
  const int run = layout::contiguous_registers(made.map, access_axis(made.memory_axis));
  if (run < storage(regs).vector_elements) storage(regs).vector_elements = 1;
  bounds_left(side.left);
  make_uniform(*this, side.ref, to);
  emit(to, kernel::LoadGlobal{regs, side.ref, bytes, side.addressing, uniform(copy.fill, to)});
  return regs;
}

void Builder::store_tile(int regs, int tile, kernel::Body& to) {
  const int home = storage_of(tile);
  store_lds(home, converted(regs, storage(regs).reg_layout, storage(home).dtype, to), to);
}

Status Builder::load_fragment(const bound::Copy& copy, const TensorSide& side, kernel::Body& to) {
  const int home = storage_of(side.tile);
  const DType dtype = subject.program.tensors[side.tensor].dtype;
  const int regs = dtype == storage(home).dtype
                       ? home : add_regs(name_of(side.tile) + "_in", dtype, storage(home).reg_layout,
                                         storage(home).vector_elements);
  kernel::GlobalRef ref = side.ref;
  bounds_left(side.left);
  make_uniform(*this, ref, to);
  const int bytes = memory_bytes(storage(regs), side.memory_axis, side.vector_elements_max);
  emit(to, kernel::LoadGlobal{regs, ref, bytes, side.addressing, uniform(copy.fill, to)});
  if (regs != home) convert_into(regs, home, to);
  return ok();
}

Status Builder::store_tensor(const bound::Copy& copy, const TensorSide& side, kernel::Body& to) {
  (void)copy;
  const DType dtype = subject.program.tensors[side.tensor].dtype;
  kernel::GlobalRef ref = side.ref;
  int regs;
  int memory_axis = side.memory_axis;
  if (subject.in_lds(side.tile)) {
    // In the storage's axes, coalesced for memory.
    const int home = storage_of(side.tile);
    const auto& axes = plan.tiles[side.tile].axes;
    const auto storage_axis = [&](int axis) {
      return axis < 0 ? -1 : static_cast<int>(std::find(axes.begin(), axes.end(), axis) - axes.begin());
    };
    memory_axis = storage_axis(memory_axis);
    for (int& axis : ref.tile_axis) axis = storage_axis(axis);
    MapRequest request;
    request.shape = storage(home).shape;
    request.lane_bits = subject.lane_bits();
    request.wave_bits = plan.wave_bits;
    request.fast = memory_axis >= 0 ? memory_axis : storage(home).lds_layout.contiguous;
    request.vector_bits = log2_of(side.vector_elements_max);
    regs = add_regs(name_of(side.tile) + "_out", storage(home).dtype, thread_map(request));
    load_lds(regs, home, {}, to);
  } else {
    regs = storage_of(side.tile);
  }
  regs = converted(regs, storage(regs).reg_layout, dtype, to);
  bounds_left(side.left);
  make_uniform(*this, ref, to);
  emit(to, kernel::StoreGlobal{regs, ref, memory_bytes(storage(regs), memory_axis, side.vector_elements_max)});
  return ok();
}

Status Builder::translate_copy_by_map(const bound::Copy& copy, kernel::Body& to) {
  return translate_map(CopyMap(*this, copy).make(), to);
}

Status Builder::translate_copy(const bound::Stmt& stmt, const bound::Copy& copy, kernel::Body& to) {
  const Site site{&stmt, facts, 0, 1};
  if (const auto side = tensor_side(subject, site, copy)) {
    if (!side->load) return store_tensor(copy, *side, to);
    if (!subject.in_lds(side->tile)) return load_fragment(copy, *side, to);
    KILN_TRY(const int regs, load_tile(stmt, copy, copy.from.start, to));
    store_tile(regs, side->tile, to);
    return ok();
  }
  const bool tiles = !copy.from.is_tensor && !copy.to.is_tensor;
  const bool whole = tiles && whole_tile(subject, copy.from, copy.shape) && whole_tile(subject, copy.to, copy.shape) &&
                     subject.tile(copy.from.id).shape == subject.tile(copy.to.id).shape;
  if (!whole || (subject.in_lds(copy.from.id) && subject.in_lds(copy.to.id))) return translate_copy_by_map(copy, to);
  const int layout_of = subject.in_lds(copy.to.id) ? copy.from.id : copy.to.id;
  const int value = subject.in_lds(copy.from.id) ? value_of(copy.from.id, plan.tiles[layout_of].home, to)
      : storage_of(copy.from.id);
  set_tile(copy.to.id, value, to);
  return ok();
}

}  // namespace kiln::lower::amd
