// Elementwise statements: loops over the index space, the last index along the vector, its rest under a mask.
#include <algorithm>
#include <bit>
#include <set>

#include "engine/emit/llvm_context.hpp"
#include "engine/emit/llvm_elements.hpp"
#include "engine/emit/llvm_expression.hpp"

namespace kiln::emit::llvm_text {
namespace {

using bound::Expr;

class MapPrinter {
 public:
  MapPrinter(Context& ctx, const kernel::Map& map) : ctx_(ctx), ir_(ctx.ir), map_(map) {
    find_checked();
    for (const auto& item : map.body) {
      if (item.let >= 0)
        lets_.insert(item.let);
      else if (item.old >= 0)
        lets_.insert(item.old);
      if (item.let < 0)
        written_.insert({item.tensor, item.tensor ? bound::memory_of(ctx.program.tensors, item.target) : item.target});
    }
    const auto last = static_cast<std::uint64_t>(std::max<std::int64_t>(map.extent.back(), 2));
    lanes_ = static_cast<int>(std::min<std::uint64_t>(ctx.vector_bytes / 4, std::bit_ceil(last)));
  }
  void emit() { level(0); }

 private:
  void find_checked();
  void level(std::size_t axis);
  void run();
  void items(const Value& base, const Value& mask);
  void poll(std::size_t axis);
  void hoist(const Expr& expr, Evaluator& evaluator, bool elements);
  [[nodiscard]] bool can_hoist(const Expr& expr) const;

  Context& ctx_;
  Builder& ir_;
  const kernel::Map& map_;
  std::set<const Expr*> checked_;
  std::vector<bool> target_checked_;
  std::set<int> lets_;
  std::set<std::pair<bool, int>> written_;
  std::map<const Expr*, Value> known_;
  int lanes_ = 8;
};

// Map::checked counts accesses item by item: those in the condition, in the value, in the target's indices, the target.
void MapPrinter::find_checked() {
  std::size_t next = 0;
  const auto flag = [&] { return next >= map_.checked.size() || map_.checked[next++]; };
  const auto note = [&](const Expr& expr) {
    if (flag()) checked_.insert(&expr);
  };
  for (const auto& item : map_.body) {
    if (item.where) visit_accesses(*item.where, note);
    visit_accesses(*item.value, note);
    if (item.compare) visit_accesses(*item.compare, note);
    for (const auto& index : item.indices) visit_accesses(*index, note);
    target_checked_.push_back(item.let < 0 && flag());
  }
}

// Long maps look at the cancel flag, in the outermost loop whose iterations are short.
void MapPrinter::poll(std::size_t axis) {
  constexpr std::int64_t short_iterations = std::int64_t(1) << 18;
  std::int64_t inside = 1;
  for (std::size_t i = axis + 1; i < map_.extent.size(); ++i) inside *= map_.extent[i];
  if (inside <= short_iterations && inside * map_.extent[axis] > short_iterations) poll_cancel(ctx_);
}

void MapPrinter::level(std::size_t axis) {
  if (axis + 1 == map_.index.size()) return run();
  ir_.loop(Builder::constant(0), limited(ctx_, map_.extent[axis], map_.limit, axis), 1, [&](const Value& i) {
    poll(axis);
    ctx_.variables[map_.index[axis]] = i;
    level(axis + 1);
  });
}

// A whole subexpression that reads memory the map does not write, and is the same in all lanes.
bool MapPrinter::can_hoist(const Expr& expr) const {
  if (expr.kind == Expr::Kind::variable) {
    const int id = static_cast<int>(expr.integer);
    return id != map_.index.back() && !lets_.contains(id);
  }
  if (expr.kind == Expr::Kind::tile || expr.kind == Expr::Kind::tensor) {
    const bool tensor = expr.kind == Expr::Kind::tensor;
    const int id = static_cast<int>(expr.integer);
    if (written_.contains({tensor, tensor ? bound::memory_of(ctx_.program.tensors, id) : id})) return false;
  }
  return std::all_of(expr.args.begin(), expr.args.end(), [&](const auto& arg) { return can_hoist(*arg); });
}

// `elements` false: they may be read under the item's condition only.
void MapPrinter::hoist(const Expr& expr, Evaluator& evaluator, bool elements) {
  const bool element = expr.kind == Expr::Kind::tile || expr.kind == Expr::Kind::tensor;
  const bool reads = (element && elements) || expr.kind == Expr::Kind::scalar;
  if (reads && can_hoist(expr)) {
    known_[&expr] = evaluator.index_value(expr);
    return;
  }
  for (const auto& arg : expr.args) hoist(*arg, evaluator, elements);
}

void MapPrinter::run() {
  known_.clear();
  Evaluator ahead(ctx_);
  ahead.set_checked(&checked_);
  for (const auto& item : map_.body) {
    if (item.where) hoist(*item.where, ahead, true);
    hoist(*item.value, ahead, !item.where);
    if (item.compare) hoist(*item.compare, ahead, !item.where);
    for (const auto& index : item.indices) hoist(*index, ahead, !item.where);
  }
  const std::int64_t extent = map_.extent.back(), full = extent / lanes_ * lanes_;
  // Beyond a limit nobody looks: whole vectors may run over it.
  const Value end = limited(ctx_, full, map_.limit, map_.index.size() - 1);
  ir_.loop(Builder::constant(0), end, lanes_, [&](const Value& i) {
    poll(map_.index.size() - 1);
    items(i, {});
  });
  if (full < extent) items(Builder::constant(full), Builder::lane_mask(lanes_, static_cast<int>(extent - full)));
}

void MapPrinter::items(const Value& base, const Value& mask) {
  const Lanes lanes{map_.index.back(), lanes_, base, mask};
  Evaluator evaluator(ctx_, &lanes);
  evaluator.set_checked(&checked_);
  evaluator.set_known(&known_);
  for (std::size_t i = 0; i < map_.body.size(); ++i) {
    const auto& item = map_.body[i];
    if (item.let >= 0)
      evaluator.let(item.let, item.value);
    else if (item.atomic != tile::AtomicOp::none)
      evaluator.update(item, target_checked_[i]);
    else
      evaluator.store(item, target_checked_[i]);
  }
}

}  // namespace

void emit_map(Context& ctx, const kernel::Map& map) {
  for (const std::int64_t extent : map.extent) {
    if (extent <= 0) return;
  }
  MapPrinter(ctx, map).emit();
}

// All bytes of the storage, padding included: one run.
void emit_fill(Context& ctx, const kernel::Fill& fill) {
  const auto& storage = ctx.storage(fill.storage);
  const Memory memory = storage_memory(ctx, fill.storage);
  Builder& ir = ctx.ir;
  Evaluator evaluator(ctx);
  Value element = convert(ir, evaluator.uniform_value(*fill.value), fill.value->type, storage.dtype);
  element = to_memory(ir, element, storage.dtype);
  const std::int64_t bytes = storage.lds_layout.bytes();
  const int lanes = ctx.vector_bytes / dtype_bytes(storage.dtype);
  const std::int64_t full = bytes / ctx.vector_bytes * ctx.vector_bytes;
  const Value wide = ir.splat(element, lanes);
  ir.loop(Builder::constant(0), Builder::constant(full), ctx.vector_bytes,
          [&](const Value& at) { ir.store(wide, ir.offset(memory.base, at), ctx.vector_bytes, memory.scope); });
  ir.loop(Builder::constant(full), Builder::constant(bytes), dtype_bytes(storage.dtype),
          [&](const Value& at) { ir.store(element, ir.offset(memory.base, at), memory.align, memory.scope); });
}

}  // namespace kiln::emit::llvm_text
