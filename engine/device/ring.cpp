#include "engine/device/ring.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "engine/base/os.hpp"
#include "engine/base/ring_wait.hpp"

namespace kiln::device {
namespace {

using Clock = std::chrono::steady_clock;

RunStatus status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found: return RunStatus::not_found;
    case ErrorCode::cancelled: return RunStatus::cancelled;
    case ErrorCode::device_lost: return RunStatus::device_lost;
    case ErrorCode::launch_failed: return RunStatus::launch_failed;
    default: return RunStatus::failed;
  }
}

}  // namespace

Result<std::unique_ptr<RingConsumer>> RingConsumer::start(Device& device, int memory, UniqueFd bell,
                                                          std::uint32_t slots, std::uint64_t stream) {
  KILN_TRY(auto mapped, RingMemory::map(memory, slots));
  std::unique_ptr<RingConsumer> consumer(new RingConsumer(device, std::move(mapped), std::move(bell), stream));
  consumer->thread_ = std::thread([raw = consumer.get()] { raw->consume(); });
  return consumer;
}

RingConsumer::~RingConsumer() {
  stop_.store(1);
  {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  (void)::shutdown(bell_.get(), SHUT_RDWR);   // wakes it
  thread_.join();
}

void RingConsumer::attach(std::uint64_t number, PlanId plan) {
  const std::lock_guard lock(mutex_);
  plans_[number] = plan;
}

void RingConsumer::consume() {
  for (auto until = Clock::now() + ring_awake;;) {
    if (take_next()) {
      until = Clock::now() + ring_awake;
      continue;
    }
    if (!idle_) break;
    for (int i = 0; i < ring_looks_a_clock && !something(); ++i) pause_a_little();
    if (something()) continue;
    if (Clock::now() < until) {
      ::sched_yield();   // the client may be waiting for this very processor
      if (stop_.load() != 0) break;
      continue;
    }
    if (!sleep()) break;
  }
  (void)::shutdown(bell_.get(), SHUT_RDWR);   // the client hears of it
}

// There is a submission, and room for its completion. Counts that no client writes are something, too: to end at.
bool RingConsumer::something() const {
  return memory_.load(RingWord::submitted) != taken_ &&
         completed_ - memory_.load(RingWord::read) != memory_.slots();
}

bool RingConsumer::take_next() {
  idle_ = false;
  if (stop_.load() != 0) return false;
  const auto ahead = memory_.load(RingWord::submitted) - taken_;
  const auto unread = completed_ - memory_.load(RingWord::read);
  if (ahead > memory_.slots() || unread > memory_.slots()) return false;
  idle_ = ahead == 0 || unread == memory_.slots();
  if (idle_) return false;
  const auto submission = memory_.submission(taken_);
  memory_.store(RingWord::taken, ++taken_);
  complete(run(submission));
  return true;
}

bool RingConsumer::sleep() {
  memory_.store(RingWord::consumer_sleeps, 1);
  RingMemory::fence();
  bool there = true;
  if (!something() && stop_.load() == 0) {
    pollfd entry{bell_.get(), POLLIN, 0};
    (void)os::poll(&entry, 1, -1);
    there = take_rings(bell_.get());
  }
  memory_.store(RingWord::consumer_sleeps, 0);
  return there && stop_.load() == 0;
}

void RingConsumer::complete(const Completion& completion) {
  memory_.put(completed_, completion);
  memory_.store(RingWord::completed, ++completed_);
  RingMemory::fence();
  if (memory_.load(RingWord::client_sleeps) != 0) ring_bell(bell_.get());
}

Completion RingConsumer::run(const Submission& submission) {
  std::optional<PlanId> plan;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = plans_.find(submission.plan); found != plans_.end()) plan = found->second;
  }
  if (!plan) return {submission.serial, 0, RunStatus::not_found};
  const auto report = run_plan(*plan);
  if (!report) return {submission.serial, 0, status_of(report.error().code)};
  return {submission.serial, static_cast<std::uint64_t>(report->duration_ms * 1e6), RunStatus::done};
}

Result<LaunchReport> RingConsumer::run_plan(PlanId plan) {
  if (auto ran = device_.run_small_plan(plan, stop_)) return std::move(*ran);
  std::optional<Result<LaunchReport>> report;
  const auto id = device_.run_plan(plan, stream_, [&](Result<LaunchReport> ended) {
    const std::lock_guard lock(mutex_);
    report = std::move(ended);
    changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  const auto over = [&] { return report.has_value(); };
  changed_.wait(lock, [&] { return over() || stop_.load() != 0; });
  if (!over()) {
    lock.unlock();
    device_.cancel(id);
    lock.lock();
    changed_.wait(lock, over);
  }
  return std::move(*report);
}

}  // namespace kiln::device
