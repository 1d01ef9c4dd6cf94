// The walk over a bound launch that every other step builds on.
#include <algorithm>

#include "engine/lower/amd/plan.hpp"

namespace kiln::lower::amd {
namespace {

void walk(const bound::Body& body, Facts& facts, int depth, double runs, std::vector<Site>& sites) {
  for (const bound::Stmt& stmt : body) {
    sites.push_back({&stmt, facts, depth, runs});
    if (const auto* loop = node_of<bound::For>(stmt)) {
      Facts inside = facts;
      inside.set_loop(loop->var, *loop->from, *loop->to, *loop->step);
      const Interval from = interval_of(*loop->from, facts), to = interval_of(*loop->to, facts);
      const double step = static_cast<double>(std::max<std::int64_t>(constant_of(*loop->step).value_or(1), 1));
      const double trips = to.hi >= unbounded ? 16 : std::max(0.0, static_cast<double>(to.hi - from.lo) / step);
      walk(loop->body, inside, depth + 1, runs * std::max(trips, 1.0), sites);
    } else if (const auto* branch = node_of<bound::If>(stmt)) {
      Facts inside = facts;
      walk(branch->then, inside, depth, runs, sites);
      inside = facts;
      walk(branch->otherwise, inside, depth, runs, sites);
    } else if (const auto* let = node_of<bound::Let>(stmt)) {
      facts.set_let(let->var, *let->value);
    }
  }
}

}  // namespace

Subject survey(const bound::Program& program, const bound::Launch& launch, const target::Target& target) {
  Subject subject{program, launch, target, {}};
  Facts facts(launch.grid);
  walk(launch.body, facts, 0, 1, subject.sites);
  return subject;
}

}  // namespace kiln::lower::amd
