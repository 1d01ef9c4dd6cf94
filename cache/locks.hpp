// Locks between processes: open-file-description byte-range locks on one file that is never unlinked, freed by the
// death of their holder. Each lock has an open description of its own, so that threads exclude each other as well; a
// forked child closes its copies at once (a description that lived on there would keep the lock).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/fd.hpp"
#include "engine/jit/object_store.hpp"

namespace kiln::cache {

// Ranges of the lock file below the keys'.
inline constexpr std::uint64_t eviction_lock_offset = 0;
inline constexpr std::uint64_t totals_lock_offset = 1;
inline constexpr std::uint64_t key_lock_offset_min = 4096;

// The byte of the lock file that stands for a key.
std::uint64_t lock_offset(const jit::Key& key);

// One held byte of the lock file; freed by destruction.
class RangeLock {
 public:
  RangeLock(RangeLock&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}
  RangeLock& operator=(RangeLock&& other) noexcept { std::swap(slot_, other.slot_); return *this; }
  ~RangeLock();
  // The lock, or nothing when another description holds it. `unsupported` when the file system has no such locks.
  static Result<std::optional<RangeLock>> try_take(int folder, const char* name, std::uint64_t offset);

 private:
  explicit RangeLock(int slot) : slot_(slot) {}
  int slot_;
};
// Whether anybody holds the byte now. False also when that cannot be learnt.
bool is_locked(int folder, const char* name, std::uint64_t offset);

// Who compiles what: fixed-size records beside the lock file, one a key by its offset, colliding keys overwrite each
// other. Only for messages: a record may be missing or another key's.
void write_holder(int folder, const char* name, const jit::Key& key);
void clear_holder(int folder, const char* name, const jit::Key& key);
std::optional<jit::LockHolder> read_holder(int folder, const char* name, const jit::Key& key);

}  // namespace kiln::cache
