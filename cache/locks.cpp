#include "cache/locks.hpp"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <vector>

#include "engine/base/os.hpp"

namespace kiln::cache {
namespace {

// The descriptors that hold locks. A fork's child closes them; its copies of the RangeLock objects then own nothing,
// also when their numbers were given to other files.
class HeldDescriptors {
 public:
  static HeldDescriptors& instance() {
    static HeldDescriptors* held = [] {
      ::pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                       [] { instance().close_in_child(); });
      return new HeldDescriptors;  // lives for ever: locks may be freed by destructors of other statics
    }();
    return *held;
  }
  int add(UniqueFd fd) {
    const std::scoped_lock guard(mutex_);
    for (std::size_t i = 0; i < fds_.size(); ++i)
      if (fds_[i] < 0 && free_[i]) return free_[i] = false, fds_[i] = fd.release(), static_cast<int>(i);
    fds_.push_back(fd.release());
    free_.push_back(false);
    return static_cast<int>(fds_.size()) - 1;
  }
  // The descriptor back, none in a child of the process that took it.
  UniqueFd remove(int slot) {
    const std::scoped_lock guard(mutex_);
    free_[static_cast<std::size_t>(slot)] = true;
    return UniqueFd(std::exchange(fds_[static_cast<std::size_t>(slot)], -1));
  }

 private:
  void close_in_child() {
    for (auto& fd : fds_)
      if (fd >= 0) ::close(std::exchange(fd, -1));
    mutex_.unlock();
  }
  std::mutex mutex_;
  std::vector<int> fds_;
  std::vector<bool> free_;
};

UniqueFd open_lock_file(int folder, const char* name) {
  return UniqueFd(os::openat(folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
}

struct flock range_at(std::uint64_t offset, short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(offset);
  range.l_len = 1;
  return range;
}

// A record of the holders' file: key, start, process and a checksum over the three. 64 bytes.
struct HolderRecord {
  Digest key;
  std::int64_t start_ms;  // CLOCK_BOOTTIME: one clock for all processes, and no lock outlives a boot
  std::int64_t pid;
  std::uint64_t unused;
  std::uint64_t checksum;
};
static_assert(sizeof(HolderRecord) == 64);
constexpr std::uint64_t holder_records = 1024;

std::int64_t boot_time_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

off_t holder_position(const jit::Key& key) {
  return static_cast<off_t>(lock_offset(key) % holder_records * sizeof(HolderRecord));
}

std::uint64_t checksum_of(const HolderRecord& record) {
  return checksum64({reinterpret_cast<const std::uint8_t*>(&record), sizeof record - sizeof record.checksum});
}

std::optional<HolderRecord> read_record(int fd, const jit::Key& key) {
  HolderRecord record{};
  if (os::pread(fd, &record, sizeof record, holder_position(key)) != ssize_t(sizeof record)) return std::nullopt;
  if (record.checksum != checksum_of(record) || record.key != key.digest) return std::nullopt;
  return record;
}

}  // namespace

std::uint64_t lock_offset(const jit::Key& key) {
  std::uint64_t word;
  std::memcpy(&word, key.digest.data(), sizeof word);
  return key_lock_offset_min + (word >> 2);  // off_t is signed: stay far below its end
}

Result<std::optional<RangeLock>> RangeLock::try_take(int folder, const char* name, std::uint64_t offset) {
  auto fd = open_lock_file(folder, name);
  if (!fd) return errno_error(errno, "cannot open the lock file");
  auto range = range_at(offset, F_WRLCK);
  if (os::set_ofd_lock(fd.get(), &range) == 0)
    return std::optional<RangeLock>(RangeLock(HeldDescriptors::instance().add(std::move(fd))));
  if (errno == EAGAIN || errno == EACCES) return std::optional<RangeLock>();
  if (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP || errno == EINVAL)
    return Error(ErrorCode::unsupported, errno_error(errno, "this file system has no locks").message);
  return errno_error(errno, "cannot lock");
}

RangeLock::~RangeLock() {
  if (slot_ < 0) return;
  auto& held = HeldDescriptors::instance();
  const auto fd = held.remove(slot_);
  if (!fd) return;
  // Unlocked by hand before it closes: a child between fork and its handler may still share the description.
  auto range = range_at(0, F_UNLCK);
  range.l_len = 0;
  os::set_ofd_lock(fd.get(), &range);
}

bool is_locked(int folder, const char* name, std::uint64_t offset) {
  const UniqueFd fd(os::openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return false;
  auto range = range_at(offset, F_WRLCK);
  return os::get_ofd_lock(fd.get(), &range) == 0 && range.l_type != F_UNLCK;
}

void write_holder(int folder, const char* name, const jit::Key& key) {
  const auto fd = open_lock_file(folder, name);
  if (!fd) return;
  HolderRecord record{key.digest, boot_time_ms(), ::getpid(), 0, 0};
  record.checksum = checksum_of(record);
  (void)os::pwrite(fd.get(), &record, sizeof record, holder_position(key));
}

void clear_holder(int folder, const char* name, const jit::Key& key) {
  const UniqueFd fd(os::openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return;
  const auto record = read_record(fd.get(), key);
  if (!record || record->pid != ::getpid()) return;
  const HolderRecord empty{};
  (void)os::pwrite(fd.get(), &empty, sizeof empty, holder_position(key));
}

std::optional<jit::LockHolder> read_holder(int folder, const char* name, const jit::Key& key) {
  const UniqueFd fd(os::openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return std::nullopt;
  const auto record = read_record(fd.get(), key);
  if (!record) return std::nullopt;
  const auto age_ms = std::max<std::int64_t>(0, boot_time_ms() - record->start_ms);
  return jit::LockHolder{static_cast<int>(record->pid), age_ms, to_hex(record->key)};
}

}  // namespace kiln::cache
