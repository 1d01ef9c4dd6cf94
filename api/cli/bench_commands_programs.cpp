// Areas whose programs lie in ../share/kiln/bench: Python scripts, which are started here and hand their samples back.
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "api/cli/bench_commands.hpp"
#include "engine/base/os.hpp"
#include "engine/base/process.hpp"

namespace kiln::cli::bench {

using protocol::Json;

namespace {

constexpr std::size_t document_bytes_max = std::size_t(64) << 20;
constexpr int document_descriptor = 3;

struct Finished { std::string document, ended; };   // ended: "exit status 0"

Result<std::string> script_path(const Area& area) {
  const auto folder = std::filesystem::path(executable_folder()).parent_path() / "share/kiln/bench";
  const auto path = (folder / area.script).string();
  std::error_code failed;
  if (std::filesystem::exists(path, failed)) return path;
  return Error(ErrorCode::not_found,
               "bench " + area.name + ": " + path + " is absent: benchmarks come with a checkout's build folder");
}

Result<std::vector<std::string>> command_of(const Area& area, const Options& options) {
  KILN_TRY(const auto script, script_path(area));
  std::vector<std::string> command{"python3",  script,
                                   "--bin",    executable_folder(),
                                   "--rounds", std::to_string(options.rounds),
                                   "--document-fd", std::to_string(document_descriptor)};
  if (area.name == "warm-start" && !options.triton_python.empty()) {
    command.push_back("--triton-python");
    command.push_back(options.triton_python);
  }
  return command;
}

// Everything that comes out of the pipe. An interrupt is passed on to the child once; the rest is still awaited, so
// that the child can end what it started.
Result<std::string> collect(int pipe, ChildProcess& child) {
  std::string all;
  char buffer[1 << 16];
  for (bool told = false;;) {
    if (!told && interrupt_token().cancelled()) {
      told = true;
      child.kill(SIGINT);
    }
    pollfd ready{pipe, POLLIN, 0};
    if (os::poll(&ready, 1, 100) <= 0) continue;
    const auto got = os::read(pipe, buffer, sizeof buffer);
    if (got < 0) return errno_error(errno, "cannot read from a benchmark");
    if (got == 0) return all;
    all.append(buffer, std::size_t(got));
    if (all.size() > document_bytes_max) return Error(ErrorCode::resource_limit, "a benchmark gave more than 64 MiB");
  }
}

Result<Finished> run_to_end(const Context& context, std::vector<std::string> command) {
  int ends[2];
  if (os::pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "cannot make a pipe");
  UniqueFd reading(ends[0]), writing(ends[1]);
  SpawnOptions options;
  options.command = std::move(command);
  options.environment = context.environment.all;
  options.directory = context.environment.folder;
  options.descriptors = {{writing.get(), document_descriptor}};
  options.die_with_parent = false;  // it would leave daemons behind: it watches us itself
  options.new_session = true;       // a terminal's interrupt reaches it through us, once
  (void)interrupt_token();
  KILN_TRY(auto child, ChildProcess::spawn(options));
  writing.reset();
  Finished finished;
  KILN_TRY(finished.document, collect(reading.get(), child));
  finished.ended = child.ended(true).value_or("exit status 0");
  if (interrupt_token().cancelled()) return Error(ErrorCode::cancelled, "interrupted");
  return finished;
}

}  // namespace

bool shows_progress(const Context& context) { return !context.quiet && !context.json && ::isatty(STDERR_FILENO); }

Result<std::string> what_is_missing(const Context& context, const Area& area, const Options& options) {
  if (area.script.empty()) return std::string();
  KILN_TRY(auto command, command_of(area, options));
  command.push_back("--check");
  KILN_TRY(auto finished, run_to_end(context, std::move(command)));
  if (finished.ended != "exit status 0")
    return Error(ErrorCode::internal, "bench " + area.name + ": the benchmark failed at its start: " + finished.ended);
  while (!finished.document.empty() && finished.document.back() == '\n') finished.document.pop_back();
  return finished.document;
}

Result<Measured> run_script(const Context& context, const Area& area, const Options& options) {
  KILN_TRY(auto command, command_of(area, options));
  if (shows_progress(context)) command.push_back("--progress");
  KILN_TRY(const auto finished, run_to_end(context, std::move(command)));
  if (finished.ended != "exit status 0")
    return Error(ErrorCode::internal, "bench " + area.name + ": the benchmark failed: " + finished.ended);
  KILN_TRY(const auto document, protocol::parse_json(finished.document, protocol::Limits{}));
  return read_measured(document);
}

}  // namespace kiln::cli::bench
