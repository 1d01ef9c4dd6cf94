// One opened cache folder and the operations on its files; everything goes through its descriptor. Layout: ENTRY.md.
// Any thread. Knows nothing of counting, eviction policy or locks between compiles.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cache/trusted_folder.hpp"
#include "engine/jit/object_store.hpp"

namespace kiln::cache {

inline constexpr char lock_file_name[] = "locks";
inline constexpr char holder_file_name[] = "holders";
inline constexpr char totals_file_name[] = "totals";
inline constexpr std::size_t quarantine_kept_max = 16;
inline constexpr std::size_t entry_file_bytes_max = std::size_t(1) << 30;

struct EntryFile {
  UniqueFd fd;
  struct stat status {};
};
struct ScannedEntry {
  jit::Key key;
  std::uint64_t bytes = 0;
  std::int64_t used_ns = 0;  // time of use (mtime), since 1970
};

class Folder {
 public:
  // Opens, and creates what is missing. Removes temporary files of dead writers. Errors: open_trusted_folder's.
  static Result<std::shared_ptr<Folder>> open(const std::string& path, bool trust_other_owner);
  // One that is there, for reading alone: nothing in it is made, locked or removed. Errors: open_trusted_folder's.
  static Result<std::shared_ptr<Folder>> open_read_only(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int root() const { return root_.get(); }
  [[nodiscard]] bool writable() const { return why_not_writable_.empty(); }
  [[nodiscard]] const std::string& why_not_writable() const { return why_not_writable_; }
  [[nodiscard]] std::uint64_t leftovers_removed() const { return leftovers_removed_; }
  // Somebody removed the folder itself: nothing can be created here any more.
  [[nodiscard]] bool gone() const;

  // The entry's open file; nothing when there is none. permission_denied when it is not to be trusted.
  Result<std::optional<EntryFile>> open_entry(const jit::Key& key);
  // Its size, nothing when there is none.
  [[nodiscard]] std::optional<std::uint64_t> entry_file_bytes(const jit::Key& key) const;
  // Removes the entry; false when there was none. With `unless_used_since_ns` only if it was not used since then.
  Result<bool> remove_entry(const jit::Key& key, std::optional<std::int64_t> unless_used_since_ns = std::nullopt);
  // Moves the entry aside if it is still the file of `status`; the oldest of over 16 kept ones go. Whether it went.
  bool quarantine_entry(const jit::Key& key, const struct stat& status);
  // Visits every entry file, in no order; files that come or go meanwhile may be missed.
  Status scan(const std::function<void(const ScannedEntry&)>& visit);

  Result<std::optional<Bytes>> read_note_file(const std::string& name);
  [[nodiscard]] int notes() const { return notes_.get(); }
  [[nodiscard]] int temporary() const { return temporary_.get(); }
  // Where the entry's file is published: its shard (created), and its name there.
  struct Place { UniqueFd shard; std::string name; };
  Result<Place> entry_place(const jit::Key& key);

 private:
  Folder() = default;
  Status open_parts();
  Status open_part(const char* name, UniqueFd& part);
  void remove_leftovers();
  void prune_quarantine();
  Result<UniqueFd> open_shard(unsigned index);
  Result<bool> shard_exists(unsigned index);

  std::string path_, why_not_writable_;
  bool trust_other_owner_ = false;
  std::uint64_t leftovers_removed_ = 0;
  UniqueFd root_, entries_, temporary_, quarantine_, notes_;
  std::array<std::atomic<bool>, 256> shard_checked_{};  // no symlink, trusted owner
};

// A file under tmp/ on its way to its place. It holds a lock as long as its writer lives, so that left-overs of dead
// writers are known; it is removed unless it was published.
class TemporaryFile {
 public:
  static Result<TemporaryFile> create(std::shared_ptr<Folder> folder);
  TemporaryFile(TemporaryFile&&) = default;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();
  Status write(ByteView bytes);  // and makes them durable
  Status publish(int folder, const std::string& name);  // replaces what is there, atomically

 private:
  TemporaryFile(std::shared_ptr<Folder> folder, UniqueFd fd, std::string name)
      : folder_(std::move(folder)), fd_(std::move(fd)), name_(std::move(name)) {}
  std::shared_ptr<Folder> folder_;
  UniqueFd fd_;
  std::string name_;
};

// Whole seconds and below, of st_mtim.
inline std::int64_t used_ns(const struct stat& status) {
  return std::int64_t(status.st_mtim.tv_sec) * 1000000000 + status.st_mtim.tv_nsec;
}
std::int64_t unix_now_ns();

}  // namespace kiln::cache
