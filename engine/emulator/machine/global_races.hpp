// Races on global memory: two waves of one launch touch the same byte, at least one by a plain store, and neither of
// the two accesses happens before the other (global_order.hpp).
//
// What counts as what:
// - Atomic are the atomic instructions; coherent, and treated alike, are loads and stores that bypass the near caches
//   (sc0 or sc1, glc), as compilers emit for `volatile` and for atomic loads and stores. gfx90a and RDNA3 have no such
//   mark on stores: there a plain store against an atomic or a coherent load is taken for an atomic one.
// - Two stores of the same value to a byte are no race: kernels set flags and fill borders that way, and no order of
//   the two shows. The same store against another wave's load is one.
// - A plain load against an atomic is not reported: the first guess of a compare-and-swap loop is one.
// - Two lanes of one instruction that store different values to one byte are reported, as a race with the wave itself.
// Not seen: fences that are missing around atomics (every atomic orders), order by flags in LDS, other launches, the
// host, private memory. Of several work groups that load the same bytes between two stores two are remembered, so that
// a race with one of the others may stay hidden if atomics order both of those.
//
// Work groups of a checked launch run on one thread: same findings every time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/emulator/core/checks.hpp"
#include "engine/emulator/machine/global_order.hpp"
#include "engine/emulator/machine/kernel_arguments.hpp"

namespace kiln::emulator {

class GlobalRaces {
 public:
  // `ranges`: what is watched, by address, disjoint. Requires: fewer than 2^32 waves (`fits`).
  // `cancelled` (may be null, must outlive this): once it is set, nothing is looked for any more.
  GlobalRaces(std::vector<MemoryRange> ranges, const Geometry& geometry, std::uint32_t waves_per_group, Family family,
              const std::atomic<bool>* cancelled);
  ~GlobalRaces();
  static bool fits(const Geometry& geometry, std::uint32_t waves_per_group);

  void passed_barrier(std::uint64_t group) { order_.barrier(static_cast<std::uint32_t>(group)); }
  // CheckState::global, with this object as its state.
  static bool check(void* self, Wave& wave, const Instruction& instruction, const GlobalAccess& access);
  // Why the check could not go on: "" while it can. A launch for which it could not is no checked launch.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  // How much was searched so far, in links of GlobalOrder.
  [[nodiscard]] std::uint64_t steps() const { return order_.steps(); }

 private:
  struct Access {
    static constexpr std::uint32_t nobody = ~0u, synchronises = 1u << 31;
    std::uint32_t wave = nobody, time = 0;
    std::uint32_t instruction = 0;     // index; with `synchronises`: an atomic or coherent one
    [[nodiscard]] bool is_sync() const { return (instruction & synchronises) != 0; }
  };
  // The last store and two loads after it, of different waves.
  struct Cell {
    Access store, loads[2];
  };
  struct Page {
    std::uint32_t granule = 4;         // bytes that a cell stands for: 4, or 1 once an access was narrower
    std::unique_ptr<Cell[]> cells;
  };
  struct Range {
    std::uint64_t begin = 0, end = 0;
    std::vector<std::unique_ptr<Page>> pages;   // made when first touched
  };
  struct Current;

  Page* page_at(std::uint64_t address);
  Page* make_page(std::uint32_t granule);
  bool split(Page& page);
  bool check_lanes_of(const Current& current);
  bool check_lane(const Current& current, int lane);
  bool touch(const Current& current, Cell& cell, int lane, std::uint64_t address, std::uint32_t bytes);
  bool conflicts(const Current& current, const Access& other, bool other_stored);
  bool races(const Current& current, int lane, std::uint64_t address, const Access& other);
  void remember_load(const Current& current, Cell& cell, const Access& load);

  std::vector<Range> ranges_;
  Range* last_range_ = nullptr;
  const Geometry geometry_;
  const std::uint32_t waves_;
  const bool marks_stores_;            // coherent stores of the target can be told from plain ones
  GlobalOrder order_;
  std::uint64_t shadow_bytes_ = 0;
  std::string failure_;
};

}  // namespace kiln::emulator
