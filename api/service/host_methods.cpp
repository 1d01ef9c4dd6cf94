#include <unistd.h>

#include "api/service/report.hpp"
#include "api/service/state.hpp"

namespace kiln::service {

using protocol::Json;

namespace {

Json limits_json(const protocol::Limits& l, std::uint64_t buffer_bytes_max) {
  return {{"line_bytes_max", l.line_bytes_max}, {"depth_max", l.depth_max}, {"nodes_max", l.nodes_max}, {"id_bytes_max", l.id_bytes_max},
          {"connections_max", l.connections_max}, {"requests_in_flight_max", l.requests_in_flight_max}, {"batch_max", l.batch_max},
          {"output_bytes_max", l.output_bytes_max}, {"output_stall_ms_max", l.output_stall_ms_max}, {"fds_queued_max", l.fds_queued_max},
          {"fds_unclaimed_ms_max", l.fds_unclaimed_ms_max}, {"fds_held_max", l.fds_held_max}, {"buffers_max", l.buffers_max},
          {"streams_max", l.streams_max}, {"events_max", l.events_max}, {"plans_max", l.plans_max},
          {"plan_launches_max", l.plan_launches_max}, {"rings_max", l.rings_max},
          {"buffer_bytes_max", buffer_bytes_max}, {"compiles_queued_max", l.compiles_queued_max}, {"log_bytes_max", l.log_bytes_max},
          {"text_bytes_max", l.text_bytes_max}};
}

// An equal major is served; another is an error that names both.
Status check_version(const ActiveCall& call) {
  KILN_TRY(const auto version, call.fields.text_or("protocol", std::to_string(protocol::version_major) + ".0"));
  if (version.substr(0, version.find('.')) == std::to_string(protocol::version_major)) return ok();
  return Error(ErrorCode::protocol_error, "the client speaks protocol " + version.substr(0, 20) + ", this daemon (build " + call.state.options.build_id +
               ") " + std::to_string(protocol::version_major) + "." + std::to_string(protocol::version_minor) +
               ": after an upgrade, `kiln daemon restart`");
}

}  // namespace

void hello(const CallPtr& call) {
  if (auto status = check_version(*call); !status) return call->answer(std::move(status).error());
  auto& state = call->state;
  Json devices = Json::array();
  for (const auto& name : state.session->device_names()) devices.push_back({{"name", name}});
  call->answer(Json{{"protocol", std::to_string(protocol::version_major) + "." + std::to_string(protocol::version_minor)},
                    {"build", state.options.build_id}, {"pid", ::getpid()}, {"connection", call->connection->id},
                    {"limits", limits_json(state.options.limits, state.memory->bytes_max())}, {"devices", std::move(devices)}});
}

void ping(const CallPtr& call) { call->answer(Json::object()); }
void discover(const CallPtr& call) { call->answer(discover_json(call->state)); }

void shut_down(const CallPtr& call) {
  call->answer(Json::object());
  if (call->state.options.shut_down) call->state.options.shut_down();
}

void program_check(const CallPtr& call) {
  Json diagnostics = Json::array();
  auto add = [&](const std::vector<Diagnostic>& list) { for (const auto& d : list) diagnostics.push_back(protocol::diagnostic_json(d)); };
  auto known = call->state.catalog.resolve(call->params());
  if (!known && known.error().diagnostics.empty()) return call->answer(std::move(known).error());
  std::string digest;
  bool sound = bool(known);
  if (!known) {
    add(known.error().diagnostics);
  } else if (call->fields.has("set") || call->fields.has("target")) {
    digest = known->digest;
    auto request = read_compile_request(call);
    if (!request) return call->answer(std::move(request).error());
    auto target = target::parse_target(request->target);
    if (!target) return call->answer(std::move(target).error());
    Budget budget(std::int64_t(1) << 28, call->call.deadline, call->call.cancel);
    auto bound = specialize::specialize(*known->program, request->bindings, *target, budget);
    if (!bound && bound.error().diagnostics.empty()) return call->answer(std::move(bound).error());
    sound = bool(bound);
    if (!bound) add(bound.error().diagnostics);
  } else {
    digest = known->digest;
    auto found = specialize::check_program(*known->program);
    sound = !found.has_errors();
    add(found.list());
  }
  call->answer(Json{{"ok", sound}, {"digest", digest}, {"diagnostics", std::move(diagnostics)}});
}

void program_list(const CallPtr& call) {
  auto names = call->state.catalog.builtin_names();
  if (!names) return call->answer(std::move(names).error());
  call->answer(Json{{"programs", std::move(*names)}});
}

void program_show(const CallPtr& call) {
  auto name = call->fields.text("name");
  if (!name) return call->answer(std::move(name).error());
  auto known = call->state.catalog.builtin(*name);
  if (!known) return call->answer(std::move(known).error());
  auto program = protocol::parse_json(tile::write_program(*known->program), protocol::Limits{});
  if (!program) return call->answer(std::move(program).error());
  call->answer(Json{{"name", *name}, {"digest", known->digest}, {"program", std::move(*program)}});
}

namespace {

Result<device::DeviceInfo> device_info(const ActiveCall& call, const std::string& name) {
  KILN_TRY(auto* const device, call.state.session->device(name));
  return device->info();
}

Json device_json(const std::string& name, const Result<device::DeviceInfo>& info) {
  if (info) {
    Json entry{{"name", name}, {"state", "ready"}, {"target", info->target}, {"description", info->description},
               {"uuid", info->uuid}, {"compute_units", info->compute_units}, {"memory_bytes", info->memory_bytes}};
    if (!info->pci.empty()) entry["pci"] = info->pci;
    return entry;
  }
  // No card, or nothing to reach one with, is no failure of a device's.
  const auto code = info.error().code;
  const bool absent = code == ErrorCode::not_found || code == ErrorCode::unknown_target;
  return {{"name", name}, {"state", absent ? "absent" : "failed"}, {"error", protocol::error_json(info.error())}};
}

}  // namespace

// Devices' processes may have to be started for it: cancellation and deadline answer meanwhile.
void device_list(const CallPtr& call) {
  ActiveCall::begin_waiting(call);
  Json devices = Json::array();
  const auto status = [&]() -> Status {
    KILN_CHECK(call->not_stopped());
    if (!call->fields.has("device")) {
      for (const auto& name : call->state.session->find_devices()) devices.push_back(device_json(name, device_info(*call, name)));
      return ok();
    }
    KILN_TRY(const auto name, read_device(*call));
    KILN_TRY(const auto info, device_info(*call, name));
    devices.push_back(device_json(name, info));
    return ok();
  }();
  if (!call->begin_work()) return;
  if (!status) return call->answer(status.error());
  call->answer(Json{{"devices", std::move(devices)}});
}

void engine_stats(const CallPtr& call) {
  auto& state = call->state;
  auto value = session_stats_json(state.session->stats());
  {
    std::lock_guard lock(state.mutex);
    std::uint64_t buffers = 0, events = 0, plans = 0, rings = 0;
    for (const auto& [id, connection] : state.connections) {
      buffers += connection->buffers.size();
      events += connection->events.size();
      plans += connection->plans.size();
      rings += connection->rings.size();
    }
    value["service"] = {{"requests", state.requests}, {"errors", state.errors}, {"running", state.running}, {"launches", state.launches},
                        {"buffers", buffers}, {"events", events}, {"plans", plans}, {"rings", rings},
                        {"buffer_bytes", state.memory->used()}, {"deadlines", state.deadlines.waiting()}};
  }
  if (state.options.server_stats) value["server"] = state.options.server_stats();
  value["compilers"] = compilers_json(state.session->family_compilers());
  call->answer(std::move(value));
}

}  // namespace kiln::service
