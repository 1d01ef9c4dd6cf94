#include "api/client/ring.hpp"

#include <poll.h>
#include <sched.h>

#include <chrono>

#include "engine/base/os.hpp"
#include "engine/base/ring_wait.hpp"

namespace kiln::client {

using protocol::Json;

Result<std::unique_ptr<Ring>> Ring::create(Client& client, const std::string& device, std::uint32_t slots) {
  std::unique_ptr<Ring> ring(new Ring(client));
  auto answer = client.call("ring.create", Json{{"device", device}, {"slots", slots}});
  if (!answer && answer.error().code == ErrorCode::method_not_found) return ring;
  if (!answer) return std::move(answer).error();
  if (answer->fds.size() != 2) return Error(ErrorCode::protocol_error, "a ring comes with two descriptors");
  KILN_TRY(auto memory, RingMemory::map(answer->fds[0].get(), slots));
  ring->id_ = answer->result.value("ring", std::int64_t(0));
  ring->memory_.emplace(std::move(memory));
  ring->bell_ = std::move(answer->fds[1]);
  return ring;
}

Ring::~Ring() {
  // One that has ended went with its connection, and its number may be another's.
  if (memory_ && take_rings(bell_.get())) (void)client_.call("ring.release", Json{{"ring", id_}});
}

Result<std::optional<std::uint64_t>> Ring::number_of(std::int64_t plan) {
  if (const auto known = numbers_.find(plan); known != numbers_.end()) return known->second;
  const auto answer = client_.call("ring.attach", Json{{"ring", id_}, {"plan", plan}});
  std::optional<std::uint64_t> number;
  if (answer) {
    number = answer->result.value("plan", std::uint64_t(0));
  } else if (answer.error().code != ErrorCode::unsupported) {
    if (take_rings(bell_.get())) return answer.error();
    memory_.reset();   // it has ended with its device's process or its daemon, which the plan has outlived
    return std::optional<std::uint64_t>();
  }
  numbers_[plan] = number;
  return number;
}

Result<double> Ring::run_over_socket(std::int64_t plan) {
  KILN_TRY(const auto answer, client_.call("plan.run", Json{{"plan", plan}}));
  return answer.result.value("duration_ms", 0.0);
}

void Ring::ring_if_asleep() {
  RingMemory::fence();
  if (memory_->load(RingWord::consumer_sleeps) != 0) ring_bell(bell_.get());
}

void Ring::submit(std::uint64_t plan) {
  memory_->put(submitted_, Submission{++serial_, plan});
  memory_->store(RingWord::submitted, ++submitted_);
  ring_if_asleep();
}

Completion Ring::take() {
  const auto completion = memory_->completion(read_);
  memory_->store(RingWord::read, ++read_);
  ring_if_asleep();
  return completion;
}

bool Ring::wait_for_completion() {
  const auto there = [&] { return memory_->load(RingWord::completed) != read_; };
  for (const auto until = std::chrono::steady_clock::now() + ring_awake;;) {
    for (int i = 0; i < ring_looks_a_clock; ++i) {
      if (there()) return true;
      pause_a_little();
    }
    if (std::chrono::steady_clock::now() > until) break;
    ::sched_yield();   // the device's process may be waiting for this very processor
  }
  bool open = true;
  while (open && !there()) {
    memory_->store(RingWord::client_sleeps, 1);
    RingMemory::fence();
    if (!there()) {
      pollfd entry{bell_.get(), POLLIN, 0};
      (void)os::poll(&entry, 1, -1);
      open = take_rings(bell_.get());
    }
    memory_->store(RingWord::client_sleeps, 0);
  }
  return there();
}

Result<double> Ring::run(std::int64_t plan) {
  if (!memory_) return run_over_socket(plan);
  KILN_TRY(const auto number, number_of(plan));
  if (!number) return run_over_socket(plan);
  submit(*number);
  if (!wait_for_completion()) {
    const bool taken = memory_->load(RingWord::taken) == submitted_;
    memory_.reset();
    if (!taken) return run_over_socket(plan);
    return Error(ErrorCode::device_lost, "the ring ended with its device's process while the plan may have run", true);
  }
  const auto completion = take();
  if (completion.serial != serial_)
    return Error(ErrorCode::protocol_error, "a completion of another submission than the one that was made");
  if (completion.status == RunStatus::done) return double(completion.duration_ns) / 1e6;
  return Error(completion.status == RunStatus::device_lost ? ErrorCode::device_lost : ErrorCode::launch_failed,
               "the run ended with status " + std::to_string(static_cast<int>(completion.status)) +
                   "; plan.run tells why in words");
}

}  // namespace kiln::client
