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

void ThreadPool::run(std::function<void()> job) {
  std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  if (idle_.empty()) return;
  idle_.back()->called = true;
  idle_.back()->wake.notify_one();
  idle_.pop_back();
}

void ThreadPool::work() {
  Idle self;
  std::unique_lock lock(mutex_);
  for (;;) {
    while (!jobs_.empty()) {
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      job = nullptr;  // what it holds ends here, not under the lock
      lock.lock();
    }
    if (ending_) return;
    self.called = false;
    idle_.push_back(&self);
    self.wake.wait(lock, [&] { return self.called || ending_; });
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
  waiting_.emplace(next_, std::make_pair(deadline, std::move(job)));
  wake_.notify_all();
  return next_++;
}

void DeadlineWatch::remove(std::uint64_t id) {
  std::lock_guard lock(mutex_);
  waiting_.erase(id);
}

void DeadlineWatch::work() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    std::vector<std::function<void()>> due;
    int left_ms = -1;
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      const int left = it->second.first.left_ms();
      if (left == 0) {
        due.push_back(std::move(it->second.second));
        it = waiting_.erase(it);
        continue;
      }
      left_ms = left_ms < 0 ? left : std::min(left_ms, left);
      ++it;
    }
    if (!due.empty()) {
      lock.unlock();
      for (const auto& job : due) job();
      lock.lock();
    } else if (left_ms < 0) {
      wake_.wait(lock);
    } else {
      wake_.wait_for(lock, std::chrono::milliseconds(left_ms));
    }
  }
}

ActiveCall::~ActiveCall() {
  if (!answered_) answer(Error(ErrorCode::internal, "the request ended without an answer"));
}

void ActiveCall::answer(Reply reply) {
  if (answered_.exchange(true)) return;
  {
    std::lock_guard lock(state.mutex);
    if (!call.request.id.is_null()) connection->calls.erase(protocol::dump(call.request.id));
    if (!reply.result) ++state.errors;
  }
  call.reply(std::move(reply));
  std::lock_guard lock(state.mutex);
  --state.running;
  state.idle.notify_all();
}

void ActiveCall::answer_text(std::string json, std::vector<UniqueFd> fds) {
  Reply reply(Json{});
  if (call.takes_text) reply.text = std::move(json);
  else reply.result = Json::parse(json, nullptr, false);
  reply.fds = std::move(fds);
  answer(std::move(reply));
}

namespace {

class ServiceImpl final : public Service {
 public:
  ServiceImpl(ServiceOptions options, std::shared_ptr<jit::Session> session) : state_(std::move(options), std::move(session)) {
    state_.buffer_bytes_max = state_.options.limits.buffer_bytes_max;
    if (state_.buffer_bytes_max == 0)
      state_.buffer_bytes_max = std::uint64_t(::sysconf(_SC_PHYS_PAGES)) * std::uint64_t(::sysconf(_SC_PAGESIZE)) / 2;
  }

  ~ServiceImpl() override {
    cancel_all();
    std::unique_lock lock(state_.mutex);
    state_.idle.wait(lock, [this] { return state_.running == 0; });
    lock.unlock();
  }

  void connected(ConnectionId id, const Peer& peer) override {
    auto connection = std::make_shared<ConnectionState>();
    connection->id = id;
    connection->peer = peer;
    std::lock_guard lock(state_.mutex);
    state_.connections.emplace(id, std::move(connection));
  }

  void disconnected(ConnectionId id) override {
    ConnectionPtr connection;
    std::vector<Stopper> stoppers;
    {
      std::lock_guard lock(state_.mutex);
      const auto it = state_.connections.find(id);
      if (it == state_.connections.end()) return;
      connection = it->second;
      connection->gone = true;
      state_.connections.erase(it);
      for (const auto& [call, stopper] : connection->calls) stoppers.push_back(stopper);
      if (connection->launches.empty()) release_buffers(state_, *connection);
    }
    for (const auto& stopper : stoppers) stop(stopper);
  }

  void call(Call call) override {
    const auto* method = method_named(call.request.method);
    CallPtr active;
    bool draining = false;
    {
      std::lock_guard lock(state_.mutex);
      const auto it = state_.connections.find(call.connection);
      if (it == state_.connections.end()) return;
      draining = state_.draining;
      ++state_.running;
      ++state_.requests;
      if (!call.request.id.is_null()) it->second->calls[protocol::dump(call.request.id)] = Stopper{call.cancel, nullptr};
      active = std::make_shared<ActiveCall>(state_, std::move(call), it->second);
    }
    if (!method) return active->answer(Error(ErrorCode::method_not_found, "no method \"" + active->call.request.method.substr(0, 100) + "\"; rpc.discover lists them"));
    if (draining) return active->answer(Error(ErrorCode::busy, "the daemon is ending", true));
    if (method->administrator && !active->connection->peer.administrator)
      return active->answer(Error(ErrorCode::permission_denied, std::string(method->name) + " is for the daemon's own user"));
    if (auto status = check_params(*method, active->params()); !status) return active->answer(std::move(status).error());
    if (method->quick) return method->run(active);
    state_.pool.run([method, active] { method->run(active); });
  }

  void cancel(ConnectionId id, const Json& request) override {
    std::optional<Stopper> stopper;
    {
      std::lock_guard lock(state_.mutex);
      const auto it = state_.connections.find(id);
      if (it == state_.connections.end()) return;
      const auto call = it->second->calls.find(protocol::dump(request));
      if (call != it->second->calls.end()) stopper = call->second;
    }
    if (stopper) stop(*stopper);
  }

  std::uint64_t calls_running() override {
    std::lock_guard lock(state_.mutex);
    return state_.running;
  }

  void drain() override {
    std::lock_guard lock(state_.mutex);
    state_.draining = true;
  }

  void cancel_all() override {
    std::vector<Stopper> stoppers;
    {
      std::lock_guard lock(state_.mutex);
      for (const auto& [id, connection] : state_.connections)
        for (const auto& [call, stopper] : connection->calls) stoppers.push_back(stopper);
    }
    for (const auto& stopper : stoppers) stop(stopper);
  }

 private:
  static void stop(const Stopper& stopper) {
    stopper.token.cancel();
    if (stopper.also) stopper.also();
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

std::unique_ptr<Service> Service::create(ServiceOptions options, std::shared_ptr<jit::Session> session) {
  return std::make_unique<ServiceImpl>(std::move(options), std::move(session));
}

}  // namespace kiln::service
