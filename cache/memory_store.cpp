#include "cache/memory_store.hpp"

#include <unistd.h>

#include <chrono>
#include <ctime>

#include "cache/bundle.hpp"
#include "cache/entry.hpp"

namespace kiln::cache {
namespace {

std::int64_t steady_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}
std::uint64_t bytes_of(const jit::StoredObject& entry) {
  return entry_bytes(entry.metadata.size(), entry.object.size());
}

}  // namespace

class MemoryStore::Lock final : public jit::CompileLock {
 public:
  Lock(std::shared_ptr<Held> held, const jit::Key& key) : held_(std::move(held)), key_(key) {}
  ~Lock() override {
    const std::scoped_lock guard(held_->mutex);
    held_->since_ms.erase(key_);
  }

 private:
  std::shared_ptr<Held> held_;
  jit::Key key_;
};

std::shared_ptr<const jit::StoredObject> MemoryStore::lookup(
    const jit::Key& key, const std::function<bool(const jit::StoredObject&)>& sound, std::optional<Error>*) {
  const std::scoped_lock guard(mutex_);
  const auto found = by_key_.find(key);
  if (found != by_key_.end() && sound && !sound(*found->second->object)) {
    ++counters_.quarantined;
    erase_locked(found->second);
  } else if (found != by_key_.end()) {
    ++counters_.hits;
    items_.splice(items_.begin(), items_, found->second);
    items_.front().used_unix_s = std::time(nullptr);
    return items_.front().object;
  }
  ++counters_.misses;
  return nullptr;
}

Status MemoryStore::store(const jit::Key& key, ByteView metadata, ByteView object) {
  auto stored = std::make_shared<jit::StoredObject>();
  stored->key = key;
  stored->metadata.assign(metadata.begin(), metadata.end());
  stored->object.assign(object.begin(), object.end());
  const std::scoped_lock guard(mutex_);
  if (bytes_of(*stored) > bytes_max_) {
    ++counters_.store_failures;
    return Error(ErrorCode::resource_limit, "an entry over the cache's limit");
  }
  if (const auto found = by_key_.find(key); found != by_key_.end()) erase_locked(found->second);
  bytes_ += bytes_of(*stored);
  items_.push_front({std::move(stored), std::time(nullptr)});
  by_key_[key] = items_.begin();
  ++counters_.stores;
  counters_.evictions += evict_locked(bytes_max_, entries_max_);
  return {};
}

Result<std::unique_ptr<jit::CompileLock>> MemoryStore::try_lock(const jit::Key& key) {
  const std::scoped_lock guard(held_->mutex);
  if (!held_->since_ms.emplace(key, steady_ms()).second) return std::unique_ptr<jit::CompileLock>();
  return std::unique_ptr<jit::CompileLock>(new Lock(held_, key));
}

std::optional<jit::LockHolder> MemoryStore::lock_holder(const jit::Key& key) {
  const std::scoped_lock guard(held_->mutex);
  const auto found = held_->since_ms.find(key);
  if (found == held_->since_ms.end()) return std::nullopt;
  return jit::LockHolder{::getpid(), steady_ms() - found->second, key.hex()};
}

std::optional<Bytes> MemoryStore::read_note(const std::string& name) {
  const std::scoped_lock guard(mutex_);
  const auto found = notes_.find(name);
  if (found == notes_.end()) return std::nullopt;
  return found->second;
}

Status MemoryStore::write_note(const std::string& name, ByteView bytes) {
  const std::scoped_lock guard(mutex_);
  notes_[name] = Bytes(bytes.begin(), bytes.end());
  return {};
}

jit::StoreStats MemoryStore::stats() {
  const std::scoped_lock guard(mutex_);
  auto stats = counters_;
  stats.why_not_writable = why_;
  stats.why_no_locks = "locks are between this process's threads only: " + why_;
  stats.entries = items_.size();
  stats.bytes = bytes_;
  stats.entries_max = entries_max_;
  stats.bytes_max = bytes_max_;
  return stats;
}

std::vector<jit::StoredInfo> MemoryStore::list(std::optional<Error>*) {
  const std::scoped_lock guard(mutex_);
  std::vector<jit::StoredInfo> list;
  for (const auto& item : items_) list.push_back({item.object->key, bytes_of(*item.object), item.used_unix_s});
  return list;
}

jit::VerifyReport MemoryStore::verify() {
  const std::scoped_lock guard(mutex_);
  jit::VerifyReport report;
  report.checked = items_.size();
  return report;
}

Result<std::uint64_t> MemoryStore::evict(std::optional<std::uint64_t> bytes_max,
                                         std::optional<std::uint64_t> entries_max) {
  const std::scoped_lock guard(mutex_);
  const auto removed = evict_locked(bytes_max.value_or(bytes_max_), entries_max.value_or(entries_max_));
  counters_.evictions += removed;
  return removed;
}

Result<bool> MemoryStore::remove(const jit::Key& key) {
  const std::scoped_lock guard(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return false;
  erase_locked(found->second);
  return true;
}

std::shared_ptr<const jit::StoredObject> MemoryStore::held(const jit::Key& key) {
  const std::scoped_lock guard(mutex_);
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second->object;
}

Result<jit::ExportReport> MemoryStore::export_to(int fd, const jit::ExportRequest& request) {
  BundleSource source;
  for (const auto& info : list()) source.keys.push_back(info.key);
  source.read = [&](const jit::Key& key) -> Result<std::optional<jit::StoredObject>> {
    const auto entry = held(key);
    if (!entry || (request.sound && !request.sound(*entry))) return std::optional<jit::StoredObject>();
    return std::optional<jit::StoredObject>(*entry);
  };
  source.read_note = [this](const std::string& name) { return read_note(name); };
  return export_bundle(fd, request, source, trust_);
}

Result<jit::ImportReport> MemoryStore::import_from(int fd, const jit::ImportRequest& request) {
  const BundleTarget target{*this, [this](const jit::Key& key) { return held(key) != nullptr; },
                            [this](const std::string& name) { return read_note(name); }};
  return import_bundle(fd, request, target, trust_);
}

std::uint64_t MemoryStore::evict_locked(std::uint64_t bytes_max, std::uint64_t entries_max) {
  std::uint64_t removed = 0;
  for (; !items_.empty() && (bytes_ > bytes_max || items_.size() > entries_max); ++removed)
    erase_locked(std::prev(items_.end()));
  return removed;
}

void MemoryStore::erase_locked(Items::iterator item) {
  bytes_ -= bytes_of(*item->object);
  by_key_.erase(item->object->key);
  items_.erase(item);
}

}  // namespace kiln::cache
