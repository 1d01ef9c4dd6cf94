// A client's buffer on a card.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/base/fd.hpp"
#include "engine/device/hip/table.hpp"

namespace kiln::device::hip {

class Buffer {
 public:
  // Maps [offset, offset + size) of `fd` and registers the mapping; where the card refuses, takes memory of its own for
  // copies. The calling thread's device is the card. Errors: of the mapping, out_of_memory.
  static Result<std::shared_ptr<Buffer>> map(const Table& table, int fd, std::uint64_t offset, std::uint64_t size,
                                             bool writable);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool writable() const { return writable_; }
  [[nodiscard]] std::uint64_t device_address() const { return device_; }
  [[nodiscard]] bool staged() const { return staging_ != nullptr; }
  // Copies [offset, offset + bytes) to or from the card's own memory, on `stream`; nothing for registered buffers.
  Status copy_in(Stream stream, std::uint64_t offset, std::uint64_t bytes) const;
  Status copy_out(Stream stream, std::uint64_t offset, std::uint64_t bytes) const;

 private:
  explicit Buffer(const Table& table) : table_(table) {}
  Status attach();

  const Table& table_;
  Mapping mapping_;
  std::uint8_t* data_ = nullptr;
  std::uint64_t size_ = 0, device_ = 0;
  bool writable_ = false, registered_ = false;
  void* staging_ = nullptr;
};

}  // namespace kiln::device::hip
