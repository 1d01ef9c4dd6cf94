#include "engine/device/device.hpp"

namespace kiln::device {
namespace {

Error no_plans() { return Error(ErrorCode::unsupported, "the device takes no plans"); }

Error no_rings() { return Error(ErrorCode::unsupported, "the device has no rings"); }

Error no_card() {
  return Error(ErrorCode::unsupported,
               "the device has no memory and no events of its own: hand memory over as a descriptor");
}

}  // namespace

using UntilFree = std::shared_ptr<const void>;

Result<BufferId> Device::open_memory(const IpcHandle&, std::uint64_t, std::uint64_t, UntilFree) { return no_card(); }
Result<BufferId> Device::import_memory(int, std::uint64_t, std::uint64_t, UntilFree) { return no_card(); }
Result<AllocatedBuffer> Device::allocate(std::uint64_t, UntilFree) { return no_card(); }
Status Device::read(BufferId, std::uint64_t, std::uint64_t, int) { return no_card(); }
Result<EventId> Device::open_event(const IpcHandle&) { return no_card(); }
Result<MadeEvent> Device::make_event() { return no_card(); }
Status Device::close_event(EventId) { return no_card(); }
Result<PlanId> Device::make_plan(const std::vector<PlanStep>&) { return no_plans(); }
std::optional<Result<LaunchReport>> Device::run_small_plan(PlanId, std::atomic<std::uint8_t>&) { return std::nullopt; }
Result<RingId> Device::make_ring(int, UniqueFd, std::uint32_t, std::uint64_t) { return no_rings(); }
Status Device::attach_to_ring(RingId, std::uint64_t, PlanId) { return no_rings(); }
Status Device::drop_ring(RingId) { return no_rings(); }
Status Device::drop_plan(PlanId) { return no_plans(); }
LaunchId Device::run_plan(PlanId, std::uint64_t, LaunchDone done) {
  done(no_plans());
  return 0;
}

}  // namespace kiln::device
