// What the service's methods share. Internal to the room.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/service/buffers.hpp"
#include "api/service/capture.hpp"
#include "api/service/card_events.hpp"
#include "api/service/metrics.hpp"
#include "api/service/plans.hpp"
#include "api/service/programs.hpp"
#include "api/service/rings.hpp"
#include "api/service/service.hpp"

namespace kiln::service {

inline double milliseconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
}

// A few threads. The one that went idle last runs the next job: its stack and its memory are in the processor's caches.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();  // runs what is queued, then joins
  std::uint64_t run(std::function<void()> job);   // its ticket
  // Takes a job back that has not begun; null for any other.
  std::function<void()> withdraw(std::uint64_t ticket);

 private:
  struct Idle {
    std::condition_variable wake;
    bool called = false;
  };
  void work();
  std::mutex mutex_;
  std::vector<Idle*> idle_;
  std::map<std::uint64_t, std::function<void()>> jobs_;   // by ticket: in the order of their arrival
  std::uint64_t next_ = 1;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

// Calls functions in the order of their times, when those have come; a thread of its own, asleep while nothing is due.
class DeadlineWatch {
 public:
  DeadlineWatch();
  ~DeadlineWatch();
  std::uint64_t add(const Deadline& deadline, std::function<void()> job);  // 0 for a deadline that never passes
  void remove(std::uint64_t id);
  std::size_t waiting();

 private:
  using Clock = Deadline::Clock;
  struct Entry {
    std::uint64_t id = 0;
    Deadline deadline;
    std::function<void()> job;
  };
  using Entries = std::multimap<Clock::time_point, Entry>;
  void work();
  void keep(Entry entry);   // with the lock held
  std::mutex mutex_;
  std::condition_variable wake_;
  Entries waiting_;         // by the time to look at them
  std::unordered_map<std::uint64_t, Entries::iterator> by_id_;
  std::uint64_t next_ = 1;
  bool ending_ = false;
  std::thread thread_;
};

struct ActiveCall;
using CallPtr = std::shared_ptr<ActiveCall>;
class Turn;
using TurnPtr = std::shared_ptr<Turn>;

// A call as its connection knows it, from its arrival to its answer: how it is stopped.
struct RunningCall {
  std::weak_ptr<ActiveCall> call;
  CancelToken token;
  bool waiting = false;             // for its turn or for a thread: whoever stops it answers it at once
  std::function<void()> stop_work;  // what must be told beside the token (a device); may be null
  ThreadPool* pool = nullptr;       // where its job waits for a thread, under this ticket
  std::uint64_t ticket = 0;
};

// How a job stands in its stream's order.
struct InOrder {
  bool ahead = false;     // begins when those before it have given their turns on, though launches of theirs still run
  bool releases = false;  // the stream is unknown to later requests, unless this one is stopped
};
// Work that runs when everything that its connection put in order before it is done.
struct OrderedJob {
  std::uint64_t call = 0;
  std::function<void(TurnPtr)> run;
  InOrder order;
};

// What was put in order: one launch after the other.
struct StreamState {
  std::uint64_t number = 0;                                   // for devices: of all connections' streams
  std::deque<OrderedJob> ordered;
  bool taken = false;                                         // the front one has the turn
  std::uint64_t ahead = 0;                                    // launches that have given their turns on and are not done
  // Launches that were answered when they were enqueued: how they are stopped, by ActiveCall::number; the first that failed.
  struct Enqueued {
    std::function<void()> stop;
    std::string kernel, device;
    std::chrono::steady_clock::time_point began;
  };
  std::map<std::uint64_t, Enqueued> running;
  std::optional<Error> error;
  protocol::Json printed;                                     // by those launches, not told yet; null: nothing
  bool released = false;                                      // goes with its last job
  // What a synchronisation tells; it is told once.
  protocol::Json take_printed() {
    return printed.is_object() ? std::exchange(printed, nullptr) : protocol::Json::object();
  }
  [[nodiscard]] bool quiet() const { return ordered.empty() && ahead == 0; }
};

struct ConnectionState {
  ConnectionId id = 0;
  Peer peer;
  const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  std::uint64_t requests = 0;
  bool gone = false;
  std::map<std::uint64_t, std::shared_ptr<Buffer>> buffers;
  std::uint64_t buffer_next = 1;
  std::map<std::uint64_t, std::shared_ptr<CardEvent>> events;
  std::uint64_t event_next = 1;
  std::map<std::uint64_t, std::shared_ptr<const Plan>> plans;
  std::uint64_t plan_next = 1;
  std::map<std::uint64_t, std::shared_ptr<Ring>> rings;
  std::uint64_t ring_next = 1;
  std::map<std::uint64_t, StreamState> streams;               // 0: the one of launches that name none
  std::uint64_t stream_next = 1;
  std::unordered_map<std::uint64_t, RunningCall> calls;       // by ActiveCall::number
  std::unordered_map<std::string, std::uint64_t> call_ids;    // dumped request id to number; notifications have none
  std::unordered_map<std::string, std::shared_ptr<const bound::Program>> programs;  // by key: this client's own argument names
  std::unordered_map<std::string, std::shared_ptr<const KernelSource>> sources;     // by key too, for captures
  [[nodiscard]] bool nothing_ordered() const;
};
using ConnectionPtr = std::shared_ptr<ConnectionState>;

struct ServiceState {
  ServiceOptions options;
  std::shared_ptr<jit::Session> session;
  ProgramCatalog catalog;
  std::shared_ptr<MemoryBudget> memory;        // of all clients' buffers

  std::mutex mutex;  // of everything below
  std::condition_variable idle;                // running and ordered fell
  std::unordered_map<ConnectionId, ConnectionPtr> connections;
  std::uint64_t running = 0;                   // calls without an answer
  // Jobs in all connections' queues and launches that have given their turns on, whether their calls are answered or not.
  std::uint64_t ordered = 0;
  std::uint64_t call_next = 1, stream_next = 1, requests = 0, errors = 0, launches = 0;
  bool draining = false;
  struct Memo {
    std::string key_hex, rest;                       // rest: outcome_rest
    std::shared_ptr<const bound::Program> program;
    std::shared_ptr<const KernelSource> source;
    std::weak_ptr<const jit::Kernel> kernel;
    std::uint64_t compilers = 0;                     // Session::compilers when the request came that made this
    std::uint64_t tuning = 0;                        // Tuner::generation then
  };
  std::unordered_map<std::string, Memo> hits;  // answers to compile requests that named a known program

  RequestTimes times;                          // takes no lock
  DeadlineWatch deadlines;
  // Last: their jobs use the rest. What may take seconds has threads of its own, so that launches never wait for it.
  ThreadPool interpretations{4};               // kernel.verify: copies of its tensors and the interpreter's runs
  ThreadPool long_work{4};
  ThreadPool imports{1};                       // of files that may make their readers wait: one after the other
  ThreadPool tunes{1};                         // one after the other: they would disturb each other's times
  ThreadPool pool{8};

  ServiceState(ServiceOptions o, std::shared_ptr<jit::Session> s);
};

// One request being served; answers exactly once (a dropped call answers with internal). Once it has answered, and holds no turn,
// the service may end: whoever still holds the call touches `state` no more.
struct ActiveCall {
  ActiveCall(ServiceState& state, Call call, ConnectionPtr connection, std::uint64_t number)
      : state(state), call(std::move(call)), connection(std::move(connection)), number(number), fields(this->call.request.params, "/params") {}
  ~ActiveCall();
  void answer(Reply reply);
  void answer_text(std::string json, std::vector<UniqueFd> fds = {});
  [[nodiscard]] const protocol::Json& params() const { return call.request.params; }
  [[nodiscard]] std::string name() const { return request_name(connection->id, number); }
  [[nodiscard]] double age_ms() const { return milliseconds_since(began_); }
  // Tells the client; `stage` of the value is what lists of requests show.
  void progress(protocol::Json value);
  [[nodiscard]] std::string stage() const;   // the last one told; "" for none
  // From waiting to working: from now on only the work's own end answers. False: it was answered while it waited.
  [[nodiscard]] bool begin_work();
  // How the work is stopped, at once if the call was stopped already.
  void work_stops_by(std::function<void()> stop_work);
  // Back to waiting, between two pieces of work.
  void wait_again();
  // Why to go no further: cancelled, or its deadline passed.
  [[nodiscard]] Status not_stopped() const;
  // From now on cancellation and deadline answer the call at once, until begin_work.
  static void begin_waiting(const CallPtr& call);
  // Gives the job of a call that may be waiting to `threads`. Where the call is answered before the job has begun, the
  // job leaves them, and what it holds ends before the answer; one that has begun finds out by begin_work.
  static void run_on(const CallPtr& call, ThreadPool& threads, std::function<void()> job);
  // Has a call that waits stopped at its deadline, and at once when it was cancelled before.
  static void watch(const CallPtr& call);

  ServiceState& state;
  Call call;
  ConnectionPtr connection;
  const std::uint64_t number;   // within the service
  const MethodInfo* method = nullptr;  // null: there is none of that name
  protocol::Fields fields;

 private:
  static void watch_deadline(const CallPtr& call);
  void log_answer(const Reply& reply) const;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  mutable std::mutex stage_mutex_;
  std::string stage_;
  std::atomic<bool> answered_{false};
  std::atomic<std::uint64_t> deadline_entry_{0};  // in the deadline watch
};

// Cancels it or ends it at its deadline (`why`: cancelled, deadline_exceeded). A call that waits is answered at once and leaves
// its connection's queue; one that works is told and answers when its work has ended.
void stop_call(ActiveCall& call, ErrorCode why);

// The right of one stream's front job to run. Its end, on any thread, lets the next one start.
class Turn {
 public:
  Turn(ServiceState& state, ConnectionPtr connection, std::uint64_t stream)
      : state_(state), connection_(std::move(connection)), stream_(stream) {}
  Turn(const Turn&) = delete;
  ~Turn();

 private:
  ServiceState& state_;
  const ConnectionPtr connection_;
  const std::uint64_t stream_;
};
// A launch that runs on after its turn, on its stream. Whoever holds the turn makes it. Its end, on any thread, lets those
// start that wait for all before them.
class Ahead {
 public:
  Ahead(ServiceState& state, ConnectionPtr connection, std::uint64_t stream);
  Ahead(const Ahead&) = delete;
  ~Ahead();

 private:
  ServiceState& state_;
  const ConnectionPtr connection_;
  const std::uint64_t stream_;
};
// Runs `job` when everything that the connection put in order on the stream before it is done (or, `ahead`, has given its turn
// on); what holds the turn is running. The call waits, so that cancellation and deadline answer it, until the job calls
// begin_work. A stream that the connection does not have is answered with not_found.
void run_in_order(const CallPtr& call, std::uint64_t stream, InOrder order, std::function<void(TurnPtr)> job);
// Makes the stream known again that a job with `releases`, which has the turn, does not release.
void keep_stream(ActiveCall& call, std::uint64_t stream);
// The same behind everything of all the connection's streams; with a turn of each.
void run_behind_all(const CallPtr& call, std::function<void(std::vector<TurnPtr>)> job);
// The error of a launch of the stream that was answered when it was enqueued, once.
Status take_stream_error(ActiveCall& call, std::uint64_t stream);

struct ParamInfo { const char* name; const char* type; bool required; const char* summary; };
struct MethodInfo {
  const char* name;
  const char* summary;
  bool administrator;  // refused to peers that are let in by group
  // On the server's thread; on a thread of the pool; on one of those for what may take seconds.
  enum class Runs : std::uint8_t { at_once, short_work, long_work } runs;
  void (*run)(const CallPtr&);
  std::vector<ParamInfo> params;
};
const std::vector<MethodInfo>& methods();
const MethodInfo* method_named(const std::string& name);
protocol::Json discover_json(const ServiceState& state);

// kernel_methods.cpp
void kernel_compile(const CallPtr& call);
void kernel_prepare(const CallPtr& call);
void kernel_load(const CallPtr& call);
void kernel_explain(const CallPtr& call);
void kernel_list(const CallPtr& call);
void kernel_unload(const CallPtr& call);
// tuning_methods.cpp
void kernel_tune(const CallPtr& call);
void tuning_list(const CallPtr& call);
void tuning_remove(const CallPtr& call);
void tuning_import(const CallPtr& call);
// launch_methods.cpp
void kernel_launch(const CallPtr& call);
void kernel_verify(const CallPtr& call);
void kernel_profile(const CallPtr& call);
// buffer_methods.cpp
void buffer_register(const CallPtr& call);
void buffer_alloc(const CallPtr& call);
void buffer_unregister(const CallPtr& call);
void buffer_list(const CallPtr& call);
void release_held(ServiceState& state, ConnectionState& connection);  // all of the above; with state.mutex held
// plan_methods.cpp
void plan_create(const CallPtr& call);
void plan_run(const CallPtr& call);
void plan_release(const CallPtr& call);
// ring_methods.cpp
void ring_create(const CallPtr& call);
void ring_attach(const CallPtr& call);
void ring_release(const CallPtr& call);
Status not_in_ring(const ConnectionState& connection, std::uint64_t plan);   // busy; with state.mutex held
// The error `busy` where a plan of the connection holds the buffer or the kernel; with state.mutex held.
Status not_in_plan(const ConnectionState& connection, std::uint64_t buffer);
Status not_in_plan(const ConnectionState& connection, const jit::Key& kernel);
// The session's name of the device that a request calls `name`: a card's number for its UUID or PCI address. May wait for a card's
// process to start. Errors: unknown_target, located at /params/device, with what there is.
Result<std::string> find_device(const ActiveCall& call, const std::string& name);
Result<std::string> read_device(const ActiveCall& call);                   // "device"
Result<device::IpcHandle> read_handle(const protocol::Fields& fields);     // "ipc"
std::string handle_text(const device::IpcHandle& handle);
// event_methods.cpp
void event_import(const CallPtr& call);
void event_export(const CallPtr& call);
void event_release(const CallPtr& call);
void stream_create(const CallPtr& call);
void stream_synchronize(const CallPtr& call);
void stream_cancel(const CallPtr& call);
void stream_release(const CallPtr& call);
// host_methods.cpp
void hello(const CallPtr& call);
void ping(const CallPtr& call);
void discover(const CallPtr& call);
void shut_down(const CallPtr& call);
void program_check(const CallPtr& call);
void program_list(const CallPtr& call);
void program_show(const CallPtr& call);
void device_list(const CallPtr& call);
void engine_stats(const CallPtr& call);
// metrics.cpp
void engine_metrics(const CallPtr& call);
// connection_methods.cpp
void engine_connections(const CallPtr& call);
// What the request is about, in words for people: "gemm for gfx942".
std::string subject_of(const protocol::Json& params);
// cache_methods.cpp
void cache_stats(const CallPtr& call);
void cache_list(const CallPtr& call);
void cache_verify(const CallPtr& call);
void cache_evict(const CallPtr& call);
void cache_export(const CallPtr& call);
void cache_import(const CallPtr& call);

struct NamedKernel {
  std::shared_ptr<const jit::Kernel> kernel;
  std::shared_ptr<const bound::Program> program;   // null: not known
  std::shared_ptr<const KernelSource> source;      // null: not known
};
// The kernel that `params`, at `pointer`, name by "key", or "program" … to be compiled. `next` once, on any thread; at once where
// nothing has to be compiled.
void find_kernel(const CallPtr& call, const protocol::Json& params, const std::string& pointer,
                 std::function<void(Result<NamedKernel>)> next);
// The request's own. `next` on any thread.
void with_kernel(const CallPtr& call, std::function<void(std::shared_ptr<const jit::Kernel>, std::shared_ptr<const bound::Program>)> next);
Result<jit::CompileRequest> read_compile_request(const CallPtr& call);
// What a request with kernel.compile's parameters asks for, at `pointer`; records are not looked at.
Result<jit::CompileRequest> compile_request(const CallPtr& call, const protocol::Json& params, const std::string& pointer);
// Compiles by the tuning record that decides what the request leaves open, where there is one: by the defaults where that
// cannot be compiled at these sizes.
using CompiledFrom = std::function<void(Result<jit::CompileOutcome>, std::shared_ptr<const KernelSource>)>;
void compile_tuned(const CallPtr& call, const protocol::Json& params, jit::CompileRequest request, CompiledFrom done);

}  // namespace kiln::service
