#include "engine/base/os.hpp"

#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <string>
#include <vector>

namespace kiln::os {
namespace {

enum class Call : std::uint8_t {
  openat, close, read, pread, write, pwrite, fsync, ftruncate, fstat, fstatat, fstatfs, renameat, linkat, unlinkat,
  mkdirat, readlinkat, fchmod, futimens, flock, set_ofd_lock, get_ofd_lock, fdopendir, readdir, memfd_create, add_seals,
  duplicate, mmap, munmap,
  socketpair, pipe2, sendmsg, recvmsg, poll, any,
  place  // the first of the places, which stand behind the calls
};
constexpr int places = static_cast<int>(Place::eviction) + 1;
constexpr std::array<std::string_view, static_cast<int>(Call::place) + places> call_names = {
    "openat", "close", "read", "pread", "write", "pwrite", "fsync", "ftruncate", "fstat", "fstatat", "fstatfs",
    "renameat", "linkat", "unlinkat", "mkdirat", "readlinkat", "fchmod", "futimens", "flock", "set_ofd_lock",
    "get_ofd_lock", "fdopendir", "readdir", "memfd_create", "add_seals", "duplicate", "mmap", "munmap", "socketpair",
    "pipe2", "sendmsg", "recvmsg", "poll", "any",
    "compile", "entry_write", "before_rename", "after_rename", "launch", "eviction"};

// Lock-free, so that a forked child may pass through it.
struct Slot {
  std::atomic<std::int64_t> left{0};  // calls until it trips: trips at 1; 0 and below: past
  std::atomic<int> error_number{0};
  std::atomic<bool> on{false}, and_after{false};
  std::atomic<FailAction> action{FailAction::fail};
  std::atomic<std::uint64_t> calls{0};
};
std::array<Slot, call_names.size()> slots;
std::atomic<bool> armed{false};

enum class Outcome { go, failed, cut_short };

Outcome pass(Slot& slot) {
  slot.calls.fetch_add(1, std::memory_order_relaxed);
  if (!slot.on.load(std::memory_order_acquire)) return Outcome::go;
  const auto left = slot.left.fetch_sub(1, std::memory_order_acq_rel);
  if (left != 1 && !(left < 1 && slot.and_after.load())) return Outcome::go;
  switch (slot.action.load()) {
    case FailAction::kill: ::kill(::getpid(), SIGKILL); break;
    case FailAction::stop: ::kill(::getpid(), SIGSTOP); return Outcome::go;
    case FailAction::cut_short: return Outcome::cut_short;
    case FailAction::fail: break;
  }
  errno = slot.error_number.load();
  return Outcome::failed;
}

Outcome check_armed(Call call) {
  const auto any = pass(slots[static_cast<int>(Call::any)]);
  const auto own = pass(slots[static_cast<int>(call)]);
  return own != Outcome::go ? own : any;
}

inline Outcome check(Call call) {
  if (!armed.load(std::memory_order_relaxed)) [[likely]] return Outcome::go;
  return check_armed(call);
}
inline bool fails(Call call) { return check(call) == Outcome::failed; }

template <class F> auto again(F&& call) {
  decltype(call()) result;
  do result = call();
  while (result == -1 && errno == EINTR);
  return result;
}

template <class F> ssize_t transfer(Call call, std::size_t size, F&& move) {
  const auto outcome = check(call);
  if (outcome == Outcome::failed) return -1;
  if (outcome == Outcome::cut_short && size > 1) size /= 2;
  return again([&] { return move(size); });
}

int find_call(std::string_view name) {
  for (std::size_t i = 0; i < call_names.size(); ++i)
    if (call_names[i] == name) return static_cast<int>(i);
  return -1;
}

struct ErrnoName { std::string_view name; int number; };
constexpr ErrnoName errno_names[] = {
    {"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EROFS", EROFS}, {"EACCES", EACCES}, {"EPERM", EPERM},
    {"ENOENT", ENOENT}, {"ENOTDIR", ENOTDIR}, {"EEXIST", EEXIST}, {"ELOOP", ELOOP}, {"EMFILE", EMFILE},
    {"ENFILE", ENFILE},
    {"ENOMEM", ENOMEM}, {"EINVAL", EINVAL}, {"ENOLCK", ENOLCK}, {"EAGAIN", EAGAIN}, {"EPIPE", EPIPE},
    {"ENOSYS", ENOSYS},
    {"ECONNRESET", ECONNRESET}, {"EOPNOTSUPP", EOPNOTSUPP}, {"ESTALE", ESTALE}, {"EBADF", EBADF}, {"EXDEV", EXDEV}};

struct Parsed { std::string_view call; std::uint64_t nth; bool and_after; int error_number; FailAction action; };

std::string_view cut(std::string_view& rest, char separator) {
  const auto at = rest.find(separator);
  const auto first = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
  return first;
}

Result<Parsed> parse_one(std::string_view item) {
  const Error wrong(ErrorCode::invalid_argument, "failpoint '" + std::string(item) + "': expected name:nth[+]:errno");
  Parsed parsed{cut(item, ':'), 0, false, 0, FailAction::fail};
  auto count = cut(item, ':');
  parsed.and_after = count.ends_with('+');
  if (parsed.and_after) count.remove_suffix(1);
  const auto [end, failure] = std::from_chars(count.data(), count.data() + count.size(), parsed.nth);
  if (failure != std::errc() || end != count.data() + count.size() || find_call(parsed.call) < 0) return wrong;
  if (item == "KILL") return parsed.action = FailAction::kill, parsed;
  if (item == "STOP") return parsed.action = FailAction::stop, parsed;
  if (item == "SHORT") return parsed.action = FailAction::cut_short, parsed;
  for (const auto& known : errno_names)
    if (known.name == item) return parsed.error_number = known.number, parsed;
  return wrong;
}

}  // namespace

Status arm_failpoint(std::string_view call, std::uint64_t nth, int error_number, bool and_after, FailAction action) {
  const int index = find_call(call);
  if (index < 0) return Error(ErrorCode::invalid_argument, "no call is named '" + std::string(call) + "'");
  const bool dies = action == FailAction::kill || action == FailAction::stop;
  if (index >= static_cast<int>(Call::place) && nth > 0 && !dies)
    return Error(ErrorCode::invalid_argument, "the place '" + std::string(call) + "' takes KILL or STOP alone");
  auto& slot = slots[index];
  slot.on.store(false);
  slot.error_number.store(error_number);
  slot.and_after.store(and_after);
  slot.action.store(action);
  slot.left.store(static_cast<std::int64_t>(nth));
  slot.calls.store(0);
  slot.on.store(nth > 0, std::memory_order_release);
  armed.store(true);
  return {};
}

Status arm_failpoints(std::string_view text) {
  std::vector<Parsed> all;
  while (!text.empty()) {
    KILN_TRY(auto parsed, parse_one(cut(text, ',')));
    all.push_back(parsed);
  }
  for (const auto& p : all) KILN_CHECK(arm_failpoint(p.call, p.nth, p.error_number, p.and_after, p.action));
  return {};
}

void disarm_failpoints() {
  armed.store(false);
  for (auto& slot : slots) slot.on.store(false), slot.calls.store(0);
}

std::uint64_t counted_calls(std::string_view call) {
  const int index = find_call(call);
  return index < 0 ? 0 : slots[index].calls.load();
}

Failpoint::Failpoint(std::string_view call, std::uint64_t nth, int error_number, bool and_after, FailAction action) {
  KILN_ASSERT(arm_failpoint(call, nth, error_number, and_after, action).has_value());
}

void reach(Place place) {
  if (!armed.load(std::memory_order_relaxed)) [[likely]] return;
  (void)pass(slots[static_cast<int>(Call::place) + static_cast<int>(place)]);
}

int openat(int folder, const char* path, int flags, mode_t mode) {
  if (fails(Call::openat)) return -1;
  return again([&] { return ::openat(folder, path, flags, mode); });
}
int close(int fd) {
  const bool failed = fails(Call::close);  // the descriptor is gone either way, as with the real call
  const int saved = errno;
  const int result = ::close(fd);
  if (!failed) return result;
  errno = saved;
  return -1;
}
ssize_t read(int fd, void* data, std::size_t size) {
  return transfer(Call::read, size, [&](std::size_t n) { return ::read(fd, data, n); });
}
ssize_t pread(int fd, void* data, std::size_t size, off_t offset) {
  return transfer(Call::pread, size, [&](std::size_t n) { return ::pread(fd, data, n, offset); });
}
ssize_t write(int fd, const void* data, std::size_t size) {
  return transfer(Call::write, size, [&](std::size_t n) { return ::write(fd, data, n); });
}
ssize_t pwrite(int fd, const void* data, std::size_t size, off_t offset) {
  return transfer(Call::pwrite, size, [&](std::size_t n) { return ::pwrite(fd, data, n, offset); });
}
int fsync(int fd) { return fails(Call::fsync) ? -1 : again([&] { return ::fsync(fd); }); }
int ftruncate(int fd, off_t size) { return fails(Call::ftruncate) ? -1 : again([&] { return ::ftruncate(fd, size); }); }
int fstat(int fd, struct stat* status) { return fails(Call::fstat) ? -1 : ::fstat(fd, status); }
int fstatat(int folder, const char* path, struct stat* status, int flags) {
  return fails(Call::fstatat) ? -1 : ::fstatat(folder, path, status, flags);
}
int fstatfs(int fd, struct statfs* status) {
  return fails(Call::fstatfs) ? -1 : again([&] { return ::fstatfs(fd, status); });
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  return fails(Call::renameat) ? -1 : ::renameat(from_folder, from, to_folder, to);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  return fails(Call::linkat) ? -1 : ::linkat(from_folder, from, to_folder, to, flags);
}
int unlinkat(int folder, const char* path, int flags) {
  return fails(Call::unlinkat) ? -1 : ::unlinkat(folder, path, flags);
}
int mkdirat(int folder, const char* path, mode_t mode) {
  return fails(Call::mkdirat) ? -1 : ::mkdirat(folder, path, mode);
}
ssize_t readlinkat(int folder, const char* path, char* target, std::size_t size) {
  return fails(Call::readlinkat) ? -1 : ::readlinkat(folder, path, target, size);
}
int fchmod(int fd, mode_t mode) { return fails(Call::fchmod) ? -1 : ::fchmod(fd, mode); }
int futimens(int fd, const struct timespec times[2]) { return fails(Call::futimens) ? -1 : ::futimens(fd, times); }
int flock(int fd, int operation) { return fails(Call::flock) ? -1 : again([&] { return ::flock(fd, operation); }); }
int set_ofd_lock(int fd, struct flock* lock) {
  return fails(Call::set_ofd_lock) ? -1 : again([&] { return ::fcntl(fd, F_OFD_SETLK, lock); });
}
int get_ofd_lock(int fd, struct flock* lock) {
  return fails(Call::get_ofd_lock) ? -1 : again([&] { return ::fcntl(fd, F_OFD_GETLK, lock); });
}
DIR* fdopendir(int fd) { return fails(Call::fdopendir) ? nullptr : ::fdopendir(fd); }
struct dirent* readdir(DIR* folder) { return fails(Call::readdir) ? nullptr : ::readdir(folder); }
int memfd_create(const char* name, unsigned flags) {
  return fails(Call::memfd_create) ? -1 : ::memfd_create(name, flags);
}
int add_seals(int fd, int seals) { return fails(Call::add_seals) ? -1 : ::fcntl(fd, F_ADD_SEALS, seals); }
int duplicate(int fd, int from) { return fails(Call::duplicate) ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, from); }
void* mmap(void* at, std::size_t size, int protection, int flags, int fd, off_t offset) {
  return fails(Call::mmap) ? MAP_FAILED : ::mmap(at, size, protection, flags, fd, offset);
}
int munmap(void* at, std::size_t size) { return fails(Call::munmap) ? -1 : ::munmap(at, size); }
int socketpair(int domain, int type, int protocol, int fds[2]) {
  return fails(Call::socketpair) ? -1 : ::socketpair(domain, type, protocol, fds);
}
int pipe2(int fds[2], int flags) { return fails(Call::pipe2) ? -1 : ::pipe2(fds, flags); }
ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  return fails(Call::sendmsg) ? -1 : again([&] { return ::sendmsg(fd, message, flags); });
}
ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
  return fails(Call::recvmsg) ? -1 : again([&] { return ::recvmsg(fd, message, flags); });
}
int poll(struct pollfd* fds, nfds_t count, int timeout_ms) {
  return fails(Call::poll) ? -1 : ::poll(fds, count, timeout_ms);
}

}  // namespace kiln::os
