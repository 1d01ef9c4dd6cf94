#include <unistd.h>

#include "api/service/state.hpp"

namespace kiln::service {

using protocol::Json;

namespace {

Json buffer_json(std::uint64_t id, const Buffer& buffer) {
  return {{"buffer", id}, {"bytes", buffer.size()}, {"writable", buffer.writable()}, {"copied", buffer.copied()},
          {"allocated", buffer.allocated()}};
}

// Books the buffer on the connection, within the limits.
Result<std::uint64_t> add_buffer(const CallPtr& call, const std::shared_ptr<Buffer>& buffer) {
  auto& state = call->state;
  const auto& limits = state.options.limits;
  std::lock_guard lock(state.mutex);
  auto& connection = *call->connection;
  if (connection.gone) return Error(ErrorCode::cancelled, "the connection is gone");
  if (connection.buffers.size() >= limits.buffers_max)
    return Error(ErrorCode::resource_limit, "this connection has " + std::to_string(limits.buffers_max) + " buffers: unregister some");
  if (connection.buffers.size() >= limits.fds_held_max)
    return Error(ErrorCode::resource_limit, "this connection holds " + std::to_string(limits.fds_held_max) +
                 " descriptors: put several tensors into one buffer, at offsets");
  if (buffer->size() > state.buffer_bytes_max - state.buffer_bytes)
    return Error(ErrorCode::resource_limit, "all clients' buffers together may have " + std::to_string(state.buffer_bytes_max) + " bytes; " +
                 std::to_string(state.buffer_bytes) + " are taken", true);
  state.buffer_bytes += buffer->size();
  const auto id = connection.buffer_next++;
  connection.buffers.emplace(id, buffer);
  return id;
}

}  // namespace

void release_buffers(ServiceState& state, ConnectionState& connection) {
  for (const auto& [id, buffer] : connection.buffers) state.buffer_bytes -= buffer->size();
  // Unmapping talks to device processes: not under the lock, not on the server's thread.
  auto buffers = std::make_shared<std::map<std::uint64_t, std::shared_ptr<Buffer>>>(std::move(connection.buffers));
  connection.buffers.clear();
  state.pool.run([buffers] { buffers->clear(); });
}

void buffer_register(const CallPtr& call) {
  auto handle = call->fields.object("fd");
  if (!handle) return call->answer(std::move(handle).error());
  const protocol::Fields inner(**handle, "/params/fd");
  auto index = inner.integer("fd", 0, 0);
  if (!index) return call->answer(std::move(index).error());
  if (call->call.fds.size() != 1)
    return call->answer(Error(ErrorCode::invalid_argument, "buffer.register takes one descriptor: say \"fds\": 1 beside \"method\" and send it with the line"));
  constexpr std::int64_t most = (std::int64_t(1) << 53) - 1;
  auto offset = call->fields.integer_or("offset", 0, 0, most);
  auto size = call->fields.integer_or("size", 0, 0, most);
  if (!offset) return call->answer(std::move(offset).error());
  if (!size) return call->answer(std::move(size).error());
  if (call->fields.has("size") && *size == 0) return call->answer(call->fields.error("size", "at least 1 byte"));
  auto buffer = Buffer::import(std::move(call->call.fds[0]), std::uint64_t(*offset), std::uint64_t(*size));
  if (!buffer) return call->answer(std::move(buffer).error());
  auto id = add_buffer(call, *buffer);
  if (!id) return call->answer(std::move(id).error());
  call->answer(buffer_json(*id, **buffer));
}

void buffer_alloc(const CallPtr& call) {
  auto size = call->fields.integer("size", 1, std::int64_t(1) << 46);
  if (!size) return call->answer(std::move(size).error());
  if (std::uint64_t(*size) > call->state.buffer_bytes_max)
    return call->answer(Error(ErrorCode::resource_limit, "all clients' buffers together may have " + std::to_string(call->state.buffer_bytes_max) + " bytes"));
  auto buffer = Buffer::allocate(std::uint64_t(*size));
  if (!buffer) return call->answer(std::move(buffer).error());
  UniqueFd fd(::dup((*buffer)->client_fd()));
  if (!fd) return call->answer(errno_error(errno, "duplicate the buffer's descriptor"));
  auto id = add_buffer(call, *buffer);
  if (!id) return call->answer(std::move(id).error());
  auto value = buffer_json(*id, **buffer);
  value["fd"] = {{"fd", 0}};
  Reply reply(std::move(value));
  reply.fds.push_back(std::move(fd));
  call->answer(std::move(reply));
}

void buffer_unregister(const CallPtr& call) {
  auto id = call->fields.integer("buffer", 1, (std::int64_t(1) << 53) - 1);
  if (!id) return call->answer(std::move(id).error());
  std::shared_ptr<Buffer> buffer;
  {
    std::lock_guard lock(call->state.mutex);
    const auto it = call->connection->buffers.find(std::uint64_t(*id));
    if (it != call->connection->buffers.end()) {
      buffer = it->second;
      call->state.buffer_bytes -= buffer->size();
      call->connection->buffers.erase(it);
    }
  }
  if (!buffer) return call->answer(Error(ErrorCode::not_found, "this connection has no buffer " + std::to_string(*id)));
  run_in_order(call, [call, buffer](std::function<void()> done) mutable {
    call->state.pool.run([call, buffer = std::move(buffer), done = std::move(done)]() mutable {
      buffer.reset();
      call->answer(Json::object());
      done();
    });
  });
}

void buffer_list(const CallPtr& call) {
  Json list = Json::array();
  {
    std::lock_guard lock(call->state.mutex);
    for (const auto& [id, buffer] : call->connection->buffers) list.push_back(buffer_json(id, *buffer));
  }
  call->answer(Json{{"buffers", std::move(list)}});
}

}  // namespace kiln::service
