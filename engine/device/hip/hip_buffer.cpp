#include "engine/device/hip/hip_buffer.hpp"

#include <unistd.h>

namespace kiln::device::hip {

Result<std::shared_ptr<Buffer>> Buffer::map(const Table& table, int fd, std::uint64_t offset, std::uint64_t size,
                                            bool writable) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  const std::uint64_t before = offset % page;
  std::shared_ptr<Buffer> buffer(new Buffer(table));
  buffer->size_ = size;
  buffer->writable_ = writable;
  if (size == 0) return buffer;
  KILN_TRY(buffer->mapping_, Mapping::map(fd, size + before, writable, static_cast<std::int64_t>(offset - before)));
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

}  // namespace kiln::device::hip
