// Memory and events that a card shares with other processes.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "engine/device/device.hpp"
#include "engine/device/hip/table.hpp"

namespace kiln::device::hip {

// Other processes' memory by handle: each handle is open once, however often it is asked for. Thread-safe.
class IpcMemory {
 public:
  // Device address and size of the whole allocation, not from where the handle's pointer lies.
  struct Range {
    std::uint64_t base = 0, bytes = 0;
  };
  explicit IpcMemory(const Table& table) : table_(table) {}
  IpcMemory(const IpcMemory&) = delete;
  // Counts one user more. The calling thread's device is the card. Errors: as Device::open_memory; busy, retryable (its
  // last user has gone and the driver takes long to close it).
  Result<Range> open(const IpcHandle& handle);
  // One user less; the last one closes the mapping, which may wait for whatever runs on the card.
  void close(const IpcHandle& handle);
  // Handles that this process has given out: HIP cannot open them here.
  void gave(const IpcHandle& handle);
  void took_back(const IpcHandle& handle);

 private:
  struct Entry {
    void* pointer = nullptr;
    Range range;
    int users = 0;
    bool closing = false;
  };
  Result<Entry> open_new(const IpcHandle& handle) const;

  const Table& table_;
  std::mutex mutex_;
  std::condition_variable closed_;
  std::map<IpcHandle, Entry> open_;
  std::set<IpcHandle> own_;
};

// An event, the card's own or another process's. Destroyed when the last launch that uses it has let go.
class CardEvent {
 public:
  CardEvent(const Table& table, Event event) : table_(table), event_(event) {}
  ~CardEvent() { (void)table_.hipEventDestroy(event_); }
  CardEvent(const CardEvent&) = delete;
  // Errors: not_found (its owner is gone), invalid_argument (no such handle, of this very process).
  static Result<std::shared_ptr<const CardEvent>> open(const Table& table, const IpcHandle& handle);
  static Result<std::shared_ptr<const CardEvent>> make(const Table& table, IpcHandle& handle);
  [[nodiscard]] Event get() const { return event_; }

 private:
  const Table& table_;
  const Event event_;
};

}  // namespace kiln::device::hip
