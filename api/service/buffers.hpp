// Client memory: descriptors and handles of a card's memory that clients hand over, and memory that the service allocates for
// them. Rules (PROTOCOL.md, "Buffers"): only descriptors and handles, never names; mapped directly only where it cannot shrink under us.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "api/service/client_fd.hpp"
#include "api/service/memory_budget.hpp"
#include "engine/base/fd.hpp"
#include "engine/base/result.hpp"
#include "engine/device/device.hpp"

namespace kiln::service {

// Memory of a card, on that device already.
struct CardMemory {
  device::Device* device = nullptr;
  std::string device_name;
  device::BufferId id = 0;
  std::uint64_t offset = 0, size = 0;    // in its allocation
  device::IpcHandle handle{};            // zeros: by descriptor
  bool allocated = false;
};

// One registered or allocated buffer. Thread-safe.
class Buffer {
 public:
  // Takes the client's descriptor; `offset` and `size` (0: to the end) select the part that belongs to the buffer.
  // Errors: invalid_argument (pipe, folder, beyond the end …), unsupported (a file system on which a fault may block).
  static Result<std::shared_ptr<Buffer>> import(ClientFd fd, std::uint64_t offset, std::uint64_t size);
  // Sealed against shrinking and growing.
  static Result<std::shared_ptr<Buffer>> allocate(std::uint64_t size);
  // Takes it over; `fd`: what it was imported from, -1 where it was not.
  static std::shared_ptr<Buffer> on_card(CardMemory memory, int fd = -1);
  ~Buffer();

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool writable() const { return writable_; }
  [[nodiscard]] bool copied() const { return shadow_.valid(); }
  [[nodiscard]] bool allocated() const { return allocated_; }
  // What the buffer counts with its copy, and the share that pays for it, given once.
  [[nodiscard]] std::uint64_t memory_bytes() const { return copied() ? 2 * size_ : size_; }
  void hold(MemoryShare share) { hold(std::make_shared<const MemoryShare>(std::move(share))); }
  void hold(std::shared_ptr<const MemoryShare> share) { share_ = std::move(share); }
  // Memory of a card lies on one device, whose name this is; empty for others.
  [[nodiscard]] const std::string& card() const { return card_.device_name; }
  [[nodiscard]] const device::IpcHandle& handle() const { return card_.handle; }
  [[nodiscard]] bool of_card() const { return card_.device != nullptr; }
  // Whether somewhere a descriptor is held for it.
  [[nodiscard]] bool holds_descriptor() const { return !of_card() || inode_ != 0; }
  // Copies [offset, offset + bytes) into `fd` from its start. Errors: of Device::read.
  Status read(std::uint64_t offset, std::uint64_t bytes, int fd);
  // What the devices map: the client's memory, or the shadow of a copied buffer.
  [[nodiscard]] int mapped_fd() const { return copied() ? shadow_.get() : fd_.get(); }
  [[nodiscard]] std::uint64_t mapped_offset() const { return copied() ? 0 : offset_; }
  [[nodiscard]] int client_fd() const { return fd_.get(); }
  // Two buffers over the same file or handle: positions in it can be compared. (Handles that differ may name one allocation:
  // its device compares addresses.)
  [[nodiscard]] bool same_file(const Buffer& other) const {
    return device_ == other.device_ && inode_ == other.inode_ && card_.handle == other.card_.handle;
  }
  [[nodiscard]] std::uint64_t file_offset() const { return offset_; }

  // Copied buffers: from and to the client's file. Nothing to do for others.
  Status copy_in(std::uint64_t offset, std::uint64_t bytes);
  Status copy_out(std::uint64_t offset, std::uint64_t bytes);
  // The buffer's id on a device; mapped on first use, unmapped when the buffer goes. Error: invalid_argument (memory of another
  // card).
  Result<device::BufferId> on_device(device::Device& device);

 private:
  Buffer() = default;
  Status keep_from_shrinking();
  void reopen_for_reading();

  // First: counted until all below is gone, and until the devices have given back what they free behind their launches.
  std::shared_ptr<const MemoryShare> share_;
  UniqueFd fd_, shadow_;
  Mapping shadow_bytes_;
  std::uint64_t offset_ = 0, size_ = 0, device_ = 0, inode_ = 0;
  bool writable_ = false, allocated_ = false;
  CardMemory card_;
  std::mutex mutex_;
  std::map<device::Device*, device::BufferId> ids_;
};

}  // namespace kiln::service
