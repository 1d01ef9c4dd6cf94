// What orders launches: events of cards, and streams.
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

Reply import_event(const CallPtr& call) {
  KILN_TRY(const auto handle, read_handle(call->fields));
  KILN_TRY(const auto name, call->fields.text("device"));
  KILN_TRY(auto* device, call->state.session->device(name));
  KILN_TRY(const auto opened, device->open_event(handle));
  KILN_TRY(const auto id, add_event(call, std::make_shared<CardEvent>(*device, name, opened)));
  return Reply(Json{{"event", id}, {"device", name}});
}

Reply export_event(const CallPtr& call) {
  KILN_TRY(const auto name, call->fields.text("device"));
  KILN_TRY(auto* device, call->state.session->device(name));
  KILN_TRY(const auto made, device->make_event());
  KILN_TRY(const auto id, add_event(call, std::make_shared<CardEvent>(*device, name, made.event)));
  return Reply(Json{{"event", id}, {"device", name}, {"ipc", handle_text(made.handle)}});
}

}  // namespace

// A card's process may have to be started for it: on a thread for long work, as the table of methods says.
void event_import(const CallPtr& call) { call->answer(import_event(call)); }
void event_export(const CallPtr& call) { call->answer(export_event(call)); }

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
  run_in_order(call, std::uint64_t(*id), [call, id = std::uint64_t(*id)](const TurnPtr&) {
    if (!call->begin_work()) return;
    if (auto status = take_stream_error(*call, id); !status) return call->answer(std::move(status).error());
    call->answer(Json::object());
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
      for (const auto& [number, stop] : found->second.running) stops.push_back(stop);
  }
  if (!known) return call->answer(Error(ErrorCode::not_found, "this connection has no stream " + std::to_string(*id)));
  for (const auto& stop : stops) stop();
  call->answer(Json{{"cancelled", stops.size()}});
}

void stream_release(const CallPtr& call) {
  const auto id = call->fields.integer("stream", 1, most);
  if (!id) return call->answer(id.error());
  run_in_order(call, std::uint64_t(*id), [call, id = std::uint64_t(*id)](const TurnPtr&) {
    if (!call->begin_work()) return;
    if (auto status = take_stream_error(*call, id); !status) return call->answer(std::move(status).error());
    call->answer(Json::object());
  }, true);
}

}  // namespace kiln::service
