// One worker process as the pool sees it. Used by one thread, the one that started it (PDEATHSIG follows the thread).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/base/channel.hpp"
#include "engine/base/private_folder.hpp"
#include "engine/base/process.hpp"
#include "engine/compile/worker_pool.hpp"
#include "engine/compile/worker_protocol.hpp"

namespace kiln::compile {

inline constexpr std::string_view worker_folder_prefix = "kiln-worker-";  // of workers' private folders

// What may end the wait for a worker's answer.
struct Watch {
  Deadline request;                  // over it: deadline_exceeded
  Deadline work;                     // over it: worker_died, with `work_limit_text`
  std::string work_limit_text;
  CancelToken cancel;                // cancelled
  std::function<bool()> closing;     // the pool ends: cancelled
  std::function<void()> tick;        // called every 20 ms; may be null
};

// disk_full, naming the folder, when the file system of `folder` has less than `bytes` or no files left for this user;
// nothing when it has, or does not say.
std::optional<Error> lacks_room(const std::string& folder, std::uint64_t bytes);

class Worker {
 public:
  // Starts the command and waits until it is ready. Errors: no_compiler with the reason; cancelled, deadline_exceeded.
  static Result<std::unique_ptr<Worker>> start(const WorkerCommand& command, const PoolOptions& options, Watch watch);

  // One request and its answer. Errors: as `failed` answers say; worker_died when it ended, was over a limit, or
  // answered nonsense; disk_full when its temporary folder has no room for a compile, at once or because it ended of
  // that; cancelled, deadline_exceeded. Whenever it is no answer of the worker the process is killed: see
  // usable().
  Result<Frame> ask(WorkerFrame kind, ByteView payload, WorkerFrame expected, const Watch& watch);

  [[nodiscard]] bool usable() const { return child_.running(); }
  // Whether it still runs, asked of the system: an idle worker may have been killed.
  bool alive() { return !child_.ended(false) && child_.running(); }
  [[nodiscard]] pid_t pid() const { return child_.pid(); }
  [[nodiscard]] const std::string& family() const { return family_; }
  int compiles = 0;  // that it was given

 private:
  Worker(const WorkerCommand& command, const PoolOptions& options);
  Result<Frame> await(const Watch& watch);
  std::optional<Error> over_limit(const Watch& watch);
  [[nodiscard]] std::optional<Error> no_room() const;
  Error died();
  Error kill(Error why);

  bool exited_ = false;  // it ended by itself, by no signal
  std::string family_;
  std::size_t resident_bytes_max_;
  PrivateFolder folder_;
  UniqueFd socket_;
  ChildProcess child_;  // after the folder: ended before that is removed
};

}  // namespace kiln::compile
