// engine.connections: what an operator wants to see of everyone, and a client of itself.
#include <algorithm>

#include "api/service/state.hpp"

namespace kiln::service {

using protocol::Json;

namespace {

constexpr std::size_t subject_bytes_max = 100;
constexpr std::size_t key_digits = 12;

std::string text_at(const Json& params, const char* name) {
  const auto found = params.find(name);
  return found != params.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// With the service's lock held. `alive` is to outlive it: a call that goes answers, which takes the lock.
Json running_json(const ConnectionState& connection, std::vector<CallPtr>& alive) {
  Json list = Json::array();
  for (const auto& [number, running] : connection.calls) {
    const auto call = running.call.lock();
    if (!call) continue;
    alive.push_back(call);
    list.push_back({{"request", call->name()},
                    {"id", call->call.request.id},
                    {"method", call->call.request.method.substr(0, subject_bytes_max)},
                    {"subject", subject_of(call->params())},
                    {"age_ms", call->age_ms()},
                    {"state", running.waiting ? "waiting" : "working"},
                    {"stage", call->stage()}});
  }
  for (const auto& [id, stream] : connection.streams)
    for (const auto& [number, launch] : stream.running)
      list.push_back({{"request", request_name(connection.id, number)},
                      {"method", "kernel.launch"},
                      {"subject", launch.kernel + " on " + launch.device},
                      {"age_ms", milliseconds_since(launch.began)},
                      {"state", "enqueued"},
                      {"stage", ""}});
  return list;
}

Json connection_json(const ConnectionState& connection, std::vector<CallPtr>& alive) {
  std::uint64_t bytes = 0;
  for (const auto& [id, buffer] : connection.buffers) bytes += buffer->memory_bytes();
  return {{"connection", connection.id},
          {"pid", connection.peer.pid},
          {"uid", connection.peer.uid},
          {"age_ms", milliseconds_since(connection.began)},
          {"requests", connection.requests},
          {"buffers", connection.buffers.size()},
          {"buffer_bytes", bytes},
          {"events", connection.events.size()},
          {"streams", connection.streams.size()},
          {"plans", connection.plans.size()},
          {"rings", connection.rings.size()},
          {"running", running_json(connection, alive)}};
}

}  // namespace

std::string subject_of(const Json& params) {
  if (!params.is_object()) return {};
  auto what = text_at(params, "program");
  if (const auto program = params.find("program"); program != params.end() && program->is_object())
    what = text_at(*program, "name");
  if (what.empty())
    for (const char* name : {"key", "digest"})
      if (what.empty()) what = text_at(params, name).substr(0, key_digits);
  if (const auto plan = params.find("plan"); what.empty() && plan != params.end() && plan->is_number_integer())
    what = "plan " + std::to_string(plan->get<std::int64_t>());
  for (const auto& [name, word] : {std::pair("target", " for "), std::pair("device", " on ")})
    if (const auto value = text_at(params, name); !value.empty()) what += word + value;
  return what.substr(0, subject_bytes_max);
}

// A peer that was let in by group sees itself alone.
void engine_connections(const CallPtr& call) {
  Json list = Json::array();
  std::vector<CallPtr> alive;
  {
    const std::lock_guard lock(call->state.mutex);
    for (const auto& [id, connection] : call->state.connections)
      if (call->connection->peer.administrator || connection == call->connection)
        list.push_back(connection_json(*connection, alive));
  }
  std::sort(list.begin(), list.end(),
            [](const Json& a, const Json& b) { return a["connection"] < b["connection"]; });
  call->answer(Json{{"connections", std::move(list)}});
}

}  // namespace kiln::service
