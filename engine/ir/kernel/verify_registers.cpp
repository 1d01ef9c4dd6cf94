// Register arrays alive at once, by liveness backwards through the bodies. A lower bound: temporaries are the
// compiler's.
#include <algorithm>
#include <set>

#include "engine/ir/kernel/verify_steps.hpp"

namespace kiln::kernel {
namespace {

using Set = std::set<int>;

class Liveness {
 public:
  explicit Liveness(const Subject& subject) : subject_(subject) {}

  Set body(const Body& statements, Set live, const std::string& path) {
    for (std::size_t i = statements.size(); i-- > 0;) {
      const auto here = path + "/" + std::to_string(i);
      live = std::visit([&](const auto& node) { return before(node, std::move(live), here); }, statements[i].node);
      // Operands in start, limit, condition and value expressions.
      if (!std::holds_alternative<For>(statements[i].node) && !std::holds_alternative<If>(statements[i].node)) {
        use_expressions(statements[i], live);
      }
      note(live, here);
    }
    return live;
  }
  [[nodiscard]] int peak() const { return peak_; }
  [[nodiscard]] const std::string& place() const { return place_; }

 private:
  bool is_regs(int id) const { return subject_.is_regs(id); }
  void use(Set& live, int id) const { if (is_regs(id)) live.insert(id); }
  void use_expressions(const Stmt& stmt, Set& live) const {
    for_each_expression(stmt, [&](const bound::Expr& expr) { use_expression(expr, live); });
  }
  void use_expression(const bound::Expr& expr, Set& live) const {
    for_each_node(expr, [&](const bound::Expr& node) {
      if (node.kind == bound::Expr::Kind::tile) use(live, static_cast<int>(node.integer));
    });
  }
  void note(const Set& live, const std::string& here) {
    int registers = 0;
    for (const int id : live) {
      const Storage& storage = subject_.storage(id);
      registers += (storage.reg_layout.registers() * dtype_bits(storage.dtype) + 31) / 32;
    }
    if (registers > peak_) { peak_ = registers; place_ = here; }
  }
  // `defined` is written as a whole here: alive behind, and at this point, not before.
  Set define(Set live, int defined, const std::string& here) {
    if (is_regs(defined)) {
      live.insert(defined);
      note(live, here);
      live.erase(defined);
    }
    return live;
  }

  Set before(const LoadGlobal& node, Set live, const std::string& here) {
    return define(std::move(live), node.regs, here);
  }
  Set before(const LoadLds& node, Set live, const std::string& here) {
    return define(std::move(live), node.regs, here);
  }
  Set before(const StoreGlobal& node, Set live, const std::string&) { use(live, node.regs); return live; }
  Set before(const StoreLds& node, Set live, const std::string&) { use(live, node.regs); return live; }
  Set before(const Mma& node, Set live, const std::string& here) {
    use(live, node.a);
    use(live, node.b);
    if (node.clear) live = define(std::move(live), node.c, here);
    else use(live, node.c);
    return live;
  }
  Set before(const Fill& node, Set live, const std::string& here) {
    return define(std::move(live), node.storage, here);
  }
  Set before(const Map& node, Set live, const std::string& here) {
    for (const auto& item : node.body) {
      if (item.let >= 0 || item.tensor) continue;
      if (item.where) use(live, item.target);  // keeps what it holds elsewhere
      else live = define(std::move(live), item.target, here);
    }
    return live;
  }
  Set before(const Reduce& node, Set live, const std::string& here) {
    live = define(std::move(live), node.to, here);
    use(live, node.from);
    if (node.accumulate) use(live, node.to);
    return live;
  }
  Set before(const Convert& node, Set live, const std::string& here) {
    live = define(std::move(live), node.to, here);
    use(live, node.from);
    return live;
  }
  Set before(const For& node, Set live, const std::string& here) {
    // What the next iteration needs is alive at the end of this one.
    while (true) {
      Set around = live;
      const Set start = body(node.body, live, here + "/for");
      around.insert(start.begin(), start.end());
      if (around == live) return around;
      live = std::move(around);
    }
  }
  Set before(const If& node, Set live, const std::string& here) {
    Set then = body(node.then, live, here + "/then");
    const Set otherwise = body(node.otherwise, std::move(live), here + "/else");
    then.insert(otherwise.begin(), otherwise.end());
    use_expression(*node.condition, then);
    return then;
  }
  Set before(const Leave& node, Set live, const std::string&) {
    use_expression(*node.condition, live);
    return live;
  }
  template <class Other> Set before(const Other&, Set live, const std::string&) { return live; }

  const Subject& subject_;
  int peak_ = 0;
  std::string place_;
};

// Registers a lane may have: the role's budget, else the target's, shared by the waves of a SIMD.
int budget_of(const Subject& subject, const Role& role) {
  if (role.register_budget > 0) return role.register_budget;
  const auto& target = subject.target;
  const int waves = subject.launch.threads / subject.launch.wave;
  // RDNA3 runs a work group on the two compute units of a work-group processor.
  const int simds = target.family == target::Family::rdna ? 2 * target.simds : target.simds;
  const int of_block = (waves + simds - 1) / simds;
  const int resident = std::max(subject.launch.waves_per_simd, of_block);
  // CDNA: 512 registers a lane and SIMD (VGPR and AGPR in one file). RDNA3: 1536 wave32 registers a SIMD, 256 a wave at
  // most.
  if (target.family == target::Family::rdna) return std::min(target.vgprs_max, 1536 / std::max(1, resident));
  return target.vgprs_max / std::max(1, resident);
}

}  // namespace

void check_registers(const Subject& subject) {
  for (const auto& role : subject.launch.roles) {
    Liveness liveness(subject);
    liveness.body(role.body, {}, subject.path_of(role));
    const int budget = budget_of(subject, role);
    if (liveness.peak() <= budget) continue;
    Diagnostic finding;
    finding.expected = "at most " + std::to_string(budget) + " registers a lane";
    finding.found = std::to_string(liveness.peak()) + " registers a lane alive at once";
    finding.hint = registers_hint;
    subject.finding(liveness.place(), std::to_string(liveness.peak()) +
                    " registers are alive at once, the budget is " + std::to_string(budget), std::move(finding));
  }
}

}  // namespace kiln::kernel
