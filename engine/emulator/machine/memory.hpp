// Memory that kernels of the emulated cards of this process can address. A device address is the host's own address.
//
// Device memory is a memfd of its own for each allocation, sealed against resizing, with a header page behind the
// memory: other processes map the same pages through an IPC handle or a descriptor, nothing else leads to them, and
// they are gone when their owner and all who mapped them are. Host memory becomes addressable by registration.
// Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/fd.hpp"
#include "engine/base/result.hpp"
#include "engine/emulator/core/wave.hpp"

namespace kiln::emulator {

// What names an allocation to another process of the same user: 64 bytes, as hipIpcMemHandle_t. The descriptor is the
// owner's; the nonce, 128 random bits, is repeated in the memory's header page, so that a number that was reused is
// noticed.
struct IpcHandle {
  std::uint32_t magic = 0;
  std::int32_t pid = 0;
  std::uint64_t start_time = 0;       // of the process, /proc/PID/stat field 22
  std::int32_t descriptor = -1;
  std::uint32_t device = 0;
  std::uint8_t nonce[16] = {};
  std::uint64_t bytes = 0;            // of the allocation
  std::uint64_t offset = 0;           // of the pointer that was exported
  std::uint64_t reserved = 0;
};
static_assert(sizeof(IpcHandle) == 64);

enum class MemoryKind : std::uint8_t { device, host, registered, imported };

struct Allocation {
  std::uint64_t begin = 0, bytes = 0;
  MemoryKind kind = MemoryKind::device;
  bool writable = true;
  int device = 0;                     // of the card that it was made for
  [[nodiscard]] std::uint64_t end() const { return begin + bytes; }
};

class Memory {
 public:
  explicit Memory(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}
  ~Memory();
  Memory(const Memory&) = delete;

  // Zeroed memory, page-aligned. Errors: out_of_memory, invalid_argument (0 bytes).
  Result<void*> allocate(std::uint64_t bytes, int device);
  Result<void*> allocate_host(std::uint64_t bytes);
  // `pointer` must be an allocation's first byte. Errors: invalid_argument.
  Status release(void* pointer);
  Status release_host(void* pointer);
  // Makes [pointer, pointer + bytes) of this process addressable; refused where it is not mapped readable or is known
  // already (busy). It is read-only for kernels where the process may not write it or `read_only` says so.
  Status register_host(void* pointer, std::uint64_t bytes, bool read_only);
  Status unregister_host(void* pointer);

  // The allocation that holds `address`.
  [[nodiscard]] std::optional<Allocation> find(std::uint64_t address) const;
  [[nodiscard]] std::vector<Allocation> allocations() const;   // by address
  [[nodiscard]] std::uint64_t used_bytes() const;              // of device memory, this process's own
  [[nodiscard]] std::uint64_t bytes_max() const { return bytes_max_; }

  // Errors: invalid_argument (not device memory of this process).
  Result<IpcHandle> export_handle(const void* pointer) const;
  // Maps another process's memory; the same memory opened again is the same pointer and counts. The handle is not
  // trusted. Errors: invalid_argument (malformed, or of this very process), not_found (owner or memory gone),
  // permission_denied (another user's).
  Result<void*> open_handle(const IpcHandle& handle);
  Status close_handle(void* pointer);   // any address in it; unmapped when closed as often as opened
  // A descriptor of the allocation that holds `pointer`, whose memory begins at the file's start; and where `pointer`
  // lies.
  Result<UniqueFd> export_descriptor(const void* pointer, std::uint64_t* offset) const;
  // Maps [offset, offset + bytes) of any descriptor that can be mapped (a duplicate is taken); close_handle undoes it.
  Result<void*> import_descriptor(int fd, std::uint64_t offset, std::uint64_t bytes);

 private:
  struct Entry {
    Allocation allocation;
    void* mapping = nullptr;           // null: not ours to unmap
    std::uint64_t mapping_bytes = 0;   // with the gap that follows
    UniqueFd fd;                       // device
    std::array<std::uint8_t, 16> nonce{};
    int opens = 0;                     // imported
  };
  using Entries = std::map<std::uint64_t, Entry>;  // by first address; never overlapping

  [[nodiscard]] Entries::const_iterator at(std::uint64_t address) const;
  [[nodiscard]] bool overlaps(std::uint64_t begin, std::uint64_t bytes) const;
  // A new mapping at [begin, begin + bytes) proves that registered memory there was unmapped by its owner.
  void forget_stale(std::uint64_t begin, std::uint64_t bytes);
  Status remove(void* pointer, MemoryKind kind, const char* what);
  static void unmap(Entry& entry);
  // Maps `bytes` of `fd` from `offset` (-1: memory of nobody else's) with nothing near it, so that a kernel that runs
  // over an allocation's end does not land in the next one. Fills the entry's mapping. Errors: out_of_memory.
  static Status map(Entry& entry, std::uint64_t bytes, int fd, std::uint64_t offset);

  const std::uint64_t bytes_max_;
  mutable std::mutex mutex_;
  Entries entries_;
  std::uint64_t used_ = 0;
};

// The process's start time in clock ticks after boot; 0 when there is no such process.
std::uint64_t process_start_time(std::int32_t pid);

}  // namespace kiln::emulator
