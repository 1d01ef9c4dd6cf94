#include <unistd.h>

#include "api/service/state.hpp"

namespace kiln::service {

using protocol::Json;

namespace {

Json buffer_json(std::uint64_t id, const Buffer& buffer) {
  return {{"buffer", id}, {"bytes", buffer.size()}, {"writable", buffer.writable()}, {"copied", buffer.copied()},
          {"allocated", buffer.allocated()}};
}

// Books the buffer on the connection, within its limits.
Result<std::uint64_t> add_buffer(const CallPtr& call, const std::shared_ptr<Buffer>& buffer) {
  const auto& limits = call->state.options.limits;
  std::lock_guard lock(call->state.mutex);
  auto& connection = *call->connection;
  if (connection.gone) return Error(ErrorCode::cancelled, "the connection is gone");
  if (connection.buffers.size() >= limits.buffers_max)
    return Error(ErrorCode::resource_limit, "this connection has " + std::to_string(limits.buffers_max) + " buffers: unregister some");
  if (connection.buffers.size() >= limits.fds_held_max)
    return Error(ErrorCode::resource_limit, "this connection holds " + std::to_string(limits.fds_held_max) +
                 " descriptors: put several tensors into one buffer, at offsets");
  const auto id = connection.buffer_next++;
  connection.buffers.emplace(id, buffer);
  return id;
}

}  // namespace

void release_buffers(ServiceState& state, ConnectionState& connection) {
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
  auto share = call->state.memory->take((*buffer)->memory_bytes());
  if (!share) return call->answer(std::move(share).error());
  (*buffer)->hold(std::move(*share));
  auto id = add_buffer(call, *buffer);
  if (!id) return call->answer(std::move(id).error());
  call->answer(buffer_json(*id, **buffer));
}

void buffer_alloc(const CallPtr& call) {
  auto size = call->fields.integer("size", 1, std::int64_t(1) << 46);
  if (!size) return call->answer(std::move(size).error());
  auto share = call->state.memory->take(std::uint64_t(*size));
  if (!share) return call->answer(std::move(share).error());
  auto buffer = Buffer::allocate(std::uint64_t(*size));
  if (!buffer) return call->answer(std::move(buffer).error());
  (*buffer)->hold(std::move(*share));
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

// The buffer is the connection's until this request's turn: launches that were asked for before it find it, and its memory and
// its place among the connection's buffers count until it is given back.
void buffer_unregister(const CallPtr& call) {
  auto id = call->fields.integer("buffer", 1, (std::int64_t(1) << 53) - 1);
  if (!id) return call->answer(std::move(id).error());
  run_in_order(call, [call, id = std::uint64_t(*id)](TurnPtr turn) {
    call->state.pool.run([call, id, turn = std::move(turn)] {
      if (!call->begin_work()) return;
      std::shared_ptr<Buffer> buffer;
      {
        std::lock_guard lock(call->state.mutex);
        auto found = call->connection->buffers.extract(id);
        if (found) buffer = std::move(found.mapped());
      }
      if (!buffer) return call->answer(Error(ErrorCode::not_found, "this connection has no buffer " + std::to_string(id)));
      buffer.reset();
      call->answer(Json::object());
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
