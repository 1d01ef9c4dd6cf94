#include "cache/totals.hpp"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "cache/locks.hpp"
#include "engine/base/os.hpp"

namespace kiln::cache {
namespace {

constexpr std::uint64_t format = 0x314c41544f544b31;  // "1KTOTAL1", little endian

// The file, 64 bytes. `added_*` only grow: what came since a moment is a difference of two readings.
struct Record {
  std::uint64_t format;
  std::int64_t entries, bytes;
  std::uint64_t added_entries, added_bytes;
  std::uint64_t counted;  // 1 once a scan has set entries and bytes
  std::uint64_t unused;
  std::uint64_t checksum;
};
static_assert(sizeof(Record) == 64);

std::uint64_t checksum_of(const Record& record) {
  return checksum64({reinterpret_cast<const std::uint8_t*>(&record), sizeof record - sizeof record.checksum});
}

std::optional<Record> read_record(int fd) {
  Record record{};
  if (os::pread(fd, &record, sizeof record, 0) != ssize_t(sizeof record)) return std::nullopt;
  if (record.format != format || record.checksum != checksum_of(record)) return std::nullopt;
  return record;
}

// Tries for a while: holders only read and write 64 bytes under this lock, but may be stopped by a debugger.
std::optional<RangeLock> take_lock(Folder& folder, bool& lockless) {
  constexpr int tries_max = 400;
  for (int i = 0; i < tries_max; ++i) {
    auto lock = RangeLock::try_take(folder.root(), lock_file_name, totals_lock_offset);
    if (!lock) return lockless = lock.error().code == ErrorCode::unsupported, std::nullopt;
    if (*lock) return std::move(*lock);
    const timespec pause{0, 100000};
    ::nanosleep(&pause, nullptr);
  }
  return std::nullopt;
}

// Changes the record under the lock. A missing or damaged one starts from zero, not counted. False: nothing was
// changed.
bool change(Folder& folder, const std::function<void(Record&)>& change_record) {
  if (!folder.writable()) return false;
  bool lockless = false;
  const auto lock = take_lock(folder, lockless);
  if (!lock && !lockless) return false;
  const UniqueFd fd(os::openat(folder.root(), totals_file_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return false;
  auto record = read_record(fd.get()).value_or(Record{format, 0, 0, 0, 0, 0, 0, 0});
  change_record(record);
  record.checksum = checksum_of(record);
  return os::pwrite(fd.get(), &record, sizeof record, 0) == ssize_t(sizeof record);
}

}  // namespace

void Totals::add(Folder& folder, Counts delta) {
  const std::scoped_lock guard(mutex_);
  pending_.entries += delta.entries;
  pending_.bytes += delta.bytes;
  const auto apply = [this](Record& record) {
    record.entries = std::max<std::int64_t>(0, record.entries + pending_.entries);
    record.bytes = std::max<std::int64_t>(0, record.bytes + pending_.bytes);
    if (pending_.entries > 0) record.added_entries += static_cast<std::uint64_t>(pending_.entries);
    if (pending_.bytes > 0) record.added_bytes += static_cast<std::uint64_t>(pending_.bytes);
  };
  if (change(folder, apply)) pending_ = {};
}

std::optional<Counts> Totals::read(Folder& folder) {
  const std::scoped_lock guard(mutex_);
  const UniqueFd fd(os::openat(folder.root(), totals_file_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return std::nullopt;
  // A reading may fall into a write, which is short: the second or third one does not.
  constexpr int tries_max = 5;
  for (int i = 0; i < tries_max; ++i) {
    const auto record = read_record(fd.get());
    if (!record) continue;
    if (!record->counted) return std::nullopt;
    return Counts{std::max<std::int64_t>(0, record->entries + pending_.entries),
                  std::max<std::int64_t>(0, record->bytes + pending_.bytes)};
  }
  return std::nullopt;
}

Totals::Ticket Totals::begin(Folder& folder) {
  const std::scoped_lock guard(mutex_);
  Ticket ticket;
  change(folder, [&](Record& record) { ticket = {record.added_entries, record.added_bytes, true}; });
  pending_ = {};  // the scan sees what these were about
  return ticket;
}

Counts Totals::finish(Folder& folder, Ticket ticket, Counts found) {
  const std::scoped_lock guard(mutex_);
  change(folder, [&](Record& record) {
    if (ticket.valid) {
      found.entries += static_cast<std::int64_t>(record.added_entries - ticket.added_entries);
      found.bytes += static_cast<std::int64_t>(record.added_bytes - ticket.added_bytes);
    }
    record.entries = found.entries;
    record.bytes = found.bytes;
    record.counted = 1;
  });
  return found;
}

Result<Counts> Totals::recount(Folder& folder) {
  const auto ticket = begin(folder);
  Counts found;
  KILN_CHECK(folder.scan([&](const ScannedEntry& entry) {
    ++found.entries;
    found.bytes += static_cast<std::int64_t>(entry.bytes);
  }));
  return finish(folder, ticket, found);
}

}  // namespace kiln::cache
