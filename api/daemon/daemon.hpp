// kilnd: configuration, log, session, service and server put together; signals.
#pragma once

#include <string>

#include "api/daemon/configuration.hpp"

namespace kiln::daemon {

struct DaemonOptions {
  Overrides overrides;
  bool auto_started = false;  // by a client: log to the file, end when idle
  int ready_fd = -1;          // one line is written there: "ready", "busy" (another one serves), or why not
  int idle_exit_s = -1;       // -1: by the configuration when auto-started, else never
  std::string log_level = "info";
};

// Serves until SIGTERM, SIGINT, `shutdown` or idleness. The process's exit status: 0 after service or when another daemon
// serves the socket already and this one was auto-started, 1 else.
int run_daemon(const DaemonOptions& options, const Environment& environment);

}  // namespace kiln::daemon
