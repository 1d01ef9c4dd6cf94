#include "api/daemon/daemon.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <thread>

#include "api/daemon/systemd.hpp"
#include "api/daemon/tuning.hpp"
#include "api/server/server.hpp"
#include "engine/base/printable.hpp"

namespace kiln::daemon {
namespace {

constexpr int stop_grace_ms = 10000;

class Readiness {
 public:
  explicit Readiness(int fd) : fd_(fd) {}
  void say(const std::string& line) {
    if (!fd_.valid()) return;
    (void)write_all(fd_.get(), view(line + "\n"));
    fd_.reset();
  }

 private:
  UniqueFd fd_;
};

std::shared_ptr<spdlog::logger> open_log(const DaemonOptions& options, const Configuration& configuration) {
  spdlog::sink_ptr sink;
  if (options.auto_started && !configuration.log.path.empty()) {
    (void)make_folders(std::filesystem::path(configuration.log.path).parent_path().string());
    try {
      sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(configuration.log.path, 5 << 20, 3);
    } catch (const spdlog::spdlog_ex&) {  // an unwritable state folder: log to standard error
    }
  }
  if (!sink) sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto log = std::make_shared<spdlog::logger>("kilnd", std::move(sink));
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%e %P %l %v");
  log->set_level(spdlog::level::from_str(options.log_level));
  log->flush_on(spdlog::level::debug);
  return log;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Waits for SIGTERM and SIGINT (blocked in all threads) on a thread of its own; a second one ends at once.
class SignalWatch {
 public:
  SignalWatch(server::Server& server, std::shared_ptr<spdlog::logger> log) : server_(server), log_(std::move(log)) {
    thread_ = std::thread([this] { wait(); });
  }
  ~SignalWatch() {
    ending_ = true;
    ::pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }
  static sigset_t signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int s : {SIGTERM, SIGINT, SIGUSR1}) sigaddset(&set, s);
    return set;
  }

 private:
  void wait() {
    const auto set = signals();
    for (bool stopping = false;;) {
      int signal = 0;
      if (sigwait(&set, &signal) != 0 || ending_) return;
      if (signal == SIGUSR1) continue;
      if (stopping) ::_exit(1);
      stopping = true;
      log_->info("signal {}: no new work, running work gets {} s", signal, stop_grace_ms / 1000);
      server_.stop(stop_grace_ms);
    }
  }
  server::Server& server_;
  std::shared_ptr<spdlog::logger> log_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

// What is served: a socket of our own, which goes with us, or one that was passed.
struct Place {
  UniqueFd listener, lock;
  std::string path;
  bool passed = false;
};

Result<Place> take_place(const Configuration& configuration, const Environment& environment) {
  KILN_TRY(auto passed, passed_socket(environment));
  if (passed) return Place{std::move(passed->fd), {}, std::move(passed->path), true};
  Place place;
  place.path = configuration.socket.path;
  KILN_TRY(place.listener, server::listen_unix(configuration.socket, place.lock, configuration.group_id));
  return place;
}

// Where metrics are served, for as long as this lives. What cannot be had is said in the log, and the daemon does without.
class MetricsPlaces {
 public:
  MetricsPlaces(server::Server& server, const Configuration& configuration, spdlog::logger& log) : socket_(configuration.metrics_socket) {
    if (!socket_.path.empty()) {
      auto listener = server::listen_unix(socket_, lock_, configuration.group_id);
      if (listener) server.serve_metrics(std::move(*listener), "");
      else log.warn("no metrics: {}", one_line(listener.error().message));
      if (!listener) socket_.path.clear();
    }
    if (configuration.metrics_port > 0) serve_tcp(server, configuration, log);
  }
  ~MetricsPlaces() {
    if (!socket_.path.empty()) ::unlink(socket_.path.c_str());
    if (!token_path_.empty()) ::unlink(token_path_.c_str());
  }
  MetricsPlaces(const MetricsPlaces&) = delete;

 private:
  // The token is this daemon's alone, in a file that its user alone can read.
  void serve_tcp(server::Server& server, const Configuration& configuration, spdlog::logger& log) {
    const auto port = static_cast<std::uint16_t>(configuration.metrics_port);
    auto listener = server::listen_loopback(port);
    std::array<std::uint8_t, 24> random{};
    if (::getrandom(random.data(), random.size(), 0) != ssize_t(random.size())) return;
    const auto token = to_hex(ByteView(random));
    const auto path = configuration.socket.path + ".token";
    const auto written = listener ? write_file(path, view(token + "\n")) : Status(listener.error());
    if (!written) return log.warn("no metrics on 127.0.0.1:{}: {}", port, one_line(written.error().message));
    token_path_ = path;
    server.serve_metrics(std::move(*listener), token);
    log.info("metrics on http://127.0.0.1:{}/metrics, for who bears the token in {}", port, path);
  }

  LocatedPath socket_;
  UniqueFd lock_;
  std::string token_path_;
};

// Who is told how the daemon does.
struct Watchers {
  Readiness& ready;
  const Environment& environment;
  std::shared_ptr<spdlog::logger> log;
};

int serve(const DaemonOptions& options, const Configuration& configuration, Place place, const Watchers& watchers) {
  const auto& [ready, environment, log] = watchers;
  auto session = open_session(configuration, [log = log](const std::string& line) { log->warn("{}", one_line(line)); });
  if (!session) {
    ready.say(session.error().message);
    log->error("{}", to_text(session.error()));
    return 1;
  }
  server::ServerOptions server_options;
  server_options.limits = configuration.limits;
  const bool ends_idle = options.auto_started || place.passed;
  server_options.idle_exit_s = options.idle_exit_s >= 0 ? options.idle_exit_s : ends_idle ? int(configuration.idle_exit_s) : 0;
  server_options.log = [log = log](const std::string& line) { log->info("{}", one_line(line)); };
  server_options.group = configuration.group_id;
  server_options.crowd_left = [] { (void)::malloc_trim(0); };
  auto server = server::Server::create(std::move(server_options), std::move(place.listener));
  service::ServiceOptions service_options;
  service_options.limits = configuration.limits;
  service_options.build_id = build_id();
  service_options.programs_folder = configuration.programs_folder;
  service_options.log = [log = log](service::LogLevel level, const std::string& line) {
    log->log(level == service::LogLevel::warning ? spdlog::level::warn
             : level == service::LogLevel::info  ? spdlog::level::info
                                                 : spdlog::level::debug,
             "{}", one_line(line));
  };
  service_options.logs_requests = log->should_log(spdlog::level::debug);
  service_options.tuner = open_tuner(configuration, *session, [log = log](const std::string& line) { log->warn("{}", one_line(line)); });
  service_options.shut_down = [&server] { server->stop(stop_grace_ms); };
  service_options.server_stats = [&server] { return server->stats(); };
  auto service = service::Service::create(std::move(service_options), *session);
  server->set_service(*service);
  const MetricsPlaces metrics(*server, configuration, *log);
  SignalWatch signals(*server, log);
  const auto stats = (*session)->stats().store;
  log->info("serving {}{} (cache {}{})", place.path, place.passed ? ", a socket that was passed" : "", stats.path.empty() ? "none" : stats.path,
            stats.writable ? "" : ", not writable: " + stats.why_not_writable);
  ready.say("ready");
  notify_manager(environment, "READY=1\nSTATUS=serving " + place.path);
  server->run();
  notify_manager(environment, "STOPPING=1");
  if (!place.passed) ::unlink(place.path.c_str());
  log->info("ended");
  return 0;
}

// Requests take and give back some 100 KB each: without this, the system's allocator returns that to the kernel and takes
// it again, page fault by page fault. What a crowd of clients took is given back when they have left.
void keep_freed_memory() {
  ::mallopt(M_TOP_PAD, 1 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  ::mallopt(M_MMAP_THRESHOLD, 4 << 20);
  ::mallopt(M_ARENA_MAX, 2);  // not one for every thread that was ever busy at the same time as the others
}

}  // namespace

int run_daemon(const DaemonOptions& options, const Environment& environment) {
  keep_freed_memory();
  Readiness ready(options.ready_fd);
  const auto set = SignalWatch::signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::umask(077);
  raise_descriptor_limit();
  auto configuration = load_configuration(environment, options.overrides);
  if (!configuration) {
    ready.say(configuration.error().message);
    std::fprintf(stderr, "kilnd: %s\n", to_text(configuration.error()).c_str());
    return 1;
  }
  auto log = open_log(options, *configuration);
  auto place = take_place(*configuration, environment);
  if (!place) {
    const bool busy = place.error().code == ErrorCode::busy;
    ready.say(busy ? "busy" : place.error().message);
    if (busy && options.auto_started) return 0;  // another one was faster
    log->error("{}", to_text(place.error()));
    return 1;
  }
  return serve(options, *configuration, std::move(*place), {ready, environment, log});
}

}  // namespace kiln::daemon
