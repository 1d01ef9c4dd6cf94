// Memory between processes: handles and descriptors. What comes in is not trusted.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "engine/base/os.hpp"
#include "engine/emulator/machine/memory.hpp"
#include "engine/emulator/machine/memory_header.hpp"

namespace kiln::emulator {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint32_t handle_magic = 0x6b696c6e;

Error gone(const std::string& why) { return Error(ErrorCode::not_found, "the memory of the IPC handle: " + why); }

// The owner's memfd, checked against the handle. A descriptor number may name anything by now, so what it names is
// looked at before it is opened: opening a pipe or a device could block or act.
Result<UniqueFd> open_owner(const IpcHandle& handle) {
  if (process_start_time(handle.pid) != handle.start_time || handle.start_time == 0)
    return gone("process " + std::to_string(handle.pid) + " has ended");
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", handle.pid, handle.descriptor);
  struct stat status;
  if (os::fstatat(AT_FDCWD, path, &status, 0) != 0) {
    if (errno == EACCES || errno == EPERM)
      return Error(ErrorCode::permission_denied, "the IPC handle is of a process that this user may not look into");
    return gone("it has been freed");
  }
  if (!S_ISREG(status.st_mode)) return gone("it has been freed");
  UniqueFd fd(os::openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) {
    if (errno == EACCES || errno == EPERM)
      return Error(ErrorCode::permission_denied, "the IPC handle is of another user's process");
    return gone(std::strerror(errno));
  }
  if (os::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return gone("it has been freed");
  if (status.st_uid != ::geteuid())
    return Error(ErrorCode::permission_denied, "the IPC handle is of another user's memory");
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  MemoryHeader header;
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || size < page || handle.bytes > size - page ||
      os::pread(fd.get(), &header, sizeof header, static_cast<off_t>(size - page)) != sizeof header ||
      std::memcmp(header.magic, memory_magic, sizeof header.magic) != 0 || header.bytes != handle.bytes ||
      std::memcmp(header.nonce, handle.nonce, sizeof header.nonce) != 0) {
    return gone("it has been freed");
  }
  return fd;
}

}  // namespace

std::uint64_t process_start_time(std::int32_t pid) {
  char path[64], text[1024];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const UniqueFd fd(os::openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  if (!fd) return 0;
  const auto size = os::read(fd.get(), text, sizeof text - 1);
  if (size <= 0) return 0;
  text[size] = '\0';
  const char* rest = std::strrchr(text, ')');  // the program's name may hold anything
  for (int field = 2; rest != nullptr && field < 22; ++field) rest = std::strchr(rest + 1, ' ');
  return rest == nullptr ? 0 : std::strtoull(rest + 1, nullptr, 10);
}

Result<IpcHandle> Memory::export_handle(const void* pointer) const {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  const std::lock_guard lock(mutex_);
  const auto found = at(address);
  if (found == entries_.end() || found->second.allocation.kind != MemoryKind::device) {
    return Error(ErrorCode::invalid_argument,
                 found == entries_.end() ? "no device memory of this process lies at that address"
                                         : "only memory that this process allocated on the card has an IPC handle");
  }
  IpcHandle handle;
  handle.magic = handle_magic;
  handle.pid = ::getpid();
  handle.start_time = process_start_time(handle.pid);
  handle.descriptor = found->second.fd.get();
  handle.device = static_cast<std::uint32_t>(found->second.allocation.device);
  std::memcpy(handle.nonce, found->second.nonce.data(), sizeof handle.nonce);
  handle.bytes = found->second.allocation.bytes;
  handle.offset = address - found->first;
  return handle;
}

Result<void*> Memory::open_handle(const IpcHandle& handle) {
  if (handle.magic != handle_magic || handle.pid <= 0 || handle.descriptor < 0 || handle.bytes == 0 ||
      handle.offset >= handle.bytes) {
    return Error(ErrorCode::invalid_argument, "no IPC handle of an emulated card's memory");
  }
  if (handle.pid == ::getpid()) {
    return Error(ErrorCode::invalid_argument,
                 "the IPC handle is of this very process: use the pointer itself, HIP opens handles of others only");
  }
  KILN_TRY(UniqueFd fd, open_owner(handle));
  const std::lock_guard lock(mutex_);
  for (auto& [begin, entry] : entries_) {
    if (entry.allocation.kind != MemoryKind::imported || entry.allocation.bytes != handle.bytes ||
        std::memcmp(entry.nonce.data(), handle.nonce, sizeof handle.nonce) != 0) {
      continue;
    }
    ++entry.opens;
    return reinterpret_cast<void*>(begin + handle.offset);
  }
  Entry entry;
  KILN_CHECK(map(entry, handle.bytes, fd.get(), 0));
  std::memcpy(entry.nonce.data(), handle.nonce, sizeof handle.nonce);
  entry.opens = 1;
  const auto begin = reinterpret_cast<std::uint64_t>(entry.mapping);
  entry.allocation = {begin, handle.bytes, MemoryKind::imported, true, static_cast<int>(handle.device)};
  forget_stale(begin, handle.bytes);
  entries_.emplace(begin, std::move(entry));
  return reinterpret_cast<void*>(begin + handle.offset);
}

Status Memory::close_handle(void* pointer) {
  const std::lock_guard lock(mutex_);
  const auto found = at(reinterpret_cast<std::uint64_t>(pointer));
  if (found == entries_.end() || found->second.allocation.kind != MemoryKind::imported)
    return Error(ErrorCode::invalid_argument, "no memory that was opened by an IPC handle lies at that address");
  const auto entry = entries_.find(found->first);
  if (--entry->second.opens > 0) return ok();
  unmap(entry->second);
  entries_.erase(entry);
  return ok();
}

Result<UniqueFd> Memory::export_descriptor(const void* pointer, std::uint64_t* offset) const {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  const std::lock_guard lock(mutex_);
  const auto found = at(address);
  if (found == entries_.end() || found->second.allocation.kind != MemoryKind::device)
    return Error(ErrorCode::invalid_argument, "no device memory of this process lies at that address");
  *offset = address - found->first;
  return found->second.fd.duplicate();
}

Result<void*> Memory::import_descriptor(int fd, std::uint64_t offset, std::uint64_t bytes) {
  struct stat status;
  if (os::fstat(fd, &status) != 0) return errno_error(errno, "the descriptor to import");
  if (!S_ISREG(status.st_mode) || bytes == 0 || offset > static_cast<std::uint64_t>(status.st_size) ||
      bytes > static_cast<std::uint64_t>(status.st_size) - offset) {
    return Error(ErrorCode::invalid_argument, "the descriptor to import is no memory, or smaller than the range");
  }
  // Without the seal its owner could cut it short under a running kernel.
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return Error(ErrorCode::invalid_argument, "the descriptor to import can still be made smaller: seal it");
  const std::uint64_t before = offset % page;
  Entry entry;
  KILN_CHECK(map(entry, before + bytes, fd, offset - before));
  entry.opens = 1;
  const std::uint64_t begin = reinterpret_cast<std::uint64_t>(entry.mapping) + before;
  entry.allocation = {begin, bytes, MemoryKind::imported, true, 0};
  const std::lock_guard lock(mutex_);
  forget_stale(begin, bytes);
  entries_.emplace(begin, std::move(entry));
  return reinterpret_cast<void*>(begin);
}

}  // namespace kiln::emulator
