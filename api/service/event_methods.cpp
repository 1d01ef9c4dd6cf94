// What orders launches: events of cards, and streams.
#include "api/service/records_json.hpp"
#include "api/service/state.hpp"

namespace kiln::service {

using protocol::Json;

namespace {

constexpr auto most = protocol::integer_magnitude_max;

// Books the event on the connection, within its limit.
Result<std::uint64_t> add_event(const CallPtr& call, std::shared_ptr<CardEvent> event) {
  const auto events_max = call->state.options.limits.events_max;
  std::lock_guard lock(call->state.mutex);
  auto& connection = *call->connection;
  if (connection.gone) return Error(ErrorCode::cancelled, "the connection is gone");
  if (connection.events.size() >= events_max)
    return Error(ErrorCode::resource_limit, "this connection has " + std::to_string(events_max) + " events: release some");
  const auto id = connection.event_next++;
  connection.events.emplace(id, std::move(event));
  return id;
}

using MakeEvent = std::function<Result<device::MadeEvent>(device::Device&)>;

// Makes the event by `make`, which may wait for the card's process; cancellation and deadline answer the call meanwhile, and
// what was made then goes at once. `tell`: the answer has its handle.
void answer_event(const CallPtr& call, const MakeEvent& make, bool tell) {
  ActiveCall::begin_waiting(call);
  std::string name;
  device::IpcHandle handle{};
  auto event = [&]() -> Result<std::shared_ptr<CardEvent>> {
    KILN_CHECK(call->not_stopped());
    KILN_TRY(name, read_device(*call));
    KILN_TRY(auto* device, call->state.session->device(name));
    KILN_TRY(const auto made, make(*device));
    handle = made.handle;
    return std::make_shared<CardEvent>(*device, name, made.event);
  }();
  if (!call->begin_work()) return;
  if (!event) return call->answer(std::move(event).error());
  const auto id = add_event(call, std::move(*event));
  if (!id) return call->answer(id.error());
  Json value{{"event", *id}, {"device", name}};
  if (tell) value["ipc"] = handle_text(handle);
  call->answer(std::move(value));
}

Json take_printed(ActiveCall& call, std::uint64_t stream) {
  std::lock_guard lock(call.state.mutex);
  const auto found = call.connection->streams.find(stream);
  return found == call.connection->streams.end() ? Json::object() : found->second.take_printed();
}

}  // namespace

void event_import(const CallPtr& call) {
  const auto handle = read_handle(call->fields);
  if (!handle) return call->answer(handle.error());
  answer_event(call, [&](device::Device& device) -> Result<device::MadeEvent> {
    KILN_TRY(const auto opened, device.open_event(*handle));
    return device::MadeEvent{opened, {}};
  }, false);
}

void event_export(const CallPtr& call) {
  answer_event(call, [](device::Device& device) { return device.make_event(); }, true);
}

// Launches that use the event keep it until they are done.
void event_release(const CallPtr& call) {
  const auto id = call->fields.integer("event", 1, most);
  if (!id) return call->answer(id.error());
  std::shared_ptr<CardEvent> event;  // goes without the lock: it talks to its device
  {
    std::lock_guard lock(call->state.mutex);
    if (auto found = call->connection->events.extract(std::uint64_t(*id))) event = std::move(found.mapped());
  }
  if (!event) return call->answer(Error(ErrorCode::not_found, "this connection has no event " + std::to_string(*id)));
  event.reset();
  call->answer(Json::object());
}

void stream_create(const CallPtr& call) {
  const auto streams_max = call->state.options.limits.streams_max;
  std::uint64_t id = 0;
  {
    std::lock_guard lock(call->state.mutex);
    auto& connection = *call->connection;
    if (connection.streams.size() <= streams_max) {  // with the one that it has anyway
      id = connection.stream_next++;
      connection.streams[id].number = call->state.stream_next++;
    }
  }
  if (id == 0) return call->answer(Error(ErrorCode::resource_limit, "this connection has " + std::to_string(streams_max) + " streams: release some"));
  call->answer(Json{{"stream", id}});
}

void stream_synchronize(const CallPtr& call) {
  const auto id = call->fields.integer_or("stream", 0, 0, most);
  if (!id) return call->answer(id.error());
  run_in_order(call, std::uint64_t(*id), {}, [call, id = std::uint64_t(*id)](const TurnPtr&) {
    if (!call->begin_work()) return;
    const Json printed = take_printed(*call, id);
    if (auto status = take_stream_error(*call, id); !status) {
      Reply reply(std::move(status).error());
      add_members(reply, printed);
      return call->answer(std::move(reply));
    }
    call->answer(printed);
  });
}

void stream_cancel(const CallPtr& call) {
  const auto id = call->fields.integer_or("stream", 0, 0, most);
  if (!id) return call->answer(id.error());
  std::vector<std::function<void()>> stops;
  bool known = false;
  {
    std::lock_guard lock(call->state.mutex);
    const auto found = call->connection->streams.find(std::uint64_t(*id));
    // A released one goes when its last request has ended, which may be a moment after its answer.
    known = found != call->connection->streams.end() && !(found->second.released && found->second.running.empty());
    if (known)
      for (const auto& [number, launch] : found->second.running) stops.push_back(launch.stop);
  }
  if (!known) return call->answer(Error(ErrorCode::not_found, "this connection has no stream " + std::to_string(*id)));
  for (const auto& stop : stops) stop();
  call->answer(Json{{"cancelled", stops.size()}});
}

void stream_release(const CallPtr& call) {
  const auto id = call->fields.integer("stream", 1, most);
  if (!id) return call->answer(id.error());
  run_in_order(call, std::uint64_t(*id), {false, true}, [call, id = std::uint64_t(*id)](const TurnPtr&) {
    // Released and answered so, or neither.
    if (!call->begin_work()) return keep_stream(*call, id);
    if (auto status = take_stream_error(*call, id); !status) {
      keep_stream(*call, id);
      return call->answer(std::move(status).error());
    }
    call->answer(Json::object());
  });
}

}  // namespace kiln::service
