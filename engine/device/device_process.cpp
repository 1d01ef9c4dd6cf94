// What callers ask of a device process.
#include "engine/device/device_process.hpp"

#include <signal.h>
#include <sys/eventfd.h>

#include "engine/base/os.hpp"

namespace kiln::device {
namespace {

constexpr auto call_limit = std::chrono::seconds(120);  // loading links code; a process that takes longer is stuck

// A removal whose item went with its process has succeeded.
Status gone(Status removed) {
  if (!removed && (removed.error().code == ErrorCode::device_lost || removed.error().code == ErrorCode::not_found))
    return {};
  return removed;
}

}  // namespace

DeviceProcess::DeviceProcess(DeviceProcessOptions options)
    : options_(std::move(options)), wake_keeper_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      keeper_([this] { keep(); }) {}

DeviceProcess::~DeviceProcess() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    killed_because_ = "it is being shut down";
    child_.kill(SIGKILL);
    changed_.notify_all();
  }
  wake_keeper();
  keeper_.join();
}

void DeviceProcess::wake_keeper() {
  const std::uint64_t one = 1;
  (void)os::write(wake_keeper_.get(), &one, sizeof one);
}

Result<DeviceProcess::Socket> DeviceProcess::ensure_up(std::unique_lock<std::mutex>& lock) {
  if (state_ != State::up && !closing_) {
    const auto before = attempts_;
    wanted_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return closing_ || attempts_ != before; });
  }
  if (closing_) return Error(ErrorCode::device_lost, "the device is being shut down");
  if (state_ != State::up)
    return start_error_ ? *start_error_ : Error(ErrorCode::device_lost, "the device process ended", true);
  return socket_;
}

std::uint64_t DeviceProcess::ping(const Socket& socket) {
  Writer w;
  w.u64(++pinged_);
  send(socket, DeviceFrame::ping, w.take());
  return pinged_;
}

void DeviceProcess::watch() {
  if (watching_) return;
  watching_ = true;
  wake_keeper();
}

Result<std::shared_ptr<DeviceProcess::Call>> DeviceProcess::begin_call(std::unique_lock<std::mutex>& lock,
                                                                       DeviceFrame kind, std::uint64_t request,
                                                                       Bytes payload, UniqueFd fd,
                                                                       std::function<void()> keep_books) {
  if (payload.size() > frame_bytes_max)
    return Error(ErrorCode::resource_limit, "more than a device process takes at once: " +
                 std::to_string(payload.size()) + " bytes of " + std::to_string(frame_bytes_max));
  auto call = std::make_shared<Call>();
  call->keep_books = std::move(keep_books);
  KILN_TRY(const auto socket, ensure_up(lock));
  calls_[request] = call;
  watch();
  send(socket, kind, std::move(payload), std::move(fd));
  return call;
}

Status DeviceProcess::call(DeviceFrame kind, std::uint64_t request, Bytes payload, UniqueFd fd,
                           std::function<void()> keep_books) {
  std::unique_lock lock(mutex_);
  KILN_TRY(const auto call, begin_call(lock, kind, request, std::move(payload), std::move(fd), std::move(keep_books)));
  const auto socket = socket_;
  const auto answered = [&] { return call->status.has_value(); };
  if (!changed_.wait_for(lock, call_limit, answered)) {
    if (socket_ == socket) {
      killed_because_ = "it did not answer a request for 120 s";
      child_.kill(SIGKILL);
    }
    changed_.wait(lock, answered);  // the keeper fails what is in flight
  }
  return *call->status;
}

// A removal is put off while launches use the item, and waits as long as they run. A process that does not answer gets to
// it when it does, or it is gone with the process: nobody waits for that.
Status DeviceProcess::remove(DeviceFrame kind, const RemoveOrder& order) {
  std::unique_lock lock(mutex_);
  auto begun = begin_call(lock, kind, order.request, encode(order), {}, {});
  if (!begun) return gone(std::move(begun).error());
  const auto& call = *begun;
  const auto serial = ping(socket_);
  const auto heard = [&] { return call->status.has_value() || ponged_ >= serial; };
  if (!changed_.wait_for(lock, options_.answer_limit, heard)) return {};
  changed_.wait(lock, [&] { return call->status.has_value(); });
  return gone(*call->status);
}

// Up, and with everything that the launch uses.
Result<DeviceProcess::Socket> DeviceProcess::ensure_restored(std::unique_lock<std::mutex>& lock,
                                                             const LaunchOrder& order) {
  KILN_CHECK(ensure_up(lock));
  std::vector<std::uint64_t> wanted;
  if (!missing_.empty()) {
    if (missing_.contains(order.kernel)) wanted.push_back(order.kernel);
    for (const auto& argument : order.arguments)
      if (missing_.contains(argument.buffer)) wanted.push_back(argument.buffer);
  }
  for (const auto id : wanted) {
    lock.unlock();
    auto status = bring_back(id);
    lock.lock();
    if (!status)
      return std::move(status).error().with("the device was started again, and what the launch uses is not restored");
  }
  return ensure_up(lock);
}

Status DeviceProcess::bring_back(std::uint64_t id) {
  KILN_TRY(auto order, restoring(id));
  return call(order.kind, order.request, std::move(order.payload), std::move(order.fd),
              [this, id] { missing_.erase(id); });
}

Result<DeviceProcess::Restoring> DeviceProcess::restoring(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  Restoring restoring;
  restoring.request = next_id_++;
  if (const auto kernel = kernels_.find(id); kernel != kernels_.end()) {
    auto order = kernel->second;
    order.request = restoring.request;
    restoring.payload = encode(order);
    return restoring;
  }
  const auto buffer = buffers_.find(id);
  if (buffer == buffers_.end()) return Error(ErrorCode::not_found, "no such kernel or buffer on the device");
  auto order = buffer->second.order;
  order.request = restoring.request;
  restoring.kind = DeviceFrame::map;
  restoring.payload = encode(order);
  KILN_TRY(restoring.fd, buffer->second.fd.duplicate());
  restoring.number = restoring.fd.get();
  return restoring;
}

Result<DeviceInfo> DeviceProcess::info() {
  std::unique_lock lock(mutex_);
  if (attempts_ == 0 || info_.name.empty()) KILN_CHECK(ensure_up(lock));
  return info_;
}

Result<KernelId> DeviceProcess::load(const compile::Metadata& metadata, ByteView object) {
  LoadOrder order;
  {
    const std::lock_guard lock(mutex_);
    order.request = next_id_++;
    order.kernel = next_id_++;
  }
  order.metadata = compile::encode(metadata);
  order.object.assign(object.begin(), object.end());
  KILN_CHECK(call(DeviceFrame::load, order.request, encode(order), {}, [&] { kernels_[order.kernel] = order; }));
  return order.kernel;
}

Status DeviceProcess::unload(KernelId kernel) {
  RemoveOrder order{0, kernel};
  {
    const std::lock_guard lock(mutex_);
    if (kernels_.erase(kernel) == 0) return Error(ErrorCode::not_found, "no such kernel on the device");
    missing_.erase(kernel);
    if (state_ == State::down) return {};
    order.request = next_id_++;
  }
  return remove(DeviceFrame::unload, order);
}

Result<BufferId> DeviceProcess::map(int fd, std::uint64_t offset, std::uint64_t size, bool writable) {
  UniqueFd kept(os::duplicate(fd, 0)), sent(os::duplicate(fd, 0));
  if (!kept || !sent) return errno_error(errno, "cannot keep the buffer's descriptor");
  MapOrder order{0, 0, offset, size, writable};
  {
    const std::lock_guard lock(mutex_);
    order.request = next_id_++;
    order.buffer = next_id_++;
  }
  KILN_CHECK(call(DeviceFrame::map, order.request, encode(order), std::move(sent),
                  [&] { buffers_[order.buffer] = {std::move(kept), order}; }));
  return order.buffer;
}

Status DeviceProcess::unmap(BufferId buffer) {
  RemoveOrder order{0, buffer};
  {
    const std::lock_guard lock(mutex_);
    if (buffers_.erase(buffer) == 0) return Error(ErrorCode::not_found, "no such buffer on the device");
    missing_.erase(buffer);
    if (state_ == State::down) return {};
    order.request = next_id_++;
  }
  return remove(DeviceFrame::unmap, order);
}

LaunchId DeviceProcess::launch(KernelId kernel, std::vector<LaunchArgument> arguments, std::uint64_t stream,
                               LaunchDone done) {
  LaunchOrder order{0, kernel, stream, std::move(arguments)};
  std::unique_lock lock(mutex_);
  order.launch = next_id_++;
  auto socket = ensure_restored(lock, order);
  if (!socket) {
    lock.unlock();
    done(std::move(socket).error());
    return order.launch;
  }
  auto& launch = launches_[order.launch];
  launch.kernel = kernel;
  launch.stream = stream;
  launch.done = std::move(done);
  watch();
  send(*socket, DeviceFrame::launch, encode(order), {}, order.launch);
  return order.launch;
}

void DeviceProcess::cancel(LaunchId launch) {
  const std::lock_guard lock(mutex_);
  const auto it = launches_.find(launch);
  if (it == launches_.end() || it->second.told != 0) return;
  if (sender_.take_back(launch)) {  // the process never hears of it
    complete(it->second, cancelled_launch());
    launches_.erase(it);
    return;
  }
  Writer w;
  w.u64(launch);
  send(socket_, DeviceFrame::cancel, w.take());
  it->second.told = ping(socket_);
  it->second.answer = Deadline::after(options_.answer_limit);
  wake_keeper();
}

Error DeviceProcess::cancelled_launch() { return Error(ErrorCode::cancelled, "the launch was cancelled"); }

void DeviceProcess::complete(Launch& launch, Result<LaunchReport> report) {
  if (!launch.done) return;
  completions_.add([done = std::exchange(launch.done, nullptr), report = std::move(report)]() mutable {
    done(std::move(report));
  });
}

std::unique_ptr<Device> start_device_process(DeviceProcessOptions options) {
  return std::make_unique<DeviceProcess>(std::move(options));
}

}  // namespace kiln::device
