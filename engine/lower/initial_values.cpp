#include "engine/lower/initial_values.hpp"

#include <algorithm>

#include "engine/ir/bound/assumptions.hpp"
#include "engine/lower/bounds.hpp"

namespace kiln::lower {
namespace {

using bound::Expr;
using bound::ExprPtr;
using bound::same_expression;

// What is known of one tile at a point of the program.
struct Known {
  bool whole = false;    // every element is certainly written
  bool touched = false;  // some element may be
};

// What an element access stands on: constants, block ids and the map's own indices give the same element whenever an
// iteration computes them.
bool is_fixed(const Expr& expr, const bound::Map& map) {
  switch (expr.kind) {
    case Expr::Kind::integer: case Expr::Kind::block: return true;
    case Expr::Kind::variable:
      return std::find(map.index.begin(), map.index.end(), static_cast<int>(expr.integer)) != map.index.end();
    case Expr::Kind::binary:
      return std::all_of(expr.args.begin(), expr.args.end(), [&](const auto& arg) { return is_fixed(*arg, map); });
    default: return false;
  }
}

// Whether the map's writes at `indices` reach every element: each axis has an index of its own that runs over it.
bool covers(const bound::Map& map, const std::vector<ExprPtr>& indices, const std::vector<std::int64_t>& shape) {
  std::vector<bool> used(map.index.size(), false);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1 && constant_of(*indices[axis]) == 0) continue;
    if (indices[axis]->kind != Expr::Kind::variable) return false;
    const auto at = std::find(map.index.begin(), map.index.end(), static_cast<int>(indices[axis]->integer));
    if (at == map.index.end()) return false;
    const std::size_t position = static_cast<std::size_t>(at - map.index.begin());
    if (used[position] || map.extent[position] != shape[axis]) return false;
    used[position] = true;
  }
  return true;
}

// Whether the region is all of its tile; `extents` are those of its ranged axes.
bool is_whole(const bound::Region& region, const std::vector<std::int64_t>& extents,
              const std::vector<std::int64_t>& shape) {
  if (region.start.empty()) return true;
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (constant_of(*region.start[axis]) != 0) return false;
    if ((region.ranged[axis] ? extents[next++] : 1) != shape[axis]) return false;
  }
  return true;
}

// One forward walk over a launch. What is whole only grows along a path, so a loop's body is judged by its first
// iteration.
class Walk {
 public:
  explicit Walk(const bound::Launch& launch)
      : launch_(launch), known_(launch.tiles.size()), unproven_(launch.tiles.size(), false),
        first_use_(launch.tiles.size(), -1) {}

  void run() {
    for (std::size_t i = 0; i < launch_.body.size(); ++i) {
      top_ = static_cast<int>(i);
      visit_one(launch_.body[i]);
    }
  }
  [[nodiscard]] bool needs_value(int tile) const { return unproven_[tile]; }
  // The position in the launch's body of the first statement that touches the tile.
  [[nodiscard]] int first_use(int tile) const { return first_use_[tile]; }
  Diagnostics& mistakes() { return mistakes_; }

 private:
  void visit_one(const bound::Stmt& stmt) {
    stmt_ = &stmt;
    std::visit([&](const auto& node) { visit(node); }, stmt.node);
  }
  void body(const bound::Body& statements) {
    for (const auto& stmt : statements) visit_one(stmt);
  }
  void use(int tile) {
    if (first_use_[tile] < 0) first_use_[tile] = top_;
  }

  // `surely`: the statement, if it runs, reads some element.
  void read(int tile, bool surely, const char* hint) {
    use(tile);
    if (known_[tile].whole) return;
    if (!known_[tile].touched && surely && certain_) {
      const std::string name = launch_.tiles[tile].name.empty() ? "tile " + std::to_string(tile)
                                                                : "the tile '" + launch_.tiles[tile].name + "'";
      Diagnostic mistake;
      mistake.pointer = stmt_->pointer;
      mistake.message = name + " is read before anything is written to it";
      mistake.hint = hint;
      mistakes_.add(std::move(mistake));
      known_[tile] = {true, true};  // told once
      return;
    }
    unproven_[tile] = true;
  }
  void write_whole(int tile) {
    use(tile);
    known_[tile] = {true, true};
  }
  // What else the tile holds must be something.
  void write_part(int tile) {
    use(tile);
    known_[tile].touched = true;
    unproven_[tile] = unproven_[tile] || !known_[tile].whole;
  }

  void read_expression(const ExprPtr& expr, bool surely) {
    if (expr) read_expression(*expr, surely, nullptr);
  }
  // In a map (null outside of one): elements that the same iteration has set are written.
  void read_expression(const Expr& expr, bool surely, const bound::Map* map) {
    if (expr.kind == Expr::Kind::tile && !(map && set_before(expr, *map))) {
      const bool inside = surely && surely_inside(expr, map);
      read(static_cast<int>(expr.integer), inside, "fill it, copy into it or set it in an earlier statement");
    }
    const bool lazy = expr.kind == Expr::Kind::select || expr.op == Op::logical_and || expr.op == Op::logical_or;
    for (std::size_t i = 0; i < expr.args.size(); ++i) {
      read_expression(*expr.args[i], surely && (!lazy || i == 0), map);
    }
  }
  bool set_before(const Expr& access, const bound::Map& map) const {
    return std::any_of(items_set_.begin(), items_set_.end(), [&](const bound::MapItem* item) {
      return item->target == access.integer && !item->where &&
             std::equal(item->indices.begin(), item->indices.end(), access.args.begin(), access.args.end(),
                        [&](const auto& x, const auto& y) { return same_expression(*x, *y) && is_fixed(*x, map); });
    });
  }
  // Whether the map writes the item's tile with this item's indices only, and all of it, before it sets any of it under
  // a condition.
  bool set_as_a_whole(const bound::MapItem& item, const bound::Map& map) const {
    const auto first = std::find_if(items_set_.begin(), items_set_.end(),
                                    [&](const bound::MapItem* other) { return other->target == item.target; });
    return !(*first)->where && covers(map, item.indices, launch_.tiles[item.target].shape) &&
           std::all_of(items_set_.begin(), items_set_.end(), [&](const bound::MapItem* other) {
             return other->target != item.target ||
                    std::equal(item.indices.begin(), item.indices.end(), other->indices.begin(), other->indices.end(),
                               [](const ExprPtr& x, const ExprPtr& y) { return same_expression(*x, *y); });
           });
  }
  // Outside of a tile nothing is read. Indices that are simple enough tell that some iteration stays inside.
  bool surely_inside(const Expr& access, const bound::Map* map) const {
    const auto& shape = launch_.tiles[access.integer].shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto constant = constant_of(*access.args[axis]);
      const bool own = map && access.args[axis]->kind == Expr::Kind::variable && is_fixed(*access.args[axis], *map);
      if (!own && !(constant && *constant >= 0 && *constant < shape[axis])) return false;
    }
    return true;
  }

  void visit(const bound::Copy& copy) {
    for (const auto* list : {&copy.from.start, &copy.to.start, &copy.limit}) {
      for (const auto& expr : *list) read_expression(expr, true);
    }
    read_expression(copy.fill, false);
    if (!copy.from.is_tensor) read(copy.from.id, true, "fill it, copy into it or set it in an earlier statement");
    if (copy.to.is_tensor) return;
    if (is_whole(copy.to, copy.shape, launch_.tiles[copy.to.id].shape)) write_whole(copy.to.id);
    else write_part(copy.to.id);
  }
  void visit(const bound::Fill& fill) {
    read_expression(fill.value, true);
    write_whole(fill.tile);
  }
  void visit(const bound::Gemm& gemm) {
    for (const int tile : {gemm.a, gemm.b}) read(tile, true, "copy its values into it before the product");
    if (!gemm.clear) read(gemm.c, true, R"(fill it with 0 before, or set "clear": true)");
    write_whole(gemm.c);
  }
  void visit(const bound::Reduce& reduce) {
    read(reduce.from, true, "fill it, copy into it or set it in an earlier statement");
    if (reduce.accumulate) read(reduce.to, true, R"(fill it before, or leave out "accumulate")");
    write_whole(reduce.to);
  }
  void visit(const bound::Scan& scan) {
    read(scan.from, true, "fill it, copy into it or set it in an earlier statement");
    write_whole(scan.to);
  }
  void visit(const bound::Map& map) {
    if (std::find(map.extent.begin(), map.extent.end(), 0) != map.extent.end()) return;  // no iteration
    items_set_.clear();
    for (const auto& item : map.body) {
      if (item.where) read_expression(*item.where, true, &map);
      read_expression(*item.value, !item.where, &map);
      if (item.compare) read_expression(*item.compare, !item.where, &map);
      for (const auto& index : item.indices) read_expression(*index, !item.where, &map);
      if (item.let >= 0 || item.tensor) continue;
      use(item.target);
      known_[item.target].touched = true;
      items_set_.push_back(&item);
    }
    // Whole behind the map only: an iteration may not rely on what others write.
    for (const auto* item : items_set_) {
      if (set_as_a_whole(*item, map)) write_whole(item->target);
      else write_part(item->target);
    }
    items_set_.clear();
  }
  void visit(const bound::Let& let) { read_expression(let.value, true); }
  void visit(const bound::Leave& leave) { read_expression(leave.condition, true); }
  void visit(const bound::For& loop) {
    read_expression(loop.from, true);
    read_expression(loop.to, true);
    const auto from = constant_of(*loop.from), to = constant_of(*loop.to);
    if (from && to) {
      if (*from < *to) body(loop.body);
      return;
    }
    const auto before = known_;
    const bool outer = certain_;
    certain_ = false;
    body(loop.body);
    certain_ = outer;
    for (std::size_t i = 0; i < known_.size(); ++i) known_[i].whole = before[i].whole;
  }
  void visit(const bound::If& branch) {
    read_expression(branch.condition, true);
    const auto before = known_;
    const bool outer = certain_;
    certain_ = false;
    body(branch.then);
    const auto after_then = known_;
    known_ = before;
    body(branch.otherwise);
    certain_ = outer;
    for (std::size_t i = 0; i < known_.size(); ++i) {
      known_[i].whole = known_[i].whole && after_then[i].whole;
      known_[i].touched = known_[i].touched || after_then[i].touched;
    }
  }

  const bound::Launch& launch_;
  std::vector<Known> known_;
  std::vector<bool> unproven_;
  std::vector<int> first_use_;
  std::vector<const bound::MapItem*> items_set_;  // of the running map, so far
  const bound::Stmt* stmt_ = nullptr;
  int top_ = 0;
  bool certain_ = true;  // the statement surely runs, with its first iteration where it is in a loop
  Diagnostics mistakes_;
};

ExprPtr zero(DType type) { return is_float(type) ? bound::make_real(0, type) : bound::make_integer(0, type); }

// In front of their first uses, so that tiles live no longer than before.
void insert_fills(bound::Launch& launch, const Walk& walk, std::vector<Decision>& decisions) {
  bound::Body made;
  for (std::size_t i = 0; i < launch.body.size(); ++i) {
    for (int tile = 0; tile < static_cast<int>(launch.tiles.size()); ++tile) {
      if (!walk.needs_value(tile) || walk.first_use(tile) != static_cast<int>(i)) continue;
      const std::string pointer = launch.body[i].pointer;
      made.push_back({pointer, bound::Fill{tile, zero(launch.tiles[tile].dtype)}});
      decisions.push_back({"initial values", launch.tiles[tile].name,
                           "filled with 0 before " + pointer + ": not certainly written as a whole before it is used"});
    }
    made.push_back(std::move(launch.body[i]));
  }
  launch.body = std::move(made);
}

bool needs_values(const Walk& walk, std::size_t tiles) {
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    if (walk.needs_value(static_cast<int>(tile))) return true;
  }
  return false;
}

}  // namespace

Result<std::optional<bound::Program>> with_initial_values(const bound::Program& program,
                                                          std::vector<Decision>& decisions) {
  std::optional<bound::Program> changed;
  Diagnostics mistakes;
  for (std::size_t i = 0; i < program.launches.size(); ++i) {
    const bound::Launch& launch = program.launches[i];
    Walk walk(launch);
    walk.run();
    for (auto& mistake : walk.mistakes().take()) mistakes.add(std::move(mistake));
    if (mistakes.has_errors() || !needs_values(walk, launch.tiles.size())) continue;
    if (!changed) changed = program;
    insert_fills(changed->launches[i], walk, decisions);
  }
  if (!mistakes.has_errors()) return changed;
  auto list = mistakes.take();
  const std::string what = list.front().message;
  return program_error("'" + program.name + "' cannot be compiled: " + what, std::move(list));
}

}  // namespace kiln::lower
