#include "api/client/held_buffers.hpp"

#include <fcntl.h>

#include <cerrno>

namespace kiln::client {

using protocol::Json;

namespace {

std::int64_t id_in(const Json& holder) {
  if (!holder.is_object()) return 0;
  const auto it = holder.find("buffer");
  return it != holder.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
}

// Where a request names buffers: `args` of launches; the parameters of buffer.unregister. Null: nowhere.
Json* place_of_ids(Json& request) {
  auto& params = request["params"];
  if (!params.is_object()) return nullptr;
  if (request["method"] == "buffer.unregister") return &params;
  const auto args = params.find("args");
  return args == params.end() || !args->is_structured() ? nullptr : &*args;
}

}  // namespace

// An id that is not ours becomes 0, which no daemon gives.
void HeldBuffers::replace(Json& holder) const {
  if (!holder.is_object() || !holder.contains("buffer") || !holder["buffer"].is_number_integer()) return;
  const auto it = buffers_.find(id_in(holder));
  holder["buffer"] = it == buffers_.end() ? 0 : it->second.wire;
}

std::string HeldBuffers::line(Json& request) const {
  Json* place = place_of_ids(request);
  if (!place) return protocol::dump(request) + "\n";
  Json ours = *place;
  if (request["method"] == "buffer.unregister") replace(*place);
  else for (auto& argument : *place) replace(argument);
  auto line = protocol::dump(request) + "\n";
  *place = std::move(ours);
  return line;
}

Status HeldBuffers::answered(const Json& request, const std::vector<int>& fds, const std::vector<UniqueFd>& answered, Json& result) {
  const auto& method = request["method"].get_ref<const std::string&>();
  if (method == "buffer.unregister") {
    buffers_.erase(id_in(request["params"]));
  } else if (method == "buffer.register" || method == "buffer.alloc") {
    const bool registered = method == "buffer.register";
    if (registered ? fds.empty() : answered.empty()) return ok();
    Buffer buffer;
    buffer.fd = UniqueFd(::fcntl(registered ? fds[0] : answered[0].get(), F_DUPFD_CLOEXEC, 0));
    if (!buffer.fd) return errno_error(errno, "duplicate a buffer's descriptor");
    buffer.params = registered ? request["params"] : Json{{"fd", {{"fd", 0}}}};
    buffer.wire = id_in(result);
    result["buffer"] = ++last_;
    buffers_.emplace(last_, std::move(buffer));
  } else if (method == "buffer.list" && result.contains("buffers")) {
    for (auto& entry : result["buffers"])
      for (const auto& [id, buffer] : buffers_)
        if (buffer.wire == id_in(entry)) { entry["buffer"] = id; break; }
  }
  return ok();
}

}  // namespace kiln::client
