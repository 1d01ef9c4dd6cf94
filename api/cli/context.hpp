// What every command shares: global flags, the backend, output.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/cli/backend.hpp"

namespace kiln::cli {

// Exit statuses, the same for every command (README, "Exit statuses").
enum Exit : int { exit_ok = 0, exit_failed = 1, exit_usage = 2, exit_no_daemon = 3, exit_miss = 4, exit_wrong_result = 5, exit_interrupted = 130 };

struct Context {
  bool json = false, no_daemon = false, no_start = false, quiet = false;
  daemon::Overrides overrides;
  Environment environment;
  std::optional<daemon::Configuration> configuration;
  std::unique_ptr<Backend> backend;
  CaptureOptions capture;                  // by a flag; else by KILN_CAPTURE and KILN_CAPTURE_ON
  std::string source_file, source_text;   // the program file that errors point into
  std::function<Error(Error)> located;     // puts errors where the user wrote the program, if that is a Python file
  bool wrong_usage = false;                // a mistake of the command line was found: `report` gives exit_usage
  std::set<std::string> noted;             // what `note` has said
  // Of a Python kernel's scalars by --arg, for those that --scalar does not say.
  protocol::Json numbers = protocol::Json::object();

  Status configure();                      // loads the configuration once
  Result<Backend*> connect();              // by the flags; once
  // An invalid_argument that `report` answers with exit_usage.
  Error usage_error(std::string message);
  // "note: …" on standard error, unless --quiet; the same text once.
  void note(const std::string& text);
  // A request with progress on the terminal.
  Result<protocol::Json> ask(const std::string& method, protocol::Json params, const std::vector<int>& fds = {});
  Result<client::Answer> ask_with_fds(const std::string& method, protocol::Json params, const std::vector<int>& fds = {});
};

inline constexpr const char* grid_help =
    "EXTENTS of a Python kernel whose grid is not its own, over its sizes and constants: 'cdiv(n, BLOCK), 1'";

// --set, --target, --layout, --align, --arg, --grid and the program's name: what compile, run, check, explain and
// others take.
struct KernelArguments {
  // Of an autotuned Python kernel's configurations: the first; the one that a tuning record has chosen, else the first;
  // all, as candidates of a tune.
  enum class Configurations { first, recorded, every } configurations = Configurations::first;
  std::string program, target, device, grid;   // device: where it is to run, for records; "": the target's
  std::vector<std::string> set, layouts, align, types;
  bool must_hit = false, explain_key = false, untuned = false;

  void add_program(CLI::App& command);  // the program, --set, --arg and --grid alone
  void add_to(CLI::App& command, const std::string& default_target);
  // Parameters of kernel.compile. The program is a built-in's name, a file (or - for standard input) or a Python
  // function, which is read for `target` and whose errors are then told by their place in its file. Of an autotuned one
  // the configuration is noted; with Configurations::every there are `candidates`, as kernel.tune takes them.
  // Errors: usage_error for words that are no NAME=VALUE or name the same twice; the file's.
  Result<protocol::Json> params(Context& context) const;

 private:
  Status read_function(Context& context, protocol::Json& params) const;
};
// {NAME: VALUE} of a flag's words. Errors: usage_error, as above.
Result<protocol::Json> name_values(Context& context, const std::vector<std::string>& words, const std::string& flag);
// Reads a tile program's file as JSON and remembers its text for errors.
Result<protocol::Json> read_program_argument(Context& context, const std::string& name);

// Prints an error as text to standard error, or with --json as {"error": …} to standard output; the exit status for it.
int report(const Context& context, const Error& error);
// Where the statement at a JSON pointer stands in the user's file, "FILE:LINE:COLUMN"; "" where that is not known.
std::string place_of_statement(const Context& context, const std::string& pointer);
void print_json(const protocol::Json& value);
// A string as it is, any other value as JSON.
std::string text_of(const protocol::Json& value);
// Rows of equal length, the first is the head; numbers to the right.
void print_table(const std::vector<std::vector<std::string>>& rows);
std::string number_text(double value, int digits = 3);

// Each adds its commands; a command's callback sets `status`.
void add_kernel_commands(CLI::App& app, Context& context, int& status);
void add_prepare_commands(CLI::App& app, Context& context, int& status);
void add_run_commands(CLI::App& app, Context& context, int& status);
void add_profile_commands(CLI::App& app, Context& context, int& status);
void add_compare_commands(CLI::App& app, Context& context, int& status);
void add_tune_commands(CLI::App& app, Context& context, int& status);
void add_report_commands(CLI::App& app, Context& context, int& status);
void add_emulate_commands(CLI::App& app, Context& context, int& status);
void add_capture_commands(CLI::App& app, Context& context, int& status);
void add_replay_commands(CLI::App& app, Context& context, int& status);
void add_service_commands(CLI::App& app, Context& context, int& status);
void add_bundle_commands(CLI::App& cache, Context& context, int& status);  // below `kiln cache`
void add_watch_commands(CLI::App& app, Context& context, int& status);
void add_toolchain_commands(CLI::App& app, Context& context, int& status);
void add_doctor_commands(CLI::App& app, Context& context, int& status);
void add_bench_commands(CLI::App& app, Context& context, int& status);
void add_completion_commands(CLI::App& app, Context& context, int& status);

}  // namespace kiln::cli
