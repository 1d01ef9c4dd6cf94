// The persistent store of compiled kernels: one folder that many processes share (layout and entry format: ENTRY.md).
//
// Threads: every method may be called from any thread at the same time. Processes: any number may use one folder;
// entries are published by rename, readers take no lock. After fork the child must open a store of its own; compile
// locks that the parent holds stay the parent's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cache/trust.hpp"
#include "engine/jit/object_store.hpp"

namespace kiln::cache {

struct StoreOptions {
  std::string folder;  // absolute; created 0700 with its parents when missing; "" for none
  std::uint64_t bytes_max = std::uint64_t(5) << 30;
  std::uint64_t entries_max = 100000;
  std::string temporary_root = "/tmp";  // a private folder is made here when `folder` is unusable; "": memory
  bool trust_other_owner = false;       // use, read-only, a folder of a user who is neither us nor root
  TrustKey trust;                       // vouches for bundles that are made here, and for others' that are taken
  // Receives each warning (unusable folder, full disk, no locks) once; called from any thread, may be empty.
  std::function<void(const std::string&)> warn;
  // Absolute paths of folders and bundles that are looked into, in this order, for what the store does not have. Those
  // that are not there or not to be trusted are left out: a warning each, and stats() says why.
  std::vector<std::string> layers;
};

// Never null. When `folder` is unusable: a store in a private temporary folder that goes with this process, or in
// memory; stats() then says writable = false and why. A folder that can only be read serves lookups and refuses to
// store.
std::shared_ptr<jit::ObjectStore> open_store(const StoreOptions& options);

class DiskStore final : public jit::ObjectStore {
 public:
  // An unusable folder (cannot be created or opened, not ours, writable by others, a symlink where none is allowed) is
  // an error; one that cannot be written is none.
  static Result<std::shared_ptr<DiskStore>> open(const StoreOptions& options);
  // A folder that is there, for lookups alone: nothing in it is changed, times of use included.
  static Result<std::shared_ptr<DiskStore>> open_read_only(const StoreOptions& options);
  // A store in a new private folder under options.temporary_root that is removed with it; `why` goes to stats(). Null
  // when none can be made.
  static std::shared_ptr<DiskStore> open_temporary(const StoreOptions& options, const std::string& why);
  ~DiskStore() override;

  std::shared_ptr<const jit::StoredObject> lookup(const jit::Key& key,
                                                  const std::function<bool(const jit::StoredObject&)>& sound = {},
                                                  std::optional<Error>* unread = nullptr) override;
  Status store(const jit::Key& key, ByteView metadata, ByteView object) override;
  Result<std::unique_ptr<jit::CompileLock>> try_lock(const jit::Key& key) override;
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
  struct State;
  explicit DiskStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kiln::cache
