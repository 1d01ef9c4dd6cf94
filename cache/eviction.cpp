#include "cache/eviction.hpp"

#include <algorithm>
#include <vector>

#include "cache/locks.hpp"
#include "engine/base/os.hpp"

namespace kiln::cache {

Result<EvictionResult> evict_to(Folder& folder, Totals& totals, const EvictionGoal& goal) {
  auto lock = RangeLock::try_take(folder.root(), lock_file_name, eviction_lock_offset);
  if (lock && !*lock) return Error(ErrorCode::busy, "somebody else is evicting from this cache", true);
  if (!lock && lock.error().code != ErrorCode::unsupported) return std::move(lock).error();

  const auto ticket = totals.begin(folder);
  std::vector<ScannedEntry> entries;
  Counts left;
  KILN_CHECK(folder.scan([&](const ScannedEntry& entry) {
    entries.push_back(entry);
    ++left.entries;
    left.bytes += static_cast<std::int64_t>(entry.bytes);
  }));
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.used_ns != b.used_ns ? a.used_ns < b.used_ns : a.key < b.key;
  });
  const auto now = unix_now_ns();
  const auto reached = [&] {
    return static_cast<std::uint64_t>(left.bytes) <= goal.bytes_max &&
           static_cast<std::uint64_t>(left.entries) <= goal.entries_max;
  };
  EvictionResult result;
  for (const auto& entry : entries) {
    if (reached()) break;
    // A time in the future is nobody's use: a clock was set back.
    const bool recent = entry.used_ns > now - 2 * use_renewed_ns && entry.used_ns <= now + use_renewed_ns;
    if (goal.spare_recent && recent) continue;
    os::reach(os::Place::eviction);
    auto removed = folder.remove_entry(entry.key, goal.spare_recent ? std::optional(entry.used_ns) : std::nullopt);
    if (!removed) {
      totals.finish(folder, ticket, left);
      return std::move(removed).error();
    }
    if (!*removed) continue;  // used or removed meanwhile
    ++result.removed;
    --left.entries;
    left.bytes -= static_cast<std::int64_t>(entry.bytes);
  }
  result.left = totals.finish(folder, ticket, left);
  return result;
}

}  // namespace kiln::cache
