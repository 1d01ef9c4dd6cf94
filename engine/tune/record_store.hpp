// Tuning records in a folder that many processes share: one checksummed file each, named by what it is for, written
// whole and renamed to its place. Beside them, in journals/, what interrupted tunes keep. Below them a layer that came
// with Kiln and is only read. Thread-safe. Who can write the folder chooses among kernels that are all checked: nothing
// here is run.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/jit/tuning.hpp"
#include "engine/tune/record_format.hpp"

namespace kiln::tune {

struct RecordStoreOptions {
  std::string folder;  // absolute, 0700, made when something is written; "": records live in memory
  std::vector<jit::TuningRecord> shipped;   // their version is not looked at: they count as this build's
  std::function<void(const std::string&)> log;  // a line for each record that was damaged; may be null
  std::size_t records_max = 4096;           // beyond it the oldest goes, in a folder or in memory
  std::size_t journals_max = 256;           // the same for what interrupted tunes keep
  std::chrono::hours journal_age_max{24 * 30};  // in a folder; older ones go
};

class RecordStore {
 public:
  explicit RecordStore(RecordStoreOptions options);
  // A number that changes when a record was written or removed, also by another process, which is seen a second later
  // at the latest. Cheap: what was decided while it had one value holds while it has.
  std::uint64_t generation();
  // Whether there may be a record whose name begins so (identity.hpp). Reads no file.
  bool any_at(const std::string& prefix);
  // The record of that name; null where there is none. A damaged one is removed.
  jit::TuningRecordPtr find(const std::string& id);
  // The same without those that came with Kiln.
  jit::TuningRecordPtr own(const std::string& id);
  // Writes it under its name. Errors: resource_limit (over record_bytes_max), of the file system; nothing is changed
  // then.
  Status put(const jit::TuningRecord& record);
  Result<bool> remove(const std::string& id);
  // All, the newest first, those that came with Kiln last.
  std::vector<jit::NamedTuningRecord> list();

  std::optional<Journal> read_journal(const std::string& id);
  Status write_journal(const std::string& id, const Journal& journal);
  void remove_journal(const std::string& id);
  std::size_t journals();                   // how many there are

 private:
  struct Seen {                             // of a file
    std::int64_t changed_ns = 0;
    std::uint64_t file = 0;
    bool operator==(const Seen&) const = default;
  };
  using Listing = std::map<std::string, Seen>;
  void refresh(bool now);                   // with the lock held
  Listing read_listing() const;
  jit::TuningRecordPtr read(const std::string& id);  // with the lock held
  Status write(const std::string& folder, const std::string& name, const Bytes& bytes);
  void drop_oldest();
  void drop_oldest_in_memory(bool journals, std::size_t most);
  void tidy(const std::string& folder, bool journals) const;
  void say(const std::string& line) const;

  const RecordStoreOptions options_;
  std::map<std::string, jit::TuningRecordPtr> shipped_;
  std::atomic<std::uint64_t> generation_{1}, writes_{0};
  std::atomic<std::int64_t> look_again_ns_{0};
  std::mutex mutex_;
  Listing listing_;
  std::set<std::string> prefixes_;
  std::unordered_map<std::string, jit::TuningRecordPtr> known_;  // by id; null: there is none
  struct InMemory {
    Bytes bytes;
    std::uint64_t written = 0;              // a later one has more
  };
  std::map<std::string, InMemory> in_memory_;  // without a folder: by name; of journals with their folder
};

}  // namespace kiln::tune
