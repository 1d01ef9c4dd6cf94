// A model of the card's L2, fed with the lines that a profiled launch touches. A model, not a count: a card runs many
// work groups at a time, has caches in front of the L2 and spreads addresses over its channels. What is modelled:
//   - 128-byte lines, 16 ways, least recently used goes; a line's number decides its set; stores bring lines in as
//     loads do, and the caches are empty when the launch begins;
//   - one cache an XCD; work groups are dealt to the XCDs in turn, in the order in which they begin, and those of one
//     XCD run one after the other;
//   - every memory instruction of a wave, vector or scalar, asks once for each line that it touches. Private memory and
//     instruction fetch are left out;
//   - allocations lie in the card's memory one after the other, as they are first touched: where the host has them does
//     not matter. So one launch has one result, whatever the number of host threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/emulator/core/wave.hpp"

namespace kiln::emulator {

struct CacheShape {
  std::uint32_t ways = 16, sets = 1, caches = 1;   // caches: work groups are dealt to them in turn
  // `l2_bytes` of each of `xccs`.
  static CacheShape of(std::uint64_t l2_bytes, int xccs);
};

// One set-associative cache.
class Cache {
 public:
  Cache(std::uint32_t sets, std::uint32_t ways) : ways_(ways), sets_(sets), tags_(std::size_t(sets) * ways, none) {}
  // Whether the line was there; it is the most recently used of its set afterwards.
  bool touch(std::uint64_t line);

 private:
  static constexpr std::uint64_t none = ~std::uint64_t(0);
  std::uint32_t ways_, sets_;
  std::vector<std::uint64_t> tags_;   // [sets][ways], the most recently used first
};

class CacheModel {
 public:
  struct Counts {
    std::uint64_t hits = 0, misses = 0;
  };
  // `memory`: what kernels may touch, by address, disjoint; `left_out`: of it, the threads' private memory.
  CacheModel(const CacheShape& shape, std::vector<MemoryRange> memory, MemoryRange left_out);
  ~CacheModel();
  CacheModel(const CacheModel&) = delete;

  // The log of the work group that begins as number `turn`, 0, 1, …: each number once. Any thread.
  LineLog* begin(std::uint64_t turn);
  // What the group has recorded is complete. Any thread, not while the group runs.
  void finish(std::uint64_t turn);
  // After the launch; takes groups that did not finish as they are.
  Counts counts();
  // The logs of groups that wait for an earlier one's took too much memory: the counts say nothing.
  [[nodiscard]] bool gave_up() const { return gave_up_.load(std::memory_order_relaxed); }

 private:
  struct GroupLines;
  struct Place {
    MemoryRange range;
    std::uint64_t first_line = 0;   // of the card's memory
    bool known = false;
  };
  static bool make_room(LineLog& log);
  // With the mutex held.
  void consume(GroupLines& group);
  void consume_finished();
  bool card_line(std::uint64_t line, std::uint64_t& found);

  std::vector<Place> memory_;
  const MemoryRange left_out_;
  std::vector<Cache> caches_;
  std::uint64_t next_line_ = 0;
  std::size_t last_place_ = 0;
  Counts counts_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<GroupLines>> groups_;   // that have not been consumed whole, by turn
  std::atomic<std::uint64_t> front_{0};                           // the turn that is consumed next
  std::atomic<std::uint64_t> held_{0};                            // lines that there is memory for
  std::atomic<bool> gave_up_{false};
};

// What is modelled, in a sentence for whoever reads the counters.
std::string describe(const CacheShape& shape);

}  // namespace kiln::emulator
