// A store with read-only layers behind it: folders of entries and bundles that came with an image, say.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "cache/bundle.hpp"
#include "cache/disk_store.hpp"

namespace kiln::cache {

// One folder of a cache's form, or one bundle, that is only read. Any thread.
class Layer {
 public:
  // Never fails: a layer that is not there or not to be trusted has a problem and no entries.
  Layer(const std::string& path, const TrustKey& trust);
  [[nodiscard]] const std::string& problem() const { return problem_; }
  // As ObjectStore::lookup; nothing is quarantined, and no time of use is set.
  std::shared_ptr<const jit::StoredObject> lookup(const jit::Key& key,
                                                  const std::function<bool(const jit::StoredObject&)>& sound);
  std::optional<Bytes> read_note(const std::string& name);
  jit::LayerStats stats();
  [[nodiscard]] std::uint64_t hits() const { return hits_; }

 private:
  Status open(const TrustKey& trust);
  const std::string path_;
  std::string problem_;
  std::shared_ptr<DiskStore> folder_;     // one of the two, or none
  std::shared_ptr<const Bundle> bundle_;
  std::atomic<std::uint64_t> hits_{0};
};

// What the first store does not have is looked up in the layers, in their order, and served from there: it is not
// copied. Everything else is the first store's alone. Thread-safe.
class LayeredStore final : public jit::ObjectStore {
 public:
  LayeredStore(std::shared_ptr<jit::ObjectStore> first, std::vector<std::unique_ptr<Layer>> layers)
      : first_(std::move(first)), layers_(std::move(layers)) {}

  std::shared_ptr<const jit::StoredObject> lookup(const jit::Key& key,
                                                  const std::function<bool(const jit::StoredObject&)>& sound = {},
                                                  std::optional<Error>* unread = nullptr) override;
  Status store(const jit::Key& key, ByteView metadata, ByteView object) override {
    return first_->store(key, metadata, object);
  }
  Result<std::unique_ptr<jit::CompileLock>> try_lock(const jit::Key& key) override { return first_->try_lock(key); }
  std::optional<jit::LockHolder> lock_holder(const jit::Key& key) override { return first_->lock_holder(key); }
  std::optional<Bytes> read_note(const std::string& name) override { return first_->read_note(name); }
  std::vector<Bytes> read_notes(const std::string& name) override;
  Status write_note(const std::string& name, ByteView bytes) override { return first_->write_note(name, bytes); }
  jit::StoreStats stats() override;
  std::vector<jit::StoredInfo> list(std::optional<Error>* unread = nullptr) override { return first_->list(unread); }
  jit::VerifyReport verify() override { return first_->verify(); }
  Result<std::uint64_t> evict(std::optional<std::uint64_t> bytes_max,
                              std::optional<std::uint64_t> entries_max) override {
    return first_->evict(bytes_max, entries_max);
  }
  Result<bool> remove(const jit::Key& key) override { return first_->remove(key); }
  Result<jit::ExportReport> export_to(int fd, const jit::ExportRequest& request) override {
    return first_->export_to(fd, request);
  }
  Result<jit::ImportReport> import_from(int fd, const jit::ImportRequest& request) override {
    return first_->import_from(fd, request);
  }

 private:
  const std::shared_ptr<jit::ObjectStore> first_;
  const std::vector<std::unique_ptr<Layer>> layers_;
};

}  // namespace kiln::cache
