// Step 7, second part: barriers. A forward pass knows which LDS bytes and tensors were touched since the last barrier on any
// path; a statement that would meet them gets a barrier in front. Loops are walked until nothing is added.
#include <algorithm>
#include <set>

#include "engine/lower/amd/finish.hpp"

namespace kiln::lower::amd {
namespace {

// Touched since the last barrier.
struct Pending {
  std::set<int> lds_read, lds_written, tensors_read, tensors_written;
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
  explicit Placer(kernel::Launch& launch) : launch_(launch) {}
  int count = 0;

  void body(kernel::Body& statements, Pending& pending) {
    for (std::size_t i = 0; i < statements.size(); ++i) {
      if (std::holds_alternative<kernel::Barrier>(statements[i].node)) {
        pending = {};
        continue;
      }
      const Touches touches = touches_of(launch_, statements[i]);
      if (meets(pending, touches)) {
        // In front of loads from memory and hints that stand directly before: these need not wait, but waiting late would keep
        // their addresses behind the barrier anyway; nothing in them touches LDS.
        std::size_t at = i;
        while (at > 0 && passes(statements[at - 1])) --at;
        statements.insert(statements.begin() + static_cast<std::ptrdiff_t>(at), {statements[i].pointer, "", kernel::Barrier{}});
        ++count;
        ++i;
        pending = {};
        for (std::size_t again = at + 1; again < i; ++again) add(pending, touches_of(launch_, statements[again]));
      }
      add(pending, touches);
      inner(statements[i], pending);
    }
  }

 private:
  void inner(kernel::Stmt& stmt, Pending& pending) {
    if (auto* loop = std::get_if<kernel::For>(&stmt.node)) {
      const Pending entry = pending;
      Pending around = entry;
      while (true) {
        const int before = count;
        Pending inside = around, next = entry;
        body(loop->body, inside);
        next.merge(inside);
        if (count == before && next == around) break;
        around = std::move(next);
      }
      pending = around;  // the loop may run or not
      return;
    }
    if (auto* branch = std::get_if<kernel::If>(&stmt.node)) {
      Pending otherwise = pending;
      body(branch->then, pending);
      body(branch->otherwise, otherwise);
      pending.merge(otherwise);
    }
  }

  // Statements that a barrier may be moved in front of.
  bool passes(const kernel::Stmt& stmt) const {
    if (std::holds_alternative<kernel::Sched>(stmt.node)) return true;
    if (std::holds_alternative<kernel::Let>(stmt.node) || std::holds_alternative<kernel::LoadGlobal>(stmt.node)) {
      const Touches touches = touches_of(launch_, stmt);
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
  bool meets(const Pending& pending, const Touches& touches) const {
    return any_overlap(touches.lds_read, pending.lds_written) || any_overlap(touches.lds_written, pending.lds_written) ||
           any_overlap(touches.lds_written, pending.lds_read) || any_of_them(touches.tensors_read, pending.tensors_written) ||
           any_of_them(touches.tensors_written, pending.tensors_written) || any_of_them(touches.tensors_written, pending.tensors_read);
  }
  static void add(Pending& pending, const Touches& touches) {
    pending.lds_read.insert(touches.lds_read.begin(), touches.lds_read.end());
    pending.lds_written.insert(touches.lds_written.begin(), touches.lds_written.end());
    pending.tensors_read.insert(touches.tensors_read.begin(), touches.tensors_read.end());
    pending.tensors_written.insert(touches.tensors_written.begin(), touches.tensors_written.end());
  }

  kernel::Launch& launch_;
};

}  // namespace

int place_barriers(kernel::Launch& launch) {
  Placer placer(launch);
  for (auto& role : launch.roles) {
    Pending pending;
    placer.body(role.body, pending);
  }
  return placer.count;
}

}  // namespace kiln::lower::amd
