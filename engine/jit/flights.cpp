#include "engine/jit/flights.hpp"

#include <unistd.h>

namespace kiln::jit {
namespace {
constexpr auto holder_period = std::chrono::milliseconds(250);
}

// One key that is being compiled here, or waited for while another process compiles it.
struct Flight {
  Key key;
  KnownCompilerPtr compiler;
  WaiterPtr first;                      // whose program, target and owner the compile is for
  std::vector<WaiterPtr> waiters;       // under the flights' lock
  CancelToken cancel;                   // set when the last waiter has left
  std::shared_ptr<CompileLock> lock;    // while it compiles
  bool waited = false;                  // for another process
  std::string holder;                   // that process, in words; under the flights' lock
  std::chrono::steady_clock::time_point holder_asked;
};

// ---- waiters ------------------------------------------------------------------------------------------------------

bool Waiter::finish(Result<CompileOutcome> result) {
  {
    const std::lock_guard lock(progress_mutex_);
    if (finished_.exchange(true, std::memory_order_acq_rel)) return false;
  }
  if (result) result->total_ms = elapsed_ms();
  done_(std::move(result));
  done_ = nullptr;
  return true;
}

void Waiter::report(const std::string& stage, double fraction) {
  if (!request.progress) return;
  const std::lock_guard lock(progress_mutex_);
  if (!finished()) request.progress(stage, fraction);
}

bool Flights::watch(const WaiterPtr& waiter) {
  if (waiter->finished()) return true;
  std::optional<Error> error;
  if (waiter->request.cancel.cancelled()) {
    error = Error(ErrorCode::cancelled, "cancelled");
  } else if (waiter->request.deadline.passed()) {
    error = Error(ErrorCode::deadline_exceeded, "the request's deadline passed", true);
    const std::lock_guard lock(mutex_);
    if (const auto flight = waiter->flight.lock(); flight && !flight->holder.empty())
      error->message += " while " + flight->holder;
  }
  if (!error) return false;
  waiter->finish(std::move(*error));
  detach(waiter);  // after it: see the end of join
  return true;
}

void Flights::detach(const WaiterPtr& waiter) {
  const std::lock_guard lock(mutex_);
  const auto flight = waiter->flight.lock();
  if (!flight) return;
  std::erase(flight->waiters, waiter);
  if (!flight->waiters.empty()) return;
  flight->cancel.cancel();
  // A later request for the key starts anew; the lock makes it wait until this compile is really over.
  if (const auto it = flights_.find(flight->key); it != flights_.end() && it->second == flight) flights_.erase(it);
}

// ---- flights ------------------------------------------------------------------------------------------------------

void Flights::join(const Key& key, const KnownCompilerPtr& compiler, const WaiterPtr& waiter) {
  std::shared_ptr<Flight> flight;
  {
    const std::lock_guard lock(mutex_);
    auto& there = flights_[key];
    const bool new_flight = !there;
    if (new_flight) {
      there = std::make_shared<Flight>();
      there->key = key;
      there->compiler = compiler;
      there->first = waiter;
      flight = there;
    }
    there->waiters.push_back(waiter);
    waiter->flight = there;
  }
  if (waiter->finished()) detach(waiter);  // it left before it was in the flight
  if (!flight) return waiter->report("joined a compile of the same kernel", 0.1);
  if (!attempt(flight)) poller_.until([this, flight] { return attempt(flight); }, lock_interval_max);
}

// Takes the key's lock and goes on; false while another process holds it.
bool Flights::attempt(const std::shared_ptr<Flight>& flight) {
  if (flight->cancel.cancelled()) return true;
  auto lock = store_.try_lock(flight->key);
  if (lock && !*lock) {
    flight->waited = true;
    note_holder(*flight);
    return false;
  }
  if (lock) flight->lock = std::move(*lock);  // a lock that fails is no reason not to compile
  {
    const std::lock_guard held(mutex_);
    flight->holder.clear();
  }
  // Between our lookup and the lock another process may have stored it.
  if (auto kernel = hooks_.lookup(flight->key, *flight->first)) {
    hooks_.remember(kernel);
    CompileOutcome outcome;
    outcome.kernel = std::move(kernel);
    outcome.cached = true;
    land(flight, std::move(outcome), flight->waited ? "joined" : "disk");
  } else if (tier_) {
    fetch(flight);
  } else {
    compile(flight);
  }
  return true;
}

// Asks the remote tier; the key's lock is held meanwhile, so that other processes here wait for the same answer.
void Flights::fetch(const std::shared_ptr<Flight>& flight) {
  report(*flight, "asking the remote tier", 0.15);
  hooks_.fetch(flight->key, *flight->first, [this, flight](KernelPtr kernel) {
    if (!kernel) {
      if (!flight->cancel.cancelled() && !hooks_.closing()) compile(flight);
      return;  // who still waits when the session closes is answered by abort
    }
    hooks_.remember(kernel);
    land(flight, store_kernel(store_, std::move(kernel)), "tier");
  });
}

void Flights::note_holder(Flight& flight) {
  const auto now = std::chrono::steady_clock::now();
  if (now - flight.holder_asked < holder_period) return;
  flight.holder_asked = now;
  const auto holder = store_.lock_holder(flight.key);
  std::string words = "waiting for another compile of " + flight.key.hex();
  if (holder) {
    const bool ours = holder->pid == ::getpid();
    words = "waiting for " +
            (ours ? std::string("an earlier compile of this process") : "process " + std::to_string(holder->pid)) +
            ", which has held the compile of " + holder->key_hex + " for " + std::to_string(holder->age_ms) + " ms";
  }
  {
    const std::lock_guard lock(mutex_);
    flight.holder = words;
  }
  report(flight, words, 0.1);
}

void Flights::compile(const std::shared_ptr<Flight>& flight) {
  report(*flight, "compiling", 0.2);
  const auto& first = *flight->first;
  pool_.compile(*first.program, flight->key.hex(), first.request.owner, Deadline(), flight->cancel,
                [this, flight](Result<compile::Compiled> result) { compiled(flight, std::move(result)); });
}

void Flights::compiled(const std::shared_ptr<Flight>& flight, Result<compile::Compiled> result) {
  if (result) {
    auto valid = hooks_.still_valid(*flight->first, flight->compiler);
    if (!valid && valid.error().retryable) {
      for (const auto& waiter : end(flight)) hooks_.begin_anew(waiter);
      return;
    }
    if (!valid) result = std::move(valid).error();
  }
  if (!result) return land(flight, std::move(result).error(), "compiled");
  auto stored = std::make_shared<StoredObject>();
  stored->key = flight->key;
  stored->metadata = compile::encode(result->metadata);
  stored->object = std::move(result->object);
  auto kernel = std::make_shared<Kernel>();
  kernel->key = flight->key;
  kernel->program = flight->first->program;
  kernel->metadata = std::move(result->metadata);
  kernel->stored = std::move(stored);
  auto outcome = store_kernel(store_, kernel);
  hooks_.remember(kernel);
  if (tier_) tier_->put(kernel->stored);
  land(flight, std::move(outcome), "compiled");
}

CompileOutcome store_kernel(ObjectStore& store, KernelPtr kernel) {
  const auto status = store.store(kernel->key, kernel->stored->metadata, kernel->stored->object);
  CompileOutcome outcome;
  outcome.kernel = std::move(kernel);
  outcome.stored = status.has_value();
  if (!status) outcome.why_not_stored = status.error().message;
  if (const auto now = store.stats(); status && !now.writable) {  // a private folder that goes with this process
    outcome.stored = false;
    outcome.why_not_stored = now.why_not_writable;
  }
  return outcome;
}

// Gives its lock back and lets nobody join any more; who waits for it.
std::vector<WaiterPtr> Flights::end(const std::shared_ptr<Flight>& flight) {
  flight->lock.reset();
  std::vector<WaiterPtr> waiters;
  const std::lock_guard lock(mutex_);
  waiters.swap(flight->waiters);
  if (const auto it = flights_.find(flight->key); it != flights_.end() && it->second == flight) flights_.erase(it);
  return waiters;
}

// Answers everyone in the flight. The first waiter's request is the one that compiled, the others joined it.
void Flights::land(const std::shared_ptr<Flight>& flight, Result<CompileOutcome> outcome,
                   const std::string& leader_origin) {
  bool leader = true;
  for (const auto& waiter : end(flight)) {
    if (!outcome) {
      waiter->finish(outcome.error());
      continue;
    }
    auto mine = *outcome;
    mine.origin = leader ? leader_origin : "joined";
    mine.cached = mine.origin != "compiled";
    mine.program = waiter->program;
    mine.key_parts = waiter->key_parts;
    if (mine.origin == "joined") ++joined_;
    leader = false;
    waiter->finish(std::move(mine));
  }
}

void Flights::report(const Flight& flight, const std::string& stage, double fraction) {
  for (const auto& waiter : waiters_of(flight)) waiter->report(stage, fraction);
}

std::vector<WaiterPtr> Flights::waiters_of(const Flight& flight) {
  const std::lock_guard lock(mutex_);
  return flight.waiters;
}

void Flights::abort(const Error& error) {
  std::vector<std::shared_ptr<Flight>> left;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, flight] : flights_) left.push_back(flight);
  }
  for (const auto& flight : left) land(flight, error, "compiled");
}

}  // namespace kiln::jit
