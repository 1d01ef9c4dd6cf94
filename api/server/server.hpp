// The socket side: accepts, reads lines and descriptors, hands requests to the service, writes replies. One thread runs it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/protocol/limits.hpp"
#include "api/service/service.hpp"
#include "engine/base/fd.hpp"
#include "engine/base/paths.hpp"

namespace kiln::server {

struct ServerOptions {
  protocol::Limits limits;
  std::optional<gid_t> group;                     // whose members are served too, as no administrators
  int idle_exit_s = 0;                            // end after so long without a connection; 0: never
  std::function<void(const std::string&)> log;    // one line, thread-safe
  std::function<void()> crowd_left;               // half of many connections have gone; may be null
};

class Server {
 public:
  virtual ~Server() = default;
  // Takes a listening Unix stream socket.
  static std::unique_ptr<Server> create(ServerOptions options, UniqueFd listener);
  virtual void set_service(service::Service& service) = 0;   // before run; must outlive it
  // Before run, after set_service: HTTP on a listening socket. On a Unix socket whoever may use the daemon is served; on
  // one of TCP, who bears the token.
  virtual void serve_metrics(UniqueFd listener, const std::string& token) = 0;
  // Serves until stop(); then no new connections, running calls get `grace_ms`, then are cancelled.
  virtual void run() = 0;
  // From any thread and from a signal watcher; idempotent.
  virtual void stop(int grace_ms) = 0;
  virtual protocol::Json stats() = 0;
};

// Binds the path: folder 0700 and ours (prepare_socket_folder), or 0750 and the group's (prepare_group_folder), a lock
// held for life, a stale socket removed. `lock` receives the lock's descriptor. Another live daemon: busy.
Result<UniqueFd> listen_unix(const LocatedPath& path, UniqueFd& lock, std::optional<gid_t> group = std::nullopt);

// A listening socket of 127.0.0.1. Errors: busy, permission_denied.
Result<UniqueFd> listen_loopback(std::uint16_t port);

}  // namespace kiln::server
