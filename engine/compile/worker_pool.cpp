// Queue and slots of the pool. A slot is one thread with at most one worker; the queue gives it jobs, round robin over
// owners.
#include "engine/compile/worker_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "engine/base/hash.hpp"
#include "engine/compile/strikes.hpp"
#include "engine/compile/worker.hpp"
#include "engine/compile/worker_protocol.hpp"

namespace kiln::compile {
namespace {

constexpr auto slot_retry = std::chrono::milliseconds(5);

struct Job {
  std::string family;
  std::string target;              // identity: the target of the trial compile
  CompileOrder order;              // compile
  Digest input{};                  // compile: program and target, for the two-strikes rule
  std::uint64_t owner = 0;
  Deadline deadline;
  CancelToken cancel;
  WorkerPool::CompileDone compiled;
  WorkerPool::IdentityDone identified;

  Result<Compiled> compile_result;   // one of them is filled before `answer`
  Result<Identity> identity_result;

  [[nodiscard]] bool is_compile() const { return compiled != nullptr; }
  void set_error(Error error) {
    if (is_compile()) compile_result = std::move(error); else identity_result = std::move(error);
  }
  void answer() { is_compile() ? compiled(std::move(compile_result)) : identified(std::move(identity_result)); }
  void fail(Error error) {
    set_error(std::move(error));
    answer();
  }
};
using JobPtr = std::unique_ptr<Job>;

// Waiting jobs: identities first, then one of each owner in turn. Not thread-safe.
class Queue {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  void push(JobPtr job) {
    ++size_;
    if (!job->is_compile()) return urgent_.push_back(std::move(job));
    auto& list = by_owner_[job->owner];
    if (list.empty()) turns_.push_back(job->owner);
    list.push_back(std::move(job));
  }
  JobPtr pop() {
    if (size_ == 0) return nullptr;
    --size_;
    if (!urgent_.empty()) return take_front(urgent_);
    const auto owner = turns_.front();
    turns_.pop_front();
    auto& list = by_owner_[owner];
    auto job = take_front(list);
    if (list.empty()) by_owner_.erase(owner); else turns_.push_back(owner);
    return job;
  }
  // Takes out the jobs that `leaves` picks.
  template <class F> std::vector<JobPtr> take_if(F&& leaves) {
    std::vector<JobPtr> taken;
    const auto sweep = [&](std::deque<JobPtr>& list) {
      for (auto& job : list)
        if (leaves(*job)) taken.push_back(std::move(job));
      std::erase(list, nullptr);
    };
    sweep(urgent_);
    for (auto it = by_owner_.begin(); it != by_owner_.end();) {
      sweep(it->second);
      if (it->second.empty()) std::erase(turns_, it->first), it = by_owner_.erase(it); else ++it;
    }
    size_ -= taken.size();
    return taken;
  }

 private:
  static JobPtr take_front(std::deque<JobPtr>& list) {
    auto job = std::move(list.front());
    list.pop_front();
    return job;
  }
  std::deque<JobPtr> urgent_;
  std::map<std::uint64_t, std::deque<JobPtr>> by_owner_;
  std::deque<std::uint64_t> turns_;  // owners with jobs, whose turn is first
  std::size_t size_ = 0;
};

struct Slot {
  std::thread thread;
  std::condition_variable wake;
  JobPtr job;              // given and not taken yet
  bool busy = false;       // has a job
  std::string family;      // of its worker, "" when it has none
  std::uint64_t generation = 0;  // of its worker's family when it was started
  int pid = 0;
};

class Pool final : public WorkerPool {
 public:
  explicit Pool(PoolOptions options)
      : options_(std::move(options)), slots_(static_cast<std::size_t>(workers_allowed(options_))) {
    PrivateFolder::remove_left_overs(options_.temporary_folder, worker_folder_prefix);
  }
  ~Pool() override;
  void compile(const bound::Program& program, const std::string& key_hex, std::uint64_t owner, Deadline deadline,
               CancelToken cancel, CompileDone done) override;
  void identity(const target::Target& target, IdentityDone done) override;
  void retire(const std::string& family) override;
  void replace(const std::string& family, std::vector<std::string> command) override;
  PoolStats stats() override;
  std::vector<int> worker_pids() override;

 private:
  void enqueue(JobPtr job);
  void dispatch();                 // with the lock held
  Slot* slot_for(const Job& job);  // with the lock held
  void sweep_queue();
  void run(Slot& slot);
  void serve(Slot& slot, std::unique_ptr<Worker>& worker, Job& job);
  Result<std::shared_ptr<void>> shared_slot(const Job& job);
  Status ensure_worker(Slot& slot, std::unique_ptr<Worker>& worker, const Job& job);
  void run_compile(Worker& worker, Job& job);
  void run_identity(Worker& worker, Job& job);
  void drop(Slot& slot, std::unique_ptr<Worker>& worker);
  Watch watch_for(const Job& job);
  bool closing();
  bool retired(const Slot& slot);
  std::uint64_t generation_of(const std::string& family);
  WorkerCommand* command_of(const std::string& family);  // with the lock held; null: none is configured

  PoolOptions options_;  // its commands: under the lock
  std::mutex mutex_;
  bool closing_ = false;
  Queue queue_;
  std::map<std::string, std::uint64_t> generations_;  // of families that were retired
  std::vector<Slot> slots_;
  PoolStats stats_;
  Strikes strikes_;
};

Pool::~Pool() {
  std::vector<JobPtr> left;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    left = queue_.take_if([](const Job&) { return true; });
    for (auto& slot : slots_) slot.wake.notify_all();
  }
  for (auto& job : left) job->fail(Error(ErrorCode::cancelled, "the compile workers are being shut down", true));
  for (auto& slot : slots_)
    if (slot.thread.joinable()) slot.thread.join();
}

void Pool::compile(const bound::Program& program, const std::string& key_hex, std::uint64_t owner, Deadline deadline,
                   CancelToken cancel, CompileDone done) {
  const auto target = target::parse_target(program.target);
  if (!target) return done(target.error());
  auto job = std::make_unique<Job>();
  job->family = family_of(*target);
  job->order = {bound::encode(program, true), target->full, key_hex, -1};
  Writer input;
  input.bytes(job->order.program);
  input.string(target->full);
  job->input = sha256(input.data());
  job->owner = owner;
  job->deadline = deadline;
  job->cancel = std::move(cancel);
  job->compiled = std::move(done);
  enqueue(std::move(job));
}

void Pool::identity(const target::Target& target, IdentityDone done) {
  auto job = std::make_unique<Job>();
  job->family = family_of(target);
  job->target = target.full;
  job->identified = std::move(done);
  enqueue(std::move(job));
}

void Pool::enqueue(JobPtr job) {
  std::optional<Error> refused;
  {
    const std::lock_guard lock(mutex_);
    if (closing_) {
      refused = Error(ErrorCode::cancelled, "the compile workers are being shut down", true);
    } else if (job->is_compile() && queue_.size() >= options_.queue_max) {
      refused = Error(ErrorCode::busy, std::to_string(queue_.size()) + " compiles are queued already", true);
    } else {
      queue_.push(std::move(job));
      dispatch();
    }
  }
  if (refused) job->fail(std::move(*refused));
}

void Pool::dispatch() {
  while (queue_.size() > 0) {
    if (std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.busy; })) return;
    auto job = queue_.pop();
    Slot* slot = slot_for(*job);
    slot->busy = true;
    slot->job = std::move(job);
    if (!slot->thread.joinable()) slot->thread = std::thread([this, slot] { run(*slot); });
    slot->wake.notify_all();
  }
}

// A free slot: with a worker of the job's family, else without any, else with another's (which is replaced).
Slot* Pool::slot_for(const Job& job) {
  Slot* best = nullptr;
  const auto rank = [&](const Slot& slot) { return slot.family == job.family ? 2 : slot.family.empty() ? 1 : 0; };
  for (auto& slot : slots_)
    if (!slot.busy && (!best || rank(slot) > rank(*best))) best = &slot;
  return best;
}

// Answers queued jobs that nobody waits for any more. Jobs are queued only while every slot is busy, so a slot's thread
// comes by again and again.
void Pool::sweep_queue() {
  std::vector<JobPtr> left;
  {
    const std::lock_guard lock(mutex_);
    left = queue_.take_if([](const Job& job) { return job.cancel.cancelled() || job.deadline.passed(); });
  }
  for (auto& job : left)
    job->fail(job->cancel.cancelled()
                  ? Error(ErrorCode::cancelled, "cancelled")
                  : Error(ErrorCode::deadline_exceeded, "the deadline passed while the compile was queued", true));
}

void Pool::run(Slot& slot) {
  std::unique_ptr<Worker> worker;
  for (;;) {
    JobPtr job;
    {
      std::unique_lock lock(mutex_);
      const auto ready = [&] { return closing_ || slot.job; };
      if (worker && !slot.wake.wait_for(lock, options_.idle_worker_life, ready)) {
        lock.unlock();
        drop(slot, worker);
        continue;
      }
      slot.wake.wait(lock, ready);
      job = std::move(slot.job);
      if (!job) return;  // closing; the worker is killed by its destructor
    }
    serve(slot, worker, *job);
    {
      const std::lock_guard lock(mutex_);
      slot.busy = false;
      dispatch();
    }
    // After the slot is free: what the callback asks for next finds this warm worker instead of starting another.
    job->answer();
  }
}

void Pool::serve(Slot& slot, std::unique_ptr<Worker>& worker, Job& job) {
  // Nobody waits for it any more: not worth a worker, which a cancelled request would take down with it.
  if (job.cancel.cancelled()) return job.set_error(Error(ErrorCode::cancelled, "cancelled"));
  if (job.deadline.passed())
    return job.set_error(Error(ErrorCode::deadline_exceeded, "the deadline passed while the compile was queued", true));
  if (job.is_compile())
    if (auto refusal = strikes_.refusal(job.input)) return job.set_error(std::move(*refusal));
  const auto token = shared_slot(job);
  if (!token) return job.set_error(token.error());
  if (auto started = ensure_worker(slot, worker, job); !started) return job.set_error(std::move(started).error());
  job.is_compile() ? run_compile(*worker, job) : run_identity(*worker, job);
  if (!worker->usable()) drop(slot, worker);
}

// Waits until this user's processes together have a slot free.
Result<std::shared_ptr<void>> Pool::shared_slot(const Job& job) {
  if (!options_.take_shared_slot) return std::shared_ptr<void>();
  for (;;) {
    if (auto token = options_.take_shared_slot()) return token;
    if (closing()) return Error(ErrorCode::cancelled, "the compile workers are being shut down", true);
    if (job.cancel.cancelled()) return Error(ErrorCode::cancelled, "cancelled");
    if (job.deadline.passed())
      return Error(ErrorCode::deadline_exceeded,
                   "the deadline passed while other processes' compiles took all worker slots", true);
    sweep_queue();
    std::this_thread::sleep_for(slot_retry);
  }
}

Status Pool::ensure_worker(Slot& slot, std::unique_ptr<Worker>& worker, const Job& job) {
  if (worker && (!worker->alive() || retired(slot))) drop(slot, worker);
  if (worker && (worker->family() != job.family || worker->compiles >= options_.compiles_per_worker)) {
    const bool recycled = worker->family() == job.family;
    drop(slot, worker);
    const std::lock_guard lock(mutex_);
    stats_.recycled += recycled;
  }
  if (worker) return {};
  WorkerCommand command;
  std::uint64_t generation = 0;  // before it maps its files
  {
    const std::lock_guard lock(mutex_);
    const auto* configured = command_of(job.family);
    if (!configured)
      return Error(ErrorCode::no_compiler, "no compile worker is configured for " + job.family + " targets");
    command = *configured;
    generation = generations_[job.family];
  }
  KILN_TRY(worker, Worker::start(command, options_, watch_for(job)));
  const std::lock_guard lock(mutex_);
  slot.generation = generation;
  slot.family = job.family;
  slot.pid = worker->pid();
  ++stats_.started;
  return {};
}

void Pool::run_compile(Worker& worker, Job& job) {
  auto watch = watch_for(job);
  watch.work = Deadline::after(options_.compile_deadline);
  watch.work_limit_text = "the compile took over " + std::to_string(options_.compile_deadline.count()) + " ms";
  job.order.left_ms = watch.work.earlier(watch.request).left_ms();
  {
    const std::lock_guard lock(mutex_);
    ++stats_.compiles;
    ++stats_.running;
  }
  ++worker.compiles;
  job.compile_result = [&]() -> Result<Compiled> {
    KILN_TRY(const auto frame, worker.ask(WorkerFrame::compile, encode(job.order), WorkerFrame::compiled, watch));
    auto compiled = decode_compiled(frame.payload);
    if (!compiled) return Error(ErrorCode::worker_died, "the compile worker answered with damaged bytes", true);
    return compiled;
  }();
  const auto& result = job.compile_result;
  const bool died = !result && result.error().code == ErrorCode::worker_died;
  if (died) strikes_.add(job.input, result.error().message);
  const std::lock_guard lock(mutex_);
  --stats_.running;
  stats_.failures += !result;
  stats_.deaths += died;
}

void Pool::run_identity(Worker& worker, Job& job) {
  auto watch = watch_for(job);
  watch.work = Deadline::after(options_.compile_deadline);
  watch.work_limit_text = "the trial compile took over " + std::to_string(options_.compile_deadline.count()) + " ms";
  job.identity_result = [&]() -> Result<Identity> {
    KILN_TRY(const auto frame, worker.ask(WorkerFrame::identity, view(job.target), WorkerFrame::identified, watch));
    return decode_identity(frame.payload);
  }();
}

void Pool::drop(Slot& slot, std::unique_ptr<Worker>& worker) {
  worker.reset();
  const std::lock_guard lock(mutex_);
  slot.family.clear();
  slot.pid = 0;
}

Watch Pool::watch_for(const Job& job) {
  return {.request = job.deadline, .work = {}, .work_limit_text = {}, .cancel = job.cancel,
          .closing = [this] { return closing(); }, .tick = [this] { sweep_queue(); }};
}

bool Pool::closing() {
  const std::lock_guard lock(mutex_);
  return closing_;
}

void Pool::retire(const std::string& family) {
  const std::lock_guard lock(mutex_);
  ++generations_[family];
}

void Pool::replace(const std::string& family, std::vector<std::string> command) {
  const std::lock_guard lock(mutex_);
  ++generations_[family];
  if (auto* configured = command_of(family)) configured->command = std::move(command);
}

WorkerCommand* Pool::command_of(const std::string& family) {
  const auto at = std::find_if(options_.commands.begin(), options_.commands.end(),
                               [&](const WorkerCommand& c) { return c.family == family; });
  return at == options_.commands.end() ? nullptr : &*at;
}

bool Pool::retired(const Slot& slot) { return slot.generation != generation_of(slot.family); }

std::uint64_t Pool::generation_of(const std::string& family) {
  const std::lock_guard lock(mutex_);
  const auto it = generations_.find(family);
  return it == generations_.end() ? 0 : it->second;
}

PoolStats Pool::stats() {
  const std::lock_guard lock(mutex_);
  auto stats = stats_;
  stats.queued = queue_.size();
  return stats;
}

std::vector<int> Pool::worker_pids() {
  const std::lock_guard lock(mutex_);
  std::vector<int> pids;
  for (const auto& slot : slots_)
    if (slot.pid > 0) pids.push_back(slot.pid);
  return pids;
}

// MemAvailable of /proc/meminfo; 0 when it cannot be read.
std::size_t memory_available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  for (std::size_t kib; file >> name >> kib; file.ignore(64, '\n'))
    if (name == "MemAvailable:") return kib << 10;
  return 0;
}

}  // namespace

int workers_allowed(const PoolOptions& options) {
  if (options.workers_max > 0) return options.workers_max;
  const auto cores = std::max(1u, std::thread::hardware_concurrency());
  const auto memory = memory_available_bytes();
  if (memory == 0 || options.resident_bytes_max == 0) return static_cast<int>(cores);
  return static_cast<int>(std::clamp<std::size_t>(memory / options.resident_bytes_max, 1, cores));
}

std::string family_of(const target::Target& target) { return target.is_host() ? "host" : "hip"; }

std::unique_ptr<WorkerPool> WorkerPool::create(PoolOptions options) {
  return std::make_unique<Pool>(std::move(options));
}

}  // namespace kiln::compile
