#include <unistd.h>

#include <algorithm>

#include "api/service/state.hpp"

namespace kiln::service {

using protocol::Json;

namespace {

constexpr auto most = protocol::integer_magnitude_max;

Json buffer_json(std::uint64_t id, const Buffer& buffer) {
  Json value{{"buffer", id}, {"bytes", buffer.size()}, {"writable", buffer.writable()}, {"copied", buffer.copied()},
             {"allocated", buffer.allocated()}};
  if (buffer.of_card()) value["device"] = buffer.card();
  return value;
}

// Books the buffer on the connection, within its limits.
Result<std::uint64_t> add_buffer(const CallPtr& call, const std::shared_ptr<Buffer>& buffer) {
  const auto& limits = call->state.options.limits;
  std::lock_guard lock(call->state.mutex);
  auto& connection = *call->connection;
  if (connection.gone) return Error(ErrorCode::cancelled, "the connection is gone");
  if (connection.buffers.size() >= limits.buffers_max)
    return Error(ErrorCode::resource_limit, "this connection has " + std::to_string(limits.buffers_max) + " buffers: unregister some");
  const auto held = std::count_if(connection.buffers.begin(), connection.buffers.end(), [](const auto& entry) { return entry.second->holds_descriptor(); });
  if (buffer->holds_descriptor() && std::uint64_t(held) >= limits.fds_held_max)
    return Error(ErrorCode::resource_limit, "this connection holds " + std::to_string(limits.fds_held_max) +
                 " descriptors: put several tensors into one buffer, at offsets");
  const auto id = connection.buffer_next++;
  connection.buffers.emplace(id, buffer);
  return id;
}

// The one descriptor of the request.
Status check_descriptor(const CallPtr& call) {
  KILN_TRY(const auto* handle, call->fields.object("fd"));
  const protocol::Fields inner(*handle, "/params/fd");
  KILN_CHECK(inner.only({"fd"}));
  KILN_CHECK(inner.integer("fd", 0, 0));
  if (call->call.fds.size() != 1)
    return Error(ErrorCode::invalid_argument, "buffer.register takes one descriptor: say \"fds\": 1 beside \"method\" and send it with the line");
  return ok();
}

// Opens or allocates memory of a card, which may take long: `open` gives it its id. Cancellation and deadline answer the
// call meanwhile; what it made then goes at once. Counted before it is there, by the share that `open` gets too.
using OpenMemory = std::function<Status(CardMemory&, const std::shared_ptr<const MemoryShare>&)>;
void add_card_memory(const CallPtr& call, CardMemory memory, int fd, const OpenMemory& open) {
  const auto handle_told = memory.allocated;
  auto made = [&]() -> Result<std::shared_ptr<Buffer>> {
    KILN_CHECK(call->not_stopped());
    KILN_TRY(memory.device_name, read_device(*call));
    KILN_TRY(auto taken, call->state.memory->take(memory.size));
    const auto share = std::make_shared<const MemoryShare>(std::move(taken));
    KILN_TRY(memory.device, call->state.session->device(memory.device_name));
    KILN_CHECK(open(memory, share));
    auto buffer = Buffer::on_card(std::move(memory), fd);
    buffer->hold(share);
    return buffer;
  }();
  if (!call->begin_work()) return;
  if (!made) return call->answer(std::move(made).error());
  const auto id = add_buffer(call, *made);
  if (!id) return call->answer(id.error());
  auto value = buffer_json(*id, **made);
  if (handle_told) value["ipc"] = handle_text((*made)->handle());
  call->answer(std::move(value));
}

// By IPC handle, or by descriptor (null: none) with the card that imports it.
Status register_on_card(const CallPtr& call, const ClientFd* descriptor) {
  const bool by_handle = descriptor == nullptr;
  CardMemory memory;
  // A handle names the base of an allocation: a client that forgot where its tensor lies in it would get another's memory.
  KILN_TRY(const auto offset, by_handle ? call->fields.integer("offset", 0, most) : call->fields.integer_or("offset", 0, 0, most));
  KILN_TRY(const auto size, call->fields.integer("size", 1, most));
  memory.offset = std::uint64_t(offset);
  memory.size = std::uint64_t(size);
  if (by_handle) {
    KILN_TRY(memory.handle, read_handle(call->fields));
  }
  const int fd = by_handle ? -1 : descriptor->get();
  add_card_memory(call, std::move(memory), fd, [&](CardMemory& made, const auto& share) -> Status {
    KILN_TRY(made.id, by_handle ? made.device->open_memory(made.handle, made.offset, made.size, share)
                                : made.device->import_memory(fd, made.offset, made.size, share));
    return ok();
  });
  return ok();
}

void allocate_on_card(const CallPtr& call, std::uint64_t size) {
  CardMemory memory;
  memory.size = size;
  memory.allocated = true;
  add_card_memory(call, std::move(memory), -1, [](CardMemory& made, const auto& share) -> Status {
    KILN_TRY(const auto got, made.device->allocate(made.size, share));
    made.id = got.buffer;
    made.handle = got.handle;
    return ok();
  });
}

// A card's process may have to be started for it, and may not answer.
void run_on_card(const CallPtr& call, std::function<Status(const CallPtr&)> work) {
  ActiveCall::begin_waiting(call);
  ActiveCall::run_on(call, call->state.long_work, [call, work = std::move(work)] {
    if (auto status = work(call); !status) call->answer(std::move(status).error());
  });
}

}  // namespace

Result<std::string> find_device(const ActiveCall& call, const std::string& name) {
  auto found = call.state.session->device_name(name);
  if (found) return found;
  auto error = std::move(found).error();
  if (error.code == ErrorCode::unknown_target && error.diagnostics.empty()) {
    Diagnostic d;
    d.pointer = "/params/device";
    d.message = error.message;
    d.expected = "a device that device.list names";
    d.found = name.substr(0, 80);
    error.diagnostics.push_back(std::move(d));
  }
  return error;
}

Result<std::string> read_device(const ActiveCall& call) {
  KILN_TRY(const auto name, call.fields.text("device"));
  return find_device(call, name);
}

std::string handle_text(const device::IpcHandle& handle) { return to_hex(handle); }

Result<device::IpcHandle> read_handle(const protocol::Fields& fields) {
  KILN_TRY(const auto text, fields.text("ipc"));
  device::IpcHandle handle;
  const auto bytes = from_hex(text);
  if (!bytes || bytes->size() != handle.size()) return fields.error("ipc", "the handle's 64 bytes as 128 hex digits");
  std::copy(bytes->begin(), bytes->end(), handle.begin());
  return handle;
}

void release_held(ServiceState& state, ConnectionState& connection) {
  // Unmapping talks to device processes: not under the lock, not on the server's thread.
  struct Held {
    std::map<std::uint64_t, std::shared_ptr<Buffer>> buffers;
    std::map<std::uint64_t, std::shared_ptr<CardEvent>> events;
    std::map<std::uint64_t, std::shared_ptr<const Plan>> plans;   // they use the buffers, and go before them
    std::map<std::uint64_t, std::shared_ptr<Ring>> rings;         // and these before the plans
  };
  auto held = std::make_shared<Held>(Held{std::move(connection.buffers), std::move(connection.events),
                                          std::move(connection.plans), std::move(connection.rings)});
  connection.buffers.clear();
  connection.events.clear();
  connection.plans.clear();
  connection.rings.clear();
  state.pool.run([held]() mutable { held.reset(); });
}

void buffer_register(const CallPtr& call) {
  if (call->fields.has("ipc") == call->fields.has("fd"))
    return call->answer(Error(ErrorCode::invalid_argument, "buffer.register takes either \"fd\", a descriptor, or \"ipc\", a HIP IPC handle"));
  if (call->fields.has("ipc"))
    return run_on_card(call, [](const CallPtr& waiting) { return register_on_card(waiting, nullptr); });
  if (auto status = check_descriptor(call); !status) return call->answer(std::move(status).error());
  if (call->fields.has("device")) {
    // The job's: an answered call has none.
    const auto descriptor = std::make_shared<const ClientFd>(std::move(call->call.fds[0]));
    return run_on_card(call, [descriptor](const CallPtr& waiting) {
      return register_on_card(waiting, descriptor.get());
    });
  }
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
  if (call->fields.has("device"))
    return run_on_card(call, [size = std::uint64_t(*size)](const CallPtr& waiting) {
      allocate_on_card(waiting, size);
      return ok();
    });
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
  auto id = call->fields.integer("buffer", 1, most);
  if (!id) return call->answer(std::move(id).error());
  run_behind_all(call, [call, id = std::uint64_t(*id)](std::vector<TurnPtr> turns) {
    ActiveCall::run_on(call, call->state.pool, [call, id, turns = std::move(turns)] {
      if (!call->begin_work()) return;
      std::shared_ptr<Buffer> buffer;
      Status free;
      {
        std::lock_guard lock(call->state.mutex);
        free = not_in_plan(*call->connection, id);
        auto& buffers = call->connection->buffers;
        if (const auto found = buffers.find(id); free && found != buffers.end()) {
          buffer = std::move(found->second);
          buffers.erase(found);
        }
      }
      if (!free) return call->answer(std::move(free).error());
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
