#include "api/service/buffers.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

namespace kiln::service {
namespace {

constexpr std::uint64_t buffer_bytes_max = std::uint64_t(1) << 46;

Status transfer_in(int fd, std::uint8_t* to, std::uint64_t offset, std::uint64_t bytes) {
  while (bytes > 0) {
    const auto got = ::pread(fd, to, bytes, off_t(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(errno, "read the client's buffer");
    if (got == 0) return Error(ErrorCode::invalid_argument, "the client's file became shorter than the buffer that it registered");
    to += got;
    offset += std::uint64_t(got);
    bytes -= std::uint64_t(got);
  }
  return ok();
}

Status transfer_out(int fd, const std::uint8_t* from, std::uint64_t offset, std::uint64_t bytes) {
  while (bytes > 0) {
    const auto put = ::pwrite(fd, from, bytes, off_t(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno_error(errno, "write the client's buffer");
    from += put;
    offset += std::uint64_t(put);
    bytes -= std::uint64_t(put);
  }
  return ok();
}

// What it is instead, without asking its file system, which may be one of the client's that never answers.
Error no_memory(int fd) {
  if ((::fcntl(fd, F_GETFL) & O_PATH) != 0)
    return Error(ErrorCode::invalid_argument, "the descriptor cannot be read: open it for reading and writing");
  struct statx info{};
  if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &info) != 0)
    return errno_error(errno, "look at the descriptor");
  if (S_ISDIR(info.stx_mode))
    return Error(ErrorCode::invalid_argument, "the descriptor is a directory; a buffer is a memfd");
  if (S_ISFIFO(info.stx_mode))
    return Error(ErrorCode::invalid_argument, "the descriptor is a pipe; a buffer is a memfd");
  if (!S_ISREG(info.stx_mode))
    return Error(ErrorCode::invalid_argument, "the descriptor is no memory; a buffer is a memfd");
  return Error(ErrorCode::unsupported,
               "the descriptor is a file on disk, where a page fault may block; create it with memfd_create");
}

Result<UniqueFd> sealed_shadow(std::uint64_t size) {
  KILN_TRY(auto fd, create_memfd("kiln-buffer", size));
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) return errno_error(errno, "seal a buffer");
  return fd;
}

}  // namespace

Result<std::shared_ptr<Buffer>> Buffer::import(ClientFd fd, std::uint64_t offset, std::uint64_t size) {
  if (!fd.is_memory()) return no_memory(fd.get());
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return errno_error(errno, "look at the descriptor");
  struct statfs system{};
  if (::fstatfs(fd.get(), &system) != 0) return errno_error(errno, "look at the descriptor's file system");
  if (system.f_type == HUGETLBFS_MAGIC)
    return Error(ErrorCode::unsupported, "huge-page memory is not accepted; create the memfd without MFD_HUGETLB");
  const auto file_size = std::uint64_t(info.st_size);
  if (offset > file_size) return Error(ErrorCode::invalid_argument, "the offset " + std::to_string(offset) + " lies behind the end of the file, " + std::to_string(file_size) + " bytes");
  if (size == 0) size = file_size - offset;
  if (size == 0 || size > file_size - offset)
    return Error(ErrorCode::invalid_argument, "the buffer would have " + std::to_string(size) + " bytes at offset " + std::to_string(offset) +
                 ", the file has " + std::to_string(file_size));
  if (size > buffer_bytes_max) return Error(ErrorCode::resource_limit, "the buffer is larger than any that can be mapped");
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY || (flags & O_PATH))
    return Error(ErrorCode::invalid_argument, "the descriptor cannot be read: open it for reading and writing");
  auto buffer = std::shared_ptr<Buffer>(new Buffer);
  buffer->fd_ = fd.take();
  buffer->offset_ = offset;
  buffer->size_ = size;
  buffer->device_ = info.st_dev;
  buffer->inode_ = info.st_ino;
  buffer->writable_ = (flags & O_ACCMODE) == O_RDWR;
  KILN_CHECK(buffer->keep_from_shrinking());
  if (!buffer->writable_) buffer->reopen_for_reading();
  return buffer;
}

// Kernels before 6.7 share memory that is sealed against writing only through a descriptor that is open for reading alone.
// Without O_NONBLOCK a lease of the client's on the file (F_SETLEASE) would hold this thread up until it is broken.
void Buffer::reopen_for_reading() {
  UniqueFd reading(::open(("/proc/self/fd/" + std::to_string(fd_.get())).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (reading) fd_ = std::move(reading);
}

// Sealed against shrinking: map it. Cannot be sealed: work on a copy.
Status Buffer::keep_from_shrinking() {
  const int seals = ::fcntl(fd_.get(), F_GET_SEALS);
  if (seals >= 0 && (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))) writable_ = false;  // either forbids mappings to write through
  const bool page_aligned = offset_ % std::uint64_t(::sysconf(_SC_PAGESIZE)) == 0;
  if (page_aligned && seals >= 0 && ((seals & F_SEAL_SHRINK) || ::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0)) {
    struct stat info{};  // it may have shrunk before the seal
    if (::fstat(fd_.get(), &info) != 0) return errno_error(errno, "look at the descriptor");
    if (std::uint64_t(info.st_size) < offset_ + size_) return Error(ErrorCode::invalid_argument, "the file became shorter while it was registered");
    return ok();
  }
  if (::fcntl(fd_.get(), F_GETFL) & O_APPEND) writable_ = false;  // pwrite would write behind the file's end
  KILN_TRY(shadow_, sealed_shadow(size_));
  KILN_TRY(shadow_bytes_, Mapping::map(shadow_.get(), size_, true));
  return ok();
}

Result<std::shared_ptr<Buffer>> Buffer::allocate(std::uint64_t size) {
  if (size == 0 || size > buffer_bytes_max) return Error(ErrorCode::invalid_argument, "a buffer of " + std::to_string(size) + " bytes");
  auto buffer = std::shared_ptr<Buffer>(new Buffer);
  KILN_TRY(buffer->fd_, sealed_shadow(size));
  struct stat info{};
  if (::fstat(buffer->fd_.get(), &info) != 0) return errno_error(errno, "look at the new buffer");
  buffer->size_ = size;
  buffer->device_ = info.st_dev;
  buffer->inode_ = info.st_ino;
  buffer->writable_ = buffer->allocated_ = true;
  return buffer;
}

std::shared_ptr<Buffer> Buffer::on_card(CardMemory memory, int fd) {
  auto buffer = std::shared_ptr<Buffer>(new Buffer);
  struct stat info{};
  if (fd >= 0 && ::fstat(fd, &info) == 0) {
    buffer->device_ = info.st_dev;
    buffer->inode_ = info.st_ino;
  }
  buffer->offset_ = memory.offset;
  buffer->size_ = memory.size;
  buffer->writable_ = true;
  buffer->allocated_ = memory.allocated;
  buffer->ids_.emplace(memory.device, memory.id);
  buffer->card_ = std::move(memory);
  return buffer;
}

Buffer::~Buffer() {
  for (const auto& [device, id] : ids_) (void)device->unmap(id, share_);
}

Status Buffer::copy_in(std::uint64_t offset, std::uint64_t bytes) {
  return copied() ? transfer_in(fd_.get(), shadow_bytes_.data() + offset, offset_ + offset, bytes) : ok();
}

Status Buffer::copy_out(std::uint64_t offset, std::uint64_t bytes) {
  return copied() ? transfer_out(fd_.get(), shadow_bytes_.data() + offset, offset_ + offset, bytes) : ok();
}

Status Buffer::read(std::uint64_t offset, std::uint64_t bytes, int fd) {
  if (bytes == 0) return ok();
  if (of_card()) return card_.device->read(card_.id, offset, bytes, fd);
  KILN_TRY(const auto from, Mapping::map(mapped_fd(), mapped_offset() + offset + bytes, false));
  return write_all(fd, from.bytes().subspan(mapped_offset() + offset));
}

Result<device::BufferId> Buffer::on_device(device::Device& device) {
  if (of_card() && card_.device != &device)
    return Error(ErrorCode::invalid_argument, "a buffer of the launch is memory of " + card_.device_name +
                 " and can be used there only: name that device, or hand the memory over as a memfd");
  std::lock_guard lock(mutex_);
  if (const auto it = ids_.find(&device); it != ids_.end()) return it->second;
  KILN_TRY(const auto id, device.map(mapped_fd(), mapped_offset(), size_, writable_ || copied()));
  ids_.emplace(&device, id);
  return id;
}

}  // namespace kiln::service
