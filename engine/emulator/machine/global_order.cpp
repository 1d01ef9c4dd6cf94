#include "engine/emulator/machine/global_order.hpp"

#include <algorithm>

namespace kiln::emulator {
namespace {

std::uint64_t pair_of(std::uint32_t a, std::uint32_t b) { return std::uint64_t(a) << 32 | b; }

}  // namespace

void GlobalOrder::barrier(std::uint32_t group) { barriers_[group].push_back(++now_); }

void GlobalOrder::link(std::uint32_t writer, std::uint32_t time, std::uint32_t reader) {
  if (writer == reader || full()) return;
  // A wave that polls reads the same write again and again; an older write says less than the later one did.
  auto [at, fresh] = seen_.try_emplace(pair_of(writer, reader), time);
  if (!fresh && at->second >= time) return;
  at->second = time;
  links_.push_back({writer, time, reader, ++now_});
}

bool GlobalOrder::barrier_between(std::uint32_t earlier, std::uint32_t time, std::uint32_t later) const {
  if (earlier / waves_ != later / waves_) return false;
  const auto barriers = barriers_.find(later / waves_);
  return barriers != barriers_.end() && barriers->second.back() > time;
}

bool GlobalOrder::ordered(std::uint32_t earlier, std::uint32_t time, std::uint32_t later) {
  if (earlier == later || barrier_between(earlier, time, later)) return true;
  if (links_.empty() || links_.back().time <= time) return false;
  const auto proven = proven_.find(pair_of(earlier, later));
  if (proven != proven_.end() && proven->second >= time) return true;
  if (!reaches(earlier, time, later)) return false;
  proven_[pair_of(earlier, later)] = time;
  return true;
}

// The waves that come after one access, found along the links in order of time.
class GlobalOrder::Search {
 public:
  explicit Search(const GlobalOrder& order) : order_(order) {}

  void reach(std::uint32_t wave, std::uint32_t since) {
    Reached& reached = groups_[wave / order_.waves_];
    if (has(reached, wave, since)) return;
    reached.waves.emplace_back(wave, since);
    const auto barriers = order_.barriers_.find(wave / order_.waves_);
    if (barriers == order_.barriers_.end()) return;
    const auto next = std::upper_bound(barriers->second.begin(), barriers->second.end(), since);
    if (next != barriers->second.end()) reached.group_since = std::min(reached.group_since, *next);
  }
  [[nodiscard]] bool has(std::uint32_t wave, std::uint32_t at) const {
    const auto group = groups_.find(wave / order_.waves_);
    return group != groups_.end() && has(group->second, wave, at);
  }

 private:
  static bool has(const Reached& reached, std::uint32_t wave, std::uint32_t at) {
    return reached.group_since <= at || std::any_of(reached.waves.begin(), reached.waves.end(), [&](const auto& one) {
             return one.first == wave && one.second <= at;
           });
  }
  const GlobalOrder& order_;
  std::unordered_map<std::uint32_t, Reached> groups_;
};

bool GlobalOrder::reaches(std::uint32_t earlier, std::uint32_t time, std::uint32_t later) const {
  Search search(*this);
  search.reach(earlier, time);
  const auto after = [](std::uint32_t at, const Link& link) { return at < link.time; };
  for (auto link = std::upper_bound(links_.begin(), links_.end(), time, after); link != links_.end(); ++link)
    if (search.has(link->writer, link->written)) search.reach(link->reader, link->time);
  return search.has(later, now_);
}

}  // namespace kiln::emulator
