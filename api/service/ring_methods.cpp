// ring.create, attach and release.
#include <algorithm>

#include "api/service/state.hpp"
#include "engine/base/channel.hpp"
#include "engine/base/ring_memory.hpp"

namespace kiln::service {

using protocol::Json;

namespace {

constexpr auto most = protocol::integer_magnitude_max;
constexpr std::int64_t slots_default = 256;

Status has_room(const ActiveCall& call) {
  const auto rings_max = call.state.options.limits.rings_max;
  if (call.connection->rings.size() < rings_max) return ok();
  return Error(ErrorCode::resource_limit, "this connection has " + std::to_string(rings_max) + " rings: release some");
}

Result<std::uint32_t> read_slots(const ActiveCall& call) {
  KILN_TRY(const auto slots, call.fields.integer_or("slots", slots_default, 2, ring_slots_max));
  if ((slots & (slots - 1)) != 0) return call.fields.error("slots", "a power of two");
  return std::uint32_t(slots);
}

struct MadeRing {
  std::shared_ptr<Ring> ring;
  std::vector<UniqueFd> fds;               // the client's: the memory, its end of the doorbell
};

// May wait for the device's process.
Result<MadeRing> make_ring(const ActiveCall& call, std::uint32_t slots) {
  KILN_CHECK(call.not_stopped());
  KILN_TRY(const auto named, call.fields.text_or("device", "host"));
  KILN_TRY(auto name, find_device(call, named));
  KILN_TRY(auto* const device, call.state.session->device(name));
  KILN_TRY(auto share, call.state.memory->take(RingMemory::bytes(slots)));
  KILN_TRY(auto memory, RingMemory::create(slots));
  KILN_TRY(auto bell, socket_pair());
  std::uint64_t stream = 0;
  {
    std::lock_guard lock(call.state.mutex);
    stream = call.state.stream_next++;
  }
  KILN_TRY(const auto id, device->make_ring(memory.get(), std::move(bell.first), slots, stream));
  MadeRing made{std::make_shared<Ring>(*device, std::move(name), id), {}};
  made.ring->memory = std::move(share);
  made.fds.push_back(std::move(memory));
  made.fds.push_back(std::move(bell.second));
  return made;
}

Result<std::uint64_t> add_ring(const ActiveCall& call, const std::shared_ptr<Ring>& ring) {
  std::lock_guard lock(call.state.mutex);
  auto& connection = *call.connection;
  if (connection.gone) return Error(ErrorCode::cancelled, "the connection is gone");
  KILN_CHECK(has_room(call));
  const auto id = connection.ring_next++;
  connection.rings.emplace(id, ring);
  return id;
}

// Why a plan is not for rings: what a run of it needs beside the device's process.
Status fits_ring(const Plan& plan, const Ring& ring) {
  if (&plan.device != &ring.device)
    return Error(ErrorCode::invalid_argument,
                 "the plan is for " + plan.device_name + " and the ring for " + ring.device_name);
  if (!plan.copied.empty())
    return Error(ErrorCode::unsupported, "a buffer of the plan is copied in and out by the daemon, which a ring's runs "
                                         "do not pass: register a memfd that can be sealed");
  const bool tells = std::any_of(plan.kernels.begin(), plan.kernels.end(),
                                 [](const auto& kernel) { return kernel->metadata.records >= 0; });
  if (tells)
    return Error(ErrorCode::unsupported,
                 "a kernel of the plan prints or asserts, which a ring cannot tell: use plan.run");
  return ok();
}

struct Attached {
  std::shared_ptr<Ring> ring;
  std::shared_ptr<const Plan> plan;
};

Result<Attached> find_both(const ActiveCall& call, std::uint64_t ring, std::uint64_t plan) {
  std::lock_guard lock(call.state.mutex);
  const auto& [rings, plans] = std::tie(call.connection->rings, call.connection->plans);
  const auto found = rings.find(ring);
  if (found == rings.end()) return Error(ErrorCode::not_found, "this connection has no ring " + std::to_string(ring));
  const auto planned = plans.find(plan);
  if (planned == plans.end())
    return Error(ErrorCode::not_found, "this connection has no plan " + std::to_string(plan));
  return Attached{found->second, planned->second};
}

// From its entry among the ring's on the plan cannot be released.
Status attach(const ActiveCall& call, const Attached& both, std::uint64_t plan) {
  KILN_CHECK(fits_ring(*both.plan, *both.ring));
  auto& ring = *both.ring;
  bool is_new = false;
  {
    std::lock_guard lock(call.state.mutex);
    const auto& plans = call.connection->plans;
    if (!plans.contains(plan)) return Error(ErrorCode::not_found, "the plan was released meanwhile");
    is_new = ring.plans.emplace(plan, both.plan).second;
  }
  if (!is_new) return ok();
  const auto status = [&]() -> Status {
    if (both.plan->workspace_bytes > 0) {
      KILN_TRY(auto share, call.state.memory->take(both.plan->workspace_bytes));
      std::lock_guard lock(call.state.mutex);
      if (share.bytes() > ring.workspace_memory.bytes()) std::swap(ring.workspace_memory, share);
    }
    return ring.device.attach_to_ring(ring.id, plan, both.plan->id);
  }();
  if (status) return ok();
  std::lock_guard lock(call.state.mutex);
  ring.plans.erase(plan);
  return status;
}

}  // namespace

Status not_in_ring(const ConnectionState& connection, std::uint64_t plan) {
  for (const auto& [id, ring] : connection.rings)
    if (ring->plans.contains(plan))
      return Error(ErrorCode::busy,
                   "ring " + std::to_string(id) + " of this connection has the plan: release the ring first");
  return ok();
}

void ring_create(const CallPtr& call) {
  const auto slots = read_slots(*call);
  if (!slots) return call->answer(slots.error());
  ActiveCall::begin_waiting(call);         // for the device's process
  auto made = [&]() -> Result<MadeRing> {
    {
      std::lock_guard lock(call->state.mutex);
      KILN_CHECK(has_room(*call));
    }
    return make_ring(*call, *slots);
  }();
  if (!call->begin_work()) return;
  if (!made) return call->answer(made.error());
  const auto id = add_ring(*call, made->ring);
  if (!id) return call->answer(id.error());
  Reply reply(Json{{"ring", *id}, {"device", made->ring->device_name}, {"slots", *slots},
                   {"bytes", RingMemory::bytes(*slots)}, {"memory", {{"fd", 0}}}, {"bell", {{"fd", 1}}}});
  reply.fds = std::move(made->fds);
  call->answer(std::move(reply));
}

void ring_attach(const CallPtr& call) {
  const auto ring = call->fields.integer("ring", 1, most);
  if (!ring) return call->answer(ring.error());
  const auto plan = call->fields.integer("plan", 1, most);
  if (!plan) return call->answer(plan.error());
  const auto both = find_both(*call, std::uint64_t(*ring), std::uint64_t(*plan));
  if (!both) return call->answer(both.error());
  if (auto status = attach(*call, *both, std::uint64_t(*plan)); !status) return call->answer(std::move(status).error());
  call->answer(Json{{"ring", *ring}, {"plan", *plan}});
}

void ring_release(const CallPtr& call) {
  const auto id = call->fields.integer("ring", 1, most);
  if (!id) return call->answer(id.error());
  std::shared_ptr<Ring> ring;              // goes without the lock: it talks to its device
  {
    std::lock_guard lock(call->state.mutex);
    if (auto found = call->connection->rings.extract(std::uint64_t(*id))) ring = std::move(found.mapped());
  }
  if (!ring) return call->answer(Error(ErrorCode::not_found, "this connection has no ring " + std::to_string(*id)));
  ring.reset();
  call->answer(Json::object());
}

}  // namespace kiln::service
