// The walk over a bound launch that every other step builds on.
#include <algorithm>

#include "engine/lower/amd/plan.hpp"
#include "engine/lower/amd/thread_maps.hpp"

namespace kiln::lower::amd {
namespace {

bool uses_symbol(const bound::Expr& expr) {
  return expr.kind == bound::Expr::Kind::symbol ||
         std::any_of(expr.args.begin(), expr.args.end(), [](const auto& arg) { return uses_symbol(*arg); });
}

void walk(const bound::Body& body, Facts& facts, int depth, double runs, std::vector<Site>& sites) {
  for (const bound::Stmt& stmt : body) {
    sites.push_back({&stmt, facts, depth, runs});
    if (const auto* loop = node_of<bound::For>(stmt)) {
      Facts inside = facts;
      inside.set_loop(loop->var, *loop->from, *loop->to, *loop->step);
      const Interval from = interval_of(*loop->from, facts), to = interval_of(*loop->to, facts);
      const double step = static_cast<double>(std::max<std::int64_t>(constant_of(*loop->step).value_or(1), 1));
      const bool open = to.hi >= unbounded || (to.hi != to.lo && uses_symbol(*loop->to));
      const double trips = open ? 16 : std::max(0.0, static_cast<double>(to.hi - from.lo) / step);
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

void fill_region(const bound::Launch& launch, bound::Region& region) {
  if (region.is_tensor || !region.start.empty()) return;
  const std::size_t rank = launch.tiles[region.id].shape.size();
  region.start.assign(rank, bound::make_integer(0));
  region.ranged.assign(rank, true);
}

void fill_regions(const bound::Launch& launch, bound::Body& body) {
  for (bound::Stmt& stmt : body) {
    if (auto* copy = std::get_if<bound::Copy>(&stmt.node)) {
      fill_region(launch, copy->from);
      fill_region(launch, copy->to);
    } else if (auto* loop = std::get_if<bound::For>(&stmt.node)) {
      fill_regions(launch, loop->body);
    } else if (auto* branch = std::get_if<bound::If>(&stmt.node)) {
      fill_regions(launch, branch->then);
      fill_regions(launch, branch->otherwise);
    }
  }
}

}  // namespace

bound::Program with_full_regions(bound::Program program) {
  for (bound::Launch& launch : program.launches) fill_regions(launch, launch.body);
  return program;
}

bool Subject::is_odd(const std::vector<std::int64_t>& shape) const {
  int bits = 0;
  std::int64_t elements = 1;
  for (const auto extent : shape) {
    bits += even_bits(extent);
    elements *= extent;
  }
  const int all = lane_bits() + wave_bits;
  const std::int64_t share = elements >> std::min(bits, all), least = (elements >> all) + 1;
  return share > 16 && share > 2 * least;
}

Subject survey(const bound::Program& program, const bound::Launch& launch, const target::Target& target) {
  Subject subject{program, launch, target, {}, 0, {}};
  const int wave = target.wave;
  if (launch.threads >= wave) {
    while ((wave << (subject.wave_bits + 1)) <= std::min(launch.threads, target.threads_max)) ++subject.wave_bits;
  } else {  // less than a wave asks for nothing in particular: enough for the largest tile
    std::int64_t largest = 0;
    for (const auto& tile : launch.tiles) largest = std::max(largest, tile.elements());
    while (subject.wave_bits < 2 && (static_cast<std::int64_t>(wave)
                                     << subject.wave_bits) * 16 < largest) ++subject.wave_bits;
  }
  for (const auto& tile : launch.tiles) subject.odd.push_back(subject.is_odd(tile.shape));
  Facts facts(launch.grid, program.symbols);
  walk(launch.body, facts, 0, 1, subject.sites);
  return subject;
}

}  // namespace kiln::lower::amd
