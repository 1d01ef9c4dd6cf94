// What happens before what, between the waves of a launch: by program order, barriers of a work group and atomics.
//
// Time is the number of events so far. An event is a barrier of a work group, an atomic access, or a wave that reads
// by an atomic or a coherent load what another wave wrote by one: a link from the writer, at the time of its write, to
// the reader, from now on. An access of wave u at time t happens before what wave v does now if u is v, or if a way
// leads from u at t to v: along the time of one wave, from any wave of a work group to all of them at a barrier, and
// along links. That takes every atomic for a release and an acquire: fences around it are not looked at.
//
// Nothing is computed until somebody asks, which only accesses of two waves to the same bytes do. Then two searches
// take turns, a link each: what comes after u's access, along the links since, and what comes before v, along the
// links back from now. The first to meet the other's wave decides. Both are kept and go on where they stopped: one wave
// that reads what thousands have written goes back over the links once, and thousands that read what one has written go
// forward once, instead of once each.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

namespace kiln::emulator {

class GlobalOrder {
 public:
  // Waves are numbered through the launch: work group times `waves_per_group` plus the wave's index. `cancelled` (may
  // be null, must outlive this): once it is set, questions are answered without searching, with `ordered`.
  explicit GlobalOrder(std::uint32_t waves_per_group, const std::atomic<bool>* cancelled = nullptr)
      : waves_(waves_per_group), cancelled_(cancelled) {}

  [[nodiscard]] std::uint32_t now() const { return now_; }
  // An event of its own: what the wave does from here on does not happen before what read its atomic.
  void tick() { ++now_; }
  void barrier(std::uint32_t group);
  // `reader` has read now what `writer` wrote at `time`.
  void link(std::uint32_t writer, std::uint32_t time, std::uint32_t reader);
  // Whether both are waves of one work group that has passed a barrier since.
  [[nodiscard]] bool barrier_between(std::uint32_t earlier, std::uint32_t time, std::uint32_t later) const;
  // Whether what `earlier` did at `time` happens before what `later` does now.
  [[nodiscard]] bool ordered(std::uint32_t earlier, std::uint32_t time, std::uint32_t later);
  // More events than are kept: nothing can be said any more.
  [[nodiscard]] bool full() const { return links_.size() >= links_max || now_ >= ~0u - 1; }
  // Links that searches have looked at so far.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  struct Link {
    std::uint32_t writer, written, reader, time;
  };
  struct Future;
  struct Past;
  static constexpr std::size_t links_max = 8 << 20;

  [[nodiscard]] bool is_cancelled() const {
    return cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t first_barrier_after(std::uint32_t group, std::uint32_t time) const;
  [[nodiscard]] std::uint32_t last_barrier_until(std::uint32_t group, std::uint32_t time) const;
  [[nodiscard]] std::size_t first_link_after(std::uint32_t time) const;
  [[nodiscard]] bool reaches(std::uint32_t earlier, std::uint32_t time, std::uint32_t later);
  Future& future_of(std::uint32_t wave, std::uint32_t time);
  Past& past_of(std::uint32_t wave);

  // From when on the waves of one group come after an access; or until when they come before one.
  struct Bounds {
    std::uint32_t first_since = ~0u;                              // the least of `waves`
    std::uint32_t group_until = 0;                                // all waves: earlier than this
    std::vector<std::pair<std::uint32_t, std::uint32_t>> waves;   // single ones, since or until when
  };
  using Groups = std::unordered_map<std::uint32_t, Bounds>;
  // What comes after an access of `wave` at `time`, as far as the links before `next` say.
  struct Future {
    std::uint32_t wave = 0, time = 0;
    std::size_t next = 0;
    Groups groups;
  };
  // What comes before what `wave` does, as far as the links from `next` on say. Good until the wave learns more.
  struct Past {
    std::uint32_t wave = 0, learned = 0;
    std::size_t next = 0;
    Groups groups;
  };
  void reach(Future& future, std::uint32_t wave, std::uint32_t since) const;
  [[nodiscard]] bool has(const Future& future, std::uint32_t wave, std::uint32_t at) const;
  void reach(Past& past, std::uint32_t wave, std::uint32_t until) const;
  [[nodiscard]] static bool has(const Past& past, std::uint32_t wave, std::uint32_t at, std::uint32_t waves);

  const std::uint32_t waves_;
  const std::atomic<bool>* const cancelled_;
  std::uint32_t now_ = 1;
  std::uint64_t steps_ = 0;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> barriers_;   // by group: their times
  std::vector<Link> links_;                                                  // by time
  std::unordered_map<std::uint64_t, std::uint32_t> seen_;      // links by writer and reader: the latest `written`
  std::unordered_map<std::uint32_t, std::uint32_t> learned_;   // by reader: the time of its last link
  std::unordered_map<std::uint64_t, std::uint32_t> proven_;    // pairs of waves: the latest time that was ordered
  // Searches of late, the latest first.
  std::list<Future> futures_;
  std::list<Past> pasts_;
};

}  // namespace kiln::emulator
