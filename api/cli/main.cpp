// kiln: the command line.
#include <algorithm>
#include <string_view>

#include "api/cli/context.hpp"
#include "api/cli/terminal.hpp"
#include "api/cli/usage.hpp"
#include "api/daemon/flags.hpp"

namespace kiln::cli {
namespace {

void add_global_flags(CLI::App& app, Context& context) {
  using daemon::path_flag_mistake, daemon::worker_flag_mistake;
  auto& overrides = context.overrides;
  app.set_version_flag("--version", daemon::build_id());
  app.add_flag("--json", context.json, "print JSON")->group("Global");
  app.add_flag("-q,--quiet", context.quiet, "no progress")->group("Global");
  app.add_flag("--no-daemon", context.no_daemon, "do the work in this process, with the same cache")->group("Global");
  app.add_flag("--no-start", context.no_start, "do not start a daemon")->group("Global");
  app.add_option("--socket", overrides.socket, "the daemon's socket")->check(path_flag_mistake)->group("Global");
  app.add_option("--cache", overrides.cache, "the cache's folder")->check(path_flag_mistake)->group("Global");
  app.add_option("--worker", overrides.workers, "FAMILY=COMMAND: how workers (hip, host) are started, here or by a daemon that is started")
      ->check(worker_flag_mistake)->group("Global");
  app.add_option("--worker-argument", overrides.worker_arguments, "FAMILY=ARGUMENTS: appended to a family's start command")
      ->check(worker_flag_mistake)->group("Global");
}

// Parses the command line and runs the command. The exit status.
int run(int argc, char** argv) {
  CLI::App app{"kiln: compiles, runs and explains tile programs. Commands talk to a daemon and start it when needed."};
  Context context;
  int status = exit_ok;
  app.require_subcommand(1);
  app.fallthrough();
  add_global_flags(app, context);
  add_kernel_commands(app, context, status);
  add_prepare_commands(app, context, status);
  add_run_commands(app, context, status);
  add_profile_commands(app, context, status);
  add_compare_commands(app, context, status);
  add_report_commands(app, context, status);
  add_tune_commands(app, context, status);
  add_emulate_commands(app, context, status);
  add_capture_commands(app, context, status);
  add_replay_commands(app, context, status);
  add_service_commands(app, context, status);
  add_watch_commands(app, context, status);
  add_toolchain_commands(app, context, status);
  add_doctor_commands(app, context, status);
  add_bench_commands(app, context, status);
  add_completion_commands(app, context, status);
  // Without a bound it would remove nothing and say so as if that had been asked.
  app.get_subcommand("cache")->get_subcommand("evict")->require_option(1, 3);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool json = std::any_of(argv + 1, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
    return report_parse(app, error, json);
  }
  return status;
}

}  // namespace
}  // namespace kiln::cli

int main(int argc, char** argv) {
  kiln::cli::StandardStreams streams;
  return streams.finish(kiln::cli::run(argc, argv));
}
