// ps, top: who uses the daemon, and what for. Neither starts one.
#include <unistd.h>

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
  Rows rows{{"connection", "pid", "command", "age", "requests", "buffers", "memory", "streams", "running"}};
  for (const auto& c : connections) {
    if (!of_others(c)) continue;
    rows.push_back({"c" + protocol::dump(c["connection"]), protocol::dump(c["pid"]), command_of(c.value("pid", 0)),
                    age_text(c.value("age_ms", 0.0)), protocol::dump(c["requests"]), protocol::dump(c["buffers"]),
                    bytes_text(c.value("buffer_bytes", 0.0)), protocol::dump(c["streams"]),
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
            << count("/joined") << "\n"
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

}  // namespace

void add_watch_commands(CLI::App& app, Context& context, int& status) {
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
