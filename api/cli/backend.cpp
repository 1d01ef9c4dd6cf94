#include "api/cli/backend.hpp"

#include <fcntl.h>
#include <signal.h>

#include <cstdio>
#include <future>

#include "api/daemon/tuning.hpp"
#include "api/service/service.hpp"
#include "engine/base/process.hpp"

namespace kiln::cli {

using protocol::Json;

namespace {

class DaemonBackend final : public Backend {
 public:
  explicit DaemonBackend(std::unique_ptr<client::Client> client) : client_(std::move(client)) {}
  Result<client::Answer> call(const std::string& method, Json params, const std::vector<int>& fds, const client::Progress& progress) override {
    return client_->call(method, std::move(params), fds, progress, &interrupt_token());
  }

 private:
  std::unique_ptr<client::Client> client_;
};

class LocalBackend final : public Backend {
 public:
  LocalBackend(std::unique_ptr<service::Service> service, client::CaptureFiles capture)
      : service_(std::move(service)), capture_(std::move(capture)) {
    service_->connected(1, service::Peer{int(::getpid()), ::getuid(), true});
  }
  ~LocalBackend() override { service_->disconnected(1); }

  Result<client::Answer> call(const std::string& method, Json params, const std::vector<int>& fds, const client::Progress& progress) override {
    const bool asked = capture_.ask(method, params);
    auto answered = std::make_shared<std::promise<service::Reply>>();
    auto reply = answered->get_future();
    service::Call call;
    call.connection = 1;
    call.request.id = ++id_;
    call.request.method = method;
    call.request.deadline_ms = params.value("deadline_ms", std::int64_t(-1));
    if (call.request.deadline_ms >= 0) call.deadline = Deadline::after(std::chrono::milliseconds(call.request.deadline_ms));
    call.request.params = std::move(params);
    call.request.fds = int(fds.size());
    for (const int fd : fds) {
      UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
      if (!copy) return errno_error(errno, "duplicate a descriptor");
      call.fds.push_back(std::move(copy));
    }
    call.cancel = interrupt_token();
    call.progress = [progress](Json value) { if (progress) progress(value); };
    call.reply = [answered](service::Reply value) { answered->set_value(std::move(value)); };
    const Json id = call.request.id;
    service_->call(std::move(call));
    for (bool told = false; reply.wait_for(std::chrono::milliseconds(told || !interrupt_token().cancelled() ? 20 : 0)) != std::future_status::ready;) {
      if (told || !interrupt_token().cancelled()) continue;
      told = true;
      service_->cancel(1, id);
    }
    auto value = reply.get();
    if (asked) {
      const auto kept = capture_.keep(value.result ? *value.result : value.error_data, value.fds);
      if (!kept) std::fprintf(stderr, "warning: the launch could not be captured: %s\n", kept.error().message.c_str());
    }
    if (!value.result) return std::move(value.result).error();
    return client::Answer{std::move(*value.result), std::move(value.fds)};
  }

 private:
  std::unique_ptr<service::Service> service_;
  client::CaptureFiles capture_;
  std::int64_t id_ = 0;
};

CancelToken* interrupt_target = nullptr;

}  // namespace

const CancelToken& interrupt_token() {
  static CancelToken token;
  if (!interrupt_target) {
    interrupt_target = &token;
    struct sigaction action{};
    action.sa_handler = [](int) {
      if (interrupt_target->cancelled()) ::_exit(130);
      interrupt_target->cancel();
    };
    for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
  }
  return token;
}

Result<std::unique_ptr<Backend>> daemon_backend(const daemon::Configuration& configuration, const daemon::Overrides& overrides,
                                                const Environment& environment, bool auto_start, const CaptureOptions& capture) {
  client::ConnectOptions options;
  options.capture = capture.path;
  options.capture_on = capture.on;
  options.socket = configuration.socket.path;
  options.auto_start = auto_start;
  options.daemon_command = {executable_folder() + "/kilnd", "--socket", configuration.socket.path};
  if (!overrides.cache.empty()) options.daemon_command.insert(options.daemon_command.end(), {"--cache", configuration.cache.path});
  for (const auto& worker : overrides.workers) options.daemon_command.insert(options.daemon_command.end(), {"--worker", worker});
  for (const auto& more : overrides.worker_arguments) options.daemon_command.insert(options.daemon_command.end(), {"--worker-argument", more});
  options.daemon_environment = client::daemon_environment(environment);
  options.cards = client::VisibleCards::of(environment);
  options.client_name = "kiln";
  KILN_TRY(auto connected, client::Client::connect(options));
  return std::unique_ptr<Backend>(new DaemonBackend(std::move(connected)));
}

Result<std::unique_ptr<Backend>> local_backend(const daemon::Configuration& configuration, const CaptureOptions& capture) {
  KILN_TRY(auto files, client::CaptureFiles::create(capture.path, capture.on));
  KILN_TRY(auto session, daemon::open_session(configuration, [](const std::string& line) {
    std::fprintf(stderr, "warning: %s\n", line.c_str());
  }));
  service::ServiceOptions options;
  options.tuner = daemon::open_tuner(configuration, session, [](const std::string& line) {
    std::fprintf(stderr, "warning: %s\n", line.c_str());
  });
  options.limits = configuration.limits;
  options.build_id = daemon::build_id();
  options.programs_folder = configuration.programs_folder;
  return std::unique_ptr<Backend>(new LocalBackend(service::Service::create(std::move(options), std::move(session)), std::move(files)));
}

}  // namespace kiln::cli
