// One call's life: its answer, its stop, and its place in its connection's order.
#include <algorithm>

#include "api/service/state.hpp"

namespace kiln::service {

using protocol::Json;

namespace {

Error stopped(ErrorCode why) {
  if (why == ErrorCode::cancelled) return Error(why, "cancelled");
  return Error(why, "the request was not done at its deadline", true);
}

}  // namespace

ActiveCall::~ActiveCall() {
  if (!answered_) answer(Error(ErrorCode::internal, "the request ended without an answer"));
}

void ActiveCall::answer(Reply reply) {
  if (answered_.exchange(true)) return;
  if (const auto entry = deadline_entry_.load()) state.deadlines.remove(entry);
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

namespace {

// What the call has in the queue and what has not got its turn; with the lock held.
void take_queued(ServiceState& state, std::deque<OrderedJob>& jobs, std::uint64_t call, std::vector<OrderedJob>& taken) {
  if (jobs.empty()) return;
  const auto queued = std::find_if(jobs.begin() + 1, jobs.end(), [&](const OrderedJob& job) { return job.call == call; });
  if (queued == jobs.end()) return;
  taken.push_back(std::move(*queued));
  jobs.erase(queued);
  --state.ordered;
}

}  // namespace

void stop_call(ActiveCall& call, ErrorCode why) {
  std::function<void()> stop_work;
  std::vector<OrderedJob> taken;  // go without the lock: they hold calls
  {
    std::lock_guard lock(call.state.mutex);
    auto& connection = *call.connection;
    const auto it = connection.calls.find(call.number);
    if (it == connection.calls.end()) return;
    if (why == ErrorCode::cancelled) it->second.token.cancel();
    if (!it->second.waiting) {
      stop_work = it->second.stop_work;
    } else {
      for (auto& [id, stream] : connection.streams) take_queued(call.state, stream.ordered, call.number, taken);
    }
    if (!it->second.waiting && !stop_work) return;
  }
  if (stop_work) stop_work();
  else call.answer(stopped(why));
}

bool ConnectionState::nothing_ordered() const {
  return std::all_of(streams.begin(), streams.end(), [](const auto& entry) { return entry.second.ordered.empty(); });
}

Turn::~Turn() {
  std::function<void(TurnPtr)> finished, next;  // go without the lock: they hold calls
  {
    std::lock_guard lock(state_.mutex);
    auto& stream = connection_->streams.at(stream_);
    auto& jobs = stream.ordered;
    finished = std::move(jobs.front().run);
    jobs.pop_front();
    if (!jobs.empty()) next = std::move(jobs.front().run);
    else if (stream.released) connection_->streams.erase(stream_);
    if (connection_->gone && connection_->nothing_ordered()) release_held(state_, *connection_);
  }
  finished = nullptr;
  if (next) next(std::make_shared<Turn>(state_, connection_, stream_));
  next = nullptr;
  std::lock_guard lock(state_.mutex);
  --state_.ordered;
  state_.idle.notify_all();
}

namespace {

// Puts the job at the end of the stream; whether it has its turn at once, and then it is not kept. With the lock held.
bool put_in_order(ServiceState& state, StreamState& stream, std::uint64_t call, std::function<void(TurnPtr)> job) {
  const bool first = stream.ordered.empty();
  stream.ordered.push_back({call, first ? nullptr : std::move(job)});
  ++state.ordered;
  return first;
}

void begin_waiting(const CallPtr& call) {
  ActiveCall::watch_deadline(call);
  if (call->call.cancel.cancelled()) stop_call(*call, ErrorCode::cancelled);
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

void run_in_order(const CallPtr& call, std::uint64_t stream, std::function<void(TurnPtr)> job, bool release) {
  auto& state = call->state;
  auto& connection = *call->connection;
  bool first = false, known = true;
  {
    std::lock_guard lock(state.mutex);
    const auto it = connection.calls.find(call->number);
    if (it == connection.calls.end()) return;
    const auto found = connection.streams.find(stream);
    known = found != connection.streams.end() && !found->second.released;
    if (known) {
      it->second.waiting = true;
      first = put_in_order(state, found->second, call->number, job);
      found->second.released = release;
    }
  }
  if (!known) return call->answer(Error(ErrorCode::not_found, "this connection has no stream " + std::to_string(stream)));
  begin_waiting(call);
  if (first) job(std::make_shared<Turn>(state, call->connection, stream));
}

void run_behind_all(const CallPtr& call, std::function<void(std::vector<TurnPtr>)> job) {
  auto& state = call->state;
  auto& connection = *call->connection;
  auto gathering = std::make_shared<Gathering>();
  gathering->job = std::move(job);
  std::vector<std::uint64_t> first;
  {
    std::lock_guard lock(state.mutex);
    const auto it = connection.calls.find(call->number);
    if (it == connection.calls.end()) return;
    it->second.waiting = true;
    gathering->wanted = connection.streams.size();
    for (auto& [id, stream] : connection.streams)
      if (put_in_order(state, stream, call->number, [gathering](TurnPtr turn) { gathering->add(std::move(turn)); })) first.push_back(id);
  }
  begin_waiting(call);
  for (const auto id : first) gathering->add(std::make_shared<Turn>(state, call->connection, id));
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
