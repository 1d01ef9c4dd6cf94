#include "engine/base/fd.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "engine/base/os.hpp"

namespace kiln {

void UniqueFd::reset(int fd) {
  if (fd_ >= 0) {
    const int saved = errno;  // destructors run between a failed call and the look at errno
    os::close(fd_);
    errno = saved;
  }
  fd_ = fd;
}

Result<UniqueFd> UniqueFd::duplicate() const {
  UniqueFd copy(os::duplicate(fd_, 0));
  if (!copy) return errno_error(errno, "cannot duplicate a descriptor");
  return copy;
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    if (data_) os::munmap(data_, size_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

Mapping::~Mapping() {
  if (data_) os::munmap(data_, size_);
}

Result<Mapping> Mapping::map(int fd, std::size_t size, bool writable, std::int64_t offset) {
  Mapping mapping;
  if (size == 0) return mapping;  // mmap refuses an empty range
  const int protection = PROT_READ | (writable ? PROT_WRITE : 0);
  void* at = os::mmap(nullptr, size, protection, MAP_SHARED, fd, offset);
  if (at == MAP_FAILED) return errno_error(errno, "cannot map " + std::to_string(size) + " bytes");
  mapping.data_ = static_cast<std::uint8_t*>(at);
  mapping.size_ = size;
  return mapping;
}

Result<UniqueFd> create_memfd(const std::string& name, std::size_t size) {
  UniqueFd fd(os::memfd_create(name.substr(0, 200).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return errno_error(errno, "cannot create a memory file");
  if (os::ftruncate(fd.get(), static_cast<off_t>(size)) != 0)
    return errno_error(errno, "cannot give a memory file " + std::to_string(size) + " bytes");
  return fd;
}

Result<UniqueFd> sealed_memfd(const std::string& name, ByteView bytes) {
  KILN_TRY(auto fd, create_memfd(name, 0));
  KILN_CHECK(write_all(fd.get(), bytes));
  if (os::add_seals(fd.get(), F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
    return errno_error(errno, "cannot seal a memory file");
  return fd;
}

namespace {

// For files that do not know their size (/proc): until the end.
Result<Bytes> read_to_end(int fd, std::size_t bytes_max) {
  Bytes bytes;
  std::uint8_t chunk[4096];
  for (;;) {
    const auto n = os::pread(fd, chunk, sizeof chunk, static_cast<off_t>(bytes.size()));
    if (n < 0) return errno_error(errno, "cannot read");
    if (n == 0) return bytes;
    if (bytes.size() + static_cast<std::size_t>(n) > bytes_max)
      return Error(ErrorCode::resource_limit, "file is over " + std::to_string(bytes_max) + " bytes");
    bytes.insert(bytes.end(), chunk, chunk + n);
  }
}

}  // namespace

Result<Bytes> read_all(int fd, std::size_t bytes_max) {
  struct stat status {};
  if (os::fstat(fd, &status) != 0) return errno_error(errno, "cannot stat");
  if (status.st_size == 0) return read_to_end(fd, bytes_max);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > bytes_max) return Error(ErrorCode::resource_limit, "file is over " + std::to_string(bytes_max) + " bytes");
  Bytes bytes(size);
  for (std::size_t done = 0; done < size;) {
    const auto n = os::pread(fd, bytes.data() + done, size - done, static_cast<off_t>(done));
    if (n < 0) return errno_error(errno, "cannot read");
    if (n == 0) return Error(ErrorCode::io_error, "file became shorter while it was read");
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

Result<Bytes> read_file(const std::string& path, std::size_t bytes_max) {
  UniqueFd fd(os::openat(AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno_error(errno, "cannot open " + path);
  auto bytes = read_all(fd.get(), bytes_max);
  if (!bytes) bytes.error().message = path + ": " + bytes.error().message;
  return bytes;
}

Status write_all(int fd, ByteView bytes) {
  while (!bytes.empty()) {
    const auto n = os::write(fd, bytes.data(), std::min(bytes.size(), std::size_t(1) << 30));
    if (n < 0) return errno_error(errno, "cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Result<Bytes> read_all_of_stream(int fd, std::size_t bytes_max) {
  Bytes bytes;
  for (;;) {
    std::uint8_t buffer[65536];
    const auto got = os::read(fd, buffer, sizeof buffer);
    if (got < 0) return errno_error(errno, "read");
    if (got == 0) return bytes;
    if (bytes.size() + std::size_t(got) > bytes_max)
      return Error(ErrorCode::resource_limit, "more than " + std::to_string(bytes_max) + " bytes to read");
    bytes.insert(bytes.end(), buffer, buffer + got);
  }
}

namespace {

Status write_in_place(const std::string& path, ByteView bytes) {
  UniqueFd fd(os::openat(AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd) return errno_error(errno, "create " + path);
  auto status = write_all(fd.get(), bytes);
  if (!status) status.error().message = path + ": " + status.error().message;
  return status;
}

}  // namespace

Status write_file(const std::string& path, ByteView bytes) {
  struct stat there {};
  const bool exists = os::fstatat(AT_FDCWD, path.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
  // Devices, pipes, links: what they stand for is written to. Files that are not our own to replace, too.
  if (exists && (!S_ISREG(there.st_mode) || there.st_nlink != 1 || there.st_uid != ::geteuid() ||
                 ::access(path.c_str(), W_OK) != 0))
    return write_in_place(path, bytes);
  const std::string temporary = path + "." + std::to_string(::getpid()) + ".tmp";
  UniqueFd fd(os::openat(AT_FDCWD, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd) return write_in_place(path, bytes);   // a folder where only the file itself may be written
  if (exists) os::fchmod(fd.get(), there.st_mode & 0777);
  auto status = write_all(fd.get(), bytes);
  if (status && os::renameat(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str()) != 0)
    status = errno_error(errno, "cannot replace it");
  if (!status) {
    os::unlinkat(AT_FDCWD, temporary.c_str(), 0);
    status.error().message = path + ": " + status.error().message;
  }
  return status;
}

}  // namespace kiln
