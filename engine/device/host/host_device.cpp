#include "engine/device/host/host_device.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "engine/base/processor.hpp"
#include "engine/device/host/arena.hpp"
#include "engine/device/host/block_pool.hpp"
#include "engine/device/host/host_order.hpp"
#include "engine/device/launch_arguments.hpp"
#include "engine/device/plan_chains.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::device::host {
namespace {

// Whether the blocks can be numbered in 64 bits, whatever the order in which the extents are multiplied.
bool countable(const std::vector<std::int64_t>& grid) {
  std::int64_t count = 1;
  return std::all_of(grid.begin(), grid.end(), [&](std::int64_t extent) {
    return extent >= 0 && !__builtin_mul_overflow(count, std::max<std::int64_t>(extent, 1), &count);
  });
}

class HostDevice : public Device {
 public:
  HostDevice(std::unique_ptr<ObjectLoader> loader, HostDeviceOptions options)
      : loader_(std::move(loader)), pool_(options.threads > 0 ? options.threads : usable_cores()) {}

  ~HostDevice() override {
    const std::lock_guard lock(mutex_);
    for (auto& [stream, queue] : streams_) {
      for (auto& order : queue)
        order->cancelled->store(1);  // else the pool would wait for a block that may run for hours
    }
  }
  Result<DeviceInfo> info() override;
  Result<KernelId> load(const compile::Metadata& metadata, ByteView object) override;
  Status unload(KernelId kernel) override;
  Result<BufferId> map(int fd, std::uint64_t offset, std::uint64_t size, bool writable) override;
  using Device::unmap;
  Status unmap(BufferId buffer, std::shared_ptr<const void> until_free) override;
  LaunchId launch(KernelId kernel, std::vector<LaunchArgument> arguments, LaunchSettings settings,
                  LaunchDone done) override;
  Result<PlanId> make_plan(const std::vector<PlanStep>& steps) override;
  LaunchId run_plan(PlanId plan, std::uint64_t stream, LaunchDone done) override;
  Status drop_plan(PlanId plan) override;
  std::optional<Result<LaunchReport>> run_small_plan(PlanId plan, std::atomic<std::uint8_t>& stop) override;
  void cancel(LaunchId launch) override;

 private:
  using OrderPtr = std::shared_ptr<Order>;
  // With the lock held.
  Status add_step(Steps& steps, KernelId kernel, std::vector<LaunchArgument> arguments);
  Result<void*> argument_pointer(Step& step, const compile::TensorInfo& tensor, LaunchArgument& argument);
  Result<StepsPtr> one_step(KernelId kernel, const LaunchSettings& settings, std::vector<LaunchArgument> arguments);
  // Its turn comes behind its stream's.
  LaunchId submit(std::unique_lock<std::mutex> lock, std::uint64_t stream, Result<StepsPtr> steps, bool is_plan,
                  const std::function<void()>& enqueued, LaunchDone done);
  void begin_grid(const OrderPtr& order);
  void grid_finished(const OrderPtr& order, Status status);
  void withdraw(const OrderPtr& order);
  void complete(const OrderPtr& order, Status status);

  std::unique_ptr<ObjectLoader> loader_;  // outlives kernels_
  std::mutex mutex_;
  std::map<KernelId, std::shared_ptr<const Kernel>> kernels_;
  std::map<BufferId, std::shared_ptr<const Buffer>> buffers_;
  std::map<PlanId, StepsPtr> plans_;
  std::map<std::uint64_t, std::deque<OrderPtr>> streams_;  // the front of each runs
  std::uint64_t next_id_ = 1;
  BlockPool pool_;  // ends first: its threads use all of the above
};

Result<DeviceInfo> HostDevice::info() {
  KILN_TRY(const auto target, target::parse_target("host"));
  DeviceInfo info;
  info.name = info.uuid = "host";
  info.target = target.full;
  info.compute_units = pool_.threads();
  info.description = processor_name() + ", " + std::to_string(pool_.threads()) +
                     (pool_.threads() == 1 ? " thread, " : " threads, ") + (target.wave == 16 ? "AVX-512" : "AVX2");
  info.memory_bytes =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  return info;
}

Result<KernelId> HostDevice::load(const compile::Metadata& metadata, ByteView object) {
  KILN_TRY(const auto made_for, target::parse_target(metadata.target));
  if (!made_for.is_host() || !target::host_can_run(made_for)) {
    return Error(ErrorCode::unsupported, "a kernel for " + metadata.target + " does not run on this machine");
  }
  std::vector<std::string> symbols;
  for (const auto& launch : metadata.launches) {
    const bool fits = !bound::all_static(launch.grid) || countable(bound::values(launch.grid));
    if (launch.grid.size() != 3 || !fits || launch.lds_bytes < 0)
      return Error(ErrorCode::corrupt, "host kernel: bad launch description");
    symbols.push_back(launch.symbol);
  }
  auto kernel = std::make_shared<Kernel>();
  kernel->metadata = metadata;
  kernel->metadata.source.clear();
  kernel->metadata.kernel_program.clear();
  KILN_TRY(kernel->sizes, fixed_sizes(metadata));
  KILN_TRY(kernel->object, loader_->load(object, symbols));
  const std::lock_guard lock(mutex_);
  const KernelId id = next_id_++;
  kernels_[id] = std::move(kernel);
  return id;
}

Status HostDevice::unload(KernelId kernel) {
  std::shared_ptr<const Kernel> last;  // freed outside the lock, after the launches that use it
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end()) return Error(ErrorCode::not_found, "no such kernel on the host device");
  last = std::move(found->second);
  kernels_.erase(found);
  return {};
}

Result<BufferId> HostDevice::map(int fd, std::uint64_t offset, std::uint64_t size, bool writable) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  const std::uint64_t before = offset % page;
  auto buffer = std::make_shared<Buffer>();
  buffer->size = size;
  buffer->writable = writable;
  if (size > 0) {
    KILN_TRY(buffer->mapping, Mapping::map(fd, size + before, writable, static_cast<std::int64_t>(offset - before)));
    buffer->data = buffer->mapping.data() + before;
  }
  const std::lock_guard lock(mutex_);
  const BufferId id = next_id_++;
  buffers_[id] = std::move(buffer);
  return id;
}

Status HostDevice::unmap(BufferId buffer, std::shared_ptr<const void> /*until_free*/) {
  const std::lock_guard lock(mutex_);
  if (buffers_.erase(buffer) == 0) return Error(ErrorCode::not_found, "no such buffer on the host device");
  return {};
}

Result<void*> HostDevice::argument_pointer(Step& step, const compile::TensorInfo& tensor, LaunchArgument& argument) {
  const auto found = buffers_.find(argument.buffer);
  std::optional<MappedRange> mapped;
  if (found != buffers_.end()) {
    const Buffer& buffer = *found->second;
    mapped = MappedRange{reinterpret_cast<std::uintptr_t>(buffer.data), buffer.size, buffer.writable};
  }
  KILN_CHECK(check_argument(tensor, argument, mapped));
  if (tensor.scalar) {
    step.scalars.push_back(std::move(argument.scalar));
    return static_cast<void*>(step.scalars.back().data());
  }
  step.buffers.push_back(found->second);
  return static_cast<void*>(found->second->data + argument.offset);
}

Status HostDevice::add_step(Steps& steps, KernelId kernel, std::vector<LaunchArgument> arguments) {
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end()) return Error(ErrorCode::not_found, "no such kernel on the host device");
  Step step;
  step.kernel = found->second;
  KILN_TRY(step.sizes, launch_sizes(step.kernel->metadata, step.kernel->sizes, arguments));
  const auto& tensors = step.sizes->tensors;
  step.scalars.reserve(arguments.size());  // pointers into it stay valid
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    KILN_TRY(void* const pointer, argument_pointer(step, tensors[i], arguments[i]));
    step.arguments.push_back(pointer);
  }
  step.arguments.resize(tensors.size() + step.kernel->metadata.workspaces.size(), nullptr);
  for (std::size_t i = tensors.size(); i < arguments.size(); ++i) {  // the symbols' values
    step.scalars.push_back(std::move(arguments[i].scalar));
    step.arguments.push_back(step.scalars.back().data());
  }
  for (const auto& launch : step.kernel->metadata.launches)
    steps.arena_bytes = std::max(steps.arena_bytes, static_cast<std::size_t>(launch.lds_bytes));
  for (const auto& grid : step.sizes->grids) steps.small = steps.small && block_count(grid) <= 1;
  steps.list.push_back(std::move(step));
  return ok();
}

Result<StepsPtr> HostDevice::one_step(KernelId kernel, const LaunchSettings& settings,
                                      std::vector<LaunchArgument> arguments) {
  if (settings.alone())
    return Error(ErrorCode::unsupported, "the host counts nothing and has no switches; an emulated card does: device emu:gfx942");
  if (!settings.wait.empty() || settings.record != 0)
    return Error(ErrorCode::unsupported, "the host has no events of a card");
  auto steps = std::make_shared<Steps>();
  KILN_CHECK(add_step(*steps, kernel, std::move(arguments)));
  return StepsPtr(std::move(steps));
}

LaunchId HostDevice::launch(KernelId kernel, std::vector<LaunchArgument> arguments, LaunchSettings settings,
                            LaunchDone done) {
  std::unique_lock lock(mutex_);
  auto step = one_step(kernel, settings, std::move(arguments));
  return submit(std::move(lock), settings.stream, std::move(step), false, settings.enqueued, std::move(done));
}

Result<PlanId> HostDevice::make_plan(const std::vector<PlanStep>& steps) {
  auto plan = std::make_shared<Steps>();
  const std::lock_guard lock(mutex_);
  for (const auto& step : steps)
    if (auto status = add_step(*plan, step.kernel, step.arguments); !status)
      return std::move(status).error().with(step_of_plan(plan->list.size()));
  const PlanId id = next_id_++;
  plans_[id] = std::move(plan);
  return id;
}

LaunchId HostDevice::run_plan(PlanId plan, std::uint64_t stream, LaunchDone done) {
  std::unique_lock lock(mutex_);
  const auto found = plans_.find(plan);
  auto steps = found != plans_.end() ? Result<StepsPtr>(found->second)
                                     : Result<StepsPtr>(Error(ErrorCode::not_found, "no such plan on the host device"));
  return submit(std::move(lock), stream, std::move(steps), true, nullptr, std::move(done));
}

Status HostDevice::drop_plan(PlanId plan) {
  StepsPtr last;  // freed outside the lock, after its runs
  const std::lock_guard lock(mutex_);
  const auto found = plans_.find(plan);
  if (found == plans_.end()) return Error(ErrorCode::not_found, "no such plan on the host device");
  last = std::move(found->second);
  plans_.erase(found);
  return {};
}

std::optional<Result<LaunchReport>> HostDevice::run_small_plan(PlanId plan, std::atomic<std::uint8_t>& stop) {
  thread_local Arena thread_arena;
  const auto began = std::chrono::steady_clock::now();
  Order order(stop);
  {
    const std::lock_guard lock(mutex_);
    const auto found = plans_.find(plan);
    if (found == plans_.end()) return Error(ErrorCode::not_found, "no such plan on the host device");
    if (!found->second->small) return std::nullopt;
    order.steps = found->second;
  }
  const auto arena = thread_arena.reserve(order.steps->arena_bytes);
  if (!arena) return Error(ErrorCode::out_of_memory, "no memory for a block's tiles", true);
  auto status = order.find_grid();
  while (status && !order.over()) {
    if (!order.run_small_grids(*arena)) return Error(ErrorCode::cancelled, "the launch was cancelled");
    status = std::exchange(order.failure, {});
  }
  if (!status) return std::move(status).error().with(step_of_plan(order.step));
  order.report.duration_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  return std::move(order.report);
}

LaunchId HostDevice::submit(std::unique_lock<std::mutex> lock, std::uint64_t stream, Result<StepsPtr> steps,
                            bool is_plan, const std::function<void()>& enqueued, LaunchDone done) {
  const LaunchId id = next_id_++;
  if (!steps) {
    lock.unlock();
    done(std::move(steps).error());
    return id;
  }
  const auto order = std::make_shared<Order>();
  order->id = id;
  order->stream = stream;
  order->steps = std::move(*steps);
  order->is_plan = is_plan;
  order->submitted = std::chrono::steady_clock::now();
  order->done = std::move(done);
  auto& queue = streams_[stream];
  queue.push_back(order);
  const bool first = queue.size() == 1;
  lock.unlock();
  if (enqueued) enqueued();
  if (first) begin_grid(order);
  return id;
}

void HostDevice::begin_grid(const OrderPtr& order) {
  if (auto status = order->find_grid(); !status) return complete(order, std::move(status));
  if (order->over() || order->cancelled->load() != 0) return complete(order, {});
  Grid grid;
  grid.launch = order->id;
  grid.count = block_count(order->blocks());
  if (grid.count == 1) {
    grid.arena_bytes = order->steps->arena_bytes;
    grid.run = [order = order.get()](std::int64_t, std::uint8_t* arena) { return order->run_small_grids(arena); };
  } else {
    grid.arena_bytes = static_cast<std::size_t>(order->now().kernel->metadata.launches[order->grid].lds_bytes);
    grid.run = [order = order.get()](std::int64_t block, std::uint8_t* arena) { return order->run_block(block, arena); };
  }
  grid.finished = [this, order](Status status) { grid_finished(order, std::move(status)); };
  pool_.submit(std::move(grid));
  if (order->cancelled->load() != 0) withdraw(order);  // whoever cancelled it may have come before it was there
}

// Completes a cancelled launch whose grid waits for a thread.
void HostDevice::withdraw(const OrderPtr& order) {
  if (pool_.withdraw(order->id)) complete(order, {});
}

void HostDevice::grid_finished(const OrderPtr& order, Status status) {
  if (status) status = std::exchange(order->failure, {});
  if (!status || order->cancelled->load() != 0) return complete(order, std::move(status));
  if (!std::exchange(order->passed, false)) ++order->grid;
  begin_grid(order);
}

void HostDevice::complete(const OrderPtr& order, Status status) {
  OrderPtr next;
  {
    const std::lock_guard lock(mutex_);
    auto& queue = streams_[order->stream];
    queue.pop_front();
    if (queue.empty())
      streams_.erase(order->stream);
    else
      next = queue.front();
  }
  auto report = std::move(order->report);
  report.duration_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - order->submitted).count();
  if (!order->is_plan && !report.steps.empty()) {
    report.records = std::move(report.steps.front().records);
    report.steps.clear();
  }
  // The buffers are let go before anybody hears of it: they may be unmapped then.
  order->steps.reset();
  order->workspaces.clear();
  if (!status) {
    auto error = std::move(status).error();
    if (order->is_plan) error.context.push_back(step_of_plan(order->step));
    order->done(std::move(error));
  } else if (order->cancelled->load() != 0) {
    order->done(Error(ErrorCode::cancelled, "the launch was cancelled"));
  } else {
    order->done(std::move(report));
  }
  if (next) begin_grid(next);
}

void HostDevice::cancel(LaunchId launch) {
  OrderPtr first, waiting;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [stream, queue] : streams_) {
      const auto found =
          std::find_if(queue.begin(), queue.end(), [&](const auto& order) { return order->id == launch; });
      if (found == queue.end()) continue;
      (*found)->cancelled->store(1);
      if (found == queue.begin()) {  // its blocks see the flag, if any runs
        first = *found;
        break;
      }
      waiting = *found;
      queue.erase(found);
      break;
    }
  }
  if (first) withdraw(first);
  if (waiting) waiting->done(Error(ErrorCode::cancelled, "the launch was cancelled"));
}

}  // namespace

std::unique_ptr<Device> make_host_device(std::unique_ptr<ObjectLoader> loader, HostDeviceOptions options) {
  return std::make_unique<HostDevice>(std::move(loader), options);
}

}  // namespace kiln::device::host
