#include "engine/emulator/machine/global_races.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace kiln::emulator {
namespace {

constexpr std::uint64_t page_bytes = 4096, shadow_bytes_max = std::uint64_t(6) << 30;

// Byte `n` of what a lane stores.
std::uint8_t stored_byte(const GlobalAccess& access, int lane, std::uint32_t n) {
  return static_cast<std::uint8_t>(access.rows[n / 4][lane] >> (n % 4 * 8 + access.shift));
}

}  // namespace

// One instruction's access while it is looked at.
struct GlobalRaces::Current {
  Wave& wave;
  const Instruction& instruction;
  const GlobalAccess& access;
  std::uint32_t unit = 0;          // the wave's number in the launch
  bool stores = false, synchronises = false;
};

GlobalRaces::GlobalRaces(std::vector<MemoryRange> ranges, const Geometry& geometry, std::uint32_t waves_per_group,
                         Family family, const std::atomic<bool>* cancelled)
    : geometry_(geometry),
      waves_(waves_per_group),
      marks_stores_(family == Family::gfx942 || family == Family::gfx950),
      order_(waves_per_group, cancelled) {
  for (const auto& one : ranges) {
    Range& range = ranges_.emplace_back();
    range.begin = one.begin / page_bytes * page_bytes;
    range.end = one.end;
    // Two small allocations may share a page: the later one begins behind it then.
    if (ranges_.size() > 1) range.begin = std::max(range.begin, ranges_[ranges_.size() - 2].end);
  }
}
GlobalRaces::~GlobalRaces() = default;

bool GlobalRaces::fits(const Geometry& geometry, std::uint32_t waves_per_group) {
  const auto& blocks = geometry.blocks;
  return std::uint64_t(blocks[0]) * blocks[1] < Access::nobody &&
         static_cast<unsigned __int128>(std::uint64_t(blocks[0]) * blocks[1]) * blocks[2] * waves_per_group <
             Access::nobody;
}

GlobalRaces::Page* GlobalRaces::make_page(std::uint32_t granule) {
  const std::size_t cells = page_bytes / granule;
  if (shadow_bytes_ + cells * sizeof(Cell) > shadow_bytes_max) {
    failure_ = "the check of races on global memory needs more than 6 GiB: check a smaller launch";
    return nullptr;
  }
  auto page = std::unique_ptr<Page>(new (std::nothrow) Page);
  if (page != nullptr) page->cells.reset(new (std::nothrow) Cell[cells]);
  if (page == nullptr || page->cells == nullptr) {
    failure_ = "no memory for the check of races on global memory";
    return nullptr;
  }
  page->granule = granule;
  shadow_bytes_ += cells * sizeof(Cell);
  return page.release();
}

// Null: not watched, or no memory.
GlobalRaces::Page* GlobalRaces::page_at(std::uint64_t address) {
  if (last_range_ == nullptr || address < last_range_->begin || address >= last_range_->end) {
    const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                        [](std::uint64_t at, const Range& range) { return at < range.begin; });
    if (after == ranges_.begin() || address >= (after - 1)->end) return nullptr;
    last_range_ = &*(after - 1);
  }
  Range& range = *last_range_;
  const std::uint64_t first = range.begin / page_bytes, index = address / page_bytes - first;
  if (range.pages.empty()) range.pages.resize((range.end - 1) / page_bytes - first + 1);
  auto& page = range.pages[index];
  if (page == nullptr) page.reset(make_page(4));
  return page.get();
}

bool GlobalRaces::split(Page& page) {
  if (page.granule == 1) return true;
  const std::unique_ptr<Page> fine(make_page(1));
  if (fine == nullptr) return false;
  for (std::uint64_t i = 0; i < page_bytes; ++i) fine->cells[i] = page.cells[i / 4];
  shadow_bytes_ -= page_bytes / 4 * sizeof(Cell);
  std::swap(page.cells, fine->cells);
  page.granule = 1;
  return true;
}

bool GlobalRaces::check(void* self, Wave& wave, const Instruction& instruction, const GlobalAccess& access) {
  GlobalRaces& races = *static_cast<GlobalRaces*>(self);
  if (!races.failure_.empty()) return true;
  const auto* const blocks = races.geometry_.blocks;
  const auto* const id = wave.group->id;
  const std::uint64_t group = (std::uint64_t(id[2]) * blocks[1] + id[1]) * blocks[0] + id[0];
  Current current{wave, instruction, access};
  current.unit = static_cast<std::uint32_t>(group * races.waves_ + wave.index);
  current.stores = access.use == GlobalUse::store;
  const bool marked = instruction.glc || instruction.dlc;
  current.synchronises =
      access.use == GlobalUse::atomic || (marked && (!current.stores || races.marks_stores_));
  if (current.stores && !races.check_lanes_of(current)) return false;
  for (std::uint64_t left = access.active; left != 0; left &= left - 1)
    if (!races.check_lane(current, std::countr_zero(left))) return false;
  if (current.synchronises && access.use != GlobalUse::load) races.order_.tick();
  if (races.order_.full() && races.failure_.empty())
    races.failure_ = "the check of races on global memory cannot keep so many atomics: check a smaller launch";
  return true;
}

// Two lanes of one store with different values for one byte.
bool GlobalRaces::check_lanes_of(const Current& current) {
  const GlobalAccess& access = current.access;
  int order[lanes], count = 0;
  bool overlap = false;
  std::uint64_t end = 0;
  for (std::uint64_t left = access.active; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    order[count++] = lane;
    overlap = overlap || access.at[lane] < end;
    end = std::max(end, access.at[lane] + access.bytes);
  }
  if (!overlap || access.rows == nullptr) return true;
  std::stable_sort(order, order + count, [&](int a, int b) { return access.at[a] < access.at[b]; });
  for (int i = 1; i < count; ++i) {
    for (int j = i - 1; j >= 0 && access.at[order[i]] < access.at[order[j]] + access.bytes; --j) {
      const std::uint64_t shift = access.at[order[i]] - access.at[order[j]];
      for (std::uint32_t n = 0; n + shift < access.bytes; ++n) {
        if (stored_byte(access, order[i], n) == stored_byte(access, order[j], static_cast<std::uint32_t>(n + shift)))
          continue;
        Access other;
        other.wave = current.unit;
        other.instruction = current.instruction.index;
        races(current, order[i], access.at[order[i]], other);
        current.wave.fault.other_lane = order[j];
        return false;
      }
    }
  }
  return true;
}

bool GlobalRaces::check_lane(const Current& current, int lane) {
  const std::uint64_t begin = current.access.at[lane], end = begin + current.access.bytes;
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t page_end = std::min(end, (at / page_bytes + 1) * page_bytes);
    Page* const page = page_at(at);
    if (page == nullptr) {
      if (!failure_.empty()) return true;
      at = page_end;
      continue;
    }
    if ((at | page_end) % 4 != 0 && !split(*page)) return true;
    const std::uint32_t granule = page->granule;
    for (; at < page_end; at += granule)
      if (!touch(current, page->cells[at % page_bytes / granule], lane, at, granule)) return false;
  }
  return true;
}

// Whether the earlier access makes the current one a race.
bool GlobalRaces::conflicts(const Current& current, const Access& other, bool other_stored) {
  if (other.wave == Access::nobody || other.wave == current.unit) return false;
  const bool plain_store = (current.stores && !current.synchronises) || (other_stored && !other.is_sync());
  if (!plain_store) return false;
  // Where coherent stores bear no mark, a plain store beside something that synchronises may be one.
  if (!marks_stores_ && (current.synchronises || other.is_sync())) return false;
  return !order_.ordered(other.wave, other.time, current.unit);
}

bool GlobalRaces::races(const Current& current, int lane, std::uint64_t address, const Access& other) {
  Fault fault;
  fault.kind = FaultKind::global_race;
  fault.instruction = current.instruction.index;
  fault.lane = current.instruction.format == Format::smem ? -1 : lane;
  fault.address = address;
  fault.bytes = current.access.bytes;
  fault.store = current.access.use != GlobalUse::load;
  fault.other_instruction = other.instruction & ~Access::synchronises;
  fault.other_wave = static_cast<std::int32_t>(other.wave % waves_);
  if (other.wave / waves_ != current.unit / waves_) fault.other_group = other.wave / waves_;
  current.wave.stop(fault);
  return false;
}

void GlobalRaces::remember_load(const Current& current, Cell& cell, const Access& load) {
  Access &first = cell.loads[0], &second = cell.loads[1];
  const bool replaces = first.wave == Access::nobody || first.wave == current.unit ||
                        order_.barrier_between(first.wave, first.time, current.unit);
  if (replaces) {
    first = load;
  } else {
    second = load;
  }
}

// One cell. `bytes`: of the cell, from `address` on.
bool GlobalRaces::touch(const Current& current, Cell& cell, int lane, std::uint64_t address, std::uint32_t bytes) {
  const GlobalAccess& access = current.access;
  Access now;
  now.wave = current.unit;
  now.time = order_.now();
  now.instruction = current.instruction.index | (current.synchronises ? Access::synchronises : 0);
  if (access.use == GlobalUse::load && !current.synchronises && cell.store.wave == Access::nobody) {
    remember_load(current, cell, now);
    return true;
  }
  if (conflicts(current, cell.store, true)) {
    const auto* const memory = reinterpret_cast<const std::uint8_t*>(address);
    bool same = current.stores && access.rows != nullptr;
    for (std::uint32_t n = 0; same && n < bytes; ++n)
      same = memory[n] == stored_byte(access, lane, static_cast<std::uint32_t>(address - access.at[lane]) + n);
    if (!same) return races(current, lane, address, cell.store);
  }
  const bool reads = access.use != GlobalUse::store;
  const bool other_writes = cell.store.wave != Access::nobody && cell.store.wave != current.unit;
  if (reads && current.synchronises && other_writes && (cell.store.is_sync() || !marks_stores_)) {
    order_.link(cell.store.wave, cell.store.time, current.unit);
    now.time = order_.now();
  }
  if (access.use == GlobalUse::load) {
    remember_load(current, cell, now);
    return true;
  }
  for (const Access& load : cell.loads)
    if (current.stores && conflicts(current, load, false)) return races(current, lane, address, load);
  cell.store = now;
  if (current.stores) cell.loads[0] = cell.loads[1] = {};
  return true;
}

}  // namespace kiln::emulator
