// The store of last resort: this process's memory. Any thread.
#pragma once

#include <list>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "cache/trust.hpp"
#include "engine/jit/object_store.hpp"

namespace kiln::cache {

class MemoryStore final : public jit::ObjectStore {
 public:
  // `why` nothing is on disk: stats() gives it. Least recently used entries go beyond `bytes_max` or `entries_max`.
  MemoryStore(std::string why, std::uint64_t bytes_max, std::uint64_t entries_max, TrustKey trust = {})
      : why_(std::move(why)), bytes_max_(bytes_max), entries_max_(entries_max), trust_(std::move(trust)) {}

  std::shared_ptr<const jit::StoredObject> lookup(const jit::Key& key,
                                                  const std::function<bool(const jit::StoredObject&)>& sound = {},
                                                  std::optional<Error>* unread = nullptr) override;
  Status store(const jit::Key& key, ByteView metadata, ByteView object) override;
  Result<std::unique_ptr<jit::CompileLock>> try_lock(const jit::Key& key) override;  // between this process's threads
  std::optional<jit::LockHolder> lock_holder(const jit::Key& key) override;
  std::optional<Bytes> read_note(const std::string& name) override;
  Status write_note(const std::string& name, ByteView bytes) override;
  jit::StoreStats stats() override;
  std::vector<jit::StoredInfo> list(std::optional<Error>* unread = nullptr) override;
  jit::VerifyReport verify() override;
  Result<std::uint64_t> evict(std::optional<std::uint64_t> bytes_max,
                              std::optional<std::uint64_t> entries_max) override;
  Result<bool> remove(const jit::Key& key) override;
  Result<jit::ExportReport> export_to(int fd, const jit::ExportRequest& request) override;
  Result<jit::ImportReport> import_from(int fd, const jit::ImportRequest& request) override;

 private:
  struct Item {
    std::shared_ptr<const jit::StoredObject> object;
    std::int64_t used_unix_s;
  };
  using Items = std::list<Item>;  // most recently used first
  struct Held {                   // shared with the locks, which may outlive the store
    std::mutex mutex;
    std::unordered_map<jit::Key, std::int64_t, jit::KeyHash> since_ms;
  };
  class Lock;
  std::uint64_t evict_locked(std::uint64_t bytes_max, std::uint64_t entries_max);
  void erase_locked(Items::iterator item);
  std::shared_ptr<const jit::StoredObject> held(const jit::Key& key);  // no use of it

  const std::string why_;
  const std::uint64_t bytes_max_, entries_max_;
  const TrustKey trust_;
  const std::shared_ptr<Held> held_ = std::make_shared<Held>();
  std::mutex mutex_;
  Items items_;
  std::unordered_map<jit::Key, Items::iterator, jit::KeyHash> by_key_;
  std::map<std::string, Bytes> notes_;
  std::uint64_t bytes_ = 0;
  jit::StoreStats counters_;
};

}  // namespace kiln::cache
