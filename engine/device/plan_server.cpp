// Plans and rings of a device process.
#include <thread>

#include "engine/base/os.hpp"
#include "engine/device/device_server.hpp"

namespace kiln::device {

Status Server::handle_plans(Frame& frame) {
  switch (static_cast<DeviceFrame>(frame.kind)) {
    case DeviceFrame::make_plan: {
      KILN_TRY(auto order, decode_plan(frame.payload));
      later([this, order = std::move(order)] { make_plan(order); });
      return {};
    }
    case DeviceFrame::run_plan: {
      KILN_TRY(const auto order, decode_run(frame.payload));
      run_plan(order);
      return {};
    }
    case DeviceFrame::make_ring: {
      KILN_TRY(const auto order, decode_ring(frame.payload));
      auto fds = std::make_shared<std::vector<UniqueFd>>(std::move(frame.fds));
      later([this, order, fds] { make_ring(order, *fds); });
      return {};
    }
    case DeviceFrame::attach_to_ring: {
      KILN_TRY(const auto order, decode_attach(frame.payload));
      later([this, order] { done(order.request, attach_to_ring(order)); });
      return {};
    }
    case DeviceFrame::drop_ring: {
      KILN_TRY(const auto order, decode_remove(frame.payload));
      drop_ring(order);
      return {};
    }
    default: {
      KILN_TRY(const auto order, decode_remove(frame.payload));
      remove(&Server::plans_, order);
      return {};
    }
  }
}

// The device's ids of kernels and buffers go into the order.
Status Server::resolve_plan(PlanOrder& order, PlanUses& uses) {
  const auto use = [](Items& items, std::uint64_t& id, std::vector<std::uint64_t>& used, const char* what) -> Status {
    const auto found = items.find(id);
    if (found == items.end() || found->second.removal)
      return Error(ErrorCode::not_found, std::string("a ") + what + " of the plan is not on the device");
    ++found->second.uses;
    used.push_back(std::exchange(id, found->second.local));
    return {};
  };
  for (auto& step : order.steps) {
    KILN_CHECK(use(kernels_, step.kernel, uses.kernels, "kernel"));
    for (auto& argument : step.arguments)
      if (argument.buffer != 0) KILN_CHECK(use(buffers_, argument.buffer, uses.buffers, "buffer"));
  }
  return {};
}

void Server::release_all(const PlanUses& uses) {
  for (const auto id : uses.kernels) release(&Server::kernels_, id);
  for (const auto id : uses.buffers) release(&Server::buffers_, id);
}

// On the executor, behind the loads and mappings before it.
void Server::make_plan(PlanOrder order) {
  bring(&Server::plans_, order.request, order.plan, [&](Bytes&) -> Result<std::uint64_t> {
    PlanUses uses;
    Status resolved;
    {
      const std::lock_guard lock(mutex_);
      resolved = resolve_plan(order, uses);
    }
    auto made = resolved ? device_->make_plan(order.steps) : Result<PlanId>(std::move(resolved).error());
    const std::lock_guard lock(mutex_);
    if (made) plan_uses_[order.plan] = std::move(uses);
    else release_all(uses);
    return made;
  });
}

void Server::run_plan(const RunOrder& order) {
  const auto id = order.launch;
  auto plan = [&]() -> Result<PlanId> {
    const std::lock_guard lock(mutex_);
    const auto found = plans_.find(order.plan);
    if (found == plans_.end() || found->second.removal)
      return Error(ErrorCode::not_found, "the plan is not on the device");
    if (running_.contains(id)) return Error(ErrorCode::protocol_error, "a launch id that is in use");
    ++found->second.uses;
    running_[id].plan = order.plan;
    return found->second.local;
  }();
  if (!plan) {
    (void)send(DeviceFrame::launched, encode(LaunchedReport{id, std::move(plan).error()}));
    return;
  }
  os::reach(os::Place::launch);
  const auto local = device_->run_plan(*plan, order.stream, [this, id](Result<LaunchReport> report) {
    launched(id, std::move(report));
  });
  const std::lock_guard lock(mutex_);
  if (const auto it = running_.find(id); it != running_.end()) it->second.local = local;  // else it is done already
}

void Server::make_ring(const RingOrder& order, std::vector<UniqueFd>& fds) {
  if (fds.size() != 2)
    return done(order.request, Error(ErrorCode::protocol_error, "a ring comes with two descriptors"));
  auto consumer = RingConsumer::start(*device_, fds[0].get(), std::move(fds[1]), order.slots, order.stream);
  if (!consumer) return done(order.request, std::move(consumer).error());
  {
    const std::lock_guard lock(mutex_);
    rings_[order.ring].consumer = std::move(*consumer);
  }
  done(order.request, {});
}

Status Server::attach_to_ring(const AttachOrder& order) {
  const std::lock_guard lock(mutex_);
  const auto ring = rings_.find(order.ring);
  if (ring == rings_.end())
    return Error(ErrorCode::device_lost, "the ring ended with its device process: make another", true);
  const auto plan = plans_.find(order.plan);
  if (plan == plans_.end() || plan->second.removal)
    return Error(ErrorCode::not_found, "the plan is not on the device");
  ++plan->second.uses;
  ring->second.plans.push_back(order.plan);
  ring->second.consumer->attach(order.number, plan->second.local);
  return {};
}

// On a thread of its own: it ends when the ring's run does.
void Server::drop_ring(const RemoveOrder& order) {
  auto ring = std::make_shared<Ring>();
  {
    const std::lock_guard lock(mutex_);
    const auto found = rings_.find(order.id);
    if (found != rings_.end()) {
      *ring = std::move(found->second);
      rings_.erase(found);
    }
  }
  if (!ring->consumer) return done(order.request, Error(ErrorCode::not_found, "no such ring on the device"));
  std::thread([this, ring, order] {
    ring->consumer.reset();
    {
      const std::lock_guard lock(mutex_);
      for (const auto plan : ring->plans) release(&Server::plans_, plan);
    }
    done(order.request, {});
  }).detach();
}

}  // namespace kiln::device
