#include "api/client/held_resources.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace kiln::client {

using protocol::Json;

namespace {

constexpr std::int64_t no_stream = protocol::integer_magnitude_max;  // 0 is the connection's own

std::int64_t id_in(const Json& holder, const char* name) {
  if (!holder.is_object()) return 0;
  const auto it = holder.find(name);
  return it != holder.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
}

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return word == w; });
}

// Which parameters name what the client holds.
std::vector<std::string> naming_parameters(const std::string& method) {
  if (is_one_of(method, {"kernel.launch", "kernel.verify", "kernel.profile"})) return {"args", "wait", "event", "stream"};
  if (method == "buffer.unregister") return {"buffer"};
  if (method == "event.release") return {"event"};
  if (method == "plan.create") return {"launches"};
  if (method == "plan.run") return {"plan", "stream"};
  if (method == "plan.release" || method == "ring.attach") return {"plan"};
  if (is_one_of(method, {"stream.synchronize", "stream.cancel", "stream.release"})) return {"stream"};
  return {};
}

}  // namespace

// An id that is not ours becomes one that no daemon gives.
void HeldResources::replace(std::size_t kind, Json& id) const {
  if (!id.is_number_integer() || (kind == stream && id == 0)) return;
  const auto it = held_[kind].find(id.get<std::int64_t>());
  const bool known = it != held_[kind].end() && it->second.wire != 0;
  id = known ? it->second.wire : kind == stream ? no_stream : std::int64_t(0);
}

void HeldResources::replace_named(const std::string& name, Json& value) const {
  if (name == "args") {
    if (!value.is_structured()) return;
    for (auto& argument : value)
      if (argument.is_object() && argument.contains("buffer")) replace(buffer, argument["buffer"]);
  } else if (name == "launches") {
    if (!value.is_array()) return;
    for (auto& launch : value)
      if (launch.is_object() && launch.contains("args")) replace_named("args", launch["args"]);
  } else if (name == "wait") {
    if (!value.is_array()) return;
    for (auto& id : value) replace(event, id);
  } else {
    replace(name == "buffer" ? buffer : name == "event" ? event : name == "plan" ? plan : stream, value);
  }
}

std::string HeldResources::line(Json& request) const {
  auto& params = request["params"];
  Json ours = Json::object();
  if (params.is_object())
    for (const auto& name : naming_parameters(request["method"].get_ref<const std::string&>())) {
      const auto it = params.find(name);
      if (it == params.end()) continue;
      ours[name] = *it;
      replace_named(name, *it);
    }
  auto line = protocol::dump(request) + "\n";
  for (auto& [name, value] : ours.items()) params[name] = std::move(value);
  return line;
}

void HeldResources::remember(std::size_t kind, Held held, Json& result) {
  held.wire = id_in(result, names[kind]);
  result[names[kind]] = ++last_;
  held_[kind].emplace(last_, std::move(held));
}

Status HeldResources::answered(const Json& request, const std::vector<int>& fds, const std::vector<UniqueFd>& answered, Json& result) {
  const auto& method = request["method"].get_ref<const std::string&>();
  const auto& params = request["params"];
  if (is_one_of(method, {"buffer.unregister", "event.release", "stream.release", "plan.release"})) {
    for (std::size_t kind = 0; kind < kinds; ++kind)
      if (method.rfind(names[kind], 0) == 0) held_[kind].erase(id_in(params, names[kind]));
  } else if (is_one_of(method, {"buffer.register", "buffer.alloc"})) {
    Held held{method, params, {}, result.value("allocated", false) && params.contains("device"), 0};
    const int fd = !fds.empty() ? fds[0] : !answered.empty() ? answered[0].get() : -1;
    if (fd >= 0) {
      held.fd = UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
      if (!held.fd) return errno_error(errno, "duplicate a buffer's descriptor");
      if (method == "buffer.alloc") held.params = Json{{"fd", {{"fd", 0}}}};
      held.method = "buffer.register";
    }
    remember(buffer, std::move(held), result);
  } else if (is_one_of(method, {"event.import", "event.export"})) {
    remember(event, Held{method, params, {}, method == "event.export", 0}, result);
  } else if (method == "stream.create") {
    remember(stream, Held{method, params, {}, false, 0}, result);
  } else if (method == "plan.create") {
    remember(plan, Held{method, params, {}, false, 0}, result);
  } else if (method == "plan.run") {
    result["plan"] = id_in(params, "plan");
  } else if (method == "kernel.launch" && result.contains("event")) {
    result["event"] = id_in(params, "event");
  } else if (method == "buffer.list" && result.contains("buffers")) {
    for (auto& entry : result["buffers"])
      for (const auto& [id, held] : held_[buffer])
        if (held.wire == id_in(entry, "buffer")) { entry["buffer"] = id; break; }
  }
  return ok();
}

}  // namespace kiln::client
