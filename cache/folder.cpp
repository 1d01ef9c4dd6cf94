#include "cache/folder.hpp"

#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "engine/base/os.hpp"
#include "engine/base/paths.hpp"

namespace kiln::cache {
namespace {

constexpr std::size_t key_hex_digits = 64;

std::string shard_name(unsigned index) {
  const std::uint8_t byte = static_cast<std::uint8_t>(index);
  return to_hex(ByteView(&byte, 1));
}

unsigned shard_of(const jit::Key& key) { return key.digest[0]; }

// "ab/abcd…": below entries/.
std::string entry_path(const jit::Key& key) { return shard_name(shard_of(key)) + "/" + key.hex(); }

// The key that a file name says; upper-case digits are nobody's of ours.
std::optional<jit::Key> key_of_name(std::string_view name) {
  if (name.size() != key_hex_digits) return std::nullopt;
  if (std::any_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'F'; })) return std::nullopt;
  const auto bytes = from_hex(name);
  if (!bytes) return std::nullopt;
  jit::Key key;
  std::copy(bytes->begin(), bytes->end(), key.digest.begin());
  return key;
}

bool absent(const Error& error) { return error.code == ErrorCode::not_found; }

}  // namespace

std::int64_t unix_now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
}

Result<std::shared_ptr<Folder>> Folder::open(const std::string& path, bool trust_other_owner) {
  const std::shared_ptr<Folder> folder(new Folder);
  folder->path_ = path;
  folder->trust_other_owner_ = trust_other_owner;
  auto opened = open_trusted_folder(path, trust_other_owner);
  if (!opened && absent(opened.error())) {
    KILN_CHECK(make_folders(path, 0700));
    opened = open_trusted_folder(path, trust_other_owner);
  }
  if (!opened) return std::move(opened).error();
  folder->root_ = std::move(opened->fd);
  if (opened->owner == Owner::root) folder->why_not_writable_ = path + " belongs to root: only read";
  if (opened->owner == Owner::other) folder->why_not_writable_ = path + " belongs to another user: only read";
  KILN_CHECK(folder->open_parts());
  if (folder->writable()) folder->remove_leftovers();
  return folder;
}

Result<std::shared_ptr<Folder>> Folder::open_read_only(const std::string& path) {
  const std::shared_ptr<Folder> folder(new Folder);
  folder->path_ = path;
  KILN_TRY(auto opened, open_trusted_folder(path, false));
  folder->root_ = std::move(opened.fd);
  folder->why_not_writable_ = path + " is a layer: only read";
  KILN_CHECK(folder->open_parts());
  if (!folder->entries_) return Error(ErrorCode::not_found, path + ": no cache folder, it has no entries/");
  return folder;
}

Status Folder::open_parts() {
  KILN_CHECK(open_part("entries", entries_));
  KILN_CHECK(open_part("tmp", temporary_));
  KILN_CHECK(open_part("quarantine", quarantine_));
  KILN_CHECK(open_part("notes", notes_));
  if (!writable()) return {};
  // Folders may all be there and the file system still be read-only: opening for writing tells.
  const UniqueFd locks(os::openat(root(), lock_file_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!locks) why_not_writable_ = errno_error(errno, path_ + " cannot be written").message;
  return {};
}

// A part that cannot be made is a folder that cannot be written; one that is there but not to be trusted is an error.
Status Folder::open_part(const char* name, UniqueFd& part) {
  int why = 0;
  if (writable() && os::mkdirat(root(), name, 0700) != 0 && errno != EEXIST) why = errno;
  auto opened = open_below(root(), name, trust_other_owner_);
  if (opened) {
    part = std::move(*opened);
    return {};
  }
  if (!absent(opened.error())) return Error(opened.error().code, path_ + "/" + opened.error().message);
  if (writable()) why_not_writable_ = errno_error(why ? why : ENOENT, path_ + " cannot be written").message;
  return {};
}

void Folder::remove_leftovers() {
  std::vector<std::string> names;
  if (!for_each_name(temporary(), [&](const char* name) { names.emplace_back(name); })) return;
  constexpr std::int64_t unlockable_kept_ns = 3600ll * 1000000000;
  for (const auto& name : names) {
    const UniqueFd fd(os::openat(temporary(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd) continue;
    if (os::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      struct stat status {};
      const bool busy = errno == EWOULDBLOCK || os::fstat(fd.get(), &status) != 0;
      if (busy || used_ns(status) > unix_now_ns() - unlockable_kept_ns) continue;  // without locks, age must do
    }
    if (os::unlinkat(temporary(), name.c_str(), 0) == 0) ++leftovers_removed_;
  }
}

bool Folder::gone() const {
  struct stat root_status {}, entries_status {};
  if (os::fstat(root(), &root_status) != 0 || root_status.st_nlink == 0) return true;
  return !entries_ || os::fstat(entries_.get(), &entries_status) != 0 || entries_status.st_nlink == 0;
}

Result<bool> Folder::shard_exists(unsigned index) {
  if (shard_checked_[index].load(std::memory_order_relaxed)) return true;
  auto shard = open_shard(index);
  if (!shard && absent(shard.error())) return false;
  if (!shard) return std::move(shard).error();
  return true;
}

Result<UniqueFd> Folder::open_shard(unsigned index) {
  if (!entries_) return Error(ErrorCode::not_found, "no entries");
  KILN_TRY(auto shard, open_below(entries_.get(), shard_name(index).c_str(), trust_other_owner_));
  shard_checked_[index].store(true, std::memory_order_relaxed);
  return shard;
}

Result<std::optional<EntryFile>> Folder::open_entry(const jit::Key& key) {
  KILN_TRY(const bool exists, shard_exists(shard_of(key)));
  if (!exists) return std::optional<EntryFile>();
  EntryFile file;
  file.fd.reset(os::openat(entries_.get(), entry_path(key).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.fd && errno == ENOENT) return std::optional<EntryFile>();
  if (!file.fd) return errno_error(errno, "cannot open an entry");
  if (os::fstat(file.fd.get(), &file.status) != 0) return errno_error(errno, "cannot stat an entry");
  const bool trusted = trust_other_owner_ || owner_of(file.status) != Owner::other;
  if (!S_ISREG(file.status.st_mode) || !trusted || !only_owner_writes(file.status))
    return Error(ErrorCode::permission_denied, "an entry that others may write");
  return std::optional<EntryFile>(std::move(file));
}

std::optional<std::uint64_t> Folder::entry_file_bytes(const jit::Key& key) const {
  struct stat status {};
  if (!entries_) return std::nullopt;
  if (os::fstatat(entries_.get(), entry_path(key).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

Result<bool> Folder::remove_entry(const jit::Key& key, std::optional<std::int64_t> unless_used_since_ns) {
  if (!entries_) return false;
  const auto path = entry_path(key);
  if (unless_used_since_ns) {
    struct stat status {};
    if (os::fstatat(entries_.get(), path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
    if (used_ns(status) > *unless_used_since_ns) return false;
  }
  if (os::unlinkat(entries_.get(), path.c_str(), 0) == 0) return true;
  if (errno == ENOENT) return false;
  return errno_error(errno, "cannot remove an entry");
}

bool Folder::quarantine_entry(const jit::Key& key, const struct stat& status) {
  if (!writable()) return false;
  const auto path = entry_path(key);
  struct stat now {};
  if (os::fstatat(entries_.get(), path.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (now.st_ino != status.st_ino || now.st_dev != status.st_dev) return false;  // replaced meanwhile, by a sound one
  char name[100];
  std::snprintf(name, sizeof name, "%020lld-%s", static_cast<long long>(unix_now_ns()), key.hex().c_str());
  const bool moved = os::renameat(entries_.get(), path.c_str(), quarantine_.get(), name) == 0 ||
                     os::unlinkat(entries_.get(), path.c_str(), 0) == 0;
  prune_quarantine();
  return moved;
}

void Folder::prune_quarantine() {
  std::vector<std::string> names;
  if (!for_each_name(quarantine_.get(), [&](const char* name) { names.emplace_back(name); })) return;
  if (names.size() <= quarantine_kept_max) return;
  std::sort(names.begin(), names.end());  // the time comes first in the name
  for (std::size_t i = 0; i < names.size() - quarantine_kept_max; ++i)
    os::unlinkat(quarantine_.get(), names[i].c_str(), 0);
}

Status Folder::scan(const std::function<void(const ScannedEntry&)>& visit) {
  for (unsigned index = 0; index < 256; ++index) {
    const auto shard = open_shard(index);
    if (!shard) {
      if (absent(shard.error())) continue;
      return shard.error();
    }
    const auto look = [&](const char* name) {
      const auto key = key_of_name(name);
      struct stat status {};
      if (!key || shard_of(*key) != index) return;
      if (os::fstatat(shard->get(), name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) return;
      visit({*key, static_cast<std::uint64_t>(status.st_size), used_ns(status)});
    };
    KILN_CHECK(for_each_name(shard->get(), look));
  }
  return {};
}

Result<std::optional<Bytes>> Folder::read_note_file(const std::string& name) {
  if (!notes_) return std::optional<Bytes>();
  const UniqueFd fd(os::openat(notes(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::optional<Bytes>();
  if (!fd) return errno_error(errno, "cannot open a note");
  KILN_TRY(auto bytes, read_all(fd.get(), entry_file_bytes_max));
  return std::optional<Bytes>(std::move(bytes));
}

Result<Folder::Place> Folder::entry_place(const jit::Key& key) {
  const auto index = shard_of(key);
  auto shard = open_shard(index);
  if (!shard && absent(shard.error())) {
    if (os::mkdirat(entries_.get(), shard_name(index).c_str(), 0700) != 0 && errno != EEXIST)
      return errno_error(errno, "cannot create a folder of the cache");
    shard = open_shard(index);
  }
  if (!shard) return std::move(shard).error();
  return Place{std::move(*shard), key.hex()};
}

Result<TemporaryFile> TemporaryFile::create(std::shared_ptr<Folder> folder) {
  static std::atomic<std::uint64_t> counter{0};
  constexpr int tries_max = 16;
  for (int i = 0; i < tries_max; ++i) {
    auto name = std::to_string(::getpid()) + "-" + std::to_string(unix_now_ns()) + "-" + std::to_string(counter++);
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd fd(os::openat(folder->temporary(), name.c_str(), flags, 0600));
    if (!fd && errno == EEXIST) continue;
    if (!fd) return errno_error(errno, "cannot create a file in the cache");
    TemporaryFile file(std::move(folder), std::move(fd), std::move(name));
    // A starting process takes a file for a left-over between its creation and this lock.
    if (os::flock(file.fd_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) { folder = file.folder_; continue; }
    struct stat status {};
    if (os::fstat(file.fd_.get(), &status) == 0 && status.st_nlink == 0) { folder = file.folder_; continue; }
    return file;
  }
  return Error(ErrorCode::busy, "cannot create a file in the cache", true);
}

TemporaryFile::~TemporaryFile() {
  if (fd_ && !name_.empty()) os::unlinkat(folder_->temporary(), name_.c_str(), 0);
}

Status TemporaryFile::write(ByteView bytes) {
  if (auto written = write_all(fd_.get(), bytes); !written)
    return Error(written.error().code, "cannot write to the cache: " + written.error().message);
  os::reach(os::Place::entry_write);
  if (os::fsync(fd_.get()) != 0) return errno_error(errno, "cannot write to the cache");
  return {};
}

Status TemporaryFile::publish(int folder, const std::string& name) {
  os::reach(os::Place::before_rename);
  if (os::renameat(folder_->temporary(), name_.c_str(), folder, name.c_str()) != 0)
    return errno_error(errno, "cannot publish in the cache");
  os::reach(os::Place::after_rename);
  name_.clear();
  return {};
}

}  // namespace kiln::cache
