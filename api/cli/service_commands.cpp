// cache, devices, stats, daemon, config.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <thread>
#include <utility>

#include "api/cli/context.hpp"
#include "api/cli/usage.hpp"
#include "engine/base/memory_left.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

int answer_command(Context& context, const std::string& method, Json params, void (*print)(const Json&)) {
  auto answer = context.ask(method, std::move(params));
  if (!answer) return report(context, answer.error());
  if (context.json) print_json(*answer);
  else print(*answer);
  return exit_ok;
}

void print_fields(const Json& object) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) { std::cout << name << "\n"; for (const auto& [inner, v] : value.items()) std::cout << "  " << inner << ": " << text_of(v) << "\n"; }
    else std::cout << name << ": " << text_of(value) << "\n";
  }
}

void print_cache(const Json& answer) {
  Json stats = answer;
  const Json layers = stats.contains("layers") ? stats["layers"] : Json::array();
  stats.erase("layers");
  print_fields(stats);
  for (const auto& layer : layers) {
    std::cout << "layer " << layer.value("path", "") << ": ";
    if (layer.contains("problem")) std::cout << "not used: " << layer.value("problem", "") << "\n";
    else std::cout << layer.value("kind", "") << ", " << text_of(layer["entries"]) << " entries, "
                   << text_of(layer["hits"]) << " hits\n";
  }
}

void print_entries(const Json& answer) {
  std::vector<std::vector<std::string>> rows{{"key", "bytes", "used"}};
  for (const auto& e : answer["entries"]) rows.push_back({text_of(e["key"]), text_of(e["bytes"]), text_of(e["used_unix_s"])});
  print_table(rows);
  std::cout << text_of(answer["total"]) << " entries\n";
}

void print_devices(const Json& answer) {
  std::vector<std::vector<std::string>> rows{{"device", "state", "target", "units", "memory", "uuid", "pci", "description"}};
  for (const auto& d : answer["devices"])
    rows.push_back({text_of(d["name"]), d.value("state", ""), d.value("target", ""), d.contains("compute_units") ? text_of(d["compute_units"]) : "",
                    d.contains("memory_bytes") ? bytes_text(d["memory_bytes"].get<double>()) : "",
                    d.contains("pci") ? d.value("uuid", "") : "", d.value("pci", ""),
                    d.contains("error") ? d["error"].value("message", "") : d.value("description", "")});
  print_table(rows);
}

int verify_command(Context& context) {
  auto answer = context.ask("cache.verify", Json::object());
  if (!answer) return report(context, answer.error());
  if (context.json) {
    print_json(*answer);
  } else {
    std::cout << text_of((*answer)["checked"]) << " entries read, " << text_of((*answer)["bad"]) << " damaged (set aside)\n";
    for (const auto& problem : (*answer)["problems"]) std::cout << "  " << text_of(problem) << "\n";
  }
  return answer->value("bad", 0) == 0 ? exit_ok : exit_failed;
}

void add_cache(CLI::App& app, Context& context, int& status) {
  auto* cache = app.add_subcommand("cache", "the kernel cache on disk");
  cache->require_subcommand(1);
  cache->add_subcommand("stats", "counters and limits")->callback([&] {
    status = answer_command(context, "cache.stats", Json::object(), print_cache);
  });
  cache->add_subcommand("list", "entries, last used first")->callback([&] { status = answer_command(context, "cache.list", Json::object(), print_entries); });
  cache->add_subcommand("verify", "read every entry")->callback([&] { status = verify_command(context); });
  auto* evict = cache->add_subcommand("evict", "remove least recently used entries, or one");
  auto bytes = std::make_shared<std::int64_t>(-1), entries = std::make_shared<std::int64_t>(-1);
  auto key = std::make_shared<std::string>();
  evict->add_option("--bytes", *bytes, "down to so many bytes")->check(whole_number());
  evict->add_option("--entries", *entries, "down to so many entries")->check(whole_number());
  evict->add_option("--key", *key, "this entry");
  evict->callback([&context, &status, bytes, entries, key] {
    Json params = Json::object();
    if (*bytes >= 0) params["bytes_max"] = *bytes;
    if (*entries >= 0) params["entries_max"] = *entries;
    if (!key->empty()) params["key"] = *key;
    status = answer_command(context, "cache.evict", std::move(params), print_fields);
  });
  cache->add_subcommand("clear", "remove every entry; what a daemon has in memory stays there until it ends")->callback([&] {
    status = answer_command(context, "cache.evict", {{"entries_max", 0}}, print_fields);
  });
  cache->add_subcommand("path", "the cache's folder")->callback([&] {
    if (auto configured = context.configure(); !configured) { status = report(context, configured.error()); return; }
    if (context.json) print_json({{"path", context.configuration->cache.path}, {"source", context.configuration->cache.source}});
    else std::cout << context.configuration->cache.path << "\n";
  });
  add_bundle_commands(*cache, context, status);
}

// A daemon of whatever version: these commands are the way out of a mismatch, so nothing depends on its hello.
struct RunningDaemon {
  std::unique_ptr<client::Client> client;
  pid_t pid = 0;
};

// not_running when nobody listens.
Result<RunningDaemon> running_daemon(Context& context) {
  KILN_CHECK(context.configure());
  client::ConnectOptions options;
  options.socket = context.configuration->socket.path;
  options.auto_start = false;
  options.say_hello = false;
  RunningDaemon daemon;
  KILN_TRY(daemon.client, client::Client::connect(options));
  daemon.pid = daemon.client->daemon_pid();
  return daemon;
}

void print_daemon(Json value) {
  const Json compilers = value.contains("compilers") ? value["compilers"] : Json::object();
  value.erase("compilers");
  print_fields(value);
  for (const auto& [family, compiler] : compilers.items()) {
    std::cout << "compiler " << family << ": "
              << compiler.value("description", compiler.value("error", "not asked yet"));
    const char* before = ", started by ";
    for (const auto& word : compiler["command"]) std::cout << std::exchange(before, " ") << text_of(word);
    std::cout << "\n";
  }
}

int daemon_status(Context& context) {
  auto daemon = running_daemon(context);
  if (!daemon && daemon.error().code == ErrorCode::not_running) {
    if (context.json) print_json({{"running", false}});
    else std::cout << "not running\n";
    return exit_no_daemon;
  }
  if (!daemon) return report(context, daemon.error());
  Json value{{"running", true}, {"pid", daemon->pid}, {"socket", context.configuration->socket.path}};
  if (auto hello = daemon->client->call("hello", Json::object())) {
    for (const char* name : {"pid", "build", "protocol"})
      if (hello->result.contains(name)) value[name] = hello->result[name];
  } else {
    value["error"] = hello.error().message;
  }
  if (auto stats = daemon->client->call("engine.stats", Json::object()); stats && stats->result.contains("compilers"))
    value["compilers"] = stats->result["compilers"];
  if (context.json) print_json(value);
  else print_daemon(value);
  return exit_ok;
}

// This program's, and the daemon's where one runs: they differ after an upgrade.
int version_command(Context& context) {
  Json value{{"kiln", daemon::build_id()},
             {"protocol", std::to_string(protocol::version_major) + "." + std::to_string(protocol::version_minor)}};
  if (auto daemon = running_daemon(context)) {
    const auto hello = daemon->client->call("hello", Json::object());
    value["daemon"] = hello ? hello->result.value("build", "") : hello.error().message;
  }
  if (context.json) print_json(value);
  else print_fields(value);
  return exit_ok;
}

int daemon_start(Context& context) {
  context.no_daemon = false;
  auto answer = context.ask("hello", Json::object());
  if (!answer) return report(context, answer.error());
  if (context.json) print_json({{"running", true}, {"pid", (*answer)["pid"]}});
  else std::cout << "running, pid " << text_of((*answer)["pid"]) << "\n";
  return exit_ok;
}

bool alive(pid_t pid) { return ::kill(pid, 0) == 0; }

// Asks it to end, by a signal if it does not understand, and waits until its process is gone. Its pid, 0 when none ran.
Result<pid_t> end_daemon(Context& context) {
  auto daemon = running_daemon(context);
  if (!daemon && daemon.error().code == ErrorCode::not_running) return 0;
  if (!daemon) return std::move(daemon).error();
  const auto pid = daemon->pid;
  const auto asked = daemon->client->call("shutdown", Json::object());
  daemon->client.reset();
  if (pid <= 1) return asked ? Result<pid_t>(pid) : Result<pid_t>(Error(asked.error()));
  const bool gone = !asked && asked.error().code == ErrorCode::not_running;  // it ended before it answered
  if (!asked && !gone && ::kill(pid, SIGTERM) != 0 && errno != ESRCH) return errno_error(errno, "end the daemon, pid " + std::to_string(pid));
  for (int i = 0; i < 1200 && alive(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (alive(pid)) return Error(ErrorCode::busy, "the daemon (pid " + std::to_string(pid) + ") has not ended yet", true);
  return pid;
}

int daemon_stop(Context& context) {
  const auto ended = end_daemon(context);
  if (!ended) return report(context, ended.error());
  if (context.json) print_json(*ended == 0 ? Json{{"running", false}} : Json{{"running", false}, {"stopped_pid", *ended}});
  else std::cout << (*ended == 0 ? "not running\n" : "stopped\n");
  return exit_ok;
}

int daemon_restart(Context& context) {
  const auto ended = end_daemon(context);
  if (!ended) return report(context, ended.error());
  context.no_start = false;
  return daemon_start(context);
}

void add_daemon(CLI::App& app, Context& context, int& status) {
  auto* daemon = app.add_subcommand("daemon", "the service's process");
  daemon->require_subcommand(1);
  daemon->add_subcommand("status", "whether it runs")->callback([&] { status = daemon_status(context); });
  daemon->add_subcommand("start", "start it in the background")->callback([&] { status = daemon_start(context); });
  daemon->add_subcommand("stop", "end it; running work gets 10 s")->callback([&] { status = daemon_stop(context); });
  daemon->add_subcommand("restart", "stop and start")->callback([&] { status = daemon_restart(context); });
}

}  // namespace

void add_service_commands(CLI::App& app, Context& context, int& status) {
  add_cache(app, context, status);
  add_daemon(app, context, status);
  app.add_subcommand("devices", "devices and what they are")->callback([&] { status = answer_command(context, "device.list", Json::object(), print_devices); });
  app.add_subcommand("version", "this program's version, and the daemon's where one runs")->callback([&] { status = version_command(context); });
  app.add_subcommand("stats", "counters of the daemon")->callback([&] { status = answer_command(context, "engine.stats", Json::object(), print_fields); });
  app.add_subcommand("metrics", "the counters as Prometheus text; the daemon serves them by HTTP, too")->callback([&] {
    status = answer_command(context, "engine.metrics", Json::object(), [](const Json& value) { std::fputs(value.value("text", "").c_str(), stdout); });
  });
  auto* config = app.add_subcommand("config", "settings");
  config->require_subcommand(1);
  config->add_subcommand("show", "each value and where it comes from")->callback([&] {
    if (auto configured = context.configure(); !configured) { status = report(context, configured.error()); return; }
    const auto value = daemon::configuration_json(*context.configuration);
    if (context.json) { print_json(value); return; }
    std::vector<std::vector<std::string>> rows{{"setting", "value", "source"}};
    for (const auto& [name, entry] : value.items()) rows.push_back({name, text_of(entry["value"]), text_of(entry["source"])});
    print_table(rows);
  });
  (void)status;
}

}  // namespace kiln::cli
