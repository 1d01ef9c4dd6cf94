// Which entries go when a cache is over its limits: the least recently used, one evictor of all processes at a time.
#pragma once

#include <cstdint>

#include "cache/folder.hpp"
#include "cache/totals.hpp"

namespace kiln::cache {

// A hit renews the time of use only when that is older than this; so an entry whose time is younger than twice this may
// have been handed out within this time.
inline constexpr std::int64_t use_renewed_ns = 60ll * 1000000000;

struct EvictionGoal {
  std::uint64_t bytes_max = 0, entries_max = 0;  // both hold afterwards, as far as entries may go
  bool spare_recent = true;  // entries that may have been handed out in the last minute stay
};
struct EvictionResult {
  std::uint64_t removed = 0;
  Counts left;
};
// Scans, removes, and sets the folder's totals. `busy` when another evictor is at work.
Result<EvictionResult> evict_to(Folder& folder, Totals& totals, const EvictionGoal& goal);

}  // namespace kiln::cache
