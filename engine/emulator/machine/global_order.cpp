#include "engine/emulator/machine/global_order.hpp"

#include <algorithm>

namespace kiln::emulator {
namespace {

constexpr std::size_t searches_kept = 64;      // of each kind: the waves of a work group, or the writers of a tile
constexpr std::uint32_t forever = ~0u;

std::uint64_t pair_of(std::uint32_t a, std::uint32_t b) { return std::uint64_t(a) << 32 | b; }

// The kept search that `is` says, moved to the front; null: none.
template <class Search, class Is>
Search* kept(std::list<Search>& searches, Is is) {
  const auto found = std::find_if(searches.begin(), searches.end(), is);
  if (found == searches.end()) return nullptr;
  searches.splice(searches.begin(), searches, found);
  return &searches.front();
}
template <class Search>
Search& fresh(std::list<Search>& searches) {
  if (searches.size() >= searches_kept) searches.pop_back();
  searches.emplace_front();
  return searches.front();
}

}  // namespace

void GlobalOrder::barrier(std::uint32_t group) { barriers_[group].push_back(++now_); }

void GlobalOrder::link(std::uint32_t writer, std::uint32_t time, std::uint32_t reader) {
  if (writer == reader || full()) return;
  // A wave that polls reads the same write again and again; an older write says less than the later one did.
  auto [at, is_new] = seen_.try_emplace(pair_of(writer, reader), time);
  if (!is_new && at->second >= time) return;
  at->second = time;
  links_.push_back({writer, time, reader, ++now_});
  learned_[reader] = now_;
}

std::uint32_t GlobalOrder::first_barrier_after(std::uint32_t group, std::uint32_t time) const {
  const auto barriers = barriers_.find(group);
  if (barriers == barriers_.end()) return forever;
  const auto next = std::upper_bound(barriers->second.begin(), barriers->second.end(), time);
  return next == barriers->second.end() ? forever : *next;
}

std::uint32_t GlobalOrder::last_barrier_until(std::uint32_t group, std::uint32_t time) const {
  const auto barriers = barriers_.find(group);
  if (barriers == barriers_.end()) return 0;
  const auto next = std::upper_bound(barriers->second.begin(), barriers->second.end(), time);
  return next == barriers->second.begin() ? 0 : *(next - 1);
}

std::size_t GlobalOrder::first_link_after(std::uint32_t time) const {
  const auto after = [](std::uint32_t at, const Link& link) { return at < link.time; };
  return static_cast<std::size_t>(std::upper_bound(links_.begin(), links_.end(), time, after) - links_.begin());
}

bool GlobalOrder::barrier_between(std::uint32_t earlier, std::uint32_t time, std::uint32_t later) const {
  return earlier / waves_ == later / waves_ && last_barrier_until(later / waves_, forever) > time;
}

bool GlobalOrder::ordered(std::uint32_t earlier, std::uint32_t time, std::uint32_t later) {
  if (earlier == later || barrier_between(earlier, time, later)) return true;
  if (links_.empty() || links_.back().time <= time) return false;
  const auto seen = seen_.find(pair_of(earlier, later));
  if (seen != seen_.end() && seen->second >= time) return true;
  const auto proven = proven_.find(pair_of(earlier, later));
  if (proven != proven_.end() && proven->second >= time) return true;
  if (!reaches(earlier, time, later)) return false;
  if (!is_cancelled()) proven_[pair_of(earlier, later)] = time;
  return true;
}

// ---- Forward --------------------------------------------------------------------------------------------------------

void GlobalOrder::reach(Future& future, std::uint32_t wave, std::uint32_t since) const {
  if (has(future, wave, since)) return;
  Bounds& bounds = future.groups[wave / waves_];
  bounds.first_since = std::min(bounds.first_since, since);
  bounds.waves.emplace_back(wave, since);
}

bool GlobalOrder::has(const Future& future, std::uint32_t wave, std::uint32_t at) const {
  const auto group = future.groups.find(wave / waves_);
  if (group == future.groups.end()) return false;
  const Bounds& bounds = group->second;
  const bool itself = std::any_of(bounds.waves.begin(), bounds.waves.end(),
                                  [&](const auto& one) { return one.first == wave && one.second <= at; });
  // Barriers that came after the search did count too.
  return itself || first_barrier_after(wave / waves_, bounds.first_since) <= at;
}

GlobalOrder::Future& GlobalOrder::future_of(std::uint32_t wave, std::uint32_t time) {
  if (auto* found = kept(futures_, [&](const Future& one) { return one.wave == wave && one.time == time; }))
    return *found;
  Future& future = fresh(futures_);
  future.wave = wave;
  future.time = time;
  future.next = first_link_after(time);
  reach(future, wave, time);
  return future;
}

// ---- Backward -------------------------------------------------------------------------------------------------------

void GlobalOrder::reach(Past& past, std::uint32_t wave, std::uint32_t until) const {
  if (has(past, wave, until, waves_)) return;
  Bounds& bounds = past.groups[wave / waves_];
  const auto same = std::find_if(bounds.waves.begin(), bounds.waves.end(),
                                 [&](const auto& one) { return one.first == wave; });
  if (same == bounds.waves.end()) bounds.waves.emplace_back(wave, until);
  else same->second = std::max(same->second, until);
  bounds.group_until = std::max(bounds.group_until, last_barrier_until(wave / waves_, until));
}

bool GlobalOrder::has(const Past& past, std::uint32_t wave, std::uint32_t at, std::uint32_t waves) {
  const auto group = past.groups.find(wave / waves);
  if (group == past.groups.end()) return false;
  const Bounds& bounds = group->second;
  return at < bounds.group_until ||
         std::any_of(bounds.waves.begin(), bounds.waves.end(),
                     [&](const auto& one) { return one.first == wave && at <= one.second; });
}

GlobalOrder::Past& GlobalOrder::past_of(std::uint32_t wave) {
  const auto link = learned_.find(wave);
  const std::uint32_t learned =
      std::max(link == learned_.end() ? 0 : link->second, last_barrier_until(wave / waves_, forever));
  auto* found = kept(pasts_, [&](const Past& one) { return one.wave == wave; });
  if (found != nullptr && found->learned == learned) return *found;
  Past& past = found != nullptr ? *found : fresh(pasts_);
  past.wave = wave;
  past.learned = learned;
  past.next = links_.size();
  past.groups.clear();
  reach(past, wave, forever);
  return past;
}

// ---- Both -----------------------------------------------------------------------------------------------------------

bool GlobalOrder::reaches(std::uint32_t earlier, std::uint32_t time, std::uint32_t later) {
  constexpr std::uint64_t look = 1024;         // steps between looks at the cancellation
  Future& future = future_of(earlier, time);
  Past& past = past_of(later);
  const std::size_t oldest = first_link_after(time);
  if (has(past, earlier, time, waves_) || has(future, later, now_)) return true;
  // Links are looked at in the order of their times: what decides about one has been found then.
  while (future.next < links_.size() && past.next > oldest) {
    if (++steps_ % look == 0 && is_cancelled()) return true;
    const Link& link = links_[future.next++];
    if (has(future, link.writer, link.written)) {
      reach(future, link.reader, link.time);
      if (link.reader / waves_ == later / waves_ && has(future, later, now_)) return true;
    }
    const Link& back = links_[--past.next];
    if (has(past, back.reader, back.time, waves_)) {
      reach(past, back.writer, back.written);
      if (back.writer / waves_ == earlier / waves_ && has(past, earlier, time, waves_)) return true;
    }
  }
  return false;
}

}  // namespace kiln::emulator
