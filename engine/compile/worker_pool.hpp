// The pool of compile workers: starts, watches, recycles and kills them. Thread-safe; callbacks come from its own threads.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/deadline.hpp"
#include "engine/compile/compiler.hpp"

namespace kiln::compile {

// How workers are started now. `change` is another number whenever another compiler may be found since, also behind the
// same words.
struct WorkerStart {
  std::vector<std::string> command;
  std::uint64_t change = 0;
};
// How one family's workers are started: configuration, not code.
struct WorkerCommand {
  std::string family;                       // "hip" or "host": which targets it serves
  std::vector<std::string> command;         // argv, e.g. {prefix loader, --library-path, …, kiln-compile-hip, --include, …}; empty: none
  std::string why_absent;                   // for the error when command is empty
  // What `command` is by now; its first `change` is 0. Asked where a compile is wanted, from any thread. Null: it
  // stays.
  std::function<WorkerStart()> look;
};
struct PoolOptions {
  std::vector<WorkerCommand> commands;
  int workers_max = 0;                      // all families together; 0: cores
  std::size_t queue_max = 4096;             // compiles that wait for a worker; further ones are refused with busy
  std::chrono::milliseconds compile_deadline{120000};
  std::size_t address_space_bytes_max = std::size_t(16) << 30;   // RLIMIT_AS; not set in sanitizer builds
  std::size_t resident_bytes_max = std::size_t(4) << 30;         // watched; over it the worker is killed
  int compiles_per_worker = 500;            // then it is replaced
  std::string log_path;                     // where workers' standard error goes
  std::vector<std::string> environment;     // ours, whole (Environment::all): workers get what scrubbed_environment leaves
  std::string temporary_folder = "/tmp";    // workers' private TMPDIRs are made in it
  std::chrono::milliseconds idle_worker_life{300000};  // an idle worker ends after this
  // Asked, without blocking, before a worker is started or given work; null: all slots that processes of this user share are
  // taken, ask again. What it gives is held until the work is done. Empty: no limit but workers_max.
  std::function<std::shared_ptr<void>()> take_shared_slot;
};

// What a worker's environment keeps of `all`: an allow-list (PATH, HOME, locale, library and ROCm paths, sanitizer options).
// HIPRTC_COMPILE_OPTIONS_APPEND and AMD_COMGR_* never pass; AMD_COMGR_CACHE=0 is added. Sorted: it is part of what the
// compiler's identity is remembered under. TMPDIR is added per worker.
std::vector<std::string> scrubbed_environment(const std::vector<std::string>& all);
// How many workers `options` allow: workers_max, or by cores and available memory.
int workers_allowed(const PoolOptions& options);
// "host" or "hip": which WorkerCommand serves `target`.
std::string family_of(const target::Target& target);

struct PoolStats {
  std::uint64_t compiles = 0, failures = 0, deaths = 0, started = 0, recycled = 0, running = 0, queued = 0;
};

class WorkerPool {
 public:
  using CompileDone = std::function<void(Result<Compiled>)>;
  using IdentityDone = std::function<void(Result<Identity>)>;
  virtual ~WorkerPool() = default;          // kills all workers, fails what is queued with cancelled
  static std::unique_ptr<WorkerPool> create(PoolOptions options);

  // Queues one compile. `done` is called exactly once. Fair over `owner` (round robin: a connection's id). A worker that dies
  // answers with worker_died and what killed it (signal, exit, memory, deadline); an input that killed two workers is refused
  // with that cause for 10 minutes. `key_hex` goes to the worker's compile log. Cancel kills the worker if it runs.
  virtual void compile(const bound::Program& program, const std::string& key_hex, std::uint64_t owner, Deadline deadline,
                       CancelToken cancel, CompileDone done) = 0;
  // The identity of the family that serves `target` (one trial compile, not counted as a compile).
  virtual void identity(const target::Target& target, IdentityDone done) = 0;
  // The family's compiler or its files changed: workers that run now answer what they have and are replaced.
  virtual void retire(const std::string& family) = 0;
  // The same, and new workers of the family are started by `command`.
  virtual void replace(const std::string& family, std::vector<std::string> command) = 0;
  virtual PoolStats stats() = 0;
  virtual std::vector<int> worker_pids() = 0;
};

}  // namespace kiln::compile
