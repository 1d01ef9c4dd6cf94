// kilnd: the service's process.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "api/daemon/daemon.hpp"

int main(int argc, char** argv) {
  CLI::App app{"kilnd: the Kiln service. Clients start it by themselves; see `kiln daemon`."};
  kiln::daemon::DaemonOptions options;
  app.add_option("--socket", options.overrides.socket, "path of the socket to serve");
  app.add_option("--cache", options.overrides.cache, "folder of the cache");
  app.add_option("--worker", options.overrides.workers, "FAMILY=COMMAND: how compile workers of a family (hip, host) are started");
  app.add_option("--worker-argument", options.overrides.worker_arguments, "FAMILY=ARGUMENTS: appended to a family's start command");
  app.add_option("--idle-exit-s", options.idle_exit_s, "end after so many seconds without a connection");
  app.add_option("--log-level", options.log_level, "debug, info, warn or error");
  app.add_option("--ready-fd", options.ready_fd, "descriptor on which one line says that the socket is served")->group("");
  app.add_flag("--auto-started", options.auto_started, "")->group("");
  app.set_version_flag("--version", kiln::daemon::build_id());
  CLI11_PARSE(app, argc, argv);
  auto environment = kiln::process_environment();
  if (!environment) {
    std::fprintf(stderr, "kilnd: %s\n", kiln::to_text(environment.error()).c_str());
    return 1;
  }
  return kiln::daemon::run_daemon(options, *environment);
}
