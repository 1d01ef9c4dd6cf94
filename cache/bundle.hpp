// Many entries in one relocatable file, as ENTRY.md defines it ("Bundle").
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/trust.hpp"
#include "engine/base/fd.hpp"
#include "engine/jit/object_store.hpp"

namespace kiln::cache {

inline constexpr std::uint32_t bundle_format_version = 1;
inline constexpr std::size_t bundle_header_bytes = 64;
inline constexpr std::size_t bundle_record_bytes = 80;
inline constexpr std::size_t bundle_entries_max = std::size_t(1) << 20;
inline constexpr std::size_t bundle_notes_max = 1024;

// Where the bundle's file has one entry or note, and what it has to be.
struct BundleItem {
  jit::Key key;  // a note's: note_key
  std::uint64_t offset = 0, size = 0;
  Digest sha256{};  // over its `size` bytes
};

// Writes a bundle: entries in ascending order of their keys, then notes in that of theirs, then finish. One thread.
class BundleWriter {
 public:
  // `fd`: an empty file that can be written; it outlives this.
  explicit BundleWriter(int fd) : fd_(fd) {}
  Status add(const jit::Key& key, ByteView metadata, ByteView object);
  Status add_note(const std::string& name, ByteView bytes);
  // Its last part and its header; with a key, that vouches for it. How many bytes it has all in all.
  Result<std::uint64_t> finish(const TrustKey& trust);

 private:
  Status append(const jit::Key& key, ByteView metadata, ByteView object, std::vector<BundleItem>& items);
  Status write(ByteView bytes, std::uint64_t offset);
  int fd_;
  std::uint64_t end_ = bundle_header_bytes;
  std::vector<BundleItem> entries_, notes_;
};

// A bundle that is read, by pread alone: the file may change or shrink meanwhile, what is not as the index says is
// refused. Immutable; any thread.
class Bundle {
 public:
  // Reads and checks header and index, not the items. Errors: invalid_argument (no regular file), corrupt, unsupported
  // (another format version), the system's; each begins with `name`.
  static Result<std::shared_ptr<const Bundle>> open(UniqueFd fd, const std::string& name, const TrustKey& trust);
  // Whether its code objects may run: permission_denied with the reason else.
  [[nodiscard]] const Status& trusted() const { return trusted_; }
  [[nodiscard]] const std::vector<BundleItem>& entries() const { return entries_; }
  // The entry, whole and unchanged; nothing when the bundle has none. Errors: corrupt, the system's.
  [[nodiscard]] Result<std::optional<jit::StoredObject>> read(const jit::Key& key) const;
  [[nodiscard]] Result<std::optional<Bytes>> read_note(const std::string& name) const;

 private:
  explicit Bundle(UniqueFd fd) : fd_(std::move(fd)) {}
  Status read_index(const TrustKey& trust, const struct stat& status);
  Status read_records(ByteView records, std::uint64_t entries, std::uint64_t index_offset);
  [[nodiscard]] Result<std::optional<jit::StoredObject>> read_item(const std::vector<BundleItem>& items,
                                                                   const jit::Key& key) const;
  UniqueFd fd_;
  Status trusted_;
  std::vector<BundleItem> entries_, notes_;
};

// Of a store: its own note, nothing when there is none or a damaged one; an error when it cannot be read now.
using NoteReader = std::function<Result<std::optional<Bytes>>(const std::string& name)>;
// What a bundle is made of.
struct BundleSource {
  std::vector<jit::Key> keys;  // all that there are
  std::function<Result<std::optional<jit::StoredObject>>(const jit::Key&)> read;
  NoteReader read_note;
};
// What takes it. `holds`: whether the store has a sound entry of the key.
struct BundleTarget {
  jit::ObjectStore& store;
  std::function<bool(const jit::Key&)> holds;
  NoteReader read_note;
};
// ObjectStore::export_to and import_from.
Result<jit::ExportReport> export_bundle(int fd, const jit::ExportRequest& request, const BundleSource& source,
                                        const TrustKey& trust);
Result<jit::ImportReport> import_bundle(int fd, const jit::ImportRequest& request, const BundleTarget& target,
                                        const TrustKey& trust);

}  // namespace kiln::cache
