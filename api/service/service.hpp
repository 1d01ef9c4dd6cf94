// The methods of the service, without sockets: a server hands over requests and gets replies. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/protocol/message.hpp"
#include "api/service/client_fd.hpp"
#include "api/service/tuner.hpp"
#include "engine/base/deadline.hpp"
#include "engine/base/fd.hpp"
#include "engine/jit/session.hpp"

namespace kiln::service {

using ConnectionId = std::uint64_t;

struct Peer {
  int pid = 0;
  unsigned uid = 0;
  bool administrator = true;   // may shut down, evict, import, export, see others' buffers
};

// What a request is answered with, an error too. Descriptors travel with the reply's line; they are closed after sending.
struct Reply {
  Result<protocol::Json> result;
  std::string text;            // not empty: the result, as JSON text, and `result` is null
  std::vector<UniqueFd> fds;
  protocol::Json error_data = nullptr;  // an object: members for the error's data, beside the usual ones
  Reply(protocol::Json value) : result(std::move(value)) {}
  Reply(Error error) : result(std::move(error)) {}
};

// One request on its way. `reply` is called exactly once, from any thread; `progress` any number of times before it (the server
// limits the rate). `cancel` is set by $/cancel, by a disconnect, and by nothing else.
struct Call {
  ConnectionId connection = 0;
  protocol::Request request;
  std::vector<ClientFd> fds;
  Deadline deadline;
  CancelToken cancel;
  std::function<void(Reply)> reply;
  std::function<void(protocol::Json)> progress;
  bool takes_text = false;     // whether `reply` understands Reply::text
};

// debug: every request; info: compiles; warning: what is no client's mistake.
enum class LogLevel : std::uint8_t { debug, info, warning };
// A line of the log, without its time; any thread.
using Log = std::function<void(LogLevel, const std::string&)>;
// How logs and lists call a request: "c12.r345". Connections and requests are numbered for the life of the service.
std::string request_name(ConnectionId connection, std::uint64_t number);

struct ServiceOptions {
  protocol::Limits limits;
  std::string build_id;
  std::string programs_folder;             // built-in tile programs
  std::function<void()> shut_down;         // what the method `shutdown` does
  std::shared_ptr<Tuner> tuner;            // null: nothing is tuned, and no record is used
  std::function<protocol::Json()> server_stats;  // connections and such, for engine.stats; may be null
  Log log;                                 // may be null
  bool logs_requests = false;              // whether lines of level debug are wanted
};

class Service {
 public:
  virtual ~Service() = default;            // disconnects whoever is connected; waits until nothing of theirs runs
  static std::unique_ptr<Service> create(ServiceOptions options, std::shared_ptr<jit::Session> session);

  virtual void connected(ConnectionId connection, const Peer& peer) = 0;
  // Cancels the connection's calls, releases its buffers and launches in flight; their replies go nowhere.
  virtual void disconnected(ConnectionId connection) = 0;
  // Starts a call; requests of one connection are given in their order of arrival. An id that the connection has in flight is
  // refused (protocol_error). Does not block.
  virtual void call(Call call) = 0;
  // $/cancel: the call with this id of this connection; one that only waits is answered at once. Unknown ids are ignored.
  virtual void cancel(ConnectionId connection, const protocol::Json& id) = 0;
  // Calls without an answer, and launches that go on after theirs.
  virtual std::uint64_t calls_running() = 0;
  // The counters as Prometheus text (metrics.hpp).
  virtual std::string metrics() = 0;
  // No new work from now on (answered with busy, retryable); running calls go on. cancel_all ends them.
  virtual void drain() = 0;
  virtual void cancel_all() = 0;
};

}  // namespace kiln::service
