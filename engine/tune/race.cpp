#include "engine/tune/race.hpp"

#include <algorithm>

#include "engine/base/statistics.hpp"
#include "engine/tune/ranking.hpp"

namespace kiln::tune {

Status Race::run() {
  level();
  while (!over()) {
    while (!over() && !decided()) {
      KILN_CHECK(one_round());
      drop_slower();
      if (const auto leads = best(); leads && told_) told_(rounds_, *leads);
    }
    const auto leads = best();
    if (over() || !leads) return ok();
    if (!start_.defaults || *leads == start_.baseline) {
      winner_ = leads;
      return ok();
    }
    KILN_TRY(const bool fought, duel(*leads));
    if (fought) return ok();
  }
  return ok();
}

bool Race::decided() const {
  std::size_t running = 0;
  for (std::size_t i = 0; i < start_.lanes.size(); ++i) running += in(i) ? 1 : 0;
  const auto most = std::max<std::size_t>(start_.rounds_max, 1);
  return running == 0 || rounds_ >= most || (running == 1 && rounds_ >= std::min(rounds_min, most));
}

// By median among those that are left.
std::optional<std::size_t> Race::best() const {
  std::optional<std::size_t> found;
  double least = 0;
  for (std::size_t i = 0; i < start_.lanes.size(); ++i) {
    if (!in(i) || start_.lanes[i].times.empty()) continue;
    const double median = quantile(start_.lanes[i].times, 0.5);
    if (!found || median < least) found = i, least = median;
  }
  return found;
}

// Back to the rounds that all who are left have, the baseline too.
void Race::level() {
  const auto counts = [&](std::size_t i) { return in(i) || (i == start_.baseline && !start_.lanes[i].failed); };
  std::optional<std::size_t> common;
  for (std::size_t i = 0; i < start_.lanes.size(); ++i)
    if (counts(i)) common = std::min(common.value_or(start_.lanes[i].times.size()), start_.lanes[i].times.size());
  rounds_ = common.value_or(0);
  for (std::size_t i = 0; i < start_.lanes.size(); ++i)
    if (counts(i)) start_.lanes[i].times.resize(rounds_);
}

void Race::fail(std::size_t lane) {
  start_.lanes[lane].failed = true;
  start_.lanes[lane].times.clear();
  for (auto& other : start_.lanes)
    if (other.slower && (!other.behind || *other.behind == lane)) other.slower = false, other.behind.reset();
}

// Forwards and backwards in turn.
Status Race::one_round() {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < start_.lanes.size(); ++i)
    if (in(i) || (i == start_.baseline && !start_.lanes[i].failed)) order.push_back(i);
  if (rounds_ % 2 == 1) std::reverse(order.begin(), order.end());
  KILN_TRY(const auto times, round_(order));
  bool failed = false;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (times[i]) start_.lanes[order[i]].times.push_back(*times[i]);
    else fail(order[i]), failed = true;
  }
  ++rounds_;
  if (failed) level();
  return ok();
}

void Race::drop_slower() {
  std::vector<std::vector<double>> times;
  std::vector<bool> out;
  for (std::size_t i = 0; i < start_.lanes.size(); ++i) {
    times.push_back(start_.lanes[i].times);
    out.push_back(!in(i));
  }
  const auto order = remaining(times, out);
  if (order.empty()) return;
  for (std::size_t i = 0; i < start_.lanes.size(); ++i) {
    if (out[i] || std::find(order.begin(), order.end(), i) != order.end()) continue;
    start_.lanes[i].slower = true;
    start_.lanes[i].behind = order.front();
  }
}

// False: one of the two failed, and the race goes on without it.
Result<bool> Race::duel(std::size_t challenger) {
  const auto rounds = std::min(duel_rounds, std::max<std::size_t>(start_.rounds_max, 1));
  std::vector<double> defaults, others;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<std::size_t> order{start_.baseline, challenger};
    if (round % 2 == 1) std::reverse(order.begin(), order.end());
    KILN_TRY(const auto times, round_(order));
    bool failed = false;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (times[i]) (order[i] == challenger ? others : defaults).push_back(*times[i]);
      else fail(order[i]), failed = true;
    }
    if (!failed) continue;
    level();
    return false;
  }
  auto& lane = start_.lanes[start_.baseline];
  const bool faster = certainly_slower(defaults, others);
  winner_ = faster ? challenger : start_.baseline;
  lane.slower = faster;
  lane.behind = faster ? std::optional(challenger) : std::nullopt;
  if (const double against = quantile(defaults, 0.5); faster && against > 0)
    duel_ratio_ = quantile(others, 0.5) / against;
  return true;
}

}  // namespace kiln::tune
