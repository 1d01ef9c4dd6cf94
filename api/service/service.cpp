#include "api/service/service.hpp"

#include <unistd.h>

#include <algorithm>

#include "api/service/state.hpp"

namespace kiln::service {

using protocol::Json;

ThreadPool::ThreadPool(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    for (auto* idle : idle_) idle->wake.notify_one();
  }
  for (auto& thread : threads_) thread.join();
}

std::uint64_t ThreadPool::run(std::function<void()> job) {
  std::lock_guard lock(mutex_);
  const auto ticket = next_++;
  jobs_.emplace_hint(jobs_.end(), ticket, std::move(job));
  if (idle_.empty()) return ticket;
  idle_.back()->called = true;
  idle_.back()->wake.notify_one();
  idle_.pop_back();
  return ticket;
}

std::function<void()> ThreadPool::withdraw(std::uint64_t ticket) {
  std::lock_guard lock(mutex_);
  auto job = jobs_.extract(ticket);
  return job ? std::move(job.mapped()) : nullptr;
}

void ThreadPool::work() {
  Idle self;
  std::unique_lock lock(mutex_);
  for (;;) {
    while (!jobs_.empty()) {
      auto job = std::move(jobs_.begin()->second);
      jobs_.erase(jobs_.begin());
      lock.unlock();
      job();
      job = nullptr;  // what it holds ends here, not under the lock
      lock.lock();
    }
    if (ending_) return;
    self.called = false;
    idle_.push_back(&self);
    self.wake.wait(lock, [&] { return self.called || ending_; });
    if (!self.called) std::erase(idle_, &self);  // woken by the end: nobody may call a thread that returns
  }
}

DeadlineWatch::DeadlineWatch() : thread_([this] { work(); }) {}

DeadlineWatch::~DeadlineWatch() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::uint64_t DeadlineWatch::add(const Deadline& deadline, std::function<void()> job) {
  if (deadline.never()) return 0;
  std::lock_guard lock(mutex_);
  const auto id = next_++;
  keep({id, deadline, std::move(job)});
  if (waiting_.begin()->second.id == id) wake_.notify_all();
  return id;
}

void DeadlineWatch::remove(std::uint64_t id) {
  Entries::node_type entry;   // goes without the lock
  std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  entry = waiting_.extract(found->second);
  by_id_.erase(found);
}

void DeadlineWatch::keep(Entry entry) {
  const auto id = entry.id;
  const auto time = Clock::now() + std::chrono::milliseconds(entry.deadline.left_ms());
  by_id_[id] = waiting_.emplace(time, std::move(entry));
}

std::size_t DeadlineWatch::waiting() {
  std::lock_guard lock(mutex_);
  return waiting_.size();
}

void DeadlineWatch::work() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (waiting_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const auto first = waiting_.begin()->first;   // a copy: the entry may be removed meanwhile
    if (first > Clock::now()) {
      wake_.wait_until(lock, first);
      continue;
    }
    auto entry = std::move(waiting_.extract(waiting_.begin()).mapped());
    by_id_.erase(entry.id);
    if (!entry.deadline.passed()) {   // further away than left_ms tells
      keep(std::move(entry));
      continue;
    }
    lock.unlock();
    entry.job();
    entry = {};
    lock.lock();
  }
}

namespace {

std::uint64_t memory_bytes_max(const protocol::Limits& limits) {
  if (limits.buffer_bytes_max > 0) return limits.buffer_bytes_max;
  return std::uint64_t(::sysconf(_SC_PHYS_PAGES)) * std::uint64_t(::sysconf(_SC_PAGESIZE)) / 2;
}

}  // namespace

ServiceState::ServiceState(ServiceOptions o, std::shared_ptr<jit::Session> s)
    : options(std::move(o)), session(std::move(s)), catalog(options.programs_folder),
      memory(std::make_shared<MemoryBudget>(memory_bytes_max(options.limits))) {}

namespace {

class ServiceImpl final : public Service {
 public:
  ServiceImpl(ServiceOptions options, std::shared_ptr<jit::Session> session) : state_(std::move(options), std::move(session)) {}

  // Answered is not over: jobs that hold their connection's turn still use the state.
  ~ServiceImpl() override {
    std::vector<ConnectionId> open;
    std::unique_lock lock(state_.mutex);
    for (const auto& [id, connection] : state_.connections) open.push_back(id);
    lock.unlock();
    for (const auto id : open) disconnected(id);
    lock.lock();
    state_.idle.wait(lock, [this] { return state_.running == 0 && state_.ordered == 0; });
  }

  void connected(ConnectionId id, const Peer& peer) override {
    auto connection = std::make_shared<ConnectionState>();
    connection->id = id;
    connection->peer = peer;
    std::lock_guard lock(state_.mutex);
    connection->streams[0].number = state_.stream_next++;
    state_.connections.emplace(id, std::move(connection));
  }

  void disconnected(ConnectionId id) override {
    ConnectionPtr connection;
    std::vector<CallPtr> calls;
    std::vector<std::function<void()>> stops;
    {
      std::lock_guard lock(state_.mutex);
      const auto it = state_.connections.find(id);
      if (it == state_.connections.end()) return;
      connection = it->second;
      connection->gone = true;
      state_.connections.erase(it);
      add_calls(*connection, calls);
      add_enqueued(*connection, stops);
      if (connection->nothing_ordered()) release_held(state_, *connection);
    }
    for (const auto& stop : stops) stop();
    for (const auto& call : calls) stop_call(*call, ErrorCode::cancelled);
  }

  void call(Call call) override {
    const auto* method = method_named(call.request.method);
    const auto id = call.request.id.is_null() ? std::string() : protocol::dump(call.request.id);
    CallPtr active;
    bool draining = false, id_in_use = false;
    {
      std::lock_guard lock(state_.mutex);
      const auto it = state_.connections.find(call.connection);
      if (it == state_.connections.end()) return;
      auto& connection = *it->second;
      draining = state_.draining;
      ++state_.running;
      ++state_.requests;
      ++connection.requests;
      const auto number = state_.call_next++;
      const auto token = call.cancel;
      active = std::make_shared<ActiveCall>(state_, std::move(call), it->second, number);
      active->method = method;
      connection.calls.emplace(number, RunningCall{active, token, false, nullptr});
      if (!id.empty()) id_in_use = !connection.call_ids.emplace(id, number).second;
    }
    if (id_in_use) return active->answer(Error(ErrorCode::protocol_error, "a request with this id is in flight: " + id));
    if (!method) return active->answer(Error(ErrorCode::method_not_found, "no method \"" + active->call.request.method.substr(0, 100) + "\"; rpc.discover lists them"));
    if (draining) return active->answer(Error(ErrorCode::busy, "the daemon is ending", true));
    if (method->administrator && !active->connection->peer.administrator)
      return active->answer(Error(ErrorCode::permission_denied, std::string(method->name) + " is for the daemon's own user"));
    if (auto status = check_params(*method, active->params()); !status) return active->answer(std::move(status).error());
    if (method->runs == MethodInfo::Runs::at_once) return method->run(active);
    auto& threads = method->runs == MethodInfo::Runs::long_work ? state_.long_work : state_.pool;
    ActiveCall::begin_waiting(active);   // for a thread
    ActiveCall::run_on(active, threads, [method, active] {
      if (active->begin_work()) method->run(active);
    });
  }

  void cancel(ConnectionId id, const Json& request) override {
    CallPtr call;
    {
      std::lock_guard lock(state_.mutex);
      const auto it = state_.connections.find(id);
      if (it == state_.connections.end()) return;
      const auto number = it->second->call_ids.find(protocol::dump(request));
      if (number != it->second->call_ids.end()) call = it->second->calls.at(number->second).call.lock();
    }
    if (call) stop_call(*call, ErrorCode::cancelled);
  }

  std::uint64_t calls_running() override {
    std::lock_guard lock(state_.mutex);
    auto running = state_.running;  // and launches that were answered when they were enqueued
    for (const auto& [id, connection] : state_.connections)
      for (const auto& [name, stream] : connection->streams) running += stream.running.size();
    return running;
  }

  std::string metrics() override { return metrics_text(state_); }

  void drain() override {
    std::lock_guard lock(state_.mutex);
    state_.draining = true;
  }

  void cancel_all() override {
    std::vector<CallPtr> calls;
    std::vector<std::function<void()>> stops;
    {
      std::lock_guard lock(state_.mutex);
      for (const auto& [id, connection] : state_.connections) {
        add_calls(*connection, calls);
        add_enqueued(*connection, stops);
      }
    }
    for (const auto& stop : stops) stop();
    for (const auto& call : calls) stop_call(*call, ErrorCode::cancelled);
  }

 private:
  // With the lock held. `calls` is to outlive it: a call that goes answers, which takes the lock.
  static void add_calls(const ConnectionState& connection, std::vector<CallPtr>& calls) {
    for (const auto& [number, running] : connection.calls)
      if (auto call = running.call.lock()) calls.push_back(std::move(call));
  }

  // Launches that were answered when they were enqueued; with the lock held.
  static void add_enqueued(const ConnectionState& connection, std::vector<std::function<void()>>& stops) {
    for (const auto& [id, stream] : connection.streams)
      for (const auto& [number, launch] : stream.running) stops.push_back(launch.stop);
  }

  // Unknown and missing parameters by the method's own table, the one that rpc.discover shows.
  static Status check_params(const MethodInfo& method, const Json& params) {
    const protocol::Fields fields(params, "/params");
    for (const auto& [name, value] : params.items()) {
      const bool known = name == "deadline_ms" || std::any_of(method.params.begin(), method.params.end(),
                                                              [&](const ParamInfo& p) { return name == p.name; });
      if (known) continue;
      std::string list = "deadline_ms";
      for (const auto& p : method.params) list += std::string(", ") + p.name;
      Error error(ErrorCode::invalid_argument, "/params/" + name.substr(0, 100) + ": " + method.name + " has no such parameter; it has " + list);
      Diagnostic d;
      d.pointer = "/params/" + name.substr(0, 100);
      d.message = "unknown parameter";
      d.expected = "one of " + list;
      error.diagnostics.push_back(std::move(d));
      return error;
    }
    for (const auto& p : method.params)
      if (p.required && !fields.has(p.name)) return fields.error(p.name, p.summary);
    return ok();
  }

  ServiceState state_;
};

}  // namespace

std::string request_name(ConnectionId connection, std::uint64_t number) {
  return "c" + std::to_string(connection) + ".r" + std::to_string(number);
}

std::unique_ptr<Service> Service::create(ServiceOptions options, std::shared_ptr<jit::Session> session) {
  return std::make_unique<ServiceImpl>(std::move(options), std::move(session));
}

}  // namespace kiln::service
