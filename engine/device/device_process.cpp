// What callers ask of a device process.
#include "engine/device/device_process.hpp"

#include <signal.h>
#include <sys/eventfd.h>

#include <algorithm>

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

template <class T>
Status status_of(Result<T> result) {
  return result ? Status() : Status(std::move(result).error());
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
                                                                       Request request) {
  if (request.payload.size() > frame_bytes_max)
    return Error(ErrorCode::resource_limit, "more than a device process takes at once: " +
                 std::to_string(request.payload.size()) + " bytes of " + std::to_string(frame_bytes_max));
  auto call = std::make_shared<Call>();
  call->keep_books = std::move(request.keep_books);
  KILN_TRY(const auto socket, ensure_up(lock));
  calls_[request.number] = call;
  // Let go by the process's word, or its end.
  if (request.until_free.use_count() != 0) until_free_.emplace(request.number, std::move(request.until_free));
  watch();
  std::vector<UniqueFd> fds;
  for (auto* fd : {&request.fd, &request.bell})
    if (*fd) fds.push_back(std::move(*fd));
  send(socket, request.kind, std::move(request.payload), std::move(fds));
  return call;
}

Result<Bytes> DeviceProcess::call(Request request) {
  return call(std::move(request), call_limit, "it did not answer a request for 120 s");
}

Result<Bytes> DeviceProcess::call(Request request, std::chrono::milliseconds limit, const char* why) {
  std::unique_lock lock(mutex_);
  KILN_TRY(const auto call, begin_call(lock, std::move(request)));
  const auto socket = socket_;
  const auto answered = [&] { return call->status.has_value(); };
  if (!changed_.wait_for(lock, limit, answered)) {
    if (socket_ == socket) {
      killed_because_ = why;
      child_.kill(SIGKILL);
    }
    changed_.wait(lock, answered);  // the keeper fails what is in flight
  }
  KILN_CHECK(*call->status);
  return std::move(call->payload);
}

// A removal is put off while launches use the item, and waits as long as they run. A process that does not answer gets
// to it when it does, or it is gone with the process: nobody waits for that.
Status DeviceProcess::remove(Request request) {
  std::unique_lock lock(mutex_);
  auto begun = begin_call(lock, std::move(request));
  if (!begun) return gone(std::move(begun).error());
  const auto& call = *begun;
  const auto serial = ping(socket_);
  const auto heard = [&] { return call->status.has_value() || ponged_ >= serial; };
  if (!changed_.wait_for(lock, options_.answer_limit, heard)) return {};
  changed_.wait(lock, [&] { return call->status.has_value(); });
  return gone(*call->status);
}

void DeviceProcess::Needs::add(const std::vector<LaunchArgument>& arguments) {
  for (const auto& argument : arguments)
    if (argument.buffer != 0) memory.push_back(argument.buffer);
}

DeviceProcess::Needs DeviceProcess::plan_needs(PlanId plan) const {
  Needs needs;
  needs.plan.push_back(plan);
  const auto item = items_.find(plan);
  const auto* order = item == items_.end() ? nullptr : std::get_if<PlanOrder>(&item->second.order);
  if (order == nullptr) return needs;
  for (const auto& step : order->steps) {
    needs.kernels.push_back(step.kernel);
    needs.add(step.arguments);
  }
  return needs;
}

Status DeviceProcess::check_not_lost(const Needs& needs) const {
  const auto lost = [&](std::uint64_t id) { return lost_.contains(id); };
  const bool memory = std::any_of(needs.memory.begin(), needs.memory.end(), lost);
  if (!memory && std::none_of(needs.events.begin(), needs.events.end(), lost)) return {};
  const std::string what = memory ? "memory that the card allocated" : "an event that the card made";
  return Error(ErrorCode::device_lost, what + " for this launch was lost when the device process ended; " +
               (memory ? "allocate it again" : "export one again"));
}

// Up, and with everything that the launch uses.
Result<DeviceProcess::Socket> DeviceProcess::ensure_restored(std::unique_lock<std::mutex>& lock,
                                                             const std::function<Needs()>& needs) {
  KILN_CHECK(ensure_up(lock));
  if (missing_.empty() && lost_.empty()) return socket_;
  const auto needed = needs();
  KILN_CHECK(check_not_lost(needed));
  std::vector<std::uint64_t> wanted;
  for (const auto* list : {&needed.kernels, &needed.memory, &needed.events, &needed.plan})
    for (const auto id : *list)
      if (missing_.contains(id)) wanted.push_back(id);
  for (const auto id : wanted) {
    if (!missing_.contains(id)) continue;   // named twice
    lock.unlock();
    auto status = bring_back(id);
    lock.lock();
    if (!status)
      return std::move(status).error().with("the device was started again, and what the launch uses is not restored");
  }
  KILN_CHECK(check_not_lost(needed));  // it may have ended meanwhile
  return ensure_up(lock);
}

Status DeviceProcess::bring_back(std::uint64_t id) {
  KILN_TRY(auto order, restoring(id));
  return status_of(call({order.kind, order.request, std::move(order.payload), std::move(order.fd),
                         [this, id] { missing_.erase(id); }, nullptr}));
}

Bytes DeviceProcess::payload_of(const Item& item, std::uint64_t request) {
  return std::visit([&](auto order) {
    order.request = request;
    return encode(order);
  }, item.order);
}

Result<DeviceProcess::Restoring> DeviceProcess::restoring(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = items_.find(id);
  if (found == items_.end()) return Error(ErrorCode::not_found, "no such kernel, buffer, event or plan on the device");
  const auto& item = found->second;
  Restoring restoring;
  restoring.request = next_id_++;
  restoring.kind = item.frame;
  restoring.payload = payload_of(item, restoring.request);
  if (item.fd) {
    KILN_TRY(restoring.fd, item.fd.duplicate());
    restoring.number = restoring.fd.get();
  }
  return restoring;
}

Result<std::uint64_t> DeviceProcess::bring(Item item, UntilFree until_free, Bytes* payload) {
  std::uint64_t request, id;
  {
    const std::lock_guard lock(mutex_);
    request = next_id_++;
    id = next_id_++;
  }
  if (auto* load = std::get_if<LoadOrder>(&item.order)) load->kernel = id;
  else if (auto* map = std::get_if<MapOrder>(&item.order)) map->buffer = id;
  else if (auto* memory = std::get_if<MemoryOrder>(&item.order)) memory->buffer = id;
  else if (auto* plan = std::get_if<PlanOrder>(&item.order)) plan->plan = id;
  else std::get<EventOrder>(item.order).event = id;
  UniqueFd sent;
  if (item.fd) {
    KILN_TRY(sent, item.fd.duplicate());
  }
  const auto frame = item.frame;
  KILN_TRY(auto answer, call({frame, request, payload_of(item, request), std::move(sent),
                              [&] { items_.emplace(id, std::move(item)); }, std::move(until_free)}));
  if (payload != nullptr) *payload = std::move(answer);
  return id;
}

Status DeviceProcess::take_away(std::uint64_t id, Item::Kind kind, DeviceFrame frame,
                                UntilFree until_free) {
  RemoveOrder order{0, id};
  {
    const std::lock_guard lock(mutex_);
    const auto found = items_.find(id);
    if (found == items_.end() || found->second.kind != kind)
      return Error(ErrorCode::not_found, "no such kernel, buffer, event or plan on the device");
    items_.erase(found);
    missing_.erase(id);
    if (lost_.erase(id) != 0 || state_ == State::down) return {};
    order.request = next_id_++;
  }
  return remove({frame, order.request, encode(order), {}, {}, std::move(until_free)});
}

Result<DeviceInfo> DeviceProcess::info() {
  std::unique_lock lock(mutex_);
  if (attempts_ == 0 || info_.name.empty()) KILN_CHECK(ensure_up(lock));
  return info_;
}

Result<KernelId> DeviceProcess::load(const compile::Metadata& metadata, ByteView object) {
  LoadOrder order;
  order.metadata = compile::encode(metadata);
  order.object.assign(object.begin(), object.end());
  return bring({Item::Kind::kernel, DeviceFrame::load, std::move(order), {}});
}

Status DeviceProcess::unload(KernelId kernel) { return take_away(kernel, Item::Kind::kernel, DeviceFrame::unload); }

Result<BufferId> DeviceProcess::bring_mapping(int fd, const MapOrder& order, UntilFree until_free) {
  UniqueFd kept(os::duplicate(fd, 0));
  if (!kept) return errno_error(errno, "cannot keep the buffer's descriptor");
  return bring({Item::Kind::buffer, DeviceFrame::map, order, std::move(kept)}, std::move(until_free));
}

Result<BufferId> DeviceProcess::map(int fd, std::uint64_t offset, std::uint64_t size, bool writable) {
  return bring_mapping(fd, MapOrder{0, 0, offset, size, writable, false}, nullptr);
}

Result<BufferId> DeviceProcess::import_memory(int fd, std::uint64_t offset, std::uint64_t size, UntilFree until_free) {
  return bring_mapping(fd, MapOrder{0, 0, offset, size, true, true}, std::move(until_free));
}

Status DeviceProcess::unmap(BufferId buffer, UntilFree until_free) {
  return take_away(buffer, Item::Kind::buffer, DeviceFrame::unmap, std::move(until_free));
}

namespace {

Result<IpcHandle> handle_in(ByteView payload) {
  IpcHandle handle{};
  if (payload.size() != handle.size()) return Error(ErrorCode::protocol_error, "the device process gave no IPC handle");
  std::copy(payload.begin(), payload.end(), handle.begin());
  return handle;
}

}  // namespace

Result<BufferId> DeviceProcess::open_memory(const IpcHandle& handle, std::uint64_t offset, std::uint64_t size,
                                            UntilFree until_free) {
  return bring({Item::Kind::buffer, DeviceFrame::open_memory, MemoryOrder{0, 0, offset, size, handle}, {}},
               std::move(until_free));
}

Result<AllocatedBuffer> DeviceProcess::allocate(std::uint64_t size, UntilFree until_free) {
  Bytes payload;
  Item item{Item::Kind::buffer, DeviceFrame::allocate, MemoryOrder{0, 0, 0, size, {}}, {}};
  KILN_TRY(const auto id, bring(std::move(item), std::move(until_free), &payload));
  KILN_TRY(const auto handle, handle_in(payload));
  return AllocatedBuffer{id, handle};
}

Result<EventId> DeviceProcess::open_event(const IpcHandle& handle) {
  return bring({Item::Kind::event, DeviceFrame::open_event, EventOrder{0, 0, handle}, {}});
}

Result<MadeEvent> DeviceProcess::make_event() {
  Bytes payload;
  KILN_TRY(const auto id, bring({Item::Kind::event, DeviceFrame::make_event, EventOrder{}, {}}, nullptr, &payload));
  KILN_TRY(const auto handle, handle_in(payload));
  return MadeEvent{id, handle};
}

Status DeviceProcess::close_event(EventId event) {
  return take_away(event, Item::Kind::event, DeviceFrame::close_event);
}

Status DeviceProcess::read(BufferId buffer, std::uint64_t offset, std::uint64_t bytes, int fd) {
  UniqueFd sent(os::duplicate(fd, 0));
  if (!sent) return errno_error(errno, "cannot hand the descriptor on");
  ReadOrder order{0, buffer, offset, bytes};
  {
    std::unique_lock lock(mutex_);
    KILN_CHECK(ensure_restored(lock, [&] { return Needs{{}, {buffer}, {}, {}}; }));
    order.request = next_id_++;
  }
  return status_of(call({DeviceFrame::read, order.request, encode(order), std::move(sent), {}, nullptr}));
}

LaunchId DeviceProcess::launch(KernelId kernel, std::vector<LaunchArgument> arguments, LaunchSettings settings,
                               LaunchDone done) {
  LaunchOrder order{0, kernel, std::move(arguments), std::move(settings), false};
  order.tell_enqueued = order.settings.enqueued != nullptr;
  std::unique_lock lock(mutex_);
  order.launch = next_id_++;
  auto socket = ensure_restored(lock, [&] {
    Needs needs{{kernel}, {}, order.settings.wait, {}};
    needs.add(order.arguments);
    if (order.settings.record != 0) needs.events.push_back(order.settings.record);
    return needs;
  });
  Launch launch;
  launch.item = kernel;
  launch.stream = order.settings.stream;
  launch.records = order.settings.record != 0;
  launch.enqueued = std::move(order.settings.enqueued);
  launch.done = std::move(done);
  return begin_launch(lock, order.launch, std::move(launch), std::move(socket), DeviceFrame::launch,
                      [&] { return encode(order); });
}

LaunchId DeviceProcess::begin_launch(std::unique_lock<std::mutex>& lock, LaunchId id, Launch launch,
                                     Result<Socket> socket, DeviceFrame frame, const std::function<Bytes()>& payload) {
  if (!socket) {
    lock.unlock();
    launch.done(std::move(socket).error());
    return id;
  }
  launches_[id] = std::move(launch);
  watch();
  send(*socket, frame, payload(), {}, id);
  return id;
}

Result<PlanId> DeviceProcess::make_plan(const std::vector<PlanStep>& steps) {
  // The process may have been started again since the kernels were loaded, without one of them.
  {
    std::unique_lock lock(mutex_);
    KILN_CHECK(ensure_restored(lock, [&] {
      Needs needs;
      for (const auto& step : steps) {
        needs.kernels.push_back(step.kernel);
        needs.add(step.arguments);
      }
      return needs;
    }));
  }
  return bring({Item::Kind::plan, DeviceFrame::make_plan, PlanOrder{0, 0, steps}, {}});
}

LaunchId DeviceProcess::run_plan(PlanId plan, std::uint64_t stream, LaunchDone done) {
  std::unique_lock lock(mutex_);
  const RunOrder order{next_id_++, plan, stream};
  auto socket = ensure_restored(lock, [&] { return plan_needs(plan); });
  Launch launch;
  launch.item = plan;
  launch.stream = stream;
  launch.done = std::move(done);
  return begin_launch(lock, order.launch, std::move(launch), std::move(socket), DeviceFrame::run_plan,
                      [&] { return encode(order); });
}

Status DeviceProcess::drop_plan(PlanId plan) { return take_away(plan, Item::Kind::plan, DeviceFrame::drop_plan); }

Result<RingId> DeviceProcess::make_ring(int memory, UniqueFd bell, std::uint32_t slots, std::uint64_t stream) {
  UniqueFd sent(os::duplicate(memory, 0));
  if (!sent) return errno_error(errno, "cannot hand the ring on");
  RingOrder order{0, 0, slots, stream};
  {
    const std::lock_guard lock(mutex_);
    order.request = next_id_++;
    order.ring = next_id_++;
  }
  KILN_CHECK(
      call({DeviceFrame::make_ring, order.request, encode(order), std::move(sent), {}, nullptr, std::move(bell)}));
  return order.ring;
}

Status DeviceProcess::attach_to_ring(RingId ring, std::uint64_t number, PlanId plan) {
  AttachOrder order{0, ring, number, plan};
  {
    std::unique_lock lock(mutex_);
    KILN_CHECK(ensure_restored(lock, [&] { return plan_needs(plan); }));
    order.request = next_id_++;
  }
  return status_of(call({DeviceFrame::attach_to_ring, order.request, encode(order), {}, {}, nullptr, {}}));
}

Status DeviceProcess::drop_ring(RingId ring) {
  RemoveOrder order{0, ring};
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::down) return {};   // it went with its process
    order.request = next_id_++;
  }
  return gone(status_of(call({DeviceFrame::drop_ring, order.request, encode(order), {}, {}, nullptr, {}},
                             options_.cancel_limit, "a ring's run did not end")));
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
  launch.enqueued = nullptr;
  if (!launch.done) return;
  completions_.add([done = std::exchange(launch.done, nullptr), report = std::move(report)]() mutable {
    done(std::move(report));
  });
}

std::unique_ptr<Device> start_device_process(DeviceProcessOptions options) {
  return std::make_unique<DeviceProcess>(std::move(options));
}

}  // namespace kiln::device
