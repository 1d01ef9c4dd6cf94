#include "engine/device/hip/hip_device.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include "engine/device/hip/card_facts.hpp"
#include "engine/device/hip/hip_lane.hpp"
#include "engine/device/hip/releaser.hpp"
#include "engine/device/launch_arguments.hpp"
#include "engine/device/plan_chains.hpp"

namespace kiln::device::hip {
namespace {

// Queues of the card. A stream that has launches keeps its queue; idle ones serve whoever comes. Streams share only when
// so many have work at a time: then one that waits for an event holds up the others of its queue.
constexpr std::size_t lanes_max = 64;
constexpr auto long_run = std::chrono::milliseconds(200);

using UntilFree = std::shared_ptr<const void>;

class HipDevice : public Device {
 public:
  HipDevice(Table table, int ordinal) : table_(std::move(table)), ordinal_(ordinal) {}
  ~HipDevice() override { workspaces_->close(); }
  Status open();
  Result<DeviceInfo> info() override { return info_; }
  Result<KernelId> load(const compile::Metadata& metadata, ByteView object) override;
  Status unload(KernelId kernel) override;
  Result<BufferId> map(int fd, std::uint64_t offset, std::uint64_t size, bool writable) override;
  using Device::unmap;
  Status unmap(BufferId buffer, UntilFree until_free) override;
  Result<BufferId> open_memory(const IpcHandle& handle, std::uint64_t offset, std::uint64_t size,
                               UntilFree until_free) override;
  Result<BufferId> import_memory(int fd, std::uint64_t offset, std::uint64_t size, UntilFree until_free) override;
  Result<AllocatedBuffer> allocate(std::uint64_t size, UntilFree until_free) override;
  Status read(BufferId buffer, std::uint64_t offset, std::uint64_t bytes, int fd) override;
  Result<EventId> open_event(const IpcHandle& handle) override;
  Result<MadeEvent> make_event() override;
  Status close_event(EventId event) override;
  LaunchId launch(KernelId kernel, std::vector<LaunchArgument> arguments, LaunchSettings settings,
                  LaunchDone done) override;
  Result<PlanId> make_plan(const std::vector<PlanStep>& steps) override;
  LaunchId run_plan(PlanId plan, std::uint64_t stream, LaunchDone done) override;
  Status drop_plan(PlanId plan) override { return plans_.drop(plan); }
  void cancel(LaunchId launch) override;

 private:
  Result<OrderPtr> make_order(KernelId kernel, std::vector<LaunchArgument>& arguments, const LaunchSettings& settings);
  Status add_argument(Order& order, const compile::TensorInfo& tensor, LaunchArgument& argument);
  Status add_events(Order& order, const LaunchSettings& settings);
  // Before the launch is in order, since the card's memory may take long. Null where the kernel needs none.
  Result<std::vector<std::shared_ptr<const Workspace>>> take_workspaces(KernelId kernel);
  BufferId add(std::shared_ptr<const Buffer> buffer);
  void let_go(std::shared_ptr<const void> last, UntilFree until_free);
  EventId add(std::shared_ptr<const CardEvent> event);
  Lane& lane_for(std::uint64_t stream);   // with the lock held
  // Whether nothing runs, or, for soon, nothing that may go on for long: HIP frees memory behind it.
  bool frees_quickly(bool soon);
  // HIP's current device is the thread's.
  Status choose() const { return table_.check(table_.hipSetDevice(ordinal_), "hipSetDevice"); }

  const Table table_;
  const int ordinal_;
  DeviceInfo info_;
  target::Target target_;
  IpcMemory ipc_{table_};
  std::mutex mutex_;
  std::map<KernelId, std::shared_ptr<const Kernel>> kernels_;
  std::map<BufferId, std::shared_ptr<const Buffer>> buffers_;
  std::map<EventId, std::shared_ptr<const CardEvent>> events_;
  PlanChains plans_{*this};
  Gate gate_;
  const std::shared_ptr<WorkspacePool> workspaces_ = std::make_shared<WorkspacePool>(
      table_, [this](std::shared_ptr<const void> last) { releaser_.leave(std::move(last)); });
  std::vector<std::unique_ptr<Lane>> lanes_;   // only grows
  std::uint64_t next_id_ = 1;
  // Last: what it lets go uses the rest.
  Releaser releaser_{[this](bool soon) { return frees_quickly(soon); }, [this] { (void)choose(); }};
  const LetGo let_go_ = [this](std::shared_ptr<const void> last) { releaser_.let_go(std::move(last)); };
};

Status HipDevice::open() {
  KILN_CHECK(table_.check(table_.hipInit(0), "hipInit"));
  int count = 0;
  KILN_CHECK(table_.check(table_.hipGetDeviceCount(&count), "hipGetDeviceCount"));
  if (ordinal_ < 0 || ordinal_ >= count)
    return Error(ErrorCode::unknown_target, "no card " + std::to_string(ordinal_) + ": HIP shows " +
                 std::to_string(count));
  KILN_CHECK(choose());
  KILN_TRY(auto facts, read_card(table_, ordinal_));
  KILN_TRY(target_, target::parse_target(facts.target));
  info_.name = table_.emulated() ? "emu:" + target_.arch : "hip:" + std::to_string(ordinal_);
  info_.target = std::move(facts.target);
  info_.uuid = facts.identity.uuid;
  info_.pci = facts.identity.pci;
  info_.compute_units = facts.compute_units;
  info_.memory_bytes = facts.memory_bytes;
  info_.description = facts.name + ", " + std::to_string(facts.compute_units) + " compute units, " + info_.pci;
  info_.cards = read_identities(table_, count);
  return ok();
}

Result<KernelId> HipDevice::load(const compile::Metadata& metadata, ByteView object) {
  KILN_CHECK(choose());
  KILN_TRY(auto kernel, Kernel::load(table_, metadata, object, target_, let_go_));
  const std::lock_guard lock(mutex_);
  const KernelId id = next_id_++;
  kernels_[id] = std::move(kernel);
  return id;
}

bool HipDevice::frees_quickly(bool soon) {
  const std::lock_guard lock(mutex_);
  return std::all_of(lanes_.begin(), lanes_.end(), [&](const auto& lane) {
    return soon ? !lane->may_run_longer_than(long_run) : lane->idle();
  });
}

Status HipDevice::unload(KernelId kernel) {
  std::shared_ptr<const Kernel> last;
  {
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find(kernel);
    if (found == kernels_.end()) return Error(ErrorCode::not_found, "no such kernel on the card");
    last = std::move(found->second);
    kernels_.erase(found);
  }
  releaser_.let_go(std::move(last));
  return ok();
}

BufferId HipDevice::add(std::shared_ptr<const Buffer> buffer) {
  const std::lock_guard lock(mutex_);
  const BufferId id = next_id_++;
  buffers_[id] = std::move(buffer);
  return id;
}

Result<BufferId> HipDevice::map(int fd, std::uint64_t offset, std::uint64_t size, bool writable) {
  KILN_CHECK(choose());
  KILN_TRY(auto buffer, Buffer::map(table_, fd, offset, size, writable));
  return add(std::move(buffer));
}

void HipDevice::let_go(std::shared_ptr<const void> last, UntilFree until_free) {
  struct Last {
    UntilFree until_free;   // goes after the memory
    std::shared_ptr<const void> memory;
  };
  releaser_.let_go(std::make_shared<Last>(Last{std::move(until_free), std::move(last)}));
}

Result<BufferId> HipDevice::open_memory(const IpcHandle& handle, std::uint64_t offset, std::uint64_t size,
                                        UntilFree until_free) {
  KILN_CHECK(choose());
  const LetGo left = [&](std::shared_ptr<const void> last) { let_go(std::move(last), std::move(until_free)); };
  KILN_TRY(auto buffer, Buffer::open(table_, ipc_, handle, offset, size, left));
  return add(std::move(buffer));
}

Result<BufferId> HipDevice::import_memory(int fd, std::uint64_t offset, std::uint64_t size, UntilFree until_free) {
  KILN_CHECK(choose());
  const LetGo left = [&](std::shared_ptr<const void> last) { let_go(std::move(last), std::move(until_free)); };
  KILN_TRY(auto buffer, Buffer::import(table_, fd, offset, size, left));
  return add(std::move(buffer));
}

Result<AllocatedBuffer> HipDevice::allocate(std::uint64_t size, UntilFree until_free) {
  KILN_CHECK(choose());
  const LetGo left = [&](std::shared_ptr<const void> last) { let_go(std::move(last), std::move(until_free)); };
  AllocatedBuffer made;
  KILN_TRY(auto buffer, Buffer::allocate(table_, ipc_, size, made.handle, left));
  made.buffer = add(std::move(buffer));
  return made;
}

Status HipDevice::read(BufferId buffer, std::uint64_t offset, std::uint64_t bytes, int fd) {
  KILN_CHECK(choose());
  std::shared_ptr<const Buffer> found;
  {
    const std::lock_guard lock(mutex_);
    const auto at = buffers_.find(buffer);
    if (at == buffers_.end()) return Error(ErrorCode::not_found, "no such buffer on the card");
    found = at->second;
  }
  return found->read(offset, bytes, fd);
}

Status HipDevice::unmap(BufferId buffer, UntilFree until_free) {
  std::shared_ptr<const Buffer> last;
  {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end()) return Error(ErrorCode::not_found, "no such buffer on the card");
    last = std::move(found->second);
    buffers_.erase(found);
  }
  let_go(std::move(last), std::move(until_free));
  return ok();
}

EventId HipDevice::add(std::shared_ptr<const CardEvent> event) {
  const std::lock_guard lock(mutex_);
  const EventId id = next_id_++;
  events_[id] = std::move(event);
  return id;
}

Result<EventId> HipDevice::open_event(const IpcHandle& handle) {
  KILN_CHECK(choose());
  KILN_TRY(auto event, CardEvent::open(table_, handle));
  return add(std::move(event));
}

Result<MadeEvent> HipDevice::make_event() {
  KILN_CHECK(choose());
  MadeEvent made;
  KILN_TRY(auto event, CardEvent::make(table_, made.handle));
  made.event = add(std::move(event));
  return made;
}

Status HipDevice::close_event(EventId event) {
  std::shared_ptr<const CardEvent> last;
  {
    const std::lock_guard lock(mutex_);
    const auto found = events_.find(event);
    if (found == events_.end()) return Error(ErrorCode::not_found, "no such event on the card");
    last = std::move(found->second);
    events_.erase(found);
  }
  releaser_.let_go(std::move(last));
  return ok();
}

Status HipDevice::add_argument(Order& order, const compile::TensorInfo& tensor, LaunchArgument& argument) {
  const auto found = buffers_.find(argument.buffer);
  std::optional<MappedRange> mapped;
  if (found != buffers_.end()) {
    const Buffer& buffer = *found->second;
    mapped = MappedRange{buffer.device_address(), buffer.size(), buffer.writable()};
  }
  KILN_CHECK(check_argument(tensor, argument, mapped));
  if (tensor.scalar) {
    order.values.push_back(std::move(argument.scalar));
    return ok();
  }
  const std::uint64_t address = mapped->address + argument.offset;
  order.uses.push_back({found->second, argument.offset, static_cast<std::uint64_t>(tensor.bytes.value()),
                        tensor.access != Access::read});
  Bytes value(8);
  std::memcpy(value.data(), &address, sizeof address);
  order.values.push_back(std::move(value));
  return ok();
}

// With the lock held.
Status HipDevice::add_events(Order& order, const LaunchSettings& settings) {
  const auto find = [&](EventId id) -> Result<std::shared_ptr<const CardEvent>> {
    const auto found = events_.find(id);
    if (found == events_.end()) return Error(ErrorCode::not_found, "no such event on the card");
    return found->second;
  };
  for (const auto id : settings.wait) {
    KILN_TRY(auto event, find(id));
    order.waits.push_back(std::move(event));
  }
  if (settings.record != 0) {
    KILN_TRY(order.record, find(settings.record));
  }
  return ok();
}

// Handles that differ may name one allocation: what a kernel writes is compared with the rest by the card's addresses.
Status check_overlaps(const Order& order, const std::vector<compile::TensorInfo>& tensors,
                      const std::vector<std::size_t>& use_tensors) {
  const auto begin = [&](std::size_t i) { return order.uses[i].buffer->device_address() + order.uses[i].offset; };
  for (std::size_t i = 0; i < order.uses.size(); ++i)
    for (std::size_t j = 0; j < order.uses.size(); ++j) {
      const auto &a = order.uses[i], &b = order.uses[j];
      const auto &written = tensors[use_tensors[i]], &other = tensors[use_tensors[j]];
      if (i == j || !a.written || written.may_alias || other.may_alias) continue;
      if (begin(i) < begin(j) + b.bytes && begin(j) < begin(i) + a.bytes)
        return Error(ErrorCode::invalid_argument, "\"" + written.name + "\" is written and overlaps \"" + other.name +
                     "\" on the card");
    }
  return ok();
}

// With the lock held.
Result<OrderPtr> HipDevice::make_order(KernelId kernel, std::vector<LaunchArgument>& arguments,
                                       const LaunchSettings& settings) {
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end()) return Error(ErrorCode::not_found, "no such kernel on the card");
  auto order = std::make_shared<Order>();
  order->kernel = found->second;
  KILN_TRY(order->sizes, order->kernel->sizes(arguments));
  const auto& tensors = order->sizes->tensors;
  std::vector<std::size_t> use_tensors;   // the tensor of each use
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    KILN_CHECK(add_argument(*order, tensors[i], arguments[i]));
    if (!tensors[i].scalar) use_tensors.push_back(i);
  }
  KILN_CHECK(check_overlaps(*order, tensors, use_tensors));
  KILN_CHECK(add_events(*order, settings));
  return order;
}

Result<std::vector<std::shared_ptr<const Workspace>>> HipDevice::take_workspaces(KernelId kernel) {
  std::shared_ptr<const Kernel> found;
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = kernels_.find(kernel); at != kernels_.end()) found = at->second;
  }
  std::vector<std::shared_ptr<const Workspace>> taken;
  if (found == nullptr || found->workspaces().empty()) return taken;
  KILN_CHECK(choose());
  for (const auto& info : found->workspaces()) {
    auto one = workspaces_->take(static_cast<std::uint64_t>(info.bytes));
    if (!one) return Error(one.error()).with("for the launch's workspace " + info.name);
    taken.push_back(std::move(*one));
  }
  return taken;
}

Lane& HipDevice::lane_for(std::uint64_t stream) {
  for (const auto& lane : lanes_)
    if (lane->holds(stream)) return *lane;
  for (const auto& lane : lanes_)
    if (lane->idle()) return *lane;
  if (lanes_.size() == lanes_max) return *lanes_[stream % lanes_max];
  lanes_.push_back(std::make_unique<Lane>(table_, ordinal_, gate_));
  return *lanes_.back();
}

LaunchId HipDevice::launch(KernelId kernel, std::vector<LaunchArgument> arguments, LaunchSettings settings,
                           LaunchDone done) {
  auto workspaces = take_workspaces(kernel);
  std::unique_lock lock(mutex_);
  const LaunchId id = next_id_++;
  auto order = workspaces ? make_order(kernel, arguments, settings) : Result<OrderPtr>(workspaces.error());
  if (!order) {
    lock.unlock();
    done(std::move(order).error());
    return id;
  }
  for (auto& workspace : *workspaces) {
    const auto address = reinterpret_cast<std::uint64_t>(workspace->pointer);
    Bytes value(sizeof address);
    std::memcpy(value.data(), &address, sizeof address);
    (*order)->values.push_back(std::move(value));
    (*order)->workspaces.push_back(std::move(workspace));
  }
  for (std::size_t i = (*order)->sizes->tensors.size(); i < arguments.size(); ++i)  // the symbols' values
    (*order)->values.push_back(std::move(arguments[i].scalar));
  (*order)->id = id;
  (*order)->done = std::move(done);
  auto& lane = lane_for(settings.stream);
  (*order)->settings = std::move(settings);
  lane.submit(std::move(*order));
  return id;
}

Result<PlanId> HipDevice::make_plan(const std::vector<PlanStep>& steps) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto arguments = steps[i].arguments;
    const auto checked = make_order(steps[i].kernel, arguments, {});
    if (!checked) return Error(checked.error()).with(step_of_plan(i));
  }
  const PlanId id = next_id_++;
  plans_.make(id, steps);
  return id;
}

LaunchId HipDevice::run_plan(PlanId plan, std::uint64_t stream, LaunchDone done) {
  LaunchId id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = next_id_++;
  }
  plans_.run(id, plan, stream, std::move(done));
  return id;
}

void HipDevice::cancel(LaunchId launch) {
  if (plans_.cancel(launch)) return;
  for (std::size_t i = 0;; ++i) {
    Lane* lane = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (i >= lanes_.size()) return;
      lane = lanes_[i].get();
    }
    if (lane->cancel(launch)) return;
  }
}

}  // namespace

Result<std::unique_ptr<Device>> make_hip_device(const HipDeviceOptions& options) {
  KILN_TRY(auto table, load_table(options.library));
  auto device = std::make_unique<HipDevice>(std::move(table), options.ordinal);
  KILN_CHECK(device->open());
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace kiln::device::hip
