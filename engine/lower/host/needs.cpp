#include "engine/lower/host/needs.hpp"

#include <algorithm>

#include "engine/lower/bounds.hpp"

namespace kiln::lower::host {
namespace {

using bound::Expr;
using bound::ExprPtr;

bool only_blocks(const Expr& expr) {
  const bool leaf =
      expr.kind == Expr::Kind::integer || expr.kind == Expr::Kind::block || expr.kind == Expr::Kind::symbol;
  if (!leaf && expr.kind != Expr::Kind::binary) return false;
  return std::all_of(expr.args.begin(), expr.args.end(), [](const auto& arg) { return only_blocks(*arg); });
}

bool is_variable(const Expr& expr, int id) { return expr.kind == Expr::Kind::variable && expr.integer == id; }

bool mentions(const Expr& expr, int id) {
  return is_variable(expr, id) ||
         std::any_of(expr.args.begin(), expr.args.end(), [&](const auto& arg) { return mentions(*arg, id); });
}

class Finder {
 public:
  Finder(const bound::Program& program, const bound::Launch& launch)
      : program_(program), launch_(launch), facts_(launch.grid, program.symbols) {
    for (const auto& tile : launch.tiles) needs_.emplace_back(tile.shape.size());
  }
  Needs find() {
    do {
      changed_ = false;
      body(launch_.body);
    } while (changed_);
    return needs_;
  }

 private:
  void join(Need& into, const Need& more) {
    if (more.kind == Need::Kind::none || into.kind == Need::Kind::all) return;
    if (into.kind == Need::Kind::below && more.kind == Need::Kind::below && same_expression(*into.limit, *more.limit))
      return;
    into = into.kind == Need::Kind::none ? more : Need{Need::Kind::all, nullptr};
    changed_ = true;
  }
  void all_of(int tile) {
    for (auto& axis : needs_[tile]) join(axis, {Need::Kind::all, nullptr});
  }
  void reads(const ExprPtr& expr) {
    if (!expr) return;
    if (expr->kind == Expr::Kind::tile) all_of(static_cast<int>(expr->integer));
    for (const auto& arg : expr->args) reads(arg);
  }
  void body(const bound::Body& statements) {
    for (const auto& stmt : statements) std::visit([&](const auto& node) { visit(node); }, stmt.node);
  }

  void visit(const bound::Copy& copy);
  void visit(const bound::Map& map);
  void map_reads(const Expr& expr, const bound::Map& map, const std::vector<Need>& index_needs);
  void visit(const bound::Gemm& gemm) {
    join(needs_[gemm.a][gemm.transpose_a ? 1 : 0], needs_[gemm.c][0]);
    join(needs_[gemm.a][gemm.transpose_a ? 0 : 1], {Need::Kind::all, nullptr});
    join(needs_[gemm.b][gemm.transpose_b ? 0 : 1], needs_[gemm.c][1]);
    join(needs_[gemm.b][gemm.transpose_b ? 1 : 0], {Need::Kind::all, nullptr});
  }
  void visit(const bound::Reduce& reduce) {
    auto& from = needs_[reduce.from];
    const auto& to = needs_[reduce.to];
    for (int axis = 0; axis < static_cast<int>(from.size()); ++axis) {
      if (axis == reduce.axis)
        join(from[axis], {Need::Kind::all, nullptr});
      else
        join(from[axis], to[axis < reduce.axis ? axis : axis - 1]);
    }
  }
  void visit(const bound::Scan& scan) { all_of(scan.from); }
  void visit(const bound::Fill& fill) { reads(fill.value); }
  void visit(const bound::Let& let) { reads(let.value); }
  void visit(const bound::Leave& leave) { reads(leave.condition); }
  void visit(const bound::For& loop) {
    reads(loop.from);
    reads(loop.to);
    body(loop.body);
  }
  void visit(const bound::If& branch) {
    reads(branch.condition);
    body(branch.then);
    body(branch.otherwise);
  }

  const bound::Program& program_;
  const bound::Launch& launch_;
  Facts facts_;
  Needs needs_;
  bool changed_ = false;
};

// A whole tile into a tensor: what lies outside is dropped; into a whole tile: what is needed there. Other copies look
// at everything.
void Finder::visit(const bound::Copy& copy) {
  for (const auto* region : {&copy.from, &copy.to}) {
    for (const auto& start : region->start) reads(start);
  }
  if (copy.from.is_tensor) return;
  if (!is_whole(copy.from, copy.shape, launch_.tiles[copy.from.id].shape)) return all_of(copy.from.id);
  if (!copy.to.is_tensor) {
    if (!is_whole(copy.to, copy.shape, launch_.tiles[copy.to.id].shape)) return all_of(copy.from.id);
    for (std::size_t axis = 0; axis < copy.shape.size(); ++axis)
      join(needs_[copy.from.id][axis], needs_[copy.to.id][axis]);
    return;
  }
  const auto& tensor = program_.tensors[copy.to.id];
  std::size_t axis = 0;
  for (std::size_t t = 0; t < tensor.shape.size(); ++t) {
    if (!copy.to.ranged[t]) continue;
    const auto& start = copy.to.start[t];
    Need need{Need::Kind::all, nullptr};
    if (only_blocks(*start) && !stays_inside(*start, copy.shape[axis], tensor.shape[t], facts_)) {
      need = {Need::Kind::below, bound::make_binary(Op::sub, tensor.shape[t].expr(), start)};
    }
    join(needs_[copy.from.id][axis++], need);
  }
}

void Finder::map_reads(const Expr& expr, const bound::Map& map, const std::vector<Need>& index_needs) {
  if (expr.kind == Expr::Kind::tile) {
    auto& tile = needs_[expr.integer];
    for (std::size_t axis = 0; axis < expr.args.size(); ++axis) {
      Need need{Need::Kind::all, nullptr};
      for (std::size_t i = 0; i < map.index.size(); ++i) {
        if (is_variable(*expr.args[axis], map.index[i])) need = index_needs[i];
      }
      join(tile[axis], need);
    }
  }
  for (const auto& arg : expr.args) map_reads(*arg, map, index_needs);
}

void Finder::visit(const bound::Map& map) {
  const auto index_needs = needs_of_map(map, needs_);
  for (const auto& item : map.body) {
    if (item.where) map_reads(*item.where, map, index_needs);
    map_reads(*item.value, map, index_needs);
    if (item.compare) map_reads(*item.compare, map, index_needs);
    for (const auto& index : item.indices) map_reads(*index, map, index_needs);
  }
}

}  // namespace

Needs find_needs(const bound::Program& program, const bound::Launch& launch) { return Finder(program, launch).find(); }

bool is_whole(const bound::Region& region, const std::vector<std::int64_t>& extents,
              const std::vector<std::int64_t>& shape) {
  return extents == shape &&
         std::all_of(region.start.begin(), region.start.end(),
                     [](const ExprPtr& start) { return constant_of(*start) == 0; }) &&
         std::all_of(region.ranged.begin(), region.ranged.end(), [](bool ranged) { return ranged; });
}

std::vector<Need> needs_of_map(const bound::Map& map, const Needs& needs) {
  std::vector<Need> result(map.index.size());
  const auto join = [](Need& into, const Need& more) {
    if (more.kind == Need::Kind::none || into.kind == Need::Kind::all) return;
    if (into.kind == Need::Kind::none)
      into = more;
    else if (more.kind == Need::Kind::all || !same_expression(*into.limit, *more.limit))
      into = {Need::Kind::all, nullptr};
  };
  for (const auto& item : map.body) {
    if (item.let >= 0) continue;
    for (std::size_t i = 0; i < map.index.size(); ++i) {
      Need need{Need::Kind::all, nullptr};
      for (std::size_t axis = 0; !item.tensor && axis < item.indices.size(); ++axis) {
        if (is_variable(*item.indices[axis], map.index[i]))
          need = needs[item.target][axis];
        else if (mentions(*item.indices[axis], map.index[i])) {
          need = {Need::Kind::all, nullptr};
          break;
        }
      }
      join(result[i], need);
    }
  }
  return result;
}

}  // namespace kiln::lower::host
