// How many entries and bytes a folder holds, in one small file that all processes keep up to date, so that nobody
// scans. A process that dies in the middle leaves the figures too high, never too low (it counts before it publishes
// and after it removes); a recount corrects them, and whoever finds a dead writer's temporary file, or evicts,
// recounts.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "cache/folder.hpp"

namespace kiln::cache {

struct Counts {
  std::int64_t entries = 0, bytes = 0;
  bool operator==(const Counts&) const = default;
};

class Totals {
 public:
  // Adds to the folder's figures. What cannot be written now is kept and added with the next call.
  void add(Folder& folder, Counts change);
  // The folder's figures, nothing when they were never counted or the file is damaged.
  std::optional<Counts> read(Folder& folder);
  // Counts by a scan and sets the figures. Entries that come during the scan are counted at least once.
  Result<Counts> recount(Folder& folder);
  // The same for one who scans himself: a ticket before, the figures found after.
  struct Ticket { std::uint64_t added_entries = 0, added_bytes = 0; bool valid = false; };
  Ticket begin(Folder& folder);
  Counts finish(Folder& folder, Ticket ticket, Counts found);

 private:
  std::mutex mutex_;
  Counts pending_;
};

}  // namespace kiln::cache
