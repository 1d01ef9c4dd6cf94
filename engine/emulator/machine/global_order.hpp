// What happens before what, between the waves of a launch: by program order, barriers of a work group and atomics.
//
// Time is the number of events so far. An event is a barrier of a work group, an atomic access, or a wave that reads
// by an atomic or a coherent load what another wave wrote by one: a link from the writer, at the time of its write, to
// the reader, from now on. An access of wave u at time t happens before what wave v does now if u is v, or if a way
// leads from u at t to v: along the time of one wave, from any wave of a work group to all of them at a barrier, and
// along links. That takes every atomic for a release and an acquire: fences around it are not looked at.
//
// Nothing is computed until somebody asks, which only accesses of two waves to the same bytes do.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace kiln::emulator {

class GlobalOrder {
 public:
  // Waves are numbered through the launch: work group times `waves_per_group` plus the wave's index.
  explicit GlobalOrder(std::uint32_t waves_per_group) : waves_(waves_per_group) {}

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

 private:
  struct Link {
    std::uint32_t writer, written, reader, time;
  };
  // From when on the waves of one group come after the access in question.
  struct Reached {
    std::uint32_t group_since = ~0u;                              // all of them
    std::vector<std::pair<std::uint32_t, std::uint32_t>> waves;   // single ones, since when
  };
  class Search;
  static constexpr std::size_t links_max = 8 << 20;

  [[nodiscard]] bool reaches(std::uint32_t earlier, std::uint32_t time, std::uint32_t later) const;

  const std::uint32_t waves_;
  std::uint32_t now_ = 1;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> barriers_;   // by group: their times
  std::vector<Link> links_;                                                  // by time
  std::unordered_map<std::uint64_t, std::uint32_t> seen_;    // links by writer and reader: the latest `written`
  std::unordered_map<std::uint64_t, std::uint32_t> proven_;  // pairs of waves: the latest time that was ordered
};

}  // namespace kiln::emulator
