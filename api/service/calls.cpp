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

void stop_call(ActiveCall& call, ErrorCode why) {
  std::function<void()> stop_work;
  OrderedJob taken;  // goes without the lock: it holds calls
  {
    std::lock_guard lock(call.state.mutex);
    auto& connection = *call.connection;
    const auto it = connection.calls.find(call.number);
    if (it == connection.calls.end()) return;
    if (why == ErrorCode::cancelled) it->second.token.cancel();
    if (!it->second.waiting) {
      stop_work = it->second.stop_work;
    } else if (auto& jobs = connection.ordered; !jobs.empty()) {
      const auto queued = std::find_if(jobs.begin() + 1, jobs.end(), [&](const OrderedJob& job) { return job.call == call.number; });
      if (queued != jobs.end()) {
        taken = std::move(*queued);
        jobs.erase(queued);
        --call.state.ordered;
      }
    }
    if (!it->second.waiting && !stop_work) return;
  }
  if (stop_work) stop_work();
  else call.answer(stopped(why));
}

Turn::~Turn() {
  std::function<void(TurnPtr)> finished, next;  // go without the lock: they hold calls
  {
    std::lock_guard lock(state_.mutex);
    auto& jobs = connection_->ordered;
    finished = std::move(jobs.front().run);
    jobs.pop_front();
    if (!jobs.empty()) next = std::move(jobs.front().run);
    else if (connection_->gone) release_buffers(state_, *connection_);
  }
  finished = nullptr;
  if (next) next(std::make_shared<Turn>(state_, connection_));
  next = nullptr;
  std::lock_guard lock(state_.mutex);
  --state_.ordered;
  state_.idle.notify_all();
}

void run_in_order(const CallPtr& call, std::function<void(TurnPtr)> job) {
  auto& state = call->state;
  auto& connection = *call->connection;
  bool first = false;
  {
    std::lock_guard lock(state.mutex);
    const auto it = connection.calls.find(call->number);
    if (it == connection.calls.end()) return;
    it->second.waiting = true;
    first = connection.ordered.empty();
    connection.ordered.push_back({call->number, first ? nullptr : std::move(job)});
    ++state.ordered;
  }
  ActiveCall::watch_deadline(call);
  if (call->call.cancel.cancelled()) stop_call(*call, ErrorCode::cancelled);
  if (first) job(std::make_shared<Turn>(state, call->connection));
}

}  // namespace kiln::service
