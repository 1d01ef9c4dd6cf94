// Single flight: concurrent requests for one key share one compile, in this process (one flight a key) and between
// processes (the store's lock of the key). A cross-process lock is polled: it ends with its holder, so nobody waits for
// the dead.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/jit/compiler_identities.hpp"
#include "engine/jit/key.hpp"
#include "engine/jit/poller.hpp"
#include "engine/jit/remote_tier.hpp"
#include "engine/jit/session.hpp"

namespace kiln::jit {

struct Flight;

// One request on its way, answered exactly once.
class Waiter {
 public:
  Waiter(CompileRequest request, CompileDone done) : request(std::move(request)), done_(std::move(done)) {}
  // True for the first call, which has called `done`.
  bool finish(Result<CompileOutcome> result);
  void report(const std::string& stage, double fraction);  // to the request's progress, never after finish
  [[nodiscard]] bool finished() const { return finished_.load(std::memory_order_acquire); }
  [[nodiscard]] double elapsed_ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began_).count();
  }

  const CompileRequest request;
  std::shared_ptr<const bound::Program> program;
  std::shared_ptr<const target::Target> target;
  std::vector<KeyPart> key_parts;           // of the key that it is answered with; when explain_key
  std::weak_ptr<Flight> flight;             // under the flights' lock

 private:
  CompileDone done_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::mutex progress_mutex_;
  std::atomic<bool> finished_{false};
};
using WaiterPtr = std::shared_ptr<Waiter>;
using KernelPtr = std::shared_ptr<const Kernel>;

// What flights need of the session.
struct FlightHooks {
  std::function<KernelPtr(const Key&, const Waiter&)> lookup;  // on disk
  // In the remote tier; calls `done` once, with null where it has no sound one. Null: there is no tier.
  std::function<void(const Key&, const Waiter&, std::function<void(KernelPtr)> done)> fetch;
  std::function<void(const KernelPtr&)> remember;              // in memory
  // Whether what a worker made now belongs under a key that was computed with `compiler`; the reason if not.
  std::function<Status(const Waiter&, const KnownCompilerPtr& compiler)> still_valid;
  std::function<bool()> closing;  // whether the session is being closed: nothing new begins
  // The compiler was replaced while this one waited: its request begins anew, with another key.
  std::function<void(const WaiterPtr&)> begin_anew;
};

// Stores a kernel that came from a compiler or a tier: an outcome that says whether that went well.
CompileOutcome store_kernel(ObjectStore& store, KernelPtr kernel);

class Flights {
 public:
  // `tier` null: none.
  Flights(ObjectStore& store, compile::WorkerPool& pool, Poller& poller, RemoteTier* tier, FlightHooks hooks)
      : store_(store), pool_(pool), poller_(poller), tier_(tier), hooks_(std::move(hooks)) {}
  // Compiles `key` for `waiter`, or joins who does. `compiler` made the key. The caller has the waiter watched.
  void join(const Key& key, const KnownCompilerPtr& compiler, const WaiterPtr& waiter);
  // From the poller, again and again: answers a waiter that was cancelled or is late, and detaches it. True when it is
  // finished.
  bool watch(const WaiterPtr& waiter);
  [[nodiscard]] std::uint64_t joined() const { return joined_.load(); }
  // Answers everyone. Only after pool and poller have ended.
  void abort(const Error& error);

 private:
  bool attempt(const std::shared_ptr<Flight>& flight);
  void note_holder(Flight& flight);
  void fetch(const std::shared_ptr<Flight>& flight);
  void compile(const std::shared_ptr<Flight>& flight);
  std::vector<WaiterPtr> end(const std::shared_ptr<Flight>& flight);
  void compiled(const std::shared_ptr<Flight>& flight, Result<compile::Compiled> result);
  void land(const std::shared_ptr<Flight>& flight, Result<CompileOutcome> outcome, const std::string& leader_origin);
  std::vector<WaiterPtr> waiters_of(const Flight& flight);
  void report(const Flight& flight, const std::string& stage, double fraction);
  void detach(const WaiterPtr& waiter);

  ObjectStore& store_;
  compile::WorkerPool& pool_;
  Poller& poller_;
  RemoteTier* const tier_;
  const FlightHooks hooks_;
  std::mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<Flight>, KeyHash> flights_;
  std::atomic<std::uint64_t> joined_{0};
};

}  // namespace kiln::jit
