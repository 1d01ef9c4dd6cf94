// What a disk store knows in memory; private to it and to open_store. Any thread.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "cache/disk_store.hpp"
#include "cache/folder.hpp"
#include "cache/totals.hpp"
#include "engine/base/private_folder.hpp"

namespace kiln::cache {

struct DiskStore::State {
  State(StoreOptions options, std::shared_ptr<Folder> folder)
      : options(std::move(options)), folder_now_(std::move(folder)) {}

  std::shared_ptr<Folder> folder();
  // Opens the folder again after somebody removed it; whether there is one to write to now.
  bool reopen(const std::shared_ptr<Folder>& gone);
  // Runs `act` on the folder, and once more when the folder was gone and could be made again.
  Status with_live_folder(const std::function<Status(const std::shared_ptr<Folder>&)>& act);

  Status store(const jit::Key& key, ByteView metadata, ByteView object);
  [[nodiscard]] bool too_large(ByteView metadata, ByteView object) const;
  Status publish(const std::shared_ptr<Folder>& folder, const jit::Key& key, ByteView encoded);
  void evict_if_over();
  // The entry, or nothing and, when there is one that is not sound, `problem`. A defective one is quarantined and
  // counted; one that cannot be read (I/O error, no descriptors left) is left where it is, and where that may be better
  // the next time `unread` gets why. `used` renews its time of use.
  std::optional<jit::StoredObject> read_sound(Folder& folder, const jit::Key& key,
                                              const std::function<bool(const jit::StoredObject&)>& sound, bool used,
                                              std::string* problem = nullptr,
                                              std::optional<Error>* unread = nullptr);
  // The note, nothing when there is none or a damaged one.
  Result<std::optional<Bytes>> read_note(const std::string& name);
  jit::StoreStats describe(const Folder& folder);  // all but entries and bytes
  void wrote(const std::string& failure);          // "" for success
  void locked(const std::string& failure);
  void warn_once(const std::string& text);

  const StoreOptions options;
  bool read_only = false;           // set before the store is shared
  Totals totals;
  std::atomic<std::uint64_t> hits{0}, misses{0}, stores{0}, store_failures{0}, evictions{0}, quarantined{0};
  PrivateFolder temporary;          // that the store is in, when that is a temporary one
  std::string fallback_reason;      // set before the store is shared, as is the folder

 private:
  std::mutex mutex_;  // of all below
  std::shared_ptr<Folder> folder_now_;
  std::string last_failure_, why_no_locks_;
  std::set<std::string> warned_;
  std::chrono::steady_clock::time_point evict_not_before_{};
};

}  // namespace kiln::cache
