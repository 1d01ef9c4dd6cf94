#include "engine/device/hip/hip_device.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/device/hip/hip_buffer.hpp"
#include "engine/device/hip/hip_kernel.hpp"
#include "engine/device/launch_arguments.hpp"

namespace kiln::device::hip {
namespace {

constexpr std::size_t lanes_max = 8;   // queues of the card that Kiln's streams share

// One launch from submission to completion; its grids run one after the other.
struct Order {
  struct Use {
    std::shared_ptr<const Buffer> buffer;
    std::uint64_t offset = 0, bytes = 0;
    bool read = false, written = false;
  };
  LaunchId id = 0;
  std::shared_ptr<const Kernel> kernel;
  std::vector<Use> uses;
  std::vector<Bytes> values;
  std::atomic<bool> cancelled{false};
  LaunchDone done;
};
using OrderPtr = std::shared_ptr<Order>;

// A queue of the card with the thread that feeds it and waits for it.
class Lane {
 public:
  Lane(const Table& table, int ordinal) : table_(table), ordinal_(ordinal), thread_([this] { serve(); }) {}
  ~Lane();
  void submit(OrderPtr order);
  // Whether the launch is here. One that waits is done at once, by this thread.
  bool cancel(LaunchId launch);

 private:
  void serve();
  Status open();
  Result<double> run(const Order& order);
  Error explain(Error error) const;

  const Table& table_;
  const int ordinal_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<OrderPtr> queue_;
  OrderPtr running_;
  bool closing_ = false;
  Stream stream_ = nullptr;                   // made at first use, again after a failure; the mutex guards changes
  Event begin_ = nullptr, end_ = nullptr;     // the thread's
  std::thread thread_;                        // last
};

Lane::~Lane() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    if (running_ != nullptr) {
      running_->cancelled.store(true);
      if (table_.cancel != nullptr) table_.cancel(stream_);
    }
    wake_.notify_all();
  }
  thread_.join();
}

void Lane::submit(OrderPtr order) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(order));
  wake_.notify_all();
}

bool Lane::cancel(LaunchId launch) {
  OrderPtr waiting;
  {
    const std::lock_guard lock(mutex_);
    if (running_ != nullptr && running_->id == launch) {
      running_->cancelled.store(true);
      if (table_.cancel != nullptr && stream_ != nullptr) table_.cancel(stream_);
      return true;
    }
    const auto found = std::find_if(queue_.begin(), queue_.end(),
                                    [&](const auto& order) { return order->id == launch; });
    if (found == queue_.end()) return false;
    waiting = std::move(*found);
    queue_.erase(found);
  }
  waiting->done(Error(ErrorCode::cancelled, "the launch was cancelled"));
  return true;
}

Status Lane::open() {
  if (stream_ != nullptr) return ok();
  Stream stream = nullptr;
  KILN_CHECK(table_.check(table_.hipSetDevice(ordinal_), "hipSetDevice"));
  KILN_CHECK(table_.check(table_.hipStreamCreateWithFlags(&stream, stream_non_blocking), "hipStreamCreateWithFlags"));
  const std::lock_guard lock(mutex_);
  stream_ = stream;
  if (begin_ != nullptr) return ok();
  KILN_CHECK(table_.check(table_.hipEventCreate(&begin_), "hipEventCreate"));
  return table_.check(table_.hipEventCreate(&end_), "hipEventCreate");
}

// Milliseconds that the card took.
Result<double> Lane::run(const Order& order) {
  KILN_CHECK(open());
  for (const auto& use : order.uses) KILN_CHECK(use.buffer->copy_in(stream_, use.offset, use.bytes));
  KILN_CHECK(table_.check(table_.hipEventRecord(begin_, stream_), "hipEventRecord"));
  for (std::size_t i = 0; i < order.kernel->launches() && !order.cancelled.load(); ++i) {
    KILN_CHECK(order.kernel->submit(i, order.values, stream_));
    // A cancellation that came before the launch was submitted has found nothing to stop.
    if (order.cancelled.load() && table_.cancel != nullptr) table_.cancel(stream_);
  }
  KILN_CHECK(table_.check(table_.hipEventRecord(end_, stream_), "hipEventRecord"));
  for (const auto& use : order.uses)
    if (use.written) KILN_CHECK(use.buffer->copy_out(stream_, use.offset, use.bytes));
  KILN_CHECK(table_.check(table_.hipStreamSynchronize(stream_), "hipStreamSynchronize"));
  float milliseconds = 0;
  KILN_CHECK(table_.check(table_.hipEventElapsedTime(&milliseconds, begin_, end_), "hipEventElapsedTime"));
  return static_cast<double>(milliseconds);
}

// With the emulated card's report, whose first line says what happened.
Error Lane::explain(Error error) const {
  if (table_.report == nullptr || error.code != ErrorCode::launch_failed) return error;
  std::string text(table_.report(nullptr, 0), '\0');
  if (text.empty()) return error;
  text.resize(std::min(text.size(), table_.report(text.data(), text.size() + 1)));
  const auto end = text.find('\n');
  Error told(ErrorCode::launch_failed, text.substr(0, end));
  for (std::size_t at = end; at != std::string::npos;) {
    const auto next = text.find('\n', at + 1);
    const auto line = text.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    told.context.push_back(line.substr(std::min(line.size(), line.find_first_not_of(' '))));
    at = next;
  }
  return told;
}

void Lane::serve() {
  for (;;) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (closing_) return;
    running_ = std::move(queue_.front());
    queue_.pop_front();
    const OrderPtr order = running_;
    lock.unlock();
    auto result = run(*order);
    Result<LaunchReport> report = LaunchReport{result ? *result : 0};
    if (!result) report = explain(std::move(result).error());
    lock.lock();
    running_ = nullptr;
    const Stream broken = report ? nullptr : stream_;
    if (!report) stream_ = nullptr;   // the error sticks to it
    lock.unlock();
    if (broken != nullptr) (void)table_.hipStreamDestroy(broken);
    if (order->cancelled.load()) report = Error(ErrorCode::cancelled, "the launch was cancelled");
    // The buffers are let go before anybody hears of it: they may be unmapped then.
    order->uses.clear();
    order->kernel.reset();
    order->done(std::move(report));
  }
}

class HipDevice : public Device {
 public:
  HipDevice(Table table, int ordinal) : table_(std::move(table)), ordinal_(ordinal) {}
  Status open();
  Result<DeviceInfo> info() override { return info_; }
  Result<KernelId> load(const compile::Metadata& metadata, ByteView object) override;
  Status unload(KernelId kernel) override;
  Result<BufferId> map(int fd, std::uint64_t offset, std::uint64_t size, bool writable) override;
  Status unmap(BufferId buffer) override;
  LaunchId launch(KernelId kernel, std::vector<LaunchArgument> arguments, std::uint64_t stream,
                  LaunchDone done) override;
  void cancel(LaunchId launch) override;

 private:
  Result<OrderPtr> make_order(KernelId kernel, std::vector<LaunchArgument>& arguments);
  Status add_argument(Order& order, const compile::TensorInfo& tensor, LaunchArgument& argument);
  // HIP's current device is the thread's.
  Status choose() const { return table_.check(table_.hipSetDevice(ordinal_), "hipSetDevice"); }

  const Table table_;
  const int ordinal_;
  DeviceInfo info_;
  target::Target target_;
  std::mutex mutex_;
  std::map<KernelId, std::shared_ptr<const Kernel>> kernels_;
  std::map<BufferId, std::shared_ptr<const Buffer>> buffers_;
  std::array<std::unique_ptr<Lane>, lanes_max> lanes_;
  std::uint64_t next_id_ = 1;
};

Status HipDevice::open() {
  KILN_CHECK(table_.check(table_.hipInit(0), "hipInit"));
  int count = 0;
  KILN_CHECK(table_.check(table_.hipGetDeviceCount(&count), "hipGetDeviceCount"));
  if (ordinal_ < 0 || ordinal_ >= count)
    return Error(ErrorCode::unknown_target, "no card " + std::to_string(ordinal_) + ": HIP shows " +
                 std::to_string(count));
  KILN_CHECK(choose());
  char facts[4096] = {};   // larger than any version's struct
  const bool now = table_.hipGetDevicePropertiesR0600 != nullptr;
  const auto get = now ? table_.hipGetDevicePropertiesR0600 : table_.hipGetDeviceProperties;
  KILN_CHECK(table_.check(get(facts, ordinal_), "hipGetDeviceProperties"));
  const auto text_at = [&](std::size_t offset) { return std::string(facts + offset, ::strnlen(facts + offset, 255)); };
  info_.target = text_at(now ? properties::arch_name : properties::old::arch_name);
  KILN_TRY(target_, target::parse_target(info_.target));
  int compute_units = 0;
  KILN_CHECK(table_.check(table_.hipDeviceGetAttribute(&compute_units, attribute::compute_units, ordinal_),
                          "hipDeviceGetAttribute"));
  std::size_t bytes = 0;
  KILN_CHECK(table_.check(table_.hipDeviceTotalMem(&bytes, ordinal_), "hipDeviceTotalMem"));
  char bus[64] = {};
  KILN_CHECK(table_.check(table_.hipDeviceGetPCIBusId(bus, sizeof bus - 1, ordinal_), "hipDeviceGetPCIBusId"));
  Uuid uuid{};
  const bool named = table_.hipDeviceGetUuid != nullptr && table_.hipDeviceGetUuid(&uuid, ordinal_) == success;
  const std::string letters(uuid.bytes, ::strnlen(uuid.bytes, sizeof uuid.bytes));
  const bool printable = std::all_of(letters.begin(), letters.end(), [](unsigned char c) { return c > 32 && c < 127; });
  if (!named) info_.uuid = bus;
  else info_.uuid = "GPU-" + (printable ? letters : to_hex(view(std::string_view(uuid.bytes, sizeof uuid.bytes))));
  info_.name = table_.emulated() ? "emu:" + target_.arch : "hip:" + std::to_string(ordinal_);
  info_.compute_units = compute_units;
  info_.memory_bytes = bytes;
  info_.description = text_at(0) + ", " + std::to_string(compute_units) + " compute units, " + bus;
  return ok();
}

Result<KernelId> HipDevice::load(const compile::Metadata& metadata, ByteView object) {
  KILN_CHECK(choose());
  KILN_TRY(auto kernel, Kernel::load(table_, metadata, object, target_));
  const std::lock_guard lock(mutex_);
  const KernelId id = next_id_++;
  kernels_[id] = std::move(kernel);
  return id;
}

Status HipDevice::unload(KernelId kernel) {
  std::shared_ptr<const Kernel> last;  // freed outside the lock, after the launches that use it
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end()) return Error(ErrorCode::not_found, "no such kernel on the card");
  last = std::move(found->second);
  kernels_.erase(found);
  return ok();
}

Result<BufferId> HipDevice::map(int fd, std::uint64_t offset, std::uint64_t size, bool writable) {
  KILN_CHECK(choose());
  KILN_TRY(auto buffer, Buffer::map(table_, fd, offset, size, writable));
  const std::lock_guard lock(mutex_);
  const BufferId id = next_id_++;
  buffers_[id] = std::move(buffer);
  return id;
}

Status HipDevice::unmap(BufferId buffer) {
  std::shared_ptr<const Buffer> last;
  const std::lock_guard lock(mutex_);
  const auto found = buffers_.find(buffer);
  if (found == buffers_.end()) return Error(ErrorCode::not_found, "no such buffer on the card");
  last = std::move(found->second);
  buffers_.erase(found);
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
  order.uses.push_back({found->second, argument.offset, static_cast<std::uint64_t>(tensor.bytes), true,
                        tensor.access != Access::read});
  Bytes value(8);
  std::memcpy(value.data(), &address, sizeof address);
  order.values.push_back(std::move(value));
  return ok();
}

// With the lock held.
Result<OrderPtr> HipDevice::make_order(KernelId kernel, std::vector<LaunchArgument>& arguments) {
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end()) return Error(ErrorCode::not_found, "no such kernel on the card");
  auto order = std::make_shared<Order>();
  order->kernel = found->second;
  const auto& tensors = order->kernel->tensors();
  KILN_CHECK(check_argument_count(tensors, arguments));
  for (std::size_t i = 0; i < tensors.size(); ++i) KILN_CHECK(add_argument(*order, tensors[i], arguments[i]));
  return order;
}

LaunchId HipDevice::launch(KernelId kernel, std::vector<LaunchArgument> arguments, std::uint64_t stream,
                           LaunchDone done) {
  std::unique_lock lock(mutex_);
  const LaunchId id = next_id_++;
  auto order = make_order(kernel, arguments);
  if (!order) {
    lock.unlock();
    done(std::move(order).error());
    return id;
  }
  (*order)->id = id;
  (*order)->done = std::move(done);
  auto& lane = lanes_[stream % lanes_max];
  if (lane == nullptr) lane = std::make_unique<Lane>(table_, ordinal_);
  lane->submit(std::move(*order));
  return id;
}

void HipDevice::cancel(LaunchId launch) {
  for (std::size_t i = 0; i < lanes_max; ++i) {
    Lane* lane = nullptr;
    {
      const std::lock_guard lock(mutex_);
      lane = lanes_[i].get();
    }
    if (lane != nullptr && lane->cancel(launch)) return;
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
