// What the service's methods share. Internal to the room.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "api/service/buffers.hpp"
#include "api/service/programs.hpp"
#include "api/service/service.hpp"

namespace kiln::service {

// A few threads for what may take long: specialization, interpretation, whole-cache scans, copies. The thread that went idle
// last runs the next job: its stack and its memory are in the processor's caches.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();  // runs what is queued, then joins
  void run(std::function<void()> job);

 private:
  struct Idle {
    std::condition_variable wake;
    bool called = false;
  };
  void work();
  std::mutex mutex_;
  std::vector<Idle*> idle_;
  std::deque<std::function<void()>> jobs_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

// Calls functions when their time has come; a thread of its own, asleep while nothing is due.
class DeadlineWatch {
 public:
  DeadlineWatch();
  ~DeadlineWatch();
  std::uint64_t add(const Deadline& deadline, std::function<void()> job);  // 0 for a deadline that never passes
  void remove(std::uint64_t id);

 private:
  void work();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::uint64_t, std::pair<Deadline, std::function<void()>>> waiting_;
  std::uint64_t next_ = 1;
  bool ending_ = false;
  std::thread thread_;
};

struct ActiveCall;
using CallPtr = std::shared_ptr<ActiveCall>;

// How a running call is stopped: its token, and what else must be told (a device).
struct Stopper {
  CancelToken token;
  std::function<void()> also;
};

struct ConnectionState {
  ConnectionId id = 0;
  Peer peer;
  bool gone = false;
  std::map<std::uint64_t, std::shared_ptr<Buffer>> buffers;
  std::uint64_t buffer_next = 1;
  std::unordered_map<std::string, Stopper> calls;                              // by dumped request id
  std::unordered_map<std::string, std::shared_ptr<const bound::Program>> programs;  // by key: this client's own argument names
  std::deque<std::function<void()>> launches;                                  // in order; the front one is running
};
using ConnectionPtr = std::shared_ptr<ConnectionState>;

struct ServiceState {
  ServiceOptions options;
  std::shared_ptr<jit::Session> session;
  ProgramCatalog catalog;
  std::uint64_t buffer_bytes_max = 0;

  std::mutex mutex;  // of everything below
  std::condition_variable idle;
  std::unordered_map<ConnectionId, ConnectionPtr> connections;
  std::uint64_t buffer_bytes = 0, running = 0, requests = 0, errors = 0, launches = 0;
  bool draining = false;
  struct Memo {
    std::string key_hex, rest;                       // rest: outcome_rest
    std::shared_ptr<const bound::Program> program;
    std::weak_ptr<const jit::Kernel> kernel;
    std::uint64_t compilers = 0;                     // Session::compilers when the request came that made this
  };
  std::unordered_map<std::string, Memo> hits;  // answers to compile requests that named a known program

  DeadlineWatch deadlines;
  ThreadPool pool{8};                          // last: its jobs use the rest

  ServiceState(ServiceOptions o, std::shared_ptr<jit::Session> s)
      : options(std::move(o)), session(std::move(s)), catalog(options.programs_folder) {}
};

// One request being served; answers exactly once (a dropped call answers with internal).
struct ActiveCall {
  ActiveCall(ServiceState& state, Call call, ConnectionPtr connection)
      : state(state), call(std::move(call)), connection(std::move(connection)), fields(this->call.request.params, "/params") {}
  ~ActiveCall();
  void answer(Reply reply);
  void answer_text(std::string json, std::vector<UniqueFd> fds = {});
  [[nodiscard]] const protocol::Json& params() const { return call.request.params; }

  ServiceState& state;
  Call call;
  ConnectionPtr connection;
  protocol::Fields fields;

 private:
  std::atomic<bool> answered_{false};
};

struct ParamInfo { const char* name; const char* type; bool required; const char* summary; };
struct MethodInfo {
  const char* name;
  const char* summary;
  bool administrator;  // refused to peers that are let in by group
  bool quick;          // runs on the server's thread
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
// launch_methods.cpp
void kernel_launch(const CallPtr& call);
void kernel_verify(const CallPtr& call);
// Runs `job` when everything that the connection put in order before it is done; the job calls `done` once, from any thread.
void run_in_order(const CallPtr& call, std::function<void(std::function<void()> done)> job);
// buffer_methods.cpp
void buffer_register(const CallPtr& call);
void buffer_alloc(const CallPtr& call);
void buffer_unregister(const CallPtr& call);
void buffer_list(const CallPtr& call);
void release_buffers(ServiceState& state, ConnectionState& connection);  // with state.mutex held
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
void cache_stats(const CallPtr& call);
void cache_list(const CallPtr& call);
void cache_verify(const CallPtr& call);
void cache_evict(const CallPtr& call);

// A kernel named by "key", or compiled from "program" … in the same request. `next` on any thread.
void with_kernel(const CallPtr& call, std::function<void(std::shared_ptr<const jit::Kernel>, std::shared_ptr<const bound::Program>)> next);
Result<jit::CompileRequest> read_compile_request(const CallPtr& call);

}  // namespace kiln::service
