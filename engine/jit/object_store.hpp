// The object store that the engine needs; the engine owns this interface, the cache implements it.
// Thread-safe. A failure to store never fails a compile: the caller serves uncached, stats() says so.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/hash.hpp"
#include "engine/base/result.hpp"

namespace kiln::jit {

// The identity of a kernel: SHA-256 over everything that its code object depends on (key.hpp).
struct Key {
  Digest digest{};
  [[nodiscard]] std::string hex() const { return to_hex(digest); }
  static Result<Key> from_hex(std::string_view hex);  // 64 hex digits
  auto operator<=>(const Key&) const = default;
};
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::size_t h;
    std::memcpy(&h, key.digest.data(), sizeof h);
    return h;
  }
};

// One entry as stored. Immutable; lives as long as somebody holds it, also after the store removed it.
struct StoredObject {
  Key key;
  Bytes metadata;  // compile::Metadata, encoded
  Bytes object;    // the code object
};

// A read-only place that is looked into behind the store's own.
struct LayerStats {
  std::string path, kind;         // "folder", "bundle", or "none": it is not used
  std::uint64_t entries = 0, hits = 0;
  std::string problem;            // why it is not used
};
struct StoreStats {
  std::string path;               // the folder, "" when there is none
  bool writable = false;          // false: compiles are served uncached; why_not_writable says why
  std::string why_not_writable;
  std::string why_no_locks;       // "": compile locks work; else why processes may compile the same key side by side
  std::uint64_t entries = 0, bytes = 0;           // on disk now
  std::uint64_t entries_max = 0, bytes_max = 0;   // eviction limits
  std::uint64_t hits = 0, misses = 0, stores = 0, store_failures = 0, evictions = 0, quarantined = 0;  // of this process
  std::vector<LayerStats> layers;                 // in the order in which they are looked into
};
struct StoredInfo {
  Key key;
  std::uint64_t bytes = 0;
  std::int64_t used_unix_s = 0;  // last use, to a minute
};
struct VerifyReport {
  std::uint64_t checked = 0, bad = 0;
  std::vector<std::string> problems;  // "KEY: what is wrong", at most 100
};

// Which of a store's own entries become one file (cache/ENTRY.md, "Bundle").
struct ExportRequest {
  std::vector<Key> keys;           // these alone; empty: all
  std::vector<std::string> notes;  // by name; those that there are
  std::function<bool(const StoredObject&)> sound, wanted;  // both have to hold; empty: they do
  // Before so many more bytes are written: an error ends it. May be empty.
  std::function<Status(std::uint64_t bytes)> admit;
};
struct ExportReport {
  std::uint64_t entries = 0, notes = 0, bytes = 0;
  bool vouched = false;            // by the HMAC of the configured key
};
// What is taken of such a file.
struct ImportRequest {
  std::function<bool(const StoredObject&)> sound;  // as of ObjectStore::lookup
  std::vector<std::string> notes;  // by name; those that there are
  // What the store's note is to be, with what the file brings.
  std::function<Bytes(const std::optional<Bytes>& own, ByteView brought)> merge_note;
  std::function<Status()> go_on;   // asked before each entry: an error ends it. May be empty.
};
struct ImportReport {
  std::uint64_t taken = 0, present = 0, refused = 0, notes = 0;
  std::vector<std::string> problems;  // "KEY: why it was refused", at most 100
};

// Held while one process compiles one key; released by destruction or the death of its holder.
class CompileLock {
 public:
  virtual ~CompileLock() = default;
};
struct LockHolder {
  int pid = 0;
  std::int64_t age_ms = 0;
  std::string key_hex;
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  // A sound entry or nothing. Anything wrong with the bytes is a miss (the file is quarantined and counted). `sound` may
  // refuse an entry by its contents (ELF flags of another target): treated the same. Takes no lock; sets the time of use.
  // `unread`: set where nothing comes back because an entry could not be opened now, for want of descriptors say.
  virtual std::shared_ptr<const StoredObject> lookup(const Key& key,
                                                     const std::function<bool(const StoredObject&)>& sound = {},
                                                     std::optional<Error>* unread = nullptr) = 0;
  // Publishes atomically (temporary file, fsync, rename). An equal key that is there already is left or replaced.
  virtual Status store(const Key& key, ByteView metadata, ByteView object) = 0;
  // The cross-process lock of one key; nothing when another process holds it. Success with a lock that guards nothing
  // when the file system has no locks (said once in the log and in why_not_writable's neighbour of stats).
  virtual Result<std::unique_ptr<CompileLock>> try_lock(const Key& key) = 0;
  virtual std::optional<LockHolder> lock_holder(const Key& key) = 0;
  // Small named records beside the entries (compiler identities): written atomically; `name` is [a-z0-9._-]{1,64}.
  virtual std::optional<Bytes> read_note(const std::string& name) = 0;
  // The notes of this name that there are, here and in layers: the store's own first.
  virtual std::vector<Bytes> read_notes(const std::string& name);
  virtual Status write_note(const std::string& name, ByteView bytes) = 0;
  virtual StoreStats stats() = 0;
  // Newest use first. `unread`: set where some could not be looked at, for want of descriptors say.
  virtual std::vector<StoredInfo> list(std::optional<Error>* unread = nullptr) = 0;
  virtual VerifyReport verify() = 0;                 // reads every entry; bad ones are quarantined
  // Evicts least recently used entries until at most these limits hold (absent: the configured ones). Count removed.
  virtual Result<std::uint64_t> evict(std::optional<std::uint64_t> bytes_max, std::optional<std::uint64_t> entries_max) = 0;
  virtual Result<bool> remove(const Key& key) = 0;   // false when it was not there
  // Writes a bundle into an empty regular file, from its start; what is there after an error is none. Errors:
  // not_found for a key of the request, and when nothing is to be exported; `admit`'s.
  virtual Result<ExportReport> export_to(int fd, const ExportRequest& request);
  // Takes over what a bundle holds and the store does not. Only pread is done to `fd`. Errors: corrupt and
  // unsupported, before anything is taken; permission_denied when neither its owner nor an HMAC vouches for it, or when
  // nothing can be stored here; what a store met (disk_full): what was taken until then stays.
  virtual Result<ImportReport> import_from(int fd, const ImportRequest& request);
};

}  // namespace kiln::jit
