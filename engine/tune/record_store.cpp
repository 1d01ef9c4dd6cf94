#include "engine/tune/record_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "engine/base/os.hpp"
#include "engine/base/paths.hpp"
#include "engine/jit/build_identity.hpp"
#include "engine/tune/identity.hpp"

namespace kiln::tune {
namespace {

// A file that others may have put there: a regular one that belongs to this user or to root, no link. It never waits.
Result<Bytes> read_own_file(const std::string& path, std::size_t bytes_max) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return errno_error(errno, "cannot open " + path);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return errno_error(errno, "cannot look at " + path);
  if (!S_ISREG(status.st_mode)) return Error(ErrorCode::permission_denied, path + " is no regular file");
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return Error(ErrorCode::permission_denied, path + " belongs to another user");
  return read_all(fd.get(), bytes_max);
}

constexpr std::size_t id_digits = 64, prefix_digits = 32;
constexpr std::int64_t look_every_ns = 1'000'000'000;
constexpr const char* journal_folder = "/journals";
constexpr auto temporary_age_max = std::chrono::hours(1);   // a writer takes no longer

std::int64_t steady_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool is_id(const std::string& name) {
  return name.size() == id_digits && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

RecordStore::RecordStore(RecordStoreOptions options) : options_(std::move(options)) {
  for (auto record : options_.shipped) {
    record.identity.version = jit::source_identity();
    const auto id = record_id(record.identity);
    shipped_[id] = std::make_shared<const jit::TuningRecord>(std::move(record));
  }
  const std::lock_guard lock(mutex_);
  refresh(true);
}

void RecordStore::say(const std::string& line) const {
  if (options_.log) options_.log(line);
}

std::uint64_t RecordStore::generation() {
  if (steady_now_ns() >= look_again_ns_.load(std::memory_order_relaxed)) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) refresh(false);
  }
  return generation_.load(std::memory_order_acquire);
}

RecordStore::Listing RecordStore::read_listing() const {
  Listing listing;
  if (options_.folder.empty()) {
    for (const auto& [name, bytes] : in_memory_)
      if (is_id(name)) listing[name] = {};
    return listing;
  }
  std::error_code error;
  for (std::filesystem::directory_iterator at(options_.folder, error), end; !error && at != end; at.increment(error)) {
    const auto name = at->path().filename().string();
    struct stat status {};
    if (!is_id(name) || os::fstatat(AT_FDCWD, at->path().c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    listing[name] = {std::int64_t(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec, status.st_ino};
  }
  return listing;
}

void RecordStore::refresh(bool now) {
  if (!now && steady_now_ns() < look_again_ns_.load()) return;
  look_again_ns_ = steady_now_ns() + look_every_ns;
  auto listing = read_listing();
  if (listing == listing_ && !(now && prefixes_.empty())) return;
  listing_ = std::move(listing);
  prefixes_.clear();
  for (const auto& [id, seen] : listing_) prefixes_.insert(id.substr(0, prefix_digits));
  for (const auto& [id, record] : shipped_) prefixes_.insert(id.substr(0, prefix_digits));
  known_.clear();
  generation_.fetch_add(1, std::memory_order_release);
}

bool RecordStore::any_at(const std::string& prefix) {
  const std::lock_guard lock(mutex_);
  refresh(false);
  return prefixes_.contains(prefix);
}

jit::TuningRecordPtr RecordStore::read(const std::string& id) {
  Bytes bytes;
  if (options_.folder.empty()) {
    const auto found = in_memory_.find(id);
    if (found == in_memory_.end()) return nullptr;
    bytes = found->second.bytes;
  } else {
    auto file = read_own_file(options_.folder + "/" + id, record_bytes_max);
    if (!file) return nullptr;
    bytes = std::move(*file);
  }
  auto record = decode_record(bytes);
  if (record && record_id(record->identity) == id)
    return std::make_shared<const jit::TuningRecord>(std::move(*record));
  const auto error = record ? Error(ErrorCode::corrupt, "it is of another request than its name says") : record.error();
  if (error.code == ErrorCode::unsupported) return nullptr;   // another release's: it may be wanted there
  say("the tuning record " + id + " is damaged and was removed: " + error.message);
  if (options_.folder.empty()) in_memory_.erase(id);
  else os::unlinkat(AT_FDCWD, (options_.folder + "/" + id).c_str(), 0);
  return nullptr;
}

jit::TuningRecordPtr RecordStore::find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  refresh(false);
  if (const auto known = known_.find(id); known != known_.end()) return known->second;
  auto record = listing_.contains(id) ? read(id) : nullptr;
  if (!record)
    if (const auto there = shipped_.find(id); there != shipped_.end()) record = there->second;
  known_[id] = record;
  return record;
}

jit::TuningRecordPtr RecordStore::own(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return read(id);
}

// A new file that nobody else writes, then a rename: a reader sees the old record, the new one, or none.
Status RecordStore::write(const std::string& folder, const std::string& name, const Bytes& bytes) {
  if (bytes.size() > record_bytes_max)
    return Error(ErrorCode::resource_limit, "a tuning record of " + std::to_string(bytes.size()) + " bytes: at most " +
                                                std::to_string(record_bytes_max) + " are kept");
  const bool journal = folder != options_.folder;
  if (options_.folder.empty()) {
    in_memory_[journal ? folder + "/" + name : name] = {bytes, ++writes_};
    drop_oldest_in_memory(journal, journal ? options_.journals_max : options_.records_max);
    return ok();
  }
  KILN_CHECK(make_private_folder(options_.folder, ::geteuid()));
  if (folder != options_.folder) KILN_CHECK(make_private_folder(folder, ::geteuid()));
  const auto temporary = folder + "/." + name + "." + std::to_string(::getpid()) + "." + std::to_string(++writes_);
  UniqueFd fd(os::openat(AT_FDCWD, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return errno_error(errno, "cannot write a tuning record");
  auto status = write_all(fd.get(), bytes);
  if (status && os::renameat(AT_FDCWD, temporary.c_str(), AT_FDCWD, (folder + "/" + name).c_str()) != 0)
    status = errno_error(errno, "cannot put a tuning record into its place");
  if (!status) os::unlinkat(AT_FDCWD, temporary.c_str(), 0);
  tidy(folder, journal);
  return status;
}

void RecordStore::drop_oldest_in_memory(bool journals, std::size_t most) {
  const auto among = [&](const auto& entry) { return is_id(entry.first) != journals; };
  while (static_cast<std::size_t>(std::count_if(in_memory_.begin(), in_memory_.end(), among)) > most) {
    auto oldest = in_memory_.end();
    for (auto at = in_memory_.begin(); at != in_memory_.end(); ++at)
      if (among(*at) && (oldest == in_memory_.end() || at->second.written < oldest->second.written)) oldest = at;
    in_memory_.erase(oldest);
  }
}

// Files that nobody comes back for: of writers that were killed, and of tunes that nobody asked for again.
void RecordStore::tidy(const std::string& folder, bool journals) const {
  std::vector<std::pair<std::filesystem::file_time_type, std::filesystem::path>> kept;
  const auto now = std::filesystem::file_time_type::clock::now();
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const auto name = at->path().filename().string();
    std::error_code gone;
    const auto changed = std::filesystem::last_write_time(at->path(), gone);
    if (gone) continue;
    const bool temporary = name.starts_with(".") && is_id(name.substr(1, id_digits));
    if ((temporary && now - changed > temporary_age_max) ||
        (journals && is_id(name) && now - changed > options_.journal_age_max))
      os::unlinkat(AT_FDCWD, at->path().c_str(), 0);
    else if (journals && is_id(name)) kept.emplace_back(changed, at->path());
  }
  std::sort(kept.begin(), kept.end());
  for (std::size_t i = 0; i + options_.journals_max < kept.size(); ++i)
    os::unlinkat(AT_FDCWD, kept[i].second.c_str(), 0);
}

std::size_t RecordStore::journals() {
  const std::lock_guard lock(mutex_);
  if (options_.folder.empty())
    return static_cast<std::size_t>(
        std::count_if(in_memory_.begin(), in_memory_.end(), [](const auto& entry) { return !is_id(entry.first); }));
  std::size_t count = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at(options_.folder + journal_folder, error), end; !error && at != end;
       at.increment(error))
    count += is_id(at->path().filename().string()) ? 1 : 0;
  return count;
}

Status RecordStore::put(const jit::TuningRecord& record) {
  const std::lock_guard lock(mutex_);
  KILN_CHECK(write(options_.folder, record_id(record.identity), encode_record(record)));
  known_.clear();
  look_again_ns_ = 0;
  listing_.clear();            // a file that replaced its equal is news too
  refresh(false);
  drop_oldest();
  return ok();
}

void RecordStore::drop_oldest() {
  while (listing_.size() > options_.records_max && !options_.folder.empty()) {
    const auto oldest = std::min_element(listing_.begin(), listing_.end(), [](const auto& a, const auto& b) {
      return a.second.changed_ns < b.second.changed_ns;
    });
    os::unlinkat(AT_FDCWD, (options_.folder + "/" + oldest->first).c_str(), 0);
    listing_.erase(oldest);
  }
}

Result<bool> RecordStore::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (!is_id(id)) return Error(ErrorCode::invalid_argument, "a record's name is 64 lower-case hex digits");
  bool there = false;
  if (options_.folder.empty()) {
    there = in_memory_.erase(id) > 0;
  } else {
    there = os::unlinkat(AT_FDCWD, (options_.folder + "/" + id).c_str(), 0) == 0;
    if (!there && errno != ENOENT) return errno_error(errno, "cannot remove the tuning record " + id);
  }
  if (!there && shipped_.contains(id))
    return Error(ErrorCode::permission_denied,
                 "the record " + id + " came with Kiln; a tune of your own goes before it");
  look_again_ns_ = 0;
  refresh(false);
  return there;
}

std::vector<jit::NamedTuningRecord> RecordStore::list() {
  const std::lock_guard lock(mutex_);
  look_again_ns_ = 0;
  refresh(false);
  std::vector<jit::NamedTuningRecord> all;
  for (const auto& [id, seen] : Listing(listing_)) {
    auto record = read(id);
    if (!record) continue;
    const bool ours = record->identity.version == jit::source_identity();
    all.push_back({id, std::move(record), false, ours ? "" : "measured by another build"});
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.record->made_unix_s > b.record->made_unix_s;
  });
  for (const auto& [id, record] : shipped_) {
    const bool hidden = listing_.contains(id);
    all.push_back({id, record, true, hidden ? "a record of your own goes before it" : ""});
  }
  for (auto& entry : all) {
    const auto& identity = entry.record->identity;
    if (!entry.unusable.empty()) continue;
    if (identity.device_class.starts_with("host: ") && identity.device_class != device_class_of_host())
      entry.unusable = "measured on another processor";
    else if (!identity.of_candidates.empty())
      entry.unusable = "compiles do not ask for it, the autotuned kernel does";
  }
  return all;
}

std::optional<Journal> RecordStore::read_journal(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Bytes bytes;
  const auto place = options_.folder + journal_folder + "/" + id;
  if (options_.folder.empty()) {
    const auto found = in_memory_.find(place);
    if (found == in_memory_.end()) return std::nullopt;
    bytes = found->second.bytes;
  } else {
    auto file = read_own_file(place, record_bytes_max);
    if (!file) return std::nullopt;
    bytes = std::move(*file);
  }
  auto journal = decode_journal(bytes);
  if (journal && record_id(journal->identity) == id) return std::move(*journal);
  if (!journal && journal.error().code == ErrorCode::unsupported) return std::nullopt;
  say("what the interrupted tune " + id + " kept is damaged and was removed");
  if (options_.folder.empty()) in_memory_.erase(place);
  else os::unlinkat(AT_FDCWD, place.c_str(), 0);
  return std::nullopt;
}

Status RecordStore::write_journal(const std::string& id, const Journal& journal) {
  const std::lock_guard lock(mutex_);
  return write(options_.folder + journal_folder, id, encode_journal(journal));
}

void RecordStore::remove_journal(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto place = options_.folder + journal_folder + "/" + id;
  if (options_.folder.empty()) in_memory_.erase(place);
  else os::unlinkat(AT_FDCWD, place.c_str(), 0);
}

}  // namespace kiln::tune
