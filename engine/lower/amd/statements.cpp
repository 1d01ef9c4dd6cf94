// Translators of single statements: fill, map, reduce, let, if, and the walk over bodies.
#include <algorithm>

#include "engine/lower/amd/builder.hpp"
#include "engine/lower/amd/nodes.hpp"
#include "engine/lower/amd/shared_layouts.hpp"
#include "engine/lower/amd/thread_maps.hpp"

namespace kiln::lower::amd {
namespace {

void reads_of(const bound::Expr& expr, TileUse& use) {
  if (expr.kind == bound::Expr::Kind::tile) use.read[expr.integer] = true;
  for (const auto& arg : expr.args) reads_of(*arg, use);
}
void reads_of(const std::vector<bound::ExprPtr>& list, TileUse& use) {
  for (const auto& expr : list) {
    if (expr) reads_of(*expr, use);
  }
}

void add_use(const bound::Body& body, TileUse& use);

void add_use(const bound::Stmt& stmt, TileUse& use) {
  if (const auto* copy = node_of<bound::Copy>(stmt)) {
    if (!copy->from.is_tensor) use.read[copy->from.id] = true;
    if (!copy->to.is_tensor) use.written[copy->to.id] = true;
    reads_of(copy->from.start, use);
    reads_of(copy->to.start, use);
    reads_of(copy->limit, use);
    if (copy->fill) reads_of(*copy->fill, use);
  } else if (const auto* fill = node_of<bound::Fill>(stmt)) {
    use.written[fill->tile] = true;
    reads_of(*fill->value, use);
  } else if (const auto* gemm = node_of<bound::Gemm>(stmt)) {
    use.read[gemm->a] = use.read[gemm->b] = use.written[gemm->c] = true;
    if (!gemm->clear) use.read[gemm->c] = true;
  } else if (const auto* map = node_of<bound::Map>(stmt)) {
    for (const auto& item : map->body) {
      reads_of(*item.value, use);
      if (item.compare) reads_of(*item.compare, use);
      reads_of(item.indices, use);
      reads_of({item.where}, use);
      if (item.let < 0 && !item.tensor) use.written[item.target] = true;
    }
  } else if (const auto* reduce = node_of<bound::Reduce>(stmt)) {
    use.read[reduce->from] = use.written[reduce->to] = true;
    if (reduce->accumulate) use.read[reduce->to] = true;
  } else if (const auto* loop = node_of<bound::For>(stmt)) {
    reads_of({loop->from, loop->to}, use);
    add_use(loop->body, use);
  } else if (const auto* branch = node_of<bound::If>(stmt)) {
    reads_of(*branch->condition, use);
    add_use(branch->then, use);
    add_use(branch->otherwise, use);
  } else if (const auto* let = node_of<bound::Let>(stmt)) {
    reads_of(*let->value, use);
  } else if (const auto* leave = node_of<bound::Leave>(stmt)) {
    reads_of(*leave->condition, use);
  }
}

void add_use(const bound::Body& body, TileUse& use) {
  for (const auto& stmt : body) add_use(stmt, use);
}

TileUse empty_use(const Subject& subject) {
  const std::size_t count = subject.launch.tiles.size();
  return {std::vector<bool>(count, false), std::vector<bool>(count, false)};
}

}  // namespace

TileUse tile_use(const Subject& subject, const bound::Body& body) {
  TileUse use = empty_use(subject);
  add_use(body, use);
  return use;
}
TileUse tile_use(const Subject& subject, const bound::Stmt& stmt) {
  TileUse use = empty_use(subject);
  add_use(stmt, use);
  return use;
}

Status Builder::translate(const bound::Body& body, kernel::Body& to) {
  for (const bound::Stmt& stmt : body) KILN_CHECK(translate_one(stmt, to));
  return ok();
}

Status Builder::translate_one(const bound::Stmt& stmt, kernel::Body& to) {
  pointer = stmt.pointer;
  if (const auto* copy = node_of<bound::Copy>(stmt)) return translate_copy(stmt, *copy, to);
  if (const auto* fill = node_of<bound::Fill>(stmt)) return translate_fill(*fill, to);
  if (const auto* gemm = node_of<bound::Gemm>(stmt)) return translate_gemm(stmt, *gemm, to);
  if (const auto* map = node_of<bound::Map>(stmt)) return translate_map(*map, to);
  if (const auto* reduce = node_of<bound::Reduce>(stmt)) return translate_reduce(*reduce, to);
  if (const auto* loop = node_of<bound::For>(stmt)) return translate_for(*loop, to);
  if (const auto* let = node_of<bound::Let>(stmt)) {
    facts.set_let(let->var, *let->value);
    emit(to, kernel::Let{let->var, uniform(let->value, to)});
    return ok();
  }
  if (const auto* leave = node_of<bound::Leave>(stmt)) {
    emit(to, kernel::Leave{uniform(leave->condition, to)});
    return ok();
  }
  const auto& branch = std::get<bound::If>(stmt.node);
  kernel::If made;
  made.condition = uniform(branch.condition, to);
  const Facts before = facts;
  KILN_CHECK(translate(branch.then, made.then));
  facts = before;
  KILN_CHECK(translate(branch.otherwise, made.otherwise));
  facts = before;
  pointer = stmt.pointer;
  emit(to, std::move(made));
  return ok();
}

Status Builder::translate_fill(const bound::Fill& fill, kernel::Body& to) {
  const auto value = uniform(fill.value, to);
  emit(to, kernel::Fill{storage_of(fill.tile), value});
  return ok();
}

Status Builder::translate_reduce(const bound::Reduce& reduce, kernel::Body& to) {
  if (subject.odd[reduce.from]) return translate_odd_reduce(reduce, to);
  layout::RegLayout from_layout;
  if (subject.in_lds(reduce.from)) {
    MapRequest request;
    request.shape = subject.tile(reduce.from).shape;
    request.lane_bits = subject.lane_bits();
    request.wave_bits = plan.wave_bits;
    request.fast = static_cast<int>(request.shape.size()) - 1;
    from_layout = thread_map(request);
  } else {
    from_layout = plan.tiles[reduce.from].home;
  }
  int from = value_of(reduce.from, from_layout, to);
  int along = reduce.axis;
  if (from_layout.rank() == 1) {  // as one row, so that the result has an axis
    from = lifted(from, to);
    from_layout = storage(from).reg_layout;
    along = 1;
  }
  const layout::RegLayout natural = layout::slice(from_layout, along);
  const int home = storage_of(reduce.to);
  const bool at_home = !subject.in_lds(reduce.to) && storage(home).reg_layout == natural;
  int result = home;
  if (!at_home) {
    result = add_regs(name_of(reduce.to) + "_part", storage(home).dtype, natural);
    if (reduce.accumulate) convert_into(value_of(reduce.to,
                                                 subject.in_lds(reduce.to) ? natural : storage(home).reg_layout, to),
                                                     result, to);
  }
  kernel::Reduce made{reduce.op, from, result, along, reduce.accumulate, -1};
  emit_reduce(made, to);
  if (!at_home) set_tile(reduce.to, result, to);
  return ok();
}

// With the scratch that waves need which share the axis.
void Builder::emit_reduce(kernel::Reduce reduce, kernel::Body& to) {
  const int parts = kernel::reduce_parts(storage(reduce.from).reg_layout, reduce.axis).count();
  if (parts > 1) {
    layout::LdsLayout scratch;  // [waves, rows of the result…], as Reduce says
    scratch.shape = storage(reduce.to).shape;
    scratch.shape.insert(scratch.shape.begin(), parts);
    scratch.element_bytes = dtype_bytes(storage(reduce.to).dtype);
    scratch.contiguous = static_cast<int>(scratch.shape.size()) - 1;
    reduce.scratch = add_lds("reduce_scratch", storage(reduce.to).dtype, scratch);
  }
  emit(to, reduce, parts > 1 ? "across " + std::to_string(parts) + " waves through LDS" : "within a wave");
}

namespace {

// Marks the accesses of an item that may leave what they read or write (the order is Map::checked's).
class BoundsOfMap {
 public:
  BoundsOfMap(const Subject& subject, const Facts& facts) : subject_(subject), facts_(facts) {}
  void item(const bound::MapItem& item) {
    const Facts before = facts_;
    if (item.where) {
      expression(*item.where);
      facts_.assume(*item.where);
    }
    expression(*item.value);
    if (item.compare) expression(*item.compare);
    for (const auto& index : item.indices) expression(*index);
    if (item.let < 0) access(item.tensor, item.target, item.indices, "store ");
    facts_ = before;
    if (item.let >= 0) facts_.set_let(item.let, *item.value);
  }
  std::vector<bool> checked;
  std::vector<std::string> left;

 private:
  void expression(const bound::Expr& expr) {
    if (expr.kind == bound::Expr::Kind::tile || expr.kind == bound::Expr::Kind::tensor) {
      access(expr.kind == bound::Expr::Kind::tensor, static_cast<int>(expr.integer), expr.args, "load ");
    }
    for (const auto& arg : expr.args) expression(*arg);
  }
  void access(bool tensor, int id, const std::vector<bound::ExprPtr>& indices, const char* what) {
    const auto extent = [&](std::size_t axis) -> bound::Extent {
      return tensor ? subject_.program.tensors[id].shape[axis] : bound::Extent(subject_.tile(id).shape[axis]);
    };
    const std::string& name = tensor ? subject_.program.tensors[id].name : subject_.tile(id).name;
    bool may_leave = false;
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      if (stays_inside(*indices[axis], 1, extent(axis), facts_)) continue;
      may_leave = true;
      left.push_back(what + name + " axis " + std::to_string(axis) + ": " +
                     how_it_leaves(*indices[axis], 1, extent(axis), facts_));
    }
    checked.push_back(may_leave);
  }
  const Subject& subject_;
  Facts facts_;
};

}  // namespace

namespace {

// Whether the point of a padded iteration space is one of the map's; null when it always is.
bound::ExprPtr inside_condition(const std::vector<int>& index, const std::vector<std::int64_t>& extent,
                                const std::vector<std::int64_t>& padded) {
  bound::ExprPtr inside;
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (extent[i] == padded[i]) continue;
    const auto variable = make_node(bound::Expr::Kind::variable, DType::index, {}, index[i]);
    const auto one = make_node(bound::Expr::Kind::binary, DType::boolean, {variable, bound::make_integer(extent[i])},
                                0, Op::lt);
    inside = inside ? make_node(bound::Expr::Kind::binary, DType::boolean, {inside, one}, 0, Op::logical_and) : one;
  }
  return inside;
}

// Whether the map reads what it writes outside registers: then a point that several lanes or waves compute would be
// updated twice.
bool updates_in_place(const Subject& subject, const bound::Map& map, const std::vector<TileAccess>& accesses) {
  for (const auto& access : accesses) {
    if (subject.in_lds(access.tile) && access.read && access.written) return true;
  }
  return std::any_of(map.body.begin(), map.body.end(), [&](const bound::MapItem& item) {
    if (item.let >= 0 || !item.tensor) return false;
    const auto& tensor = subject.program.tensors[item.target];
    return tensor.access == Access::readwrite || tensor.may_alias;
  });
}
// An atomic is done once a point: by one register of one lane of one wave.
bool updates(const bound::Map& map) {
  return std::any_of(map.body.begin(), map.body.end(),
                     [](const bound::MapItem& item) { return item.atomic != tile::AtomicOp::none; });
}
bool replicated(const layout::RegLayout& layout) {
  for (const auto* basis : {&layout.reg, &layout.lane, &layout.wave}) {
    for (const auto& vector : basis->vectors) {
      if (std::all_of(vector.begin(), vector.end(), [](std::int64_t moved) { return moved == 0; })) return true;
    }
  }
  return false;
}

// The axis of what an item sets whose index says where nothing is set: the others of one value lose theirs.
std::size_t guarded_axis(const Subject& subject, const bound::MapItem& item) {
  if (item.tensor) return 0;
  const auto& shape = subject.tile(item.target).shape;
  const auto axis = std::find_if(shape.begin(), shape.end(), [](std::int64_t extent) { return extent != 1; });
  return axis == shape.end() ? 0 : static_cast<std::size_t>(axis - shape.begin());
}

// Sets nothing at points that are not the map's: under a condition that says so, or at the index -1, where checked
// writes are dropped.
void set_only_inside(const bound::Map& map, const std::vector<std::int64_t>& padded, std::size_t axis,
                     bound::MapItem& item) {
  const auto inside = inside_condition(map.index, map.extent, padded);
  if (item.where) {
    item.where = make_node(bound::Expr::Kind::binary, DType::boolean, {inside, item.where}, 0, Op::logical_and);
    return;
  }
  bound::ExprPtr& index = item.indices[axis];
  index = make_node(bound::Expr::Kind::select, DType::index, {inside, index, bound::make_integer(-1)});
}

}  // namespace

Status Builder::translate_map(const bound::Map& map, kernel::Body& to) {
  const auto accesses = direct_accesses(subject, map);
  kernel::Map made;
  made.index = map.index;
  made.extent = map.extent;
  auto iteration = iteration_layout(subject, plan, map, accesses);
  const bool once = updates(map) || updates_in_place(subject, map, accesses);
  if (iteration && once && replicated(*iteration)) iteration.reset();
  made.iteration = iteration ? *iteration : default_iteration(subject, plan, map);
  made.extent = made.iteration.shape();
  const bool padded = made.extent != map.extent;
  Facts inside = facts;
  for (std::size_t i = 0; i < map.index.size(); ++i) inside.set_index(map.index[i], made.extent[i]);

  struct Moved { int tile, storage; bool in_lds; };
  std::map<int, int> moved;
  std::vector<Moved> back;
  // Elements of other lanes.
  const auto through_lds = [&](const TileAccess& access, int home) {
    const auto layout = scratch_layout(subject.target, {{target::LdsOperation::write, storage(home).reg_layout}},
                                       storage(home).dtype);
    const int scratch = add_lds("scratch", storage(home).dtype, layout);
    // What the map does not set keeps its value; a map that sets all of the tile by its own indices needs none.
    if (access.read_first || !access.direct) store_lds(scratch, home, to);
    moved[access.tile] = scratch;
    if (access.written) back.push_back({access.tile, scratch, true});
  };
  for (const auto& access : accesses) {
    if (subject.in_lds(access.tile)) continue;
    const int home = storage_of(access.tile);
    if (access.direct) {
      const auto needed = projected(made.iteration, access.axes);
      if (needed.shape() != storage(home).shape) {
        through_lds(access, home);
        continue;
      }
      if (agrees(storage(home).reg_layout, needed)) continue;
      const int own = access.read_first ? converted(home, needed, storage(home).dtype, to)
                                        : add_regs(name_of(access.tile) + "_as", storage(home).dtype, needed);
      moved[access.tile] = own;
      if (access.written) back.push_back({access.tile, own, false});
      continue;
    }
    through_lds(access, home);
  }
  BoundsOfMap bounds(subject, inside);
  for (bound::MapItem item : map.body) {
    if (padded && item.let < 0) set_only_inside(map, made.extent, guarded_axis(subject, item), item);
    bounds.item(item);
    bound::MapItem one = item;
    one.value = rewrite(item.value, moved);
    if (item.where) one.where = rewrite(item.where, moved);
    one.compare = rewrite(item.compare, moved);
    for (auto& index : one.indices) index = rewrite(index, moved);
    if (item.let < 0 && !item.tensor) {
      const auto at = moved.find(item.target);
      const auto axis = guarded_axis(subject, item);
      const auto guarded = one.indices[axis];
      one.indices = unit_indices_dropped(subject.tile(item.target).shape, std::move(one.indices));
      if (padded && !item.where) one.indices[axis] = guarded;
      if (at == moved.end()) one.indices = storage_indices(item.target, std::move(one.indices));
      one.target = at == moved.end() ? storage_of(item.target) : at->second;
    }
    made.body.push_back(std::move(one));
  }
  made.checked = bounds.checked;
  bounds_left(bounds.left);
  emit(to, std::move(made));
  for (const auto& one : back) {
    if (one.in_lds) {
      load_lds(storage_of(one.tile), one.storage, {}, to);
    } else {
      convert_into(one.storage, storage_of(one.tile), to);
    }
  }
  return ok();
}

}  // namespace kiln::lower::amd
