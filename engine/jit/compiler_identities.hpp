// Who compiles, by target family: remembered in the store's notes so that a warm start asks no worker.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/compile/worker_pool.hpp"
#include "engine/jit/object_store.hpp"
#include "engine/jit/poller.hpp"

namespace kiln::jit {

// What keys of one family may be made with. Immutable; another object means that the compiler changed.
struct KnownCompiler {
  std::vector<Digest> digests;   // to look up with, in this order
  std::string description;
  std::optional<Error> absent;   // set: no worker answers, and `digests` are what this cache recorded: for lookups only
};
using KnownCompilerPtr = std::shared_ptr<const KnownCompiler>;

// How one family's workers are started, and what is known of the compiler that they load.
struct FamilyCompiler {
  std::string family;
  std::vector<std::string> command;  // empty: none is configured
  std::string description;           // empty: no worker was asked yet, or none answers
  std::optional<Error> absent;       // why none answers
};

// Thread-safe. A remembered identity holds while its files do not change (device, inode, size, ctime: looked at once a
// second at most) and the start command is the same; otherwise a worker is asked, by one process of this user at a
// time. When none answers, all recorded identities serve for lookups, and a worker is asked again 5 s later at the
// earliest. Where a start command may be replaced (compile::WorkerCommand::look) it is looked at when a worker is to be
// asked, and in look_again.
class CompilerIdentities {
 public:
  using Done = std::function<void(KnownCompilerPtr)>;
  CompilerIdentities(ObjectStore& store, compile::WorkerPool& pool, const compile::PoolOptions& options,
                     Poller& poller);

  // What is known at once; null when a worker must be asked.
  KnownCompilerPtr current(const std::string& family);
  // Changes whenever a compiler becomes known, is found replaced, or is to be asked again.
  std::uint64_t generation();
  // Whether the start command of the family's workers is another than the one that what is known was found by, or may
  // lead to another compiler: that is forgotten then, and workers are started anew. For misses: it may look at a folder.
  bool look_again(const std::string& family);
  // All configured families, after a look at their commands.
  std::vector<FamilyCompiler> families();
  // The names of the notes that remember identities: of the configured families.
  std::vector<std::string> note_names() const;
  // `own`, a note of this store's, with the identities that another store's note remembers: to look up with, never to
  // compile by, whatever start command they were found by there.
  static Bytes merge_notes(const std::optional<Bytes>& own, ByteView brought);
  // Other identities may be remembered now: families without a compiler are looked at anew.
  void notes_changed();
  // `done` exactly once, possibly before this returns, never null.
  void find(const target::Target& target, Done done);
  // Answers everyone who waits with this error. Nothing is asked any more.
  void abort(const Error& error);

 private:
  struct Record {                       // one entry of a note
    Digest command{};                   // start command and what decides which compiler it loads
    std::string command_text;
    compile::Identity identity;
  };
  struct Family {
    KnownCompilerPtr known;
    compile::Identity identity;         // of `known`, unless it is absent
    std::chrono::steady_clock::time_point checked;
    std::uint64_t change = 0;           // compile::WorkerStart::change of the command that it is asked by
    bool asking = false;
    std::vector<Done> waiting;
  };
  static std::vector<Record> decode(ByteView note);
  static Bytes encode(const std::vector<Record>& records);
  std::vector<Record> read_own(const std::string& family);
  std::vector<Record> read_all(const std::string& family);  // the layers', too
  Record record_for(const std::string& family) const;  // without an identity yet
  compile::WorkerCommand* command_of(const std::string& family);
  void check(const std::string& family, Family& state);
  bool remembered(const std::string& family);
  bool ask(const target::Target& target);
  void answered(const std::string& family, Result<compile::Identity> identity);
  void settle(const std::string& family, KnownCompilerPtr known, compile::Identity identity);

  ObjectStore& store_;
  compile::WorkerPool& pool_;
  // The words of one change under the lock, and never while a worker is asked that was started by them.
  std::vector<compile::WorkerCommand> commands_;
  std::vector<std::string> environment_;  // of the workers, what decides which compiler they load
  Poller& poller_;
  std::mutex mutex_;
  std::map<std::string, Family> families_;
  std::uint64_t generation_ = 0;
  std::optional<Error> aborted_;
};

}  // namespace kiln::jit
