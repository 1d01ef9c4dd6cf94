// What systemd, or whoever speaks its protocols, hands a service: a socket that is listened on already, and an ear for
// how the service does. Source: sd_listen_fds(3), sd_notify(3).
#pragma once

#include <optional>
#include <string>

#include "engine/base/fd.hpp"
#include "engine/base/paths.hpp"

namespace kiln::daemon {

// A listening socket that came with the process, non-blocking and not inherited by children; its path, "" for one
// without. It is neither bound nor unlinked by us.
struct PassedSocket {
  UniqueFd fd;
  std::string path;
};
// By LISTEN_PID and LISTEN_FDS; nothing where they do not speak to this process. Call once. Errors: invalid_argument,
// with what is wrong, for more than one socket and for one that is no listening Unix stream socket.
Result<std::optional<PassedSocket>> passed_socket(const Environment& environment);

// Tells "READY=1", "STOPPING=1", "STATUS=…" (several lines may stand in one text) to NOTIFY_SOCKET; nothing without
// one. Failures are nobody's: whoever asked to be told is gone.
void notify_manager(const Environment& environment, const std::string& text);

}  // namespace kiln::daemon
