// kilnd: the service's process.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>

#include "api/daemon/daemon.hpp"
#include "api/daemon/flags.hpp"

namespace {

constexpr int exit_usage = 2;  // as in kiln

void add_flags(CLI::App& app, kiln::daemon::DaemonOptions& options) {
  using kiln::daemon::path_flag_mistake, kiln::daemon::worker_flag_mistake;
  constexpr int int_max = std::numeric_limits<int>::max();
  auto& overrides = options.overrides;
  app.add_option("--socket", overrides.socket, "path of the socket to serve")->check(path_flag_mistake);
  app.add_option("--cache", overrides.cache, "folder of the cache")->check(path_flag_mistake);
  app.add_option("--worker", overrides.workers, "FAMILY=COMMAND: how compile workers of a family (hip, host) are started")
      ->check(worker_flag_mistake);
  app.add_option("--worker-argument", overrides.worker_arguments, "FAMILY=ARGUMENTS: appended to a family's start command")
      ->check(worker_flag_mistake);
  app.add_option("--idle-exit-s", options.idle_exit_s, "end after so many seconds without a connection; 0: never")
      ->check(CLI::Range(0, int_max));
  app.add_option("--log-level", options.log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
  app.add_option("--ready-fd", options.ready_fd, "descriptor on which one line says that the socket is served")
      ->check(CLI::Range(0, int_max))->group("");
  app.add_flag("--auto-started", options.auto_started, "")->group("");
  app.set_version_flag("--version", kiln::daemon::build_id());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"kilnd: the Kiln service. Clients start it by themselves; see `kiln daemon`."};
  kiln::daemon::DaemonOptions options;
  add_flags(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "kilnd: %s\n`kilnd --help` tells what it takes\n", error.what());
    return exit_usage;
  }
  auto environment = kiln::process_environment();
  if (!environment) {
    std::fprintf(stderr, "kilnd: %s\n", kiln::to_text(environment.error()).c_str());
    return 1;
  }
  return kiln::daemon::run_daemon(options, *environment);
}
