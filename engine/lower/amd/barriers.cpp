// Step 7, second part: barriers. A forward pass knows which LDS bytes and tensors were touched since the last barrier
// on any path; a statement that would meet them gets a barrier in front. Loops are walked until nothing is added.
#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "engine/lower/amd/finish.hpp"
#include "engine/lower/bounds.hpp"

namespace kiln::lower::amd {
namespace {

// Touched since the last barrier. Writes of tensors are kept with the tile program's statement that does them.
struct Pending {
  std::set<int> lds_read, lds_written, tensors_read;
  std::set<std::pair<int, std::string>> tensors_written;
  bool operator==(const Pending&) const = default;
  void merge(const Pending& other) {
    lds_read.insert(other.lds_read.begin(), other.lds_read.end());
    lds_written.insert(other.lds_written.begin(), other.lds_written.end());
    tensors_read.insert(other.tensors_read.begin(), other.tensors_read.end());
    tensors_written.insert(other.tensors_written.begin(), other.tensors_written.end());
  }
};

class Placer {
 public:
  Placer(kernel::Launch& launch, const std::vector<bound::Tensor>& tensors) : launch_(launch), tensors_(tensors) {}
  int count = 0;
  // Each loop is gone through several times, and so are those in it.
  [[nodiscard]] bool too_long() const { return steps_ > steps_max; }

  void body(kernel::Body& statements, Pending& pending) {
    for (std::size_t i = 0; i < statements.size(); ++i) {
      if (++steps_ > steps_max) return;
      if (std::holds_alternative<kernel::Barrier>(statements[i].node)) {
        pending = {};
        continue;
      }
      const Touches touches = touched_by(statements[i]);
      if (meets(pending, touches, statements[i])) i = place_before(statements, i, pending);
      add(pending, touches, statements[i]);
      if (auto* loop = std::get_if<kernel::For>(&statements[i].node)) {
        if (!touches_memory(loop->body)) continue;
        around_edge(*loop);
        // What is still pending from before the loop is settled before it, not in every iteration.
        if (!probing_ && needs_barrier(*loop, pending)) i = place_before(statements, i, pending);
        loop = std::get_if<kernel::For>(&statements[i].node);
        Pending inside = pending;
        turn(*loop, inside);
        pending.merge(inside);  // the loop may run or not
      } else if (auto* branch = std::get_if<kernel::If>(&statements[i].node)) {
        Pending otherwise = pending;
        body(branch->then, pending);
        body(branch->otherwise, otherwise);
        pending.merge(otherwise);
      }
    }
  }

 private:
  // In front of loads from memory and hints that stand directly before: waiting behind them would only keep their
  // addresses alive longer; nothing in them touches LDS. Gives back where the statement is now.
  std::size_t place_before(kernel::Body& statements, std::size_t i, Pending& pending) {
    pending = {};
    if (probing_) {
      found_ = true;
      return i;
    }
    std::size_t at = i;
    while (at > 0 && passes(statements[at - 1])) --at;
    statements.insert(statements.begin() + static_cast<std::ptrdiff_t>(at),
                      {statements[i].pointer, "", kernel::Barrier{}});
    ++count;
    for (std::size_t again = at + 1; again <= i; ++again) {
      add(pending, touched_by(statements[again]), statements[again]);
    }
    return i + 1;
  }

  // Whether anything in there touches LDS or a tensor; a loop over registers alone needs no turns.
  bool touches_memory(const kernel::Body& statements) const {
    return std::any_of(statements.begin(), statements.end(), [&](const kernel::Stmt& stmt) {
      const Touches touches = touched_by(stmt);
      if (!touches.lds_read.empty() || !touches.lds_written.empty() || !touches.tensors_read.empty() ||
          !touches.tensors_written.empty() || std::holds_alternative<kernel::Barrier>(stmt.node)) {
        return true;
      }
      if (const auto* loop = std::get_if<kernel::For>(&stmt.node)) return touches_memory(loop->body);
      const auto* branch = std::get_if<kernel::If>(&stmt.node);
      return branch != nullptr && (touches_memory(branch->then) || touches_memory(branch->otherwise));
    });
  }

  // One turn through the loop's body.
  void turn(kernel::For& loop, Pending& pending) {
    loops_.push_back(&loop);
    body(loop.body, pending);
    loops_.pop_back();
  }

  // Barriers that an iteration needs against the one before it.
  void around_edge(kernel::For& loop) {
    Pending around;
    while (true) {
      const int before = count;
      Pending inside = around;
      turn(loop, inside);
      if ((count == before && inside == around) || too_long()) return;
      around = std::move(inside);
    }
  }

  bool needs_barrier(kernel::For& loop, const Pending& entry) {
    probing_ = true;
    found_ = false;
    Pending pending = entry;
    turn(loop, pending);
    probing_ = false;
    return found_;
  }

  // Tensors that may alias are one: that of bound::memory_of.
  Touches touched_by(const kernel::Stmt& stmt) const {
    Touches touches = touches_of(launch_, stmt);
    for (auto* list : {&touches.tensors_read, &touches.tensors_written})
      for (int& tensor : *list) tensor = bound::memory_of(tensors_, tensor);
    return touches;
  }

  // Statements that a barrier may be moved in front of.
  bool passes(const kernel::Stmt& stmt) const {
    if (std::holds_alternative<kernel::Sched>(stmt.node)) return true;
    if (std::holds_alternative<kernel::Let>(stmt.node) || std::holds_alternative<kernel::LoadGlobal>(stmt.node)) {
      const Touches touches = touched_by(stmt);
      return touches.lds_read.empty() && touches.lds_written.empty();
    }
    return false;
  }

  bool overlap(int a, int b) const {
    const auto &one = launch_.storages[a], &other = launch_.storages[b];
    return one.offset_bytes < other.offset_bytes + other.stages * other.stage_bytes() &&
           other.offset_bytes < one.offset_bytes + one.stages * one.stage_bytes();
  }
  bool any_overlap(const std::vector<int>& list, const std::set<int>& pending) const {
    return std::any_of(list.begin(), list.end(), [&](int id) {
      return std::any_of(pending.begin(), pending.end(), [&](int other) { return overlap(id, other); });
    });
  }
  static bool any_of_them(const std::vector<int>& list, const std::set<int>& pending) {
    return std::any_of(list.begin(), list.end(), [&](int id) { return pending.contains(id); });
  }
  // A tensor that is touched after it was written: not when it is one store over parts that differ in every iteration.
  bool meets_write(int tensor, const Pending& pending, const kernel::Stmt* writer) const {
    return std::any_of(pending.tensors_written.begin(), pending.tensors_written.end(), [&](const auto& write) {
      if (write.first != tensor) return false;
      return !writer || write.second != writer->pointer || !differs_by_iteration(*writer);
    });
  }
  bool meets(const Pending& pending, const Touches& touches, const kernel::Stmt& stmt) const {
    const auto reads = [&](int tensor) { return meets_write(tensor, pending, nullptr); };
    const auto writes = [&](int tensor) { return meets_write(tensor, pending, &stmt); };
    return any_overlap(touches.lds_read, pending.lds_written) ||
        any_overlap(touches.lds_written, pending.lds_written) ||
           any_overlap(touches.lds_written, pending.lds_read) ||
               any_of_them(touches.tensors_written, pending.tensors_read) ||
           std::any_of(touches.tensors_read.begin(), touches.tensors_read.end(), reads) ||
           std::any_of(touches.tensors_written.begin(), touches.tensors_written.end(), writes);
  }
  static void add(Pending& pending, const Touches& touches, const kernel::Stmt& stmt) {
    pending.lds_read.insert(touches.lds_read.begin(), touches.lds_read.end());
    pending.lds_written.insert(touches.lds_written.begin(), touches.lds_written.end());
    pending.tensors_read.insert(touches.tensors_read.begin(), touches.tensors_read.end());
    for (const int tensor : touches.tensors_written) pending.tensors_written.emplace(tensor, stmt.pointer);
  }

  // Each loop around the store moves it, along an axis that no other loop moves, by at least its extent there.
  bool differs_by_iteration(const kernel::Stmt& stmt) const {
    const auto* store = std::get_if<kernel::StoreGlobal>(&stmt.node);
    if (!store) return false;
    const auto& shape = launch_.storages[store->regs].shape;
    return std::all_of(loops_.begin(), loops_.end(), [&](const kernel::For* loop) {
      for (std::size_t axis = 0; axis < store->to.start.size(); ++axis) {
        const int along = store->to.tile_axis[axis];
        const std::int64_t extent = along >= 0 ? shape[along] : 1;
        const auto by = coefficient(*store->to.start[axis], loop->var);
        const auto step = constant_of(*loop->step);
        if (!by || !step || std::abs(*by * *step) < extent) continue;
        const bool alone = std::all_of(loops_.begin(), loops_.end(), [&](const kernel::For* other) {
          return other == loop || coefficient(*store->to.start[axis], other->var) == 0;
        });
        if (alone) return true;
      }
      return false;
    });
  }
  // The factor of a variable in a sum of products with constants; none when it stands elsewhere.
  static std::optional<std::int64_t> coefficient(const bound::Expr& expr, int variable) {
    std::vector<bool> wanted(variable + 1, false);
    wanted[variable] = true;
    if (!uses_variable(expr, wanted)) return 0;
    if (expr.kind == bound::Expr::Kind::variable) return 1;
    if (expr.kind != bound::Expr::Kind::binary) return std::nullopt;
    const auto a = coefficient(*expr.args[0], variable), b = coefficient(*expr.args[1], variable);
    if (!a || !b) return std::nullopt;
    if (expr.op == Op::add) return *a + *b;
    if (expr.op == Op::sub) return *a - *b;
    const auto left = constant_of(*expr.args[0]), right = constant_of(*expr.args[1]);
    if (expr.op == Op::mul && right && std::abs(*right) < (std::int64_t(1) << 31)) return *a * *right;
    if (expr.op == Op::mul && left && std::abs(*left) < (std::int64_t(1) << 31)) return *b * *left;
    return std::nullopt;
  }

  std::vector<const kernel::For*> loops_;
  static constexpr int steps_max = 500000;
  int steps_ = 0;
  bool probing_ = false, found_ = false;   // probing: nothing is placed, found_ says whether something would be
  kernel::Launch& launch_;
  const std::vector<bound::Tensor>& tensors_;
};

}  // namespace

int place_barriers(kernel::Launch& launch, const std::vector<bound::Tensor>& tensors) {
  Placer placer(launch, tensors);
  for (auto& role : launch.roles) {
    Pending pending;
    placer.body(role.body, pending);
  }
  return placer.too_long() ? -1 : placer.count;
}

}  // namespace kiln::lower::amd
