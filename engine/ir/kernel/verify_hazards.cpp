// Barriers and tokens. Each role is run through on what is known of its variables: accesses since the last barrier are
// kept, and an access that meets one of another wave in the same bytes, one of the two a write, is a finding. Loops run
// until every stage has met every other, first and last iterations as they are; branches that are not decided both run.
#include <algorithm>
#include <map>
#include <set>

#include "engine/ir/kernel/lds_accesses.hpp"
#include "engine/ir/kernel/verify_steps.hpp"

namespace kiln::kernel {
namespace {

struct Pending { int token, access; bool operator==(const Pending&) const = default; };
struct State {
  std::set<int> outstanding;       // accesses since the last barrier
  std::vector<Pending> pending;    // asynchronous copies, oldest first

  void merge(const State& other) {
    outstanding.insert(other.outstanding.begin(), other.outstanding.end());
    for (const auto& one : other.pending) {
      if (std::find(pending.begin(), pending.end(), one) == pending.end()) pending.push_back(one);
    }
  }
};
// What one role does between two barriers of the block, for comparison with the other roles.
using Phase = std::set<int>;

constexpr int steps_max = 200000;  // statements run through for one role

class Runner {
 public:
  Runner(const Subject& subject, const Role& role, LdsAccesses& accesses) : subject_(subject), role_(role),
      accesses_(accesses) {
    for (const auto& storage : subject.launch.storages) {
      if (storage.kind == Storage::Kind::lds) stages_ = std::max(stages_, storage.stages);
    }
  }

  std::vector<Phase> run() {
    State state;
    phases_.emplace_back();
    body(role_.body, subject_.path_of(role_), state);
    return std::move(phases_);
  }

 private:
  bool alone() const { return subject_.launch.roles.size() == 1; }

  void body(const Body& statements, const std::string& path, State& state) {
    for (std::size_t i = 0; i < statements.size(); ++i) {
      if (++steps_ > steps_max) {
        if (steps_ == steps_max + 1) subject_.finding(path, "too long to check its barriers", hinted(length_hint));
        return;
      }
      const auto here = path + "/" + std::to_string(i);
      if (!std::holds_alternative<Map>(statements[i].node)) {
        for_each_expression(statements[i], [&](const bound::Expr& expr) { read_expression(expr, here, state); });
      }
      std::visit([&](const auto& node) { step(node, here, state); }, statements[i].node);
    }
  }

  // Uniform expressions may read LDS: any element, by every wave.
  void read_expression(const bound::Expr& expr, const std::string& here, State& state) {
    for_each_node(expr, [&](const bound::Expr& node) {
      const int id = static_cast<int>(node.integer);
      if (node.kind != bound::Expr::Kind::tile || !subject_.is_lds(id)) return;
      perform(accesses_.rectangle(role_, here, {id, nullptr, {}}, subject_.storage(id).shape, false, known_), state);
    });
  }

  const std::string& name(int access) const { return subject_.storage(accesses_[access].storage).name; }

  bool conflict(int first, int second) {
    const auto key = std::minmax(first, second);
    const auto known = conflicts_.find(key);
    if (known != conflicts_.end()) return known->second;
    const LdsAccess &a = accesses_[first], &b = accesses_[second];
    bool found = false;
    if ((a.write || b.write) && a.all.overlaps(b.all)) {
      for (std::size_t w = 0; !found && w < a.waves.size(); ++w) {
        for (std::size_t v = 0; !found && v < b.waves.size(); ++v) found = v != w && a.waves[w].overlaps(b.waves[v]);
      }
    }
    return conflicts_[key] = found;
  }

  void perform(int access, State& state) {
    for (const auto& one : state.pending) {
      const LdsAccess& copy = accesses_[one.access];
      const LdsAccess& now = accesses_[access];
      if ((!copy.write && !now.write) || !copy.all.overlaps(now.all)) continue;
      report(one.access, access, "touches bytes of " + name(access) + " under the copy of " + copy.path + ": token " +
             std::to_string(one.token) + " is not waited for");
    }
    for (const int before : state.outstanding) {
      if (conflict(before, access)) report(before, access, hazard_text(before, access));
    }
    state.outstanding.insert(access);
    phases_.back().insert(access);
  }
  std::string hazard_text(int before, int access) const {
    const LdsAccess &a = accesses_[before], &b = accesses_[access];
    if (!b.write) {
      return "reads bytes of " + name(access) + " that another wave wrote at " + a.path + ", no barrier between";
    }
    if (!a.write) {
      return "overwrites bytes of " + name(access) + " that another wave may still read at " + a.path +
          ", no barrier between";
    }
    return "overwrites bytes of " + name(access) + " that another wave wrote at " + a.path + ", no barrier between";
  }
  // Once for a pair of statements. Within one map no barrier can stand: there it is its iterations that meet.
  void report(int before, int access, const std::string& text) {
    if (!reported_.emplace(accesses_[before].path, accesses_[access].path).second) return;
    const bool iterations = std::find(of_map_.begin(), of_map_.end(), before) != of_map_.end();
    const bool known = accesses_[before].known && accesses_[access].known;
    subject_.finding(accesses_[access].path, text,
                     iterations ? hinted(known ? race_hint : unknown_race_hint) : Diagnostic{});
  }
  static Diagnostic hinted(const char* hint) {
    Diagnostic finding;
    finding.hint = hint;
    return finding;
  }

  void barrier(State& state, Barrier::Scope scope) {
    state.outstanding.clear();
    if (scope != Barrier::Scope::block) return;
    Phase next;
    for (const auto& one : state.pending) next.insert(one.access);
    phases_.push_back(std::move(next));
  }

  void step(const LoadLds& node, const std::string& here, State& state) {
    perform(accesses_.registers(role_, here, node.from, subject_.storage(node.regs), node.vector_bytes, false, known_),
            state);
  }
  void step(const StoreLds& node, const std::string& here, State& state) {
    perform(accesses_.registers(role_, here, node.to, subject_.storage(node.regs), node.vector_bytes, true, known_),
            state);
  }
  void step(const Direct& node, const std::string& here, State& state) {
    const int access = accesses_.rectangle(role_, here, node.lds, node.shape, node.to_lds, known_);
    perform(access, state);
    state.outstanding.erase(access);
    state.pending.push_back({node.token, access});
  }
  // Keeps the newest `pending` copies of the token in flight; those before are done, for this wave: others see them
  // after a barrier.
  void step(const Wait& node, const std::string&, State& state) {
    int keep = node.pending;
    for (auto i = state.pending.size(); i-- > 0;) {
      if (node.token >= 0 && state.pending[i].token != node.token) continue;
      if (keep-- > 0) continue;
      state.outstanding.insert(state.pending[i].access);
      state.pending.erase(state.pending.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  void step(const Barrier& node, const std::string&, State& state) { barrier(state, node.scope); }
  void step(const Fill& node, const std::string& here, State& state) {
    if (!subject_.is_lds(node.storage)) return;
    perform(accesses_.rectangle(role_, here, {node.storage, nullptr, {}}, subject_.storage(node.storage).shape, true,
                                known_), state);
  }
  void step(const Map& node, const std::string& here, State& state) {
    const bound::Expr* where = nullptr;
    const auto read = [&](const bound::Expr& expr) {
      const int id = static_cast<int>(expr.integer);
      if (expr.kind != bound::Expr::Kind::tile || !subject_.is_lds(id)) return;
      perform_in_map(accesses_.elements(role_, here, node, {id, expr.args, where, false}, known_), state);
    };
    of_map_.clear();
    for (const auto& item : node.body) {
      where = nullptr;
      if (item.where) for_each_node(*item.where, read);
      where = item.where.get();
      for (const auto& index : item.indices) for_each_node(*index, read);
      for_each_node(*item.value, read);
      if (item.compare) for_each_node(*item.compare, read);
      if (item.let >= 0 || item.tensor || !subject_.is_lds(item.target)) continue;
      perform_in_map(accesses_.elements(role_, here, node, {item.target, item.indices, where, true}, known_), state);
    }
    of_map_.clear();
  }
  void perform_in_map(int access, State& state) {
    perform(access, state);
    of_map_.push_back(access);
  }
  void step(const Reduce& node, const std::string& here, State& state) {
    if (!subject_.is_lds(node.scratch)) return;
    perform(accesses_.reduce_scratch(role_, here, node, true), state);
    barrier(state, Barrier::Scope::block);
    perform(accesses_.reduce_scratch(role_, here, node, false), state);
  }
  void step(const Convert& node, const std::string& here, State& state) {
    if (node.method != layout::Conversion::lds || !subject_.is_lds(node.scratch)) return;
    const LdsRef whole{node.scratch, nullptr, {}};
    const int bytes = dtype_bytes(subject_.storage(node.scratch).dtype);
    Storage from = subject_.storage(node.from);
    from.dtype = subject_.storage(node.scratch).dtype;
    perform(accesses_.registers(role_, here, whole, from, bytes, true, known_), state);
    barrier(state, Barrier::Scope::block);
    perform(accesses_.registers(role_, here, whole, subject_.storage(node.to), bytes, false, known_), state);
  }
  void step(const If& node, const std::string& here, State& state) {
    if (const auto condition = evaluate(*node.condition, known_)) {
      return body(*condition != 0 ? node.then : node.otherwise, here + (*condition != 0 ? "/then" : "/else"), state);
    }
    const auto phases = phases_.size();
    State other = state;
    body(node.then, here + "/then", state);
    body(node.otherwise, here + "/else", other);
    state.merge(other);
    if (!alone() && phases_.size() != phases) {
      subject_.finding(here, "a barrier of the block under a condition: the roles cannot be compared");
    }
  }
  void step(const Let& node, const std::string&, State&) {
    known_.erase(node.var);
    if (const auto value = evaluate(*node.value, known_)) known_[node.var] = *value;
  }

  // Whether anything in there has to do with LDS: accesses, waits, barriers.
  bool concerns_lds(const Body& statements) const {
    return std::any_of(statements.begin(), statements.end(), [&](const Stmt& stmt) {
      if (const auto* loop = std::get_if<For>(&stmt.node)) {
        if (concerns_lds(loop->body)) return true;
      } else if (const auto* branch = std::get_if<If>(&stmt.node)) {
        if (concerns_lds(branch->then) || concerns_lds(branch->otherwise)) return true;
      } else if (const auto* map = std::get_if<Map>(&stmt.node)) {
        for (const auto& item : map->body) {
          if (item.let < 0 && !item.tensor && subject_.is_lds(item.target)) return true;
        }
      } else if (const auto* fill = std::get_if<Fill>(&stmt.node)) {
        if (subject_.is_lds(fill->storage)) return true;
      } else if (!std::holds_alternative<Let>(stmt.node) && !std::holds_alternative<Mma>(stmt.node) &&
                 !std::holds_alternative<LoadGlobal>(stmt.node) && !std::holds_alternative<StoreGlobal>(stmt.node)) {
        return true;
      }
      bool read = false;
      for_each_expression(stmt, [&](const bound::Expr& expr) {
        for_each_node(expr, [&](const bound::Expr& node) {
          read = read || (node.kind == bound::Expr::Kind::tile && subject_.is_lds(static_cast<int>(node.integer)));
        });
      });
      return read;
    });
  }

  void step(const For& node, const std::string& here, State& state) {
    if (alone() && !concerns_lds(node.body)) return;
    const auto from = evaluate(*node.from, known_), by = evaluate(*node.step, known_);
    const auto trips = trip_count(node, known_);
    const auto iterate = [&](std::int64_t i) {
      known_.erase(node.var);
      if (from && by) known_[node.var] = *from + i * *by;
      body(node.body, here + "/for", state);
    };
    const std::int64_t rounds = 2 * stages_;
    if (!trips) {
      if (!alone()) subject_.finding(here, "how often a loop runs is not known: the roles cannot be compared");
      State any = state;
      for (std::int64_t i = 0; i < rounds; ++i) {
        iterate(i);
        any.merge(state);
      }
      state = std::move(any);
    } else {
      // In the middle nothing new happens: it is left out, by a whole number of turns through the stages.
      const auto skipped = alone() && *trips > 2 * rounds ? (*trips - 2 * rounds) / stages_ * stages_ : 0;
      const auto run = *trips - skipped;
      for (std::int64_t i = 0; i < run && steps_ <= steps_max; ++i) iterate(i < rounds ? i : i + skipped);
    }
    known_.erase(node.var);
  }
  template <class Other> void step(const Other&, const std::string&, State&) {}

  const Subject& subject_;
  const Role& role_;
  LdsAccesses& accesses_;
  int stages_ = 1, steps_ = 0;
  Known known_;
  std::vector<Phase> phases_;
  std::map<std::pair<int, int>, bool> conflicts_;
  std::set<std::pair<std::string, std::string>> reported_;
  std::vector<int> of_map_;  // accesses that the running map has made so far
};

// Roles run side by side from one barrier of the block to the next.
void compare_roles(const Subject& subject, const LdsAccesses& accesses, const std::vector<Phase>& a,
                   const std::vector<Phase>& b) {
  if (a.size() != b.size()) return subject.finding("", "roles meet at different numbers of barriers of the block");
  std::set<std::pair<int, int>> reported;
  for (std::size_t phase = 0; phase < a.size(); ++phase) {
    for (const int one : a[phase]) {
      for (const int other : b[phase]) {
        const LdsAccess &first = accesses[one], &second = accesses[other];
        if ((!first.write && !second.write) || !first.all.overlaps(second.all) ||
            !reported.emplace(one, other).second) {
          continue;
        }
        subject.finding(second.path, "touches bytes of " + subject.storage(second.storage).name +
                        " that another role uses at " + first.path + ", no barrier between");
      }
    }
  }
}

}  // namespace

void check_hazards(const Subject& subject) {
  LdsAccesses accesses(subject);
  std::vector<std::vector<Phase>> phases;
  for (const auto& role : subject.launch.roles) phases.push_back(Runner(subject, role, accesses).run());
  for (std::size_t a = 0; a < phases.size(); ++a) {
    for (std::size_t b = a + 1; b < phases.size(); ++b) compare_roles(subject, accesses, phases[a], phases[b]);
  }
}

}  // namespace kiln::kernel
