// One call's life: its answer, its stop, and its place in its connection's order.
#include <algorithm>
#include <cstdio>

#include "api/service/state.hpp"

namespace kiln::service {

using protocol::Json;

namespace {

Error stopped(ErrorCode why) {
  if (why == ErrorCode::cancelled) return Error(why, "cancelled");
  return Error(why, "the request was not done at its deadline", true);
}

// Whether an error tells of trouble here, and not of the request.
bool is_ours(ErrorCode code) {
  switch (code) {
    case ErrorCode::internal:
    case ErrorCode::io_error:
    case ErrorCode::disk_full:
    case ErrorCode::corrupt:
    case ErrorCode::worker_died:
    case ErrorCode::no_compiler:
    case ErrorCode::device_lost:
    case ErrorCode::out_of_memory: return true;
    default: return false;
  }
}

}  // namespace

ActiveCall::~ActiveCall() {
  if (!answered_) answer(Error(ErrorCode::internal, "the request ended without an answer"));
}

void ActiveCall::progress(Json value) {
  if (const auto stage = value.find("stage"); stage != value.end()) {
    const std::lock_guard lock(stage_mutex_);
    stage_ = stage->get<std::string>();
  }
  call.progress(std::move(value));
}

std::string ActiveCall::stage() const {
  const std::lock_guard lock(stage_mutex_);
  return stage_;
}

// What the daemon itself had trouble with is always worth a line; the rest where every request is logged.
void ActiveCall::log_answer(const Reply& reply) const {
  const auto& log = state.options.log;
  const bool ours = !reply.result && is_ours(reply.result.error().code);
  if (!log || (!ours && !state.options.logs_requests)) return;
  char took[32];
  std::snprintf(took, sizeof took, "%.3f ms", age_ms());
  auto line = name() + " (pid " + std::to_string(connection->peer.pid) + ") " + call.request.method.substr(0, 100);
  if (const auto subject = subject_of(params()); !subject.empty()) line += " " + subject;
  line += reply.result ? std::string(" answered in ") + took : std::string(" failed in ") + took + ": " +
          error_name(reply.result.error().code) + ", " + reply.result.error().message;
  log(ours ? LogLevel::warning : LogLevel::debug, line);
}

void ActiveCall::answer(Reply reply) {
  if (answered_.exchange(true)) return;
  log_answer(reply);
  state.times.add(method, age_ms());
  if (const auto entry = deadline_entry_.load()) state.deadlines.remove(entry);
  call.fds.clear();   // the call may be held for long: by a launch that runs on, by a stream's order
  {
    std::lock_guard lock(state.mutex);
    connection->calls.erase(number);
    if (!call.request.id.is_null()) {
      const auto it = connection->call_ids.find(protocol::dump(call.request.id));
      if (it != connection->call_ids.end() && it->second == number) connection->call_ids.erase(it);
    }
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

bool ActiveCall::begin_work() {
  std::lock_guard lock(state.mutex);
  const auto it = connection->calls.find(number);
  if (it == connection->calls.end()) return false;
  it->second.waiting = false;
  it->second.pool = nullptr;
  return true;
}

void ActiveCall::work_stops_by(std::function<void()> stop_work) {
  bool stop_now = false;
  {
    std::lock_guard lock(state.mutex);
    const auto it = connection->calls.find(number);
    if (it == connection->calls.end()) return;
    it->second.stop_work = stop_work;
    stop_now = !not_stopped();  // it may have been stopped when there was nothing to tell yet
  }
  if (stop_now) stop_work();
}

void ActiveCall::wait_again() {
  std::function<void()> old;
  {
    std::lock_guard lock(state.mutex);
    const auto it = connection->calls.find(number);
    if (it == connection->calls.end()) return;
    it->second.waiting = true;
    old = std::exchange(it->second.stop_work, nullptr);
  }
  if (auto status = not_stopped(); !status) answer(std::move(status).error());
}

Status ActiveCall::not_stopped() const {
  if (call.cancel.cancelled()) return stopped(ErrorCode::cancelled);
  if (call.deadline.passed()) return stopped(ErrorCode::deadline_exceeded);
  return ok();
}

void ActiveCall::watch_deadline(const CallPtr& call) {
  const auto entry = call->state.deadlines.add(call->call.deadline, [weak = std::weak_ptr(call)] {
    if (const auto alive = weak.lock()) stop_call(*alive, ErrorCode::deadline_exceeded);
  });
  call->deadline_entry_ = entry;
  if (call->answered_) call->state.deadlines.remove(entry);  // its answer came before it could know the entry
}

void ActiveCall::begin_waiting(const CallPtr& call) {
  {
    std::lock_guard lock(call->state.mutex);
    const auto it = call->connection->calls.find(call->number);
    if (it == call->connection->calls.end()) return;
    it->second.waiting = true;
  }
  watch(call);
}

// Under the lock, so that whoever stops the call finds the job; once the job can begin its work the state is not used.
void ActiveCall::run_on(const CallPtr& call, ThreadPool& threads, std::function<void()> job) {
  std::lock_guard lock(call->state.mutex);
  const auto it = call->connection->calls.find(call->number);
  if (it == call->connection->calls.end()) return;
  it->second.pool = &threads;
  it->second.ticket = threads.run(std::move(job));
}

void ActiveCall::watch(const CallPtr& call) {
  if (call->deadline_entry_ == 0) watch_deadline(call);
  if (call->call.cancel.cancelled()) stop_call(*call, ErrorCode::cancelled);
}

// ---- the order of a stream ------------------------------------------------------------------------------------------

namespace {

// The stream's next job when it may begin: it has the turn then. With the lock held.
std::function<void(TurnPtr)> take_next(StreamState& stream) {
  if (stream.taken || stream.ordered.empty()) return nullptr;
  if (stream.ahead > 0 && !stream.ordered.front().order.ahead) return nullptr;
  stream.taken = true;
  return std::exchange(stream.ordered.front().run, nullptr);
}

void begin_next(ServiceState& state, const ConnectionPtr& connection, std::uint64_t stream) {
  std::function<void(TurnPtr)> next;
  {
    std::lock_guard lock(state.mutex);
    const auto found = connection->streams.find(stream);
    if (found != connection->streams.end()) next = take_next(found->second);
  }
  if (next) next(std::make_shared<Turn>(state, connection, stream));
}

// Something is over on the stream: `change` says so, and what waited for it begins.
void move_on(ServiceState& state, const ConnectionPtr& connection, std::uint64_t id, void (*change)(StreamState&)) {
  std::function<void(TurnPtr)> next;
  {
    std::lock_guard lock(state.mutex);
    auto& stream = connection->streams.at(id);
    change(stream);
    next = take_next(stream);
    if (stream.released && stream.quiet()) connection->streams.erase(id);
    if (connection->gone && connection->nothing_ordered()) release_held(state, *connection);
  }
  if (next) next(std::make_shared<Turn>(state, connection, id));
  next = nullptr;   // it holds its call
  std::lock_guard lock(state.mutex);
  --state.ordered;
  state.idle.notify_all();
}

// What the call has in the queue and what has not got its turn; with the lock held. Whether there was something.
bool take_queued(ServiceState& state, StreamState& stream, std::uint64_t call, std::vector<OrderedJob>& taken) {
  auto& jobs = stream.ordered;
  const auto waiting = jobs.begin() + (stream.taken ? 1 : 0);
  const auto queued = std::find_if(waiting, jobs.end(), [&](const OrderedJob& job) { return job.call == call; });
  if (queued == jobs.end()) return false;
  if (queued->order.releases) stream.released = false;
  taken.push_back(std::move(*queued));
  jobs.erase(queued);
  --state.ordered;
  return true;
}

}  // namespace

void stop_call(ActiveCall& call, ErrorCode why) {
  std::function<void()> stop_work;
  std::vector<OrderedJob> taken;  // go without the lock: they hold calls
  std::function<void()> job;      // so does this
  std::vector<std::uint64_t> moved;
  {
    std::lock_guard lock(call.state.mutex);
    auto& connection = *call.connection;
    const auto it = connection.calls.find(call.number);
    if (it == connection.calls.end()) return;
    if (why == ErrorCode::cancelled) it->second.token.cancel();
    if (!it->second.waiting) {
      stop_work = it->second.stop_work;
    } else {
      if (it->second.pool) job = it->second.pool->withdraw(it->second.ticket);
      for (auto& [id, stream] : connection.streams)
        if (take_queued(call.state, stream, call.number, taken)) moved.push_back(id);
    }
    if (!it->second.waiting && !stop_work) return;
  }
  job = nullptr;
  for (const auto id : moved) begin_next(call.state, call.connection, id);  // who waited behind it may not have to
  if (stop_work) stop_work();
  else call.answer(stopped(why));
}

bool ConnectionState::nothing_ordered() const {
  return std::all_of(streams.begin(), streams.end(), [](const auto& entry) { return entry.second.quiet(); });
}

Turn::~Turn() {
  move_on(state_, connection_, stream_, [](StreamState& stream) {
    stream.ordered.pop_front();
    stream.taken = false;
  });
}

Ahead::Ahead(ServiceState& state, ConnectionPtr connection, std::uint64_t stream)
    : state_(state), connection_(std::move(connection)), stream_(stream) {
  std::lock_guard lock(state_.mutex);
  ++connection_->streams.at(stream_).ahead;
  ++state_.ordered;
}

Ahead::~Ahead() {
  move_on(state_, connection_, stream_, [](StreamState& stream) { --stream.ahead; });
}

namespace {

// With the lock held.
void put_in_order(ServiceState& state, StreamState& stream, std::uint64_t call, InOrder order,
                  std::function<void(TurnPtr)> job) {
  stream.ordered.push_back({call, std::move(job), order});
  ++state.ordered;
}

// Turns of several streams, until all are there. When the call is stopped, its queued jobs go, and this with them.
struct Gathering {
  std::mutex mutex;
  std::size_t wanted = 0;
  std::vector<TurnPtr> turns;
  std::function<void(std::vector<TurnPtr>)> job;

  void add(TurnPtr turn) {
    {
      std::lock_guard lock(mutex);
      turns.push_back(std::move(turn));
      if (turns.size() < wanted) return;
    }
    job(std::move(turns));
  }
};

}  // namespace

void run_in_order(const CallPtr& call, std::uint64_t stream, InOrder order, std::function<void(TurnPtr)> job) {
  auto& state = call->state;
  auto& connection = *call->connection;
  bool known = true;
  {
    std::lock_guard lock(state.mutex);
    const auto it = connection.calls.find(call->number);
    if (it == connection.calls.end()) return;
    const auto found = connection.streams.find(stream);
    known = found != connection.streams.end() && !found->second.released;
    if (known) {
      it->second.waiting = true;
      put_in_order(state, found->second, call->number, order, std::move(job));
      found->second.released = order.releases;
    }
  }
  if (!known)
    return call->answer(Error(ErrorCode::not_found, "this connection has no stream " + std::to_string(stream)));
  ActiveCall::watch(call);
  begin_next(state, call->connection, stream);
}

void run_behind_all(const CallPtr& call, std::function<void(std::vector<TurnPtr>)> job) {
  auto& state = call->state;
  auto& connection = *call->connection;
  auto gathering = std::make_shared<Gathering>();
  gathering->job = std::move(job);
  std::vector<std::uint64_t> streams;
  {
    std::lock_guard lock(state.mutex);
    const auto it = connection.calls.find(call->number);
    if (it == connection.calls.end()) return;
    it->second.waiting = true;
    gathering->wanted = connection.streams.size();
    for (auto& [id, stream] : connection.streams) {
      put_in_order(state, stream, call->number, {}, [gathering](TurnPtr turn) { gathering->add(std::move(turn)); });
      streams.push_back(id);
    }
  }
  gathering = nullptr;   // the streams' now
  ActiveCall::watch(call);
  for (const auto id : streams) begin_next(state, call->connection, id);
}

void keep_stream(ActiveCall& call, std::uint64_t stream) {
  std::lock_guard lock(call.state.mutex);
  call.connection->streams.at(stream).released = false;
}

Status take_stream_error(ActiveCall& call, std::uint64_t stream) {
  std::optional<Error> error;
  {
    std::lock_guard lock(call.state.mutex);
    const auto found = call.connection->streams.find(stream);
    if (found != call.connection->streams.end()) error = std::exchange(found->second.error, std::nullopt);
  }
  if (!error) return ok();
  return std::move(*error).with("it is of an earlier launch of this stream, which had been answered when it was enqueued");
}

}  // namespace kiln::service
