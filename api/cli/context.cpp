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

void Context::note(const std::string& text) {
  if (quiet || !noted.insert(text).second) return;
  std::cerr << "note: " << text << "\n";
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

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : protocol::dump(value);
}

std::string place_of_statement(const Context& context, const std::string& pointer) {
  if (!context.located) return place_text(context.source_file, context.source_text, pointer);
  Error error(ErrorCode::program_invalid, "");
  error.diagnostics.push_back({});
  error.diagnostics.front().pointer = pointer;
  const auto place = context.located(std::move(error)).diagnostics.front().pointer;
  return place == pointer ? "" : place;
}

int report(const Context& context, const Error& told) {
  const Error error = context.located ? context.located(told) : told;
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
