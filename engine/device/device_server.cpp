// The main that all device processes share: serves one local device over descriptor 3.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/base/channel.hpp"
#include "engine/base/error_encoding.hpp"
#include "engine/base/os.hpp"
#include "engine/base/paths.hpp"
#include "engine/device/device.hpp"
#include "engine/device/device_protocol.hpp"
#include "engine/device/executor.hpp"

namespace kiln::device {
namespace {

// The reading thread never waits for the device, so that a cancellation is seen at once: launches are asynchronous, and
// everything that may block (load, map, read, their opposites) runs on one other thread, in order; allocations, which
// clear memory, on a second one. The removal of something in use is put off until the last launch that uses it is done.
class Server {
 public:
  explicit Server(std::unique_ptr<Device> device) : device_(std::move(device)) {}
  // Serves until the socket ends. The process then ends without undoing anything: launches may be running.
  Status serve();

 private:
  // A kernel, buffer, event or plan of the device under the client's id.
  struct Item {
    std::uint64_t local = 0;
    int uses = 0;                               // launches in flight, plans
    std::optional<RemoveOrder> removal;         // waits for uses == 0
  };
  using Items = std::map<std::uint64_t, Item>;
  struct Running {
    LaunchId local = 0;
    KernelId kernel = 0;
    std::vector<BufferId> buffers;
    std::vector<EventId> events;
    PlanId plan = 0;                            // its run, in place of the above
  };
  struct PlanUses {
    std::vector<KernelId> kernels;
    std::vector<BufferId> buffers;
  };

  Status handle(Frame frame);
  Status handle_memory(const Frame& frame);
  // Does what brings a new item under the client's id; answers with what `work` adds to the payload.
  void bring(Items Server::* items, std::uint64_t request, std::uint64_t id,
             const std::function<Result<std::uint64_t>(Bytes& payload)>& work);
  void load(const LoadOrder& order);
  void map(const MapOrder& order, const std::vector<UniqueFd>& fds);
  void read(const ReadOrder& order, const std::vector<UniqueFd>& fds);
  void make_plan(PlanOrder order);
  Status resolve_plan(PlanOrder& order, PlanUses& uses);  // with the lock held; counts the uses, also of one that fails
  void release_all(const PlanUses& uses);                 // with the lock held
  void run_plan(const RunOrder& order);
  bool knows(Items Server::* items, std::uint64_t id);
  void remove(Items Server::* items, const RemoveOrder& order);
  void remove_now(Items Server::* items, const RemoveOrder& order, std::uint64_t local);
  void launch(LaunchOrder order);
  Result<KernelId> resolve(LaunchOrder& order);  // with the lock held; counts the uses
  Status resolve_events(LaunchSettings& settings, std::vector<EventId>& used);
  void launched(LaunchId launch, Result<LaunchReport> report);
  void release(Items Server::* items, std::uint64_t id);  // with the lock held
  void cancel(LaunchId launch);
  Status send(DeviceFrame kind, ByteView payload);
  // Its end says `freed`.
  std::shared_ptr<const void> until_free(std::uint64_t request);
  void done(std::uint64_t request, Status status, Bytes payload = {});
  void later(std::function<void()> work) { executor_.add(std::move(work)); }

  std::unique_ptr<Device> device_;
  std::mutex send_mutex_;
  std::mutex mutex_;
  Items kernels_, buffers_, events_, plans_;
  std::map<PlanId, PlanUses> plan_uses_;
  std::map<LaunchId, Running> running_;
  Executor executor_, allocations_;   // last
};

Status Server::serve() {
  KILN_TRY(const auto info, device_->info());
  KILN_CHECK(send(DeviceFrame::ready, encode(info)));
  for (;;) {
    auto frame = receive_frame(device_descriptor);
    if (!frame) return frame.error().code == ErrorCode::not_running ? Status() : Status(frame.error());
    KILN_CHECK(handle(std::move(*frame)));
  }
}

Status Server::handle(Frame frame) {
  switch (static_cast<DeviceFrame>(frame.kind)) {
    case DeviceFrame::load: {
      KILN_TRY(auto order, decode_load(frame.payload));
      later([this, order = std::move(order)] { load(order); });
      return {};
    }
    case DeviceFrame::map: {
      KILN_TRY(const auto order, decode_map(frame.payload));
      auto fds = std::make_shared<std::vector<UniqueFd>>(std::move(frame.fds));
      later([this, order, fds] { map(order, *fds); });
      return {};
    }
    case DeviceFrame::unload: {
      KILN_TRY(const auto order, decode_remove(frame.payload));
      remove(&Server::kernels_, order);
      return {};
    }
    case DeviceFrame::unmap: {
      KILN_TRY(const auto order, decode_remove(frame.payload));
      remove(&Server::buffers_, order);
      return {};
    }
    case DeviceFrame::close_event: {
      KILN_TRY(const auto order, decode_remove(frame.payload));
      remove(&Server::events_, order);
      return {};
    }
    case DeviceFrame::drop_plan: {
      KILN_TRY(const auto order, decode_remove(frame.payload));
      remove(&Server::plans_, order);
      return {};
    }
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
    case DeviceFrame::read: {
      KILN_TRY(const auto order, decode_read(frame.payload));
      auto fds = std::make_shared<std::vector<UniqueFd>>(std::move(frame.fds));
      later([this, order, fds] { read(order, *fds); });
      return {};
    }
    case DeviceFrame::open_memory:
    case DeviceFrame::allocate:
    case DeviceFrame::open_event:
    case DeviceFrame::make_event: return handle_memory(frame);
    case DeviceFrame::launch: {
      KILN_TRY(auto order, decode_launch(frame.payload));
      launch(std::move(order));
      return {};
    }
    case DeviceFrame::cancel: {
      Reader r(frame.payload);
      const auto id = r.u64();
      KILN_CHECK(r.finish());
      cancel(id);
      return {};
    }
    case DeviceFrame::ping:
      return send(DeviceFrame::pong, frame.payload);
    default:
      return Error(ErrorCode::protocol_error, "a frame that is no request: " + std::to_string(frame.kind));
  }
}

Status Server::handle_memory(const Frame& frame) {
  const auto kind = static_cast<DeviceFrame>(frame.kind);
  const auto give = [](const IpcHandle& handle, Bytes& payload) { payload.assign(handle.begin(), handle.end()); };
  if (kind == DeviceFrame::open_memory || kind == DeviceFrame::allocate) {
    KILN_TRY(const auto order, decode_memory(frame.payload));
    auto& executor = kind == DeviceFrame::allocate ? allocations_ : executor_;
    executor.add([this, order, kind, give] {
      bring(&Server::buffers_, order.request, order.buffer, [&](Bytes& payload) -> Result<std::uint64_t> {
        auto free = until_free(order.request);
        if (kind == DeviceFrame::open_memory)
          return device_->open_memory(order.handle, order.offset, order.size, std::move(free));
        KILN_TRY(const auto made, device_->allocate(order.size, std::move(free)));
        give(made.handle, payload);
        return made.buffer;
      });
    });
    return {};
  }
  KILN_TRY(const auto order, decode_event(frame.payload));
  later([this, order, kind, give] {
    bring(&Server::events_, order.request, order.event, [&](Bytes& payload) -> Result<std::uint64_t> {
      if (kind == DeviceFrame::open_event) return device_->open_event(order.handle);
      KILN_TRY(const auto made, device_->make_event());
      give(made.handle, payload);
      return made.event;
    });
  });
  return {};
}

void Server::bring(Items Server::* items, std::uint64_t request, std::uint64_t id,
                   const std::function<Result<std::uint64_t>(Bytes& payload)>& work) {
  if (knows(items, id)) return done(request, {});
  Bytes payload;
  auto local = work(payload);
  if (local) {
    const std::lock_guard lock(mutex_);
    (this->*items)[id].local = *local;
  }
  done(request, local ? Status() : Status(std::move(local).error()), std::move(payload));
}

void Server::load(const LoadOrder& order) {
  bring(&Server::kernels_, order.request, order.kernel, [&](Bytes&) -> Result<std::uint64_t> {
    KILN_TRY(const auto metadata, compile::decode_metadata(order.metadata));
    return device_->load(metadata, order.object);
  });
}

void Server::map(const MapOrder& order, const std::vector<UniqueFd>& fds) {
  bring(&Server::buffers_, order.request, order.buffer, [&](Bytes&) -> Result<std::uint64_t> {
    auto free = order.card ? until_free(order.request) : nullptr;
    if (fds.size() != 1) return Error(ErrorCode::protocol_error, "a mapping comes with one descriptor");
    if (order.card) return device_->import_memory(fds[0].get(), order.offset, order.size, std::move(free));
    return device_->map(fds[0].get(), order.offset, order.size, order.writable);
  });
}

// On the executor, where nothing else removes the buffer meanwhile.
void Server::read(const ReadOrder& order, const std::vector<UniqueFd>& fds) {
  if (fds.size() != 1)
    return done(order.request, Error(ErrorCode::protocol_error, "a reading comes with one descriptor"));
  std::optional<std::uint64_t> local;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = buffers_.find(order.buffer); found != buffers_.end()) local = found->second.local;
  }
  if (!local) return done(order.request, Error(ErrorCode::not_found, "no such buffer on the device"));
  done(order.request, device_->read(*local, order.offset, order.bytes, fds[0].get()));
}

// A client that was not sure whether an order arrived gives it again. An id is added by one executor alone.
bool Server::knows(Items Server::* items, std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  return (this->*items).contains(id);
}

void Server::remove(Items Server::* items, const RemoveOrder& order) {
  std::unique_lock lock(mutex_);
  const auto it = (this->*items).find(order.id);
  if (it == (this->*items).end()) {
    lock.unlock();
    if (items == &Server::buffers_) (void)until_free(order.request);
    return done(order.request, Error(ErrorCode::not_found, "no such kernel, buffer, event or plan on the device"));
  }
  it->second.removal = order;
  ++it->second.uses;
  release(items, order.id);
}

void Server::release(Items Server::* items, std::uint64_t id) {
  const auto it = (this->*items).find(id);
  if (it == (this->*items).end() || --it->second.uses > 0 || !it->second.removal) return;
  const auto order = *it->second.removal;
  const auto local = it->second.local;
  (this->*items).erase(it);
  later([this, items, order, local] { remove_now(items, order, local); });
}

void Server::remove_now(Items Server::* items, const RemoveOrder& order, std::uint64_t local) {
  if (items == &Server::plans_) {
    auto status = device_->drop_plan(local);
    {
      const std::lock_guard lock(mutex_);
      release_all(plan_uses_[order.id]);
      plan_uses_.erase(order.id);
    }
    return done(order.request, std::move(status));
  }
  if (items != &Server::buffers_)
    return done(order.request, items == &Server::kernels_ ? device_->unload(local) : device_->close_event(local));
  auto status = device_->unmap(local, until_free(order.request));   // quick ones are free before they are done
  done(order.request, std::move(status));
}

std::shared_ptr<const void> Server::until_free(std::uint64_t request) {
  return {nullptr, [this, request](const void*) {
    Writer w;
    w.u64(request);
    (void)send(DeviceFrame::freed, w.data());
  }};
}

void Server::launch(LaunchOrder order) {
  const auto id = order.launch;
  auto kernel = [&] {
    const std::lock_guard lock(mutex_);
    return resolve(order);
  }();
  if (!kernel) {
    (void)send(DeviceFrame::launched, encode(LaunchedReport{id, std::move(kernel).error()}));
    return;
  }
  if (order.tell_enqueued)
    order.settings.enqueued = [this, id] {
      Writer w;
      w.u64(id);
      (void)send(DeviceFrame::enqueued, w.data());
    };
  os::reach(os::Place::launch);
  const auto local = device_->launch(*kernel, std::move(order.arguments), std::move(order.settings),
                                     [this, id](Result<LaunchReport> report) { launched(id, std::move(report)); });
  const std::lock_guard lock(mutex_);
  if (const auto it = running_.find(id); it != running_.end()) it->second.local = local;  // else it is done already
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

// Puts the device's ids of the events into the settings; `used`: the client's.
Status Server::resolve_events(LaunchSettings& settings, std::vector<EventId>& used) {
  auto events = settings.wait;
  if (settings.record != 0) events.push_back(settings.record);
  for (auto& id : events) {
    const auto event = events_.find(id);
    if (event == events_.end() || event->second.removal)
      return Error(ErrorCode::not_found, "an event of the launch is not on the device");
    used.push_back(std::exchange(id, event->second.local));
  }
  if (settings.record != 0) {
    settings.record = events.back();
    events.pop_back();
  }
  settings.wait = std::move(events);
  return {};
}

// The device's id of the kernel; puts the device's ids of buffers and events into the order.
Result<KernelId> Server::resolve(LaunchOrder& order) {
  const auto kernel = kernels_.find(order.kernel);
  if (kernel == kernels_.end() || kernel->second.removal)
    return Error(ErrorCode::not_found, "the kernel is not loaded on the device");
  if (running_.contains(order.launch)) return Error(ErrorCode::protocol_error, "a launch id that is in use");
  Running running;
  running.kernel = order.kernel;
  for (const auto& argument : order.arguments) {
    if (argument.buffer == 0) continue;
    const auto buffer = buffers_.find(argument.buffer);
    if (buffer == buffers_.end() || buffer->second.removal)
      return Error(ErrorCode::not_found, "a buffer of the launch is not mapped on the device");
    running.buffers.push_back(argument.buffer);
  }
  KILN_CHECK(resolve_events(order.settings, running.events));
  ++kernel->second.uses;
  for (const auto id : running.events) ++events_[id].uses;
  for (const auto id : running.buffers) ++buffers_[id].uses;
  for (auto& argument : order.arguments)
    if (argument.buffer != 0) argument.buffer = buffers_[argument.buffer].local;
  running_[order.launch] = std::move(running);
  return kernel->second.local;
}

void Server::launched(LaunchId launch, Result<LaunchReport> report) {
  const auto sent = send(DeviceFrame::launched, encode(LaunchedReport{launch, std::move(report)}));
  // Whoever waits for the launch is answered: with what could not be said in place of the report.
  if (!sent) (void)send(DeviceFrame::launched, encode(LaunchedReport{launch, sent.error()}));
  const std::lock_guard lock(mutex_);
  const auto it = running_.find(launch);
  if (it == running_.end()) return;
  const auto running = std::move(it->second);
  running_.erase(it);
  if (running.plan != 0) return release(&Server::plans_, running.plan);
  for (const auto id : running.buffers) release(&Server::buffers_, id);
  for (const auto id : running.events) release(&Server::events_, id);
  release(&Server::kernels_, running.kernel);
}

void Server::cancel(LaunchId launch) {
  LaunchId local;
  {
    const std::lock_guard lock(mutex_);
    const auto it = running_.find(launch);
    if (it == running_.end()) return;
    local = it->second.local;
  }
  device_->cancel(local);
}

// An error only for a frame that is too large, of which nothing is sent: a lost peer shows as the socket's end.
Status Server::send(DeviceFrame kind, ByteView payload) {
  const std::lock_guard lock(send_mutex_);
  auto sent = send_frame(device_descriptor, static_cast<std::uint8_t>(kind), payload);
  if (sent || sent.error().code != ErrorCode::resource_limit) return ok();
  return std::move(sent).error().with("it is the answer of the device process, of " +
                                      std::to_string(payload.size()) + " bytes");
}

void Server::done(std::uint64_t request, Status status, Bytes payload) {
  const auto sent = send(DeviceFrame::done, encode(DoneReport{request, std::move(status), std::move(payload)}));
  if (!sent) (void)send(DeviceFrame::done, encode(DoneReport{request, sent.error(), {}}));
}

}  // namespace

int device_main(int argc, char** argv, const LocalDeviceFactory& factory) {
  if (::fcntl(device_descriptor, F_GETFD) < 0) {
    std::fprintf(stderr, "a device process is started by Kiln, with a socket as descriptor 3\n");
    return 2;
  }
  ::fcntl(device_descriptor, F_SETFD, FD_CLOEXEC);
  ::signal(SIGINT, SIG_IGN);  // a terminal's ^C goes to everyone; what it means is the parent's decision
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  auto device = factory(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
  if (auto armed = arm_failpoints_of_environment(); !armed) device = std::move(armed).error();
  if (!device) {
    Writer w;
    write_error(w, device.error());
    (void)send_frame(device_descriptor, static_cast<std::uint8_t>(DeviceFrame::failed), w.data());
    return 1;
  }
  // Never destroyed: the process ends under running launches.
  auto* server = new Server(std::move(*device));
  const auto status = server->serve();
  if (!status) std::fprintf(stderr, "device process: %s\n", to_text(status.error()).c_str());
  std::fflush(nullptr);
  ::_exit(status ? 0 : 1);
}

}  // namespace kiln::device
