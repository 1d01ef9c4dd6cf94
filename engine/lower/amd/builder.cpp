#include "engine/lower/amd/builder.hpp"

#include <algorithm>

#include "engine/lower/amd/shared_layouts.hpp"
#include "engine/lower/amd/thread_maps.hpp"

namespace kiln::lower::amd {
namespace {

bool identity(const std::vector<int>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<int>(i)) return false;
  }
  return true;
}

std::vector<int> inverse(const std::vector<int>& axes) {
  std::vector<int> back(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) back[axes[i]] = static_cast<int>(i);
  return back;
}

// Consecutive registers that are emitted as one vector: what a gemm's instruction takes or gives, else a run.
int vector_of(const Subject& subject, const Plan& plan, int tile) {
  const layout::RegLayout& home = plan.tiles[tile].home;
  for (const Site& site : subject.sites) {
    const auto* gemm = node_of<bound::Gemm>(*site.stmt);
    if (!gemm) continue;
    const GemmPlan& made = plan.gemms.at(site.stmt);
    if (!made.instruction) continue;
    if (gemm->c == tile && home == made.result) return made.instruction->result_elements;
    if (gemm->a == tile || gemm->b == tile) return made.instruction->operand_elements;
  }
  int run = 1;
  for (int axis = 0; axis < home.rank(); ++axis) run = std::max(run, layout::contiguous_registers(home, axis));
  const int widest = std::max(1, 16 / dtype_bytes(subject.tile(tile).dtype));
  while (run > widest || home.registers() % run != 0) run /= 2;
  return std::max(run, 1);
}

}  // namespace

Builder::Builder(const Subject& subject_, const Plan& plan_, Lowered& report_)
    : subject(subject_), plan(plan_), report(report_), facts(subject_.launch.grid, subject_.program.symbols),
      tile_storage_(subject_.launch.tiles.size(), -1) {
  out.variables = subject.launch.variables;
  out.grid = subject.launch.grid;
  out.wave = subject.target.wave;
  out.threads = plan.waves * subject.target.wave;
}

std::string Builder::unique(const std::string& name) {
  const int count = names_[name]++;
  return count == 0 ? name : name + "_" + std::to_string(count + 1);
}
std::string Builder::name_of(int tile) const {
  const std::string& name = subject.tile(tile).name;
  return name.empty() ? "t" + std::to_string(tile) : name;
}

int Builder::add_regs(const std::string& name, DType dtype, const layout::RegLayout& layout, int vector_elements,
                      int tile) {
  kernel::Storage made;
  made.name = unique(name);
  made.dtype = dtype;
  made.shape = layout.shape();
  made.tile = tile;
  made.reg_layout = layout;
  made.vector_elements = vector_elements;
  while (made.vector_elements > 1 && layout.registers() % made.vector_elements != 0) made.vector_elements /= 2;
  out.storages.push_back(std::move(made));
  return static_cast<int>(out.storages.size()) - 1;
}

int Builder::add_lds(const std::string& name, DType dtype, const layout::LdsLayout& layout, int tile) {
  kernel::Storage made;
  made.kind = kernel::Storage::Kind::lds;
  made.name = unique(name);
  made.dtype = dtype;
  made.shape = layout.shape;
  made.tile = tile;
  made.lds_layout = layout;
  out.storages.push_back(std::move(made));
  return static_cast<int>(out.storages.size()) - 1;
}

int Builder::storage_of(int tile) {
  int& id = tile_storage_[tile];
  if (id >= 0) return id;
  const bound::Tile& source = subject.tile(tile);
  const TilePlan& made = plan.tiles[tile];
  id = subject.in_lds(tile) ? add_lds(name_of(tile), source.dtype, made.lds, tile)
                            : add_regs(name_of(tile), source.dtype, made.home, vector_of(subject, plan, tile), tile);
  return id;
}

int Builder::add_variable(const std::string& name, DType type) {
  out.variables.push_back({unique(name), type});
  return static_cast<int>(out.variables.size()) - 1;
}

void Builder::decide(std::string step, std::string subject_text, std::string text) {
  report.decisions.push_back({std::move(step), std::move(subject_text), std::move(text)});
}
void Builder::bounds_left(const std::vector<std::string>& lines) {
  for (const auto& line : lines) {
    auto& list = report.bounds_left;
    if (std::find(list.begin(), list.end(), line) == list.end()) list.push_back(line);
  }
}

void Builder::load_lds(int regs, int lds, std::vector<std::int64_t> start, kernel::Body& body, std::string note) {
  const auto& from = storage(lds).lds_layout;
  int bytes = kernel::lds_vector_bytes(storage(regs), from);
  // A start that is no multiple of the run would leave vectors unaligned.
  if (!start.empty()) {
    while (bytes > dtype_bytes(storage(regs).dtype) &&
           start[from.contiguous] * from.element_bytes % bytes != 0) bytes /= 2;
  }
  emit(body, kernel::LoadLds{regs, {lds, nullptr, std::move(start)}, bytes}, std::move(note));
}

void Builder::store_lds(int lds, int regs, kernel::Body& body) {
  emit(body, kernel::StoreLds{regs, {lds, nullptr, {}}, kernel::lds_vector_bytes(storage(regs),
      storage(lds).lds_layout)});
}

int Builder::converted(int from, const layout::RegLayout& layout, DType dtype, kernel::Body& body) {
  if (storage(from).dtype == dtype && storage(from).reg_layout == layout) return from;
  const std::string name = storage(from).name + "_as";
  const int vector = storage(from).reg_layout == layout ? storage(from).vector_elements : 1;
  const int to = add_regs(name, dtype, layout, vector);
  convert_into(from, to, body);
  return to;
}

void Builder::convert_into(int from, int to, kernel::Body& body) {
  auto method = layout::conversion(storage(from).reg_layout, storage(to).reg_layout);
  if (method == layout::Conversion::none) method = layout::Conversion::registers;
  if (method == layout::Conversion::registers) {
    emit(body, kernel::Convert{from, to, method, -1});
    return;
  }
  // Move the narrower of the two types.
  const DType moved = dtype_bytes(storage(from).dtype) <= dtype_bytes(storage(to).dtype) ? storage(from).dtype
      : storage(to).dtype;
  const int source = converted(from, storage(from).reg_layout, moved, body);
  const auto layout = scratch_layout(subject.target,
                                     {{target::LdsOperation::write, storage(source).reg_layout},
                                      {target::LdsOperation::read, storage(to).reg_layout}}, moved);
  const int scratch = add_lds("scratch", moved, layout);
  store_lds(scratch, source, body);
  if (storage(to).dtype == moved) {
    load_lds(to, scratch, {}, body);
    return;
  }
  const int read = add_regs(storage(to).name + "_in", moved, storage(to).reg_layout, storage(to).vector_elements);
  load_lds(read, scratch, {}, body);
  emit(body, kernel::Convert{read, to, layout::Conversion::registers, -1});
}

// A map that sets `to` from `from`, both in registers: axis i of `from` is axis axes[i] of `to`.
void Builder::rename_axes(int from, int to, const std::vector<int>& axes, kernel::Body& body) {
  kernel::Map map;
  std::vector<bound::ExprPtr> indices, source;
  for (const auto extent : storage(to).shape) {
    map.index.push_back(add_variable("i"));
    map.extent.push_back(extent);
    bound::Expr index;
    index.kind = bound::Expr::Kind::variable;
    index.integer = map.index.back();
    indices.push_back(std::make_shared<const bound::Expr>(index));
  }
  for (const int axis : axes) source.push_back(indices[axis]);
  bound::Expr element;
  element.kind = bound::Expr::Kind::tile;
  element.integer = from;
  element.type = storage(from).dtype;
  element.args = source;
  map.iteration = storage(to).reg_layout;
  bound::MapItem item;
  item.target = to;
  item.indices = indices;
  item.value = std::make_shared<const bound::Expr>(element);
  map.body.push_back(std::move(item));
  map.checked = {false, false};
  emit(body, std::move(map), "axes renamed within each lane");
}

int Builder::reordered(int from, const std::vector<int>& axes, kernel::Body& body) {
  if (identity(axes)) return from;
  const layout::RegLayout layout = layout::permute(storage(from).reg_layout, axes);
  const int to = add_regs(storage(from).name + "_turned", storage(from).dtype, layout, storage(from).vector_elements);
  rename_axes(from, to, inverse(axes), body);
  return to;
}

int Builder::lifted(int from, kernel::Body& body) {
  const int to = add_regs(storage(from).name + "_row", storage(from).dtype, insert_axis(storage(from).reg_layout, 0));
  rename_axes(from, to, {1}, body);
  return to;
}

int Builder::value_of(int tile, const layout::RegLayout& layout, kernel::Body& body) {
  const int home = storage_of(tile);
  if (!subject.in_lds(tile)) return converted(home, layout, storage(home).dtype, body);
  const auto& axes = plan.tiles[tile].axes;
  const int regs = add_regs(name_of(tile) + "_regs", storage(home).dtype, layout::permute(layout, axes));
  load_lds(regs, home, {}, body);
  return reordered(regs, inverse(axes), body);
}

void Builder::set_tile(int tile, int regs, kernel::Body& body) {
  const int home = storage_of(tile);
  if (home == regs) return;
  if (!subject.in_lds(tile)) {
    convert_into(regs, home, body);
    return;
  }
  const int turned = reordered(converted(regs, storage(regs).reg_layout, storage(home).dtype, body),
                               plan.tiles[tile].axes, body);
  store_lds(home, turned, body);
}

std::vector<bound::ExprPtr> unit_indices_dropped(const std::vector<std::int64_t>& shape,
                                                 std::vector<bound::ExprPtr> indices) {
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    if (shape[axis] == 1) indices[axis] = bound::make_integer(0);
  }
  return indices;
}

std::vector<bound::ExprPtr> Builder::storage_indices(int tile, std::vector<bound::ExprPtr> indices) const {
  if (!subject.in_lds(tile)) return indices;
  std::vector<bound::ExprPtr> ordered;
  for (const int axis : plan.tiles[tile].axes) ordered.push_back(indices[axis]);
  return ordered;
}

bound::ExprPtr Builder::rewrite(const bound::ExprPtr& expr, const std::map<int, int>& moved) {
  if (!expr || (expr->args.empty() && expr->kind != bound::Expr::Kind::tile)) return expr;
  bound::Expr copy = *expr;
  bool changed = false;
  for (auto& arg : copy.args) {
    auto made = rewrite(arg, moved);
    changed = changed || made != arg;
    arg = std::move(made);
  }
  if (copy.kind == bound::Expr::Kind::tile) {
    const int tile = static_cast<int>(copy.integer);
    const auto at = moved.find(tile);
    copy.args = unit_indices_dropped(subject.tile(tile).shape, std::move(copy.args));
    if (at == moved.end()) copy.args = storage_indices(tile, std::move(copy.args));
    copy.integer = at == moved.end() ? storage_of(tile) : at->second;
    changed = true;
  }
  return changed ? std::make_shared<const bound::Expr>(std::move(copy)) : expr;
}

namespace {
void fragments_read(const Subject& subject, const bound::Expr& expr, std::vector<int>& tiles) {
  if (expr.kind == bound::Expr::Kind::tile && !subject.in_lds(static_cast<int>(expr.integer))) {
    const int tile = static_cast<int>(expr.integer);
    if (std::find(tiles.begin(), tiles.end(), tile) == tiles.end()) tiles.push_back(tile);
  }
  for (const auto& arg : expr.args) fragments_read(subject, *arg, tiles);
}
}  // namespace

bound::ExprPtr Builder::uniform(const bound::ExprPtr& expr, kernel::Body& body) {
  if (!expr) return expr;
  std::vector<int> tiles;
  fragments_read(subject, *expr, tiles);
  std::map<int, int> moved;
  for (const int tile : tiles) {
    const int home = storage_of(tile);
    const auto layout = scratch_layout(subject.target, {{target::LdsOperation::write, storage(home).reg_layout}},
                                       storage(home).dtype);
    moved[tile] = add_lds("scratch", storage(home).dtype, layout);
    store_lds(moved[tile], home, body);
  }
  return rewrite(expr, moved);
}

}  // namespace kiln::lower::amd
