// Memory that a card's kernels work on: a client's, by descriptor, or the card's own or another process's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "engine/base/fd.hpp"
#include "engine/device/hip/fenced_mapping.hpp"
#include "engine/device/hip/ipc_memory.hpp"
#include "engine/device/hip/table.hpp"

namespace kiln::device::hip {

// The calling thread's device is the card, in all functions.
// Takes what a failure leaves behind: HIP may wait long before it frees anything (releaser.hpp).
using LetGo = std::function<void(std::shared_ptr<const void>)>;

class Buffer {
 public:
  // Maps [offset, offset + size) of `fd` and registers the mapping; where the card refuses, takes memory of its own for
  // copies. Errors: of the mapping, out_of_memory.
  static Result<std::shared_ptr<Buffer>> map(const Table& table, int fd, std::uint64_t offset, std::uint64_t size,
                                             bool writable);
  // See Device's open_memory, import_memory and allocate. `memory` outlives the buffer.
  static Result<std::shared_ptr<Buffer>> open(const Table& table, IpcMemory& memory, const IpcHandle& handle,
                                              std::uint64_t offset, std::uint64_t size,
                                              const LetGo& let_go);
  static Result<std::shared_ptr<Buffer>> import(const Table& table, int fd, std::uint64_t offset, std::uint64_t size,
                                                const LetGo& let_go);
  static Result<std::shared_ptr<Buffer>> allocate(const Table& table, IpcMemory& memory, std::uint64_t size,
                                                  IpcHandle& handle,
                                                  const LetGo& let_go);
  // May wait for what runs on the card: HIP frees memory behind it.
  ~Buffer();
  Buffer(const Buffer&) = delete;
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool writable() const { return writable_; }
  [[nodiscard]] std::uint64_t device_address() const { return device_; }
  [[nodiscard]] bool staged() const { return staging_ != nullptr; }
  // Copies [offset, offset + bytes) to or from the card's own memory, on `stream`; nothing for registered buffers and
  // the card's memory.
  Status copy_in(Stream stream, std::uint64_t offset, std::uint64_t bytes) const;
  Status copy_out(Stream stream, std::uint64_t offset, std::uint64_t bytes) const;
  // Copies [offset, offset + bytes) to the start of `fd`. Waits for no stream of Kiln's.
  Status read(std::uint64_t offset, std::uint64_t bytes, int fd) const;

 private:
  explicit Buffer(const Table& table) : table_(table) {}
  static std::shared_ptr<Buffer> on_card(const Table& table, std::uint64_t address, std::uint64_t size,
                                         std::function<void()> release);
  Status attach();
  static Status clear(const Table& table, void* pointer, std::uint64_t size);

  const Table& table_;
  FencedMapping mapping_;
  std::uint8_t* data_ = nullptr;              // null: memory of a card
  std::uint64_t size_ = 0, device_ = 0;
  bool writable_ = false, registered_ = false;
  void* staging_ = nullptr;
  std::function<void()> release_;             // of memory of a card
};

}  // namespace kiln::device::hip
