#include "cache/disk_store.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <set>

#include "cache/bundle.hpp"
#include "cache/entry.hpp"
#include "cache/eviction.hpp"
#include "cache/folder.hpp"
#include "cache/locks.hpp"
#include "cache/store_state.hpp"
#include "cache/totals.hpp"
#include "engine/base/os.hpp"

namespace kiln::cache {
namespace {

// Of every limit, what is left after an eviction of its own accord: so that not every store evicts.
constexpr std::uint64_t nine_tenths(std::uint64_t limit) { return limit - limit / 10; }

class DiskLock final : public jit::CompileLock {
 public:
  DiskLock(std::shared_ptr<Folder> folder, const jit::Key& key, RangeLock lock)
      : folder_(std::move(folder)), key_(key), lock_(std::move(lock)) {
    write_holder(folder_->root(), holder_file_name, key_);
  }
  ~DiskLock() override { clear_holder(folder_->root(), holder_file_name, key_); }

 private:
  std::shared_ptr<Folder> folder_;
  jit::Key key_;
  RangeLock lock_;  // freed after the record is cleared
};
class NoLock final : public jit::CompileLock {};

Status check_note_name(const std::string& name) {
  const bool allowed = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-") == std::string::npos;
  const bool sound = allowed && !name.empty() && name.size() <= 64 && name != "." && name != "..";
  return sound ? ok() : Status(Error(ErrorCode::invalid_argument, "a note's name is [a-z0-9._-]{1,64}"));
}

// Renews the time of use; at most once a minute, and also when it lies in the future.
void touch(const EntryFile& file) {
  const auto age = unix_now_ns() - used_ns(file.status);
  if (age <= use_renewed_ns && age >= -use_renewed_ns) return;
  const timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
  os::futimens(file.fd.get(), times);
}

}  // namespace

Result<std::shared_ptr<DiskStore>> DiskStore::open(const StoreOptions& options) {
  KILN_TRY(auto folder, Folder::open(options.folder, options.trust_other_owner));
  auto state = std::make_unique<State>(options, std::move(folder));
  const auto current = state->folder();
  if (!current->writable()) state->warn_once("the cache is not written: " + current->why_not_writable());
  if (current->leftovers_removed() > 0) (void)state->totals.recount(*current);
  return std::shared_ptr<DiskStore>(new DiskStore(std::move(state)));
}

Result<std::shared_ptr<DiskStore>> DiskStore::open_read_only(const StoreOptions& options) {
  KILN_TRY(auto folder, Folder::open_read_only(options.folder));
  auto state = std::make_unique<State>(options, std::move(folder));
  state->read_only = true;
  return std::shared_ptr<DiskStore>(new DiskStore(std::move(state)));
}

DiskStore::DiskStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
DiskStore::~DiskStore() = default;

std::shared_ptr<const jit::StoredObject> DiskStore::lookup(
    const jit::Key& key, const std::function<bool(const jit::StoredObject&)>& sound, std::optional<Error>* unread) {
  const auto folder = state_->folder();
  auto entry = state_->read_sound(*folder, key, sound, !state_->read_only, nullptr, unread);
  if (!entry) {
    ++state_->misses;
    return nullptr;
  }
  ++state_->hits;
  return std::make_shared<const jit::StoredObject>(std::move(*entry));
}

Status DiskStore::store(const jit::Key& key, ByteView metadata, ByteView object) {
  auto status = state_->store(key, metadata, object);
  if (status) {
    ++state_->stores;
    state_->wrote("");
    state_->evict_if_over();
  } else {
    ++state_->store_failures;
    if (!state_->too_large(metadata, object)) state_->wrote(status.error().message);
  }
  return status;
}

Result<std::unique_ptr<jit::CompileLock>> DiskStore::try_lock(const jit::Key& key) {
  auto folder = state_->folder();
  if (!folder->writable()) {
    state_->locked(folder->why_not_writable());
    return std::unique_ptr<jit::CompileLock>(new NoLock);
  }
  auto lock = RangeLock::try_take(folder->root(), lock_file_name, lock_offset(key));
  if (!lock && folder->gone() && state_->reopen(folder)) {
    folder = state_->folder();
    lock = RangeLock::try_take(folder->root(), lock_file_name, lock_offset(key));
  }
  if (!lock) {
    state_->locked(lock.error().message);
    return std::unique_ptr<jit::CompileLock>(new NoLock);
  }
  state_->locked("");
  if (!*lock) return std::unique_ptr<jit::CompileLock>();
  return std::unique_ptr<jit::CompileLock>(new DiskLock(folder, key, std::move(**lock)));
}

std::optional<jit::LockHolder> DiskStore::lock_holder(const jit::Key& key) {
  const auto folder = state_->folder();
  if (!is_locked(folder->root(), lock_file_name, lock_offset(key))) return std::nullopt;
  return read_holder(folder->root(), holder_file_name, key).value_or(jit::LockHolder{0, 0, key.hex()});
}

std::optional<Bytes> DiskStore::read_note(const std::string& name) {
  if (!check_note_name(name)) return std::nullopt;
  auto note = state_->read_note(name);
  return note ? std::move(*note) : std::nullopt;
}

Status DiskStore::write_note(const std::string& name, ByteView bytes) {
  KILN_CHECK(check_note_name(name));
  const auto encoded = encode_entry(note_key(name), {}, bytes);
  return state_->with_live_folder([&](const std::shared_ptr<Folder>& folder) -> Status {
    KILN_TRY(auto file, TemporaryFile::create(folder));
    KILN_CHECK(file.write(encoded));
    return file.publish(folder->notes(), name);
  });
}

jit::StoreStats DiskStore::stats() {
  const auto folder = state_->folder();
  auto counts = state_->totals.read(*folder);
  if (!counts) counts = state_->totals.recount(*folder).value_or(Counts{});
  jit::StoreStats stats = state_->describe(*folder);
  stats.entries = static_cast<std::uint64_t>(counts->entries);
  stats.bytes = static_cast<std::uint64_t>(counts->bytes);
  return stats;
}

std::vector<jit::StoredInfo> DiskStore::list(std::optional<Error>* unread) {
  std::vector<ScannedEntry> found;
  auto scanned = state_->folder()->scan([&](const ScannedEntry& entry) { found.push_back(entry); });
  if (!scanned && unread) *unread = std::move(scanned).error();
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.used_ns != b.used_ns ? a.used_ns > b.used_ns : a.key < b.key;
  });
  std::vector<jit::StoredInfo> list;
  list.reserve(found.size());
  for (const auto& entry : found) list.push_back({entry.key, entry.bytes, entry.used_ns / 1000000000});
  return list;
}

jit::VerifyReport DiskStore::verify() {
  constexpr std::size_t problems_max = 100;
  const auto folder = state_->folder();
  std::vector<jit::Key> keys;
  jit::VerifyReport report;
  if (auto scanned = folder->scan([&](const ScannedEntry& entry) { keys.push_back(entry.key); }); !scanned)
    report.problems.push_back(scanned.error().message);
  for (const auto& key : keys) {
    std::string problem;
    const auto entry = state_->read_sound(*folder, key, {}, false, &problem);
    if (!entry && problem.empty()) continue;  // removed meanwhile
    ++report.checked;
    if (entry) continue;
    ++report.bad;
    if (report.problems.size() < problems_max) report.problems.push_back(key.hex() + ": " + problem);
  }
  (void)state_->totals.recount(*folder);
  return report;
}

Result<std::uint64_t> DiskStore::evict(std::optional<std::uint64_t> bytes_max,
                                       std::optional<std::uint64_t> entries_max) {
  const auto folder = state_->folder();
  if (!folder->writable()) return Error(ErrorCode::permission_denied, folder->why_not_writable());
  const auto& limits = state_->options;
  const bool by_command = bytes_max || entries_max;
  const EvictionGoal goal{bytes_max.value_or(limits.bytes_max), entries_max.value_or(limits.entries_max), !by_command};
  KILN_TRY(const auto result, evict_to(*folder, state_->totals, goal));
  state_->evictions += result.removed;
  return result.removed;
}

Result<bool> DiskStore::remove(const jit::Key& key) {
  const auto folder = state_->folder();
  const auto bytes = folder->entry_file_bytes(key);
  KILN_TRY(const bool removed, folder->remove_entry(key));
  if (removed) state_->totals.add(*folder, {-1, -static_cast<std::int64_t>(bytes.value_or(0))});
  return removed;
}

Result<jit::ExportReport> DiskStore::export_to(int fd, const jit::ExportRequest& request) {
  const auto folder = state_->folder();
  BundleSource source;
  if (request.keys.empty())
    KILN_CHECK(folder->scan([&](const ScannedEntry& entry) { source.keys.push_back(entry.key); }));
  source.read = [&](const jit::Key& key) -> Result<std::optional<jit::StoredObject>> {
    std::optional<Error> unread;
    auto entry = state_->read_sound(*folder, key, request.sound, false, nullptr, &unread);
    if (!entry && unread) return std::move(*unread);
    return entry;
  };
  source.read_note = [this](const std::string& name) { return state_->read_note(name); };
  return export_bundle(fd, request, source, state_->options.trust);
}

Result<jit::ImportReport> DiskStore::import_from(int fd, const jit::ImportRequest& request) {
  const auto folder = state_->folder();
  if (!folder->writable()) return Error(ErrorCode::permission_denied, folder->why_not_writable());
  const auto holds = [&](const jit::Key& key) {
    return state_->read_sound(*state_->folder(), key, request.sound, false).has_value();
  };
  const auto note = [this](const std::string& name) { return state_->read_note(name); };
  return import_bundle(fd, request, {*this, holds, note}, state_->options.trust);
}

// ---- State ----------------------------------------------------------------------------------------------------------

std::shared_ptr<Folder> DiskStore::State::folder() {
  const std::scoped_lock guard(mutex_);
  return folder_now_;
}

bool DiskStore::State::reopen(const std::shared_ptr<Folder>& gone) {
  const std::scoped_lock guard(mutex_);
  if (folder_now_ != gone) return true;  // another thread did
  auto opened = Folder::open(options.folder, options.trust_other_owner);
  if (!opened || !(*opened)->writable()) return false;
  folder_now_ = std::move(*opened);
  return true;
}

Status DiskStore::State::with_live_folder(const std::function<Status(const std::shared_ptr<Folder>&)>& act) {
  auto current = folder();
  if (!current->writable()) return Error(ErrorCode::permission_denied, current->why_not_writable());
  auto status = act(current);
  if (status || !current->gone() || !reopen(current)) return status;
  return act(folder());
}

Status DiskStore::State::store(const jit::Key& key, ByteView metadata, ByteView object) {
  if (too_large(metadata, object)) return Error(ErrorCode::resource_limit, "an entry over the cache's limit");
  const auto encoded = encode_entry(key, metadata, object);
  return with_live_folder([&](const std::shared_ptr<Folder>& folder) { return publish(folder, key, encoded); });
}

bool DiskStore::State::too_large(ByteView metadata, ByteView object) const {
  return entry_bytes(metadata.size(), object.size()) > std::min<std::uint64_t>(options.bytes_max, entry_file_bytes_max);
}

Status DiskStore::State::publish(const std::shared_ptr<Folder>& folder, const jit::Key& key, ByteView encoded) {
  KILN_TRY(auto file, TemporaryFile::create(folder));
  KILN_CHECK(file.write(encoded));
  KILN_TRY(const auto place, folder->entry_place(key));
  const auto old = folder->entry_file_bytes(key);
  const auto old_bytes = static_cast<std::int64_t>(old.value_or(0));
  const Counts change{old ? 0 : 1, static_cast<std::int64_t>(encoded.size()) - old_bytes};
  // Counted first: who dies in between leaves a temporary file, and whoever removes that recounts.
  totals.add(*folder, change);
  auto published = file.publish(place.shard.get(), place.name);
  if (!published) totals.add(*folder, {-change.entries, -change.bytes});
  return published;
}

void DiskStore::State::evict_if_over() {
  const auto current = folder();
  auto counts = totals.read(*current);
  if (!counts) {
    auto counted = totals.recount(*current);
    if (!counted) return;
    counts = *counted;
  }
  const bool over = static_cast<std::uint64_t>(counts->entries) > options.entries_max ||
                    static_cast<std::uint64_t>(counts->bytes) > options.bytes_max;
  const auto now = std::chrono::steady_clock::now();
  {
    const std::scoped_lock guard(mutex_);
    if (!over || now < evict_not_before_) return;
    evict_not_before_ = now + std::chrono::seconds(10);  // unless this one succeeds: all are recent, or another evicts
  }
  const EvictionGoal goal{nine_tenths(options.bytes_max), nine_tenths(options.entries_max), true};
  const auto result = evict_to(*current, totals, goal);
  if (!result) return;
  evictions += result->removed;
  const std::scoped_lock guard(mutex_);
  if (result->removed > 0) evict_not_before_ = {};
}

std::optional<jit::StoredObject> DiskStore::State::read_sound(
    Folder& folder, const jit::Key& key, const std::function<bool(const jit::StoredObject&)>& sound, bool used,
    std::string* problem, std::optional<Error>* unread) {
  const auto tell = [problem](const std::string& text) { if (problem) *problem = text; };
  auto file = folder.open_entry(key);
  if (!file && unread && file.error().retryable) *unread = file.error();
  if (!file) return tell(file.error().message), std::nullopt;
  if (!*file) return std::nullopt;
  auto bytes = read_all((*file)->fd.get(), entry_file_bytes_max);
  if (!bytes && bytes.error().code != ErrorCode::resource_limit) return tell(bytes.error().message), std::nullopt;
  std::string defect;
  if (!bytes) {
    defect = "the entry is too large";
  } else if (auto entry = decode_entry(key, *bytes); !entry) {
    defect = defect_text(entry.error());
    if (entry.error() == Defect::other_version) return std::nullopt;  // another release's: no damage
  } else if (sound && !sound(*entry)) {
    defect = "the entry does not fit its key's target";
  } else {
    if (used) touch(**file);
    return std::move(*entry);
  }
  tell(defect);
  ++quarantined;
  if (folder.quarantine_entry(key, (*file)->status))
    totals.add(folder, {-1, -static_cast<std::int64_t>((*file)->status.st_size)});
  return std::nullopt;
}

Result<std::optional<Bytes>> DiskStore::State::read_note(const std::string& name) {
  KILN_TRY(const auto bytes, folder()->read_note_file(name));
  if (!bytes) return std::optional<Bytes>();
  auto entry = decode_entry(note_key(name), *bytes);
  if (!entry) return std::optional<Bytes>();
  return std::optional<Bytes>(std::move(entry->object));
}

jit::StoreStats DiskStore::State::describe(const Folder& folder) {
  jit::StoreStats stats;
  stats.path = folder.path();
  const std::scoped_lock guard(mutex_);
  if (!folder.writable()) stats.why_not_writable = folder.why_not_writable();
  else stats.why_not_writable = last_failure_.empty() ? fallback_reason : last_failure_;
  stats.writable = stats.why_not_writable.empty();
  stats.why_no_locks = why_no_locks_;
  stats.entries_max = options.entries_max;
  stats.bytes_max = options.bytes_max;
  stats.hits = hits;
  stats.misses = misses;
  stats.stores = stores;
  stats.store_failures = store_failures;
  stats.evictions = evictions;
  stats.quarantined = quarantined;
  return stats;
}

void DiskStore::State::wrote(const std::string& failure) {
  {
    const std::scoped_lock guard(mutex_);
    last_failure_ = failure;
  }
  if (!failure.empty()) warn_once("kernels are served uncached: " + failure);
}

void DiskStore::State::locked(const std::string& failure) {
  {
    const std::scoped_lock guard(mutex_);
    why_no_locks_ = failure;
  }
  if (!failure.empty()) warn_once("processes may compile the same kernel side by side: " + failure);
}

void DiskStore::State::warn_once(const std::string& text) {
  {
    const std::scoped_lock guard(mutex_);
    if (!options.warn || !warned_.insert(text).second) return;
  }
  options.warn(text);
}

}  // namespace kiln::cache
