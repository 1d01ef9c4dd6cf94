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
#include "engine/device/device_server.hpp"

namespace kiln::device {

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
    case DeviceFrame::drop_plan:
    case DeviceFrame::make_plan:
    case DeviceFrame::run_plan:
    case DeviceFrame::make_ring:
    case DeviceFrame::attach_to_ring:
    case DeviceFrame::drop_ring: return handle_plans(frame);
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
