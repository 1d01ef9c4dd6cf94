// ps, top, daemon logs: who uses the daemon, what for, and what it said. None starts one.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "api/cli/context.hpp"
#include "api/cli/terminal.hpp"
#include "engine/base/deadline.hpp"
#include "engine/base/memory_left.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

using Rows = std::vector<std::vector<std::string>>;

// What the system calls the process; "" for one that is gone or another's.
std::string command_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

std::string age_text(double ms) {
  if (ms < 1000) return number_text(ms) + " ms";
  const auto seconds = static_cast<std::int64_t>(ms / 1000);
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 7200) return std::to_string(seconds / 60) + " min";
  return std::to_string(seconds / 3600) + " h";
}

// This command's own connection says nothing.
bool of_others(const Json& connection) { return connection.value("pid", 0) != ::getpid(); }

void print_connections(const Json& connections) {
  Rows rows{{"connection", "pid", "command", "age", "requests", "buffers", "memory", "streams", "plans", "running"}};
  for (const auto& c : connections) {
    if (!of_others(c)) continue;
    rows.push_back({"c" + protocol::dump(c["connection"]), protocol::dump(c["pid"]), command_of(c.value("pid", 0)),
                    age_text(c.value("age_ms", 0.0)), protocol::dump(c["requests"]), protocol::dump(c["buffers"]),
                    bytes_text(c.value("buffer_bytes", 0.0)), protocol::dump(c["streams"]),
                    std::to_string(c.value("plans", 0)),
                    std::to_string(c["running"].size())});
  }
  if (rows.size() > 1) print_table(rows);
  else std::cout << "nobody is connected\n";
}

void print_running(const Json& connections) {
  Rows rows{{"request", "pid", "method", "of", "age", "state", "stage"}};
  for (const auto& c : connections) {
    if (!of_others(c)) continue;
    for (const auto& r : c["running"])
      rows.push_back({r.value("request", ""), protocol::dump(c["pid"]), r.value("method", ""), r.value("subject", ""),
                      age_text(r.value("age_ms", 0.0)), r.value("state", ""), r.value("stage", "")});
  }
  if (rows.size() == 1) return;
  std::cout << "\n";
  print_table(rows);
}

int ps_command(Context& context) {
  context.no_start = true;
  const auto answer = context.ask("engine.connections", Json::object());
  if (!answer) return report(context, answer.error());
  if (context.json) {
    print_json(*answer);
    return exit_ok;
  }
  print_connections((*answer)["connections"]);
  print_running((*answer)["connections"]);
  return exit_ok;
}

// ---- top ------------------------------------------------------------------------------------------------------------

struct TopOptions {
  double interval_s = 1;
  int count = 0;  // 0: until it is interrupted
};

// The daemon's numbers at one time.
struct Sample {
  Json stats, connections;
  std::chrono::steady_clock::time_point at;
};

Result<Sample> take_sample(Context& context) {
  Sample sample;
  KILN_TRY(sample.stats, context.ask("engine.stats", Json::object()));
  KILN_TRY(auto answer, context.ask("engine.connections", Json::object()));
  sample.connections = std::move(answer["connections"]);
  sample.at = std::chrono::steady_clock::now();
  return sample;
}

double number_at(const Json& stats, const char* pointer) {
  const Json::json_pointer at(pointer);
  return stats.contains(at) && stats[at].is_number() ? stats[at].get<double>() : 0;
}

// Since the sample before; the daemon may have been restarted between them.
std::string rate(const Sample& now, const Sample* before, const char* pointer) {
  const auto value = number_at(now.stats, pointer);
  if (!before) return "";
  const double seconds = std::chrono::duration<double>(now.at - before->at).count();
  const double more = std::max(0.0, value - number_at(before->stats, pointer));
  return " (" + number_text(seconds > 0 ? more / seconds : 0) + "/s)";
}

void print_top(const Sample& now, const Sample* before) {
  const auto count = [&](const char* pointer) {
    return number_text(number_at(now.stats, pointer), 9) + rate(now, before, pointer);
  };
  const auto plain = [&](const char* pointer) { return number_text(number_at(now.stats, pointer), 9); };
  std::cout << "requests " << count("/service/requests") << ", errors " << count("/service/errors") << ", launches "
            << count("/service/launches") << ", running " << plain("/service/running") << "\n"
            << "compiles " << count("/workers/compiles") << ", running " << plain("/workers/running") << ", queued "
            << plain("/workers/queued") << ", failed " << plain("/workers/failures") << ", workers that died "
            << plain("/workers/deaths") << "\n"
            << "hits in memory " << count("/memory_hits") << ", on disk " << count("/store/hits") << ", joined "
            << count("/joined") << (now.stats.contains("tier") ? ", in the tier " + count("/tier/hits") : "") << "\n"
            << "cache " << plain("/store/entries") << " entries, " << bytes_text(number_at(now.stats, "/store/bytes"))
            << "; buffers " << plain("/service/buffers") << ", "
            << bytes_text(number_at(now.stats, "/service/buffer_bytes")) << "; kernels loaded "
            << plain("/kernels_loaded") << "; connections " << plain("/server/connections") << " ("
            << plain("/server/connections_total") << " since its start)\n\n";
  print_connections(now.connections);
  print_running(now.connections);
}

// False when it was interrupted.
bool pause(double seconds) {
  const auto deadline = Deadline::after(std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)));
  while (!deadline.passed() && !interrupt_token().cancelled())
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min<std::int64_t>(50, deadline.left_ms())));
  return !interrupt_token().cancelled();
}

int top_command(Context& context, const TopOptions& options) {
  context.no_start = true;
  const bool screen = !context.json && ::isatty(STDOUT_FILENO);
  std::optional<Sample> before;
  for (int shown = 0; options.count == 0 || shown < options.count; ++shown) {
    if (shown > 0 && !pause(options.interval_s)) return exit_ok;
    auto now = take_sample(context);
    if (!now) return report(context, now.error());
    if (context.json) {
      std::cout << protocol::dump(Json{{"stats", now->stats}, {"connections", now->connections}}) << "\n";
    } else {
      std::cout.flush();
      if (screen) (void)!::write(STDOUT_FILENO, "\033[H\033[J", 6);
      print_top(*now, before ? &*before : nullptr);
      if (!screen) std::cout << "\n";
    }
    std::cout.flush();
    before = std::move(*now);
  }
  return exit_ok;
}

// ---- daemon logs ----------------------------------------------------------------------------------------------------

struct LogOptions {
  std::size_t lines = 50;
  bool follow = false;
  std::string request;  // only lines about it
};

constexpr double follow_interval_s = 0.1;

// The log as it grows: a file that takes turns with others of its name.
class LogFile {
 public:
  explicit LogFile(std::string path) : path_(std::move(path)) {}

  // The whole lines that came since the last call, from whatever file has the name now.
  std::vector<std::string> read_new() {
    struct stat status {};
    if (::stat(path_.c_str(), &status) != 0) return {};
    if (status.st_ino != inode_ || status.st_size < at_) {
      inode_ = status.st_ino;
      at_ = 0;
    }
    std::ifstream file(path_, std::ios::binary);
    file.seekg(at_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line) && !file.eof(); at_ = file.tellg()) lines.push_back(std::move(line));
    return lines;
  }

 private:
  std::string path_;
  ino_t inode_ = 0;
  std::streamoff at_ = 0;
};

// Whether the line has the name as a word: "c1.r2" is not in "c1.r25".
bool is_about(const std::string& line, const std::string& request) {
  const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '.'; };
  for (auto at = line.find(request); at != std::string::npos; at = line.find(request, at + 1)) {
    const auto end = at + request.size();
    if ((at == 0 || !part(line[at - 1])) && (end == line.size() || !part(line[end]))) return true;
  }
  return false;
}

void print_lines(const Context& context, const std::vector<std::string>& lines, std::size_t first) {
  for (auto i = first; i < lines.size(); ++i) {
    if (context.json) print_json({{"line", lines[i]}});
    else std::cout << lines[i] << "\n";
  }
  std::cout.flush();
}

int logs_command(Context& context, const LogOptions& options) {
  if (auto configured = context.configure(); !configured) return report(context, configured.error());
  const auto& path = context.configuration->log.path;
  std::error_code failure;
  if (!std::filesystem::exists(path, failure))
    return report(context, Error(ErrorCode::not_found, "there is no " + path + ": no client has started a daemon yet, and one "
                                                       "that is started otherwise logs to its standard error"));
  if (options.follow) (void)interrupt_token();  // from now on an interrupt ends it in order
  LogFile file(path);
  const auto others = [&](const std::string& line) { return !options.request.empty() && !is_about(line, options.request); };
  auto lines = file.read_new();
  std::erase_if(lines, others);
  print_lines(context, lines, lines.size() - std::min(lines.size(), options.lines));
  while (options.follow && pause(follow_interval_s)) {
    lines = file.read_new();
    std::erase_if(lines, others);
    print_lines(context, lines, 0);
  }
  return exit_ok;
}

void add_logs(CLI::App& app, Context& context, int& status) {
  auto* logs = app.get_subcommand("daemon")->add_subcommand("logs", "what a daemon that a client started has logged");
  auto options = std::make_shared<LogOptions>();
  logs->add_option("-n,--lines", options->lines, "so many of the last")->capture_default_str();
  logs->add_flag("-f,--follow", options->follow, "and what comes, until it is interrupted");
  logs->add_option("--request", options->request, "c12.r345: lines about this request; c12: about this connection's own end");
  logs->callback([&context, &status, options] { status = logs_command(context, *options); });
}

}  // namespace

void add_watch_commands(CLI::App& app, Context& context, int& status) {
  add_logs(app, context, status);
  app.add_subcommand("ps", "who is connected to the daemon, what they hold, and what runs or waits for them")
      ->callback([&context, &status] { status = ps_command(context); });
  auto* top = app.add_subcommand("top", "the daemon's counters and connections, again and again");
  auto options = std::make_shared<TopOptions>();
  top->add_option("--interval", options->interval_s, "seconds between two looks")
      ->check(CLI::Range(0.05, 86400.0))
      ->capture_default_str();
  top->add_option("--count", options->count, "so many looks; default until it is interrupted")
      ->check(CLI::Range(1, 1000000));
  top->callback([&context, &status, options] { status = top_command(context, *options); });
}

}  // namespace kiln::cli
