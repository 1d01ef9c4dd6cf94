#include "api/cli/context.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "api/cli/source_text.hpp"
#include "api/cli/terminal.hpp"
#include "engine/base/fd.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

// One line on a terminal, rewritten; nothing elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted) : shown_(wanted && ::isatty(STDERR_FILENO)) {}
  ~ProgressLine() {
    if (drawn_) std::fprintf(stderr, "\r\033[K");
  }
  void show(const Json& value) {
    if (!shown_) return;
    std::string line = value.value("stage", "working");
    if (value.contains("total")) line += " " + std::to_string(value.value("done", 0)) + "/" + std::to_string(value.value("total", 0));
    else if (value.value("fraction", 0.0) > 0) line += " " + std::to_string(int(value.value("fraction", 0.0) * 100)) + " %";
    if (value.contains("best")) line += ", best so far " + value["best"].value("name", "");
    std::fprintf(stderr, "\r\033[K%s", printable(line).c_str());
    std::fflush(stderr);
    drawn_ = true;
  }

 private:
  bool shown_, drawn_ = false;
};

int exit_status(const Context& context, const Error& error) {
  if (context.wrong_usage) return exit_usage;
  switch (error.code) {
    case ErrorCode::not_running: return exit_no_daemon;
    case ErrorCode::must_hit: return exit_miss;
    case ErrorCode::cancelled: return exit_interrupted;
    default: return exit_failed;
  }
}

bool numeric(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.-+ex%") == std::string::npos;
}

// Whether the error's own sentence says no more than its only diagnostic does.
bool repeats_diagnostic(const Error& error) {
  if (error.diagnostics.size() != 1) return false;
  const auto& d = error.diagnostics.front();
  if (!d.message.empty() && error.message.ends_with(d.message)) return true;
  return error.message.starts_with(d.pointer + ": ") &&
         (error.message.find(d.message) != std::string::npos || (!d.expected.empty() && error.message.find(d.expected) != std::string::npos));
}

// Characters of UTF-8, each taken to be one column wide.
std::size_t columns(const std::string& text) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

}  // namespace

Error Context::usage_error(std::string message) {
  wrong_usage = true;
  return Error(ErrorCode::invalid_argument, std::move(message));
}

Status Context::configure() {
  if (configuration) return ok();
  KILN_TRY(environment, process_environment());
  KILN_TRY(configuration, daemon::load_configuration(environment, overrides));
  return ok();
}

Result<Backend*> Context::connect() {
  if (backend) return backend.get();
  KILN_CHECK(configure());
  if (capture.path.empty()) capture = {environment.get("KILN_CAPTURE"), environment.get("KILN_CAPTURE_ON")};
  if (no_daemon) {
    KILN_TRY(backend, local_backend(*configuration, capture));
  } else {
    KILN_TRY(backend, daemon_backend(*configuration, overrides, environment, !no_start, capture));
  }
  return backend.get();
}

Result<client::Answer> Context::ask_with_fds(const std::string& method, Json params, const std::vector<int>& fds) {
  KILN_TRY(Backend* answering, connect());
  ProgressLine line(!quiet && !json);
  return answering->call(method, std::move(params), fds, [&](const Json& value) { line.show(value); });
}

Result<Json> Context::ask(const std::string& method, Json params, const std::vector<int>& fds) {
  KILN_TRY(auto answer, ask_with_fds(method, std::move(params), fds));
  return std::move(answer.result);
}

void KernelArguments::add_to(CLI::App& command, const std::string& default_target) {
  target = default_target;
  command.add_option("program", program, "a built-in's name, or a file with a tile/1 program (- for standard input)")->required();
  command.add_option("--set", set, "NAME=VALUE …: symbols, options and tunables")->expected(1, 1000);
  command.add_option("--target", target, "host, gfx90a, gfx942, gfx950, gfx1100, with features as in gfx942:sramecc+:xnack-")->capture_default_str();
  command.add_option("--layout", layouts, "TILE=LAYOUT …: auto, row_major, pad:BYTES, swizzle:CHUNK,DIVISOR,ROWS")->expected(1, 100);
  command.add_option("--align", align, "PARAMETER=BYTES …: alignment of a tensor's base, 1 to 16")->expected(1, 100);
  command.add_flag("--must-hit", must_hit, "fail (status 4) instead of compiling");
  command.add_flag("--untuned", untuned, "by the program's defaults, whatever tuning records say");
  command.add_flag("--explain-key", explain_key, "also print the parts of the key with their hashes");
}

// Several pairs in one word are not accepted, several words are.
Result<Json> name_values(Context& context, const std::vector<std::string>& words, const std::string& flag) {
  Json object = Json::object();
  for (const auto& word : words) {
    const auto equals = word.find('=');
    if (equals == std::string::npos || equals == 0) return context.usage_error(flag + " " + word + ": expected NAME=VALUE");
    const auto [member, fresh] = object.get_ref<Json::object_t&>().try_emplace(word.substr(0, equals), word.substr(equals + 1));
    if (!fresh) return context.usage_error(flag + " " + word + ": " + member->first + " is given already, as " + member->second.get<std::string>());
  }
  return object;
}

Result<Json> read_program_argument(Context& context, const std::string& name) {
  std::error_code ignored;
  const bool file = name == "-" || name.find('/') != std::string::npos || name.find('.') != std::string::npos ||
                    std::filesystem::is_regular_file(name, ignored);
  if (!file) return Json(name);
  auto bytes = name == "-" ? read_all_of_stream(STDIN_FILENO, 4 << 20) : read_file(name, 4 << 20);
  if (!bytes) return std::move(bytes).error();
  context.source_file = name == "-" ? "standard input" : name;
  context.source_text.assign(text(*bytes));
  return protocol::parse_json(context.source_text, protocol::Limits{});
}

Result<Json> KernelArguments::params(Context& context) const {
  Json params = Json::object();
  KILN_TRY(params["set"], name_values(context, set, "--set"));
  params["target"] = target;
  if (!layouts.empty()) {
    KILN_TRY(params["layouts"], name_values(context, layouts, "--layout"));
  }
  if (!align.empty()) {
    KILN_TRY(auto values, name_values(context, align, "--align"));
    for (auto& [name, value] : values.items()) {
      const auto digits = value.get<std::string>();
      if (digits.empty() || digits.size() > 2 || digits.find_first_not_of("0123456789") != std::string::npos)
        return context.usage_error("--align " + name + "=" + digits + ": expected a number from 1 to 16");
      params["align"][name] = std::stoi(digits);
    }
  }
  KILN_TRY(params["program"], read_program_argument(context, program));
  if (must_hit) params["must_hit"] = true;
  if (explain_key) params["explain_key"] = true;
  if (untuned) params["tuned"] = false;
  return params;
}

int report(const Context& context, const Error& error) {
  if (context.json) {
    print_json({{"error", protocol::error_json(error)}});
    return exit_status(context, error);
  }
  std::string out;
  for (const auto& d : error.diagnostics)
    out += render(d, d.pointer.rfind("/bindings", 0) == 0 || d.pointer.rfind("/params", 0) == 0 ? "" : context.source_file, context.source_text);
  if (error.diagnostics.empty()) out += std::string("error: ") + error.message + "\n";
  else if (!repeats_diagnostic(error)) out += std::string(error_name(error.code)) + ": " + error.message + "\n";
  for (const auto& more : error.context) out += "  " + more + "\n";
  if (error.retryable) out += "  (trying again may help)\n";
  std::cerr << out;
  return exit_status(context, error);
}

void print_json(const Json& value) { std::cout << protocol::dump(value, 2) << "\n"; }

void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blank(widths[i] - columns(row[i]), ' ');
      line += (i ? "  " : "") + (numeric(row[i]) ? blank + row[i] : row[i] + blank);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::cout << line << "\n";
  }
}

std::string number_text(double value, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
  return buffer;
}

}  // namespace kiln::cli
