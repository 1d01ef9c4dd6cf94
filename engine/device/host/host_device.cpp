#include "engine/device/host/host_device.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>

#include "engine/base/processor.hpp"
#include "engine/device/host/block_pool.hpp"
#include "engine/device/launch_arguments.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::device::host {
namespace {

struct Buffer {
  Mapping mapping;
  std::uint8_t* data = nullptr;
  std::uint64_t size = 0;
  bool writable = false;
};

struct Kernel {
  compile::Metadata metadata;
  std::unique_ptr<LoadedObject> object;
  LaunchSizesPtr sizes;  // null: each launch's own
};

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Workspace = std::unique_ptr<void, Free>;

// One launch from submission to completion; its grids run one after the other.
struct Order {
  LaunchId id = 0;
  std::uint64_t stream = 0;
  std::shared_ptr<const Kernel> kernel;
  LaunchSizesPtr sizes;
  std::vector<std::shared_ptr<const Buffer>> buffers;  // kept mapped
  std::vector<Bytes> scalars;
  std::vector<Workspace> workspaces;
  std::vector<void*> arguments;  // the tensors', then the workspaces'
  std::size_t grid = 0;  // the one that runs
  std::atomic<std::uint8_t> cancelled{0};
  std::chrono::steady_clock::time_point submitted;
  LaunchDone done;

  // What prints and asserts have left.
  [[nodiscard]] Bytes records() const {
    const int which = kernel->metadata.records;
    if (which < 0) return {};
    const auto* const first =
        static_cast<const std::uint8_t*>(arguments[sizes->tensors.size() + static_cast<std::size_t>(which)]);
    return {first, first + bound::records_words * 8};
  }
};

// Of a grid that `countable` holds for.
std::int64_t block_count(const std::vector<std::int64_t>& grid) {
  std::int64_t count = 1;
  for (const std::int64_t extent : grid) count *= extent;
  return count;
}

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
        order->cancelled.store(1);  // else the pool would wait for a block that may run for hours
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
  void cancel(LaunchId launch) override;

 private:
  using OrderPtr = std::shared_ptr<Order>;
  Result<OrderPtr> make_order(KernelId kernel, const LaunchSettings& settings,
                              std::vector<LaunchArgument> arguments);
  Result<void*> argument_pointer(Order& order, const compile::TensorInfo& tensor, LaunchArgument& argument);
  static Status add_workspace(Order& order, const compile::WorkspaceInfo& info);
  void begin_grid(const OrderPtr& order);
  void grid_finished(const OrderPtr& order, Status status);
  void withdraw(const OrderPtr& order);
  void complete(const OrderPtr& order, Status status);

  std::unique_ptr<ObjectLoader> loader_;  // outlives kernels_
  std::mutex mutex_;
  std::map<KernelId, std::shared_ptr<const Kernel>> kernels_;
  std::map<BufferId, std::shared_ptr<const Buffer>> buffers_;
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

Result<void*> HostDevice::argument_pointer(Order& order, const compile::TensorInfo& tensor, LaunchArgument& argument) {
  const auto found = buffers_.find(argument.buffer);
  std::optional<MappedRange> mapped;
  if (found != buffers_.end()) {
    const Buffer& buffer = *found->second;
    mapped = MappedRange{reinterpret_cast<std::uintptr_t>(buffer.data), buffer.size, buffer.writable};
  }
  KILN_CHECK(check_argument(tensor, argument, mapped));
  if (tensor.scalar) {
    order.scalars.push_back(std::move(argument.scalar));
    return static_cast<void*>(order.scalars.back().data());
  }
  order.buffers.push_back(found->second);
  return static_cast<void*>(found->second->data + argument.offset);
}

// With the lock held.
Result<HostDevice::OrderPtr> HostDevice::make_order(KernelId kernel, const LaunchSettings& settings,
                                                    std::vector<LaunchArgument> arguments) {
  if (settings.alone())
    return Error(ErrorCode::unsupported, "the host counts nothing and has no switches; an emulated card does: device emu:gfx942");
  if (!settings.wait.empty() || settings.record != 0)
    return Error(ErrorCode::unsupported, "the host has no events of a card");
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end()) return Error(ErrorCode::not_found, "no such kernel on the host device");
  auto order = std::make_shared<Order>();
  order->kernel = found->second;
  KILN_TRY(order->sizes, launch_sizes(order->kernel->metadata, order->kernel->sizes, arguments));
  const auto& tensors = order->sizes->tensors;
  order->scalars.reserve(arguments.size());  // pointers into it stay valid
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    KILN_TRY(void* const pointer, argument_pointer(*order, tensors[i], arguments[i]));
    order->arguments.push_back(pointer);
  }
  for (const auto& info : order->kernel->metadata.workspaces) KILN_CHECK(add_workspace(*order, info));
  for (std::size_t i = tensors.size(); i < arguments.size(); ++i) {  // the symbols' values
    order->scalars.push_back(std::move(arguments[i].scalar));
    order->arguments.push_back(order->scalars.back().data());
  }
  return order;
}

// Zeros, whatever the program asks for: a launch sees nothing that another one has left. Large ones cost nothing until
// they are touched.
Status HostDevice::add_workspace(Order& order, const compile::WorkspaceInfo& info) {
  constexpr std::size_t align = 64;
  Workspace memory(std::calloc(static_cast<std::size_t>(info.bytes) + align, 1));
  if (memory == nullptr)
    return Error(ErrorCode::out_of_memory,
                 "no memory for the launch's workspace " + info.name + " of " + std::to_string(info.bytes) + " bytes");
  const auto address = reinterpret_cast<std::uintptr_t>(memory.get());
  order.arguments.push_back(reinterpret_cast<void*>((address + align - 1) / align * align));
  order.workspaces.push_back(std::move(memory));
  return ok();
}

LaunchId HostDevice::launch(KernelId kernel, std::vector<LaunchArgument> arguments, LaunchSettings settings,
                            LaunchDone done) {
  std::unique_lock lock(mutex_);
  const LaunchId id = next_id_++;
  auto made = make_order(kernel, settings, std::move(arguments));
  if (!made) {
    lock.unlock();
    done(std::move(made).error());
    return id;
  }
  const OrderPtr order = std::move(*made);
  order->id = id;
  order->stream = settings.stream;
  order->submitted = std::chrono::steady_clock::now();
  order->done = std::move(done);
  auto& queue = streams_[order->stream];
  queue.push_back(order);
  const bool first = queue.size() == 1;
  lock.unlock();
  if (settings.enqueued) settings.enqueued();
  if (first) begin_grid(order);
  return id;
}

void HostDevice::begin_grid(const OrderPtr& order) {
  const auto& launches = order->kernel->metadata.launches;
  while (order->grid < launches.size() && block_count(order->sizes->grids[order->grid]) == 0) ++order->grid;
  if (order->grid >= launches.size() || order->cancelled.load() != 0) return complete(order, {});
  const auto& launch = launches[order->grid];
  Grid grid;
  grid.launch = order->id;
  const auto& blocks = order->sizes->grids[order->grid];
  grid.count = block_count(blocks);
  grid.arena_bytes = static_cast<std::size_t>(launch.lds_bytes);
  grid.run = [order = order.get(), function = order->kernel->object->function(order->grid), x = blocks[0],
              y = blocks[1], walk = launch.order](std::int64_t block, std::uint8_t* arena) {
    if (order->cancelled.load(std::memory_order_relaxed) != 0) return false;
    const auto* cancel = reinterpret_cast<const volatile std::uint8_t*>(&order->cancelled);
    const auto place = bound::block_at(walk, x, y, block % (x * y));
    return function(order->arguments.data(), arena, place.x, place.y, block / (x * y), cancel) == 0;
  };
  grid.finished = [this, order](Status status) { grid_finished(order, std::move(status)); };
  pool_.submit(std::move(grid));
  if (order->cancelled.load() != 0) withdraw(order);  // whoever cancelled it may have come before it was there
}

// Completes a cancelled launch whose grid waits for a thread.
void HostDevice::withdraw(const OrderPtr& order) {
  if (pool_.withdraw(order->id)) complete(order, {});
}

void HostDevice::grid_finished(const OrderPtr& order, Status status) {
  if (!status || order->cancelled.load() != 0) return complete(order, std::move(status));
  ++order->grid;
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
  LaunchReport report;
  report.duration_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - order->submitted).count();
  report.records = order->records();
  // The buffers are let go before anybody hears of it: they may be unmapped then.
  order->buffers.clear();
  order->workspaces.clear();
  order->kernel.reset();
  if (!status)
    order->done(std::move(status).error());
  else if (order->cancelled.load() != 0)
    order->done(Error(ErrorCode::cancelled, "the launch was cancelled"));
  else
    order->done(report);
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
      (*found)->cancelled.store(1);
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
