// kiln: the command line.
#include <cstdio>

#include "api/cli/context.hpp"

int main(int argc, char** argv) {
  using namespace kiln::cli;
  CLI::App app{"kiln: compiles, runs and explains tile programs. Commands talk to a daemon and start it when needed."};
  Context context;
  int status = exit_ok;
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", kiln::daemon::build_id());
  app.add_flag("--json", context.json, "print JSON")->group("Global");
  app.add_flag("-q,--quiet", context.quiet, "no progress")->group("Global");
  app.add_flag("--no-daemon", context.no_daemon, "do the work in this process, with the same cache")->group("Global");
  app.add_flag("--no-start", context.no_start, "do not start a daemon")->group("Global");
  app.add_option("--socket", context.overrides.socket, "the daemon's socket")->group("Global");
  app.add_option("--cache", context.overrides.cache, "the cache's folder")->group("Global");
  app.add_option("--worker", context.overrides.workers, "FAMILY=COMMAND: how workers (hip, host) are started, here or by a daemon that is started")->group("Global");
  app.add_option("--worker-argument", context.overrides.worker_arguments, "FAMILY=ARGUMENTS: appended to a family's start command")->group("Global");
  add_kernel_commands(app, context, status);
  add_run_commands(app, context, status);
  add_service_commands(app, context, status);
  add_toolchain_commands(app, context, status);
  add_bench_commands(app, context, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? exit_ok : exit_usage;
  }
  context.backend.reset();
  return status;
}
