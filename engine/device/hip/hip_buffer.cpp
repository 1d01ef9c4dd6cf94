#include "engine/device/hip/hip_buffer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/os.hpp"

namespace kiln::device::hip {

Result<std::shared_ptr<Buffer>> Buffer::map(const Table& table, int fd, std::uint64_t offset, std::uint64_t size,
                                            bool writable) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  const std::uint64_t before = offset % page;
  std::shared_ptr<Buffer> buffer(new Buffer(table));
  buffer->size_ = size;
  buffer->writable_ = writable;
  if (size == 0) return buffer;
  KILN_TRY(buffer->mapping_, FencedMapping::map(fd, size + before, writable, offset - before));
  buffer->data_ = buffer->mapping_.data() + before;
  KILN_CHECK(buffer->attach());
  return buffer;
}

Status Buffer::attach() {
  // The buffer alone, not its page: what lies beside it in the client's memory is none of the kernel's business, and
  // the emulated card checks to the byte.
  const unsigned flags = host_register_mapped | (writable_ ? 0 : host_register_read_only);
  if (table_.hipHostRegister(data_, size_, flags) == success) {
    registered_ = true;
    void* device = nullptr;
    KILN_CHECK(table_.check(table_.hipHostGetDevicePointer(&device, data_, 0), "hipHostGetDevicePointer"));
    device_ = reinterpret_cast<std::uint64_t>(device);
    return ok();
  }
  (void)table_.hipGetLastError();
  KILN_CHECK(table_.check(table_.hipMalloc(&staging_, size_), "hipMalloc"));
  device_ = reinterpret_cast<std::uint64_t>(staging_);
  return ok();
}

Buffer::~Buffer() {
  if (registered_) (void)table_.hipHostUnregister(data_);
  if (staging_ != nullptr) (void)table_.hipFree(staging_);
  if (release_) release_();
}

std::shared_ptr<Buffer> Buffer::on_card(const Table& table, std::uint64_t address, std::uint64_t size,
                                        std::function<void()> release) {
  std::shared_ptr<Buffer> buffer(new Buffer(table));
  buffer->device_ = address;
  buffer->size_ = size;
  buffer->writable_ = true;
  buffer->release_ = std::move(release);
  return buffer;
}

Result<std::shared_ptr<Buffer>> Buffer::open(const Table& table, IpcMemory& memory, const IpcHandle& handle,
                                             std::uint64_t offset, std::uint64_t size, const LetGo& let_go) {
  KILN_TRY(const auto range, memory.open(handle));
  auto buffer = on_card(table, range.base + offset, size, [&memory, handle] { memory.close(handle); });
  if (size == 0 || offset > range.bytes || size > range.bytes - offset) {
    let_go(std::move(buffer));
    return Error(ErrorCode::invalid_argument, std::to_string(size) + " bytes at offset " + std::to_string(offset) +
                 " are not inside the allocation of the IPC handle, which has " + std::to_string(range.bytes) + " bytes");
  }
  return buffer;
}

// On a stream of its own, which waits for no other; the emulated card's new memory is zero, and none of it is touched.
Status Buffer::clear(const Table& table, void* pointer, std::uint64_t size) {
  if (table.emulated()) return ok();
  Stream stream = nullptr;
  KILN_CHECK(table.check(table.hipStreamCreateWithFlags(&stream, stream_non_blocking), "hipStreamCreateWithFlags"));
  Status status = table.check(table.hipMemsetAsync(pointer, 0, size, stream), "hipMemsetAsync");
  if (status) status = table.check(table.hipStreamSynchronize(stream), "hipStreamSynchronize");
  (void)table.hipStreamDestroy(stream);
  return status;
}

Result<std::shared_ptr<Buffer>> Buffer::allocate(const Table& table, IpcMemory& memory, std::uint64_t size,
                                                 IpcHandle& handle, const LetGo& let_go) {
  void* pointer = nullptr;
  KILN_CHECK(table.check(table.hipMalloc(&pointer, size), "hipMalloc"));
  IpcBytes bytes{};
  auto buffer = on_card(table, reinterpret_cast<std::uint64_t>(pointer), size, [&table, pointer] {
    (void)table.hipFree(pointer);
  });
  Status status = clear(table, pointer, size);
  if (status) status = table.check(table.hipIpcGetMemHandle(&bytes, pointer), "hipIpcGetMemHandle");
  if (!status) {
    let_go(std::move(buffer));
    return std::move(status).error();
  }
  std::memcpy(handle.data(), &bytes, sizeof bytes);
  memory.gave(handle);
  buffer->release_ = [&table, &memory, pointer, handle] {
    memory.took_back(handle);
    (void)table.hipFree(pointer);
  };
  return buffer;
}

namespace {

// A card maps what it imports for writing. A dma-buf has no seals, and its access mode says nothing.
Status check_importable(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0) return ok();
  const bool sealed = (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0;
  if (!sealed && (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR) return ok();
  return Error(ErrorCode::invalid_argument, std::string("the descriptor's memory ") +
               (sealed ? "is sealed against writing" : "is open for reading only") +
               ", and a card imports memory that it can write: hand it over without \"device\", as input only");
}

}  // namespace

Result<std::shared_ptr<Buffer>> Buffer::import(const Table& table, int fd, std::uint64_t offset, std::uint64_t size,
                                               const LetGo& let_go) {
  if (table.hipImportExternalMemory == nullptr || table.hipExternalMemoryGetMappedBuffer == nullptr ||
      table.hipDestroyExternalMemory == nullptr)
    return Error(ErrorCode::unsupported, table.path + " cannot import descriptors of a card's memory");
  struct stat status;
  if (os::fstat(fd, &status) != 0) return errno_error(errno, "look at the descriptor");
  const auto end = status.st_size > 0 ? status.st_size : ::lseek(fd, 0, SEEK_END);   // dma-buf: old kernels say 0
  const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(end, 0));
  if (size == 0 || offset > bytes || size > bytes - offset)
    return Error(ErrorCode::invalid_argument, std::to_string(size) + " bytes at offset " + std::to_string(offset) +
                 " are not inside the descriptor's memory, which has " + std::to_string(bytes) + " bytes");
  KILN_CHECK(check_importable(fd));
  UniqueFd given(os::duplicate(fd, 0));
  if (!given) return errno_error(errno, "duplicate the descriptor");
  ExternalMemoryDescription description{};
  description.type = external_opaque_descriptor;
  description.handle.fd = given.get();
  description.size = bytes;
  ExternalMemory memory = nullptr;
  KILN_CHECK(table.check(table.hipImportExternalMemory(&memory, &description), "hipImportExternalMemory"));
  given.release();   // the driver's now
  auto buffer = on_card(table, 0, size, [&table, memory] { (void)table.hipDestroyExternalMemory(memory); });
  ExternalBufferDescription part{};
  part.offset = offset;
  part.size = size;
  void* pointer = nullptr;
  if (auto status = table.check(table.hipExternalMemoryGetMappedBuffer(&pointer, memory, &part),
                                "hipExternalMemoryGetMappedBuffer"); !status) {
    let_go(std::move(buffer));
    return std::move(status).error();
  }
  buffer->device_ = reinterpret_cast<std::uint64_t>(pointer);
  return buffer;
}

Status Buffer::copy_in(Stream stream, std::uint64_t offset, std::uint64_t bytes) const {
  if (staging_ == nullptr || bytes == 0) return ok();
  return table_.check(table_.hipMemcpyAsync(static_cast<std::uint8_t*>(staging_) + offset, data_ + offset, bytes,
                                            copy_host_to_device, stream),
                      "hipMemcpyAsync");
}

Status Buffer::copy_out(Stream stream, std::uint64_t offset, std::uint64_t bytes) const {
  if (staging_ == nullptr || bytes == 0 || !writable_) return ok();
  return table_.check(table_.hipMemcpyAsync(data_ + offset, static_cast<std::uint8_t*>(staging_) + offset, bytes,
                                            copy_device_to_host, stream),
                      "hipMemcpyAsync");
}

Status Buffer::read(std::uint64_t offset, std::uint64_t bytes, int fd) const {
  if (offset > size_ || bytes > size_ - offset)
    return Error(ErrorCode::invalid_argument, "a reading beyond the end of its buffer");
  if (bytes == 0) return ok();
  KILN_TRY(const auto into, Mapping::map(fd, bytes, true));
  if (data_ != nullptr) {
    std::memcpy(into.data(), data_ + offset, bytes);
    return ok();
  }
  return table_.check(table_.hipMemcpyDtoH(into.data(), reinterpret_cast<void*>(device_ + offset), bytes),
                      "hipMemcpyDtoH");
}

}  // namespace kiln::device::hip
