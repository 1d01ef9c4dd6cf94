// Every value read was written: a forward pass over what is certainly written. It only grows along a path, so a loop's
// body is judged by its first iteration.
#include <algorithm>
#include <set>

#include "engine/ir/kernel/verify_steps.hpp"

namespace kiln::kernel {
namespace {

struct Written {
  std::vector<bool> regs;                   // by storage: the whole array
  std::vector<std::vector<bool>> elements;  // by LDS storage: each element, row-major, of any stage
  std::set<int> variables;
};

Written common(const Written& a, const Written& b) {
  Written result = a;
  for (std::size_t i = 0; i < a.regs.size(); ++i) {
    result.regs[i] = a.regs[i] && b.regs[i];
    for (std::size_t e = 0; e < a.elements[i].size(); ++e) result.elements[i][e] = a.elements[i][e] && b.elements[i][e];
  }
  result.variables.clear();
  std::set_intersection(a.variables.begin(), a.variables.end(), b.variables.begin(), b.variables.end(),
                        std::inserter(result.variables, result.variables.begin()));
  return result;
}

class Pass {
 public:
  // `lds_too` false: LDS contents are not judged.
  Pass(const Subject& subject, bool lds_too) : subject_(subject), lds_too_(lds_too) {
    for (const auto& storage : subject.launch.storages) {
      std::int64_t elements = storage.kind == Storage::Kind::lds ? 1 : 0;
      for (const auto extent : storage.shape) elements *= extent;
      state_.regs.push_back(false);
      state_.elements.emplace_back(elements, false);
    }
  }

  void body(const Body& statements, const std::string& path) {
    for (std::size_t i = 0; i < statements.size(); ++i) {
      path_ = path + "/" + std::to_string(i);
      if (!std::holds_alternative<Map>(statements[i].node)) {
        for_each_expression(statements[i], [&](const bound::Expr& expr) { read_expression(expr); });
      }
      std::visit([&](const auto& node) { step(node); }, statements[i].node);
    }
  }

 private:
  const Storage& storage(int id) const { return subject_.storage(id); }
  void wrong(const std::string& what) { subject_.finding(path_, what); }

  void read_expression(const bound::Expr& expr) {
    for_each_node(expr, [&](const bound::Expr& node) {
      const int id = static_cast<int>(node.integer);
      if (node.kind == bound::Expr::Kind::variable && !state_.variables.contains(id)) {
        wrong("variable " + subject_.launch.variables[id].name + " is read before it has a value");
      }
      if (node.kind == bound::Expr::Kind::tile) read_some(id);
    });
  }

  // A register array, or at least one element of an LDS buffer (which ones, indices decide).
  void read_some(int id) {
    if (subject_.is_regs(id)) return read_regs(id);
    const auto& elements = state_.elements[id];
    if (lds_too_ && std::find(elements.begin(), elements.end(), true) == elements.end()) {
      wrong(storage(id).name + " is read before anything is written there");
    }
  }
  void read_regs(int id) {
    if (!state_.regs[id]) wrong(storage(id).name + " is read before it is written");
  }
  void read_all(int id) {
    if (subject_.is_regs(id)) return read_regs(id);
    read_rectangle({id, nullptr, {}}, storage(id).shape);
  }
  void write_all(int id) {
    if (subject_.is_regs(id)) { state_.regs[id] = true; return; }
    write_rectangle({id, nullptr, {}}, storage(id).shape);
  }

  // Under a condition: the rest of a register array is what it was. Of LDS nothing is written for certain.
  void write_some(int id) {
    if (subject_.is_regs(id)) return read_regs(id);
    forget_overlapping(id);
  }

  // Calls `visit` with the row-major number of each element.
  template <class F> void each_element(const LdsRef& ref, const std::vector<std::int64_t>& shape, F&& visit) const {
    const Storage& lds = storage(ref.storage);
    layout::Coordinate place(shape.size(), 0);
    while (true) {
      std::int64_t number = 0;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        number = number * lds.shape[axis] + place[axis] + (ref.start.empty() ? 0 : ref.start[axis]);
      }
      visit(number);
      int axis = static_cast<int>(shape.size()) - 1;
      while (axis >= 0 && ++place[axis] == shape[axis]) place[axis--] = 0;
      if (axis < 0) return;
    }
  }
  void read_rectangle(const LdsRef& ref, const std::vector<std::int64_t>& shape) {
    std::int64_t missing = 0;
    each_element(ref, shape, [&](std::int64_t number) { missing += state_.elements[ref.storage][number] ? 0 : 1; });
    if (lds_too_ && missing > 0) {
      wrong(storage(ref.storage).name + " is read where " + std::to_string(missing) + " elements were never written");
    }
  }
  void write_rectangle(const LdsRef& ref, const std::vector<std::int64_t>& shape) {
    forget_overlapping(ref.storage);
    each_element(ref, shape, [&](std::int64_t number) { state_.elements[ref.storage][number] = true; });
  }
  // Other buffers in the same bytes no longer hold what they held.
  void forget_overlapping(int id) {
    const auto begin = [&](int one) { return storage(one).offset_bytes; };
    const auto end = [&](int one) { return begin(one) + storage(one).stages * storage(one).stage_bytes(); };
    for (int other = 0; other < static_cast<int>(state_.elements.size()); ++other) {
      if (other == id || !subject_.is_lds(other) || end(other) <= begin(id) || end(id) <= begin(other)) continue;
      state_.elements[other].assign(state_.elements[other].size(), false);
    }
  }

  void step(const LoadGlobal& node) { write_all(node.regs); }
  void step(const StoreGlobal& node) { read_all(node.regs); }
  void step(const LoadLds& node) { read_rectangle(node.from, storage(node.regs).shape); write_all(node.regs); }
  void step(const StoreLds& node) { read_all(node.regs); write_rectangle(node.to, storage(node.regs).shape); }
  void step(const Direct& node) {
    if (node.to_lds) write_rectangle(node.lds, node.shape);
    else read_rectangle(node.lds, node.shape);
  }
  void step(const Mma& node) {
    read_all(node.a);
    read_all(node.b);
    if (!node.clear) read_all(node.c);
    write_all(node.c);
  }
  void step(const Fill& node) { write_all(node.storage); }
  void step(const Map& node) {
    const auto outer = state_.variables;
    state_.variables.insert(node.index.begin(), node.index.end());
    for (const auto& item : node.body) {
      for (const auto& index : item.indices) read_expression(*index);
      read_expression(*item.value);
      if (item.where) read_expression(*item.where);
      if (item.compare) read_expression(*item.compare);
      if (item.old >= 0) state_.variables.insert(item.old);
      if (item.let >= 0) state_.variables.insert(item.let);
      else if (!item.tensor && item.where) write_some(item.target);
      else if (!item.tensor) write_all(item.target);
    }
    state_.variables = outer;
  }
  void step(const Reduce& node) {
    read_all(node.from);
    if (node.accumulate) read_all(node.to);
    if (node.scratch >= 0) write_all(node.scratch);
    write_all(node.to);
  }
  void step(const Convert& node) {
    read_all(node.from);
    if (node.scratch >= 0) write_all(node.scratch);
    write_all(node.to);
  }
  void step(const For& node) {
    const auto path = path_;
    const auto trips = trip_count(node, {});
    if (trips && *trips == 0) return;  // the body never runs
    const Written before = state_;
    state_.variables.insert(node.var);
    body(node.body, path + "/for");
    if (!trips) state_ = before;  // the body may never run
    state_.variables = before.variables;
  }
  void step(const If& node) {
    const auto path = path_;
    const Written before = state_;
    body(node.then, path + "/then");
    Written after_then = std::move(state_);
    state_ = before;
    body(node.otherwise, path + "/else");
    state_ = common(after_then, state_);
  }
  void step(const Let& node) { state_.variables.insert(node.var); }
  template <class Other> void step(const Other&) {}

  const Subject& subject_;
  bool lds_too_;
  std::string path_;
  Written state_;
};

}  // namespace

void check_values(const Subject& subject) {
  // What one role writes to LDS another may read: with several roles only register arrays and variables are judged.
  for (const auto& role : subject.launch.roles) {
    Pass(subject, subject.launch.roles.size() == 1).body(role.body, subject.path_of(role));
  }
}

}  // namespace kiln::kernel
