#include "api/client/client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "engine/base/os.hpp"
#include "engine/base/process.hpp"

namespace kiln::client {

using protocol::Json;

namespace {

constexpr std::size_t descriptors_max = 16;  // with one request

// Whether only root and `uid` can have put a socket at `path`: every folder on the way is theirs, and nobody else may
// write there. So an administrator vouches for a daemon of another user in /run, and nobody for one in /tmp.
bool vouched_for(const std::string& path, uid_t uid) {
  std::error_code failure;
  auto folder = std::filesystem::canonical(std::filesystem::path(path).parent_path(), failure);
  if (failure) return false;
  for (;; folder = folder.parent_path()) {
    struct stat status {};
    if (::lstat(folder.c_str(), &status) != 0) return false;
    if ((status.st_uid != 0 && status.st_uid != uid) || (status.st_mode & 022)) return false;
    if (folder == folder.root_path()) return true;
  }
}

Result<UniqueFd> connect_once(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() > socket_path_bytes_max) return Error(ErrorCode::invalid_argument, "the socket path is over " + std::to_string(socket_path_bytes_max) + " bytes: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error(errno, "socket");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED) return Error(ErrorCode::not_running, "no daemon listens on " + path, true);
    return errno_error(errno, "connect to " + path);
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return errno_error(errno, "ask who serves " + path);
  if (peer.uid != ::getuid() && peer.uid != 0 && !vouched_for(path, peer.uid))
    return Error(ErrorCode::permission_denied,
                 "the daemon on " + path + " belongs to another user (uid " + std::to_string(peer.uid) +
                     "), and not root and that user alone can have put it there");
  return socket;
}

// Runs the daemon and waits until it says on the pipe that it serves: true; or that another one holds the place: false.
Result<bool> start_daemon(const ConnectOptions& options) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "pipe");
  UniqueFd reading(ends[0]), writing(ends[1]);
  SpawnOptions spawn;
  spawn.command = options.daemon_command;
  spawn.command.insert(spawn.command.end(), {"--auto-started", "--ready-fd", "3"});
  spawn.environment = options.daemon_environment;
  spawn.descriptors = {{writing.get(), 3}};
  spawn.log_path = "/dev/null";  // it inherits nothing of ours; what it has to say goes to its own log
  spawn.die_with_parent = false;
  spawn.new_session = true;
  KILN_TRY(auto child, ChildProcess::spawn(spawn));
  writing.reset();
  const auto deadline = Deadline::after(options.start_timeout);
  std::string said;
  for (;;) {
    pollfd wait{reading.get(), POLLIN, 0};
    if (::poll(&wait, 1, deadline.left_ms()) == 0) return Error(ErrorCode::not_running, "the daemon did not get ready in time", true);
    char buffer[4096];
    const auto got = ::read(reading.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    said.append(buffer, std::size_t(got));
    if (said.find('\n') != std::string::npos) break;
  }
  if (said.rfind("ready", 0) == 0 || said.rfind("busy", 0) == 0) {
    child.detach();
    return said[0] == 'r';
  }
  const auto how = child.ended(true);
  return Error(ErrorCode::not_running, "the daemon did not start: " + (said.empty() ? how.value_or("no reason given") : said.substr(0, said.find('\n'))));
}

}  // namespace

std::vector<std::string> daemon_environment(const Environment& environment) {
  static constexpr std::array exact{"HOME", "PATH", "TMPDIR", "LANG", "LC_ALL", "USER", "LOGNAME", "ROCM_PATH",
                                      "HIP_PATH", "HSA_OVERRIDE_GFX_VERSION", "HSA_XNACK"};
  std::vector<std::string> allowed;
  for (const auto& entry : environment.all) {
    const auto name = entry.substr(0, entry.find('='));
    const bool listed = std::any_of(exact.begin(), exact.end(), [&](const char* e) { return name == e; });
    if (name == "KILN_SOCKET" && !environment.kiln_socket.empty()) allowed.push_back(name + "=" + environment.kiln_socket);
    else if (name == "KILN_CACHE_DIR" && !environment.kiln_cache_dir.empty()) allowed.push_back(name + "=" + environment.kiln_cache_dir);
    else if (listed || name.starts_with("KILN_") || name.starts_with("XDG_")) allowed.push_back(entry);
  }
  return allowed;
}

Result<ConnectOptions> default_options() {
  KILN_TRY(const auto environment, process_environment());
  ConnectOptions options;
  KILN_TRY(const auto socket, socket_path(environment));
  options.socket = socket.path;
  options.daemon_environment = daemon_environment(environment);
  options.cards = VisibleCards::of(environment);
  std::vector<std::filesystem::path> places{environment.get("KILN_DAEMON"), executable_folder() + "/kilnd"};
  const auto path = environment.get("PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const auto end = std::min(path.find(':', begin), path.size());
    if (end > begin) places.push_back(std::filesystem::path(path.substr(begin, end - begin)) / "kilnd");
    begin = end + 1;
  }
  for (const auto& place : places) {
    if (place.empty() || ::access(place.c_str(), X_OK) != 0) continue;
    options.daemon_command = {std::filesystem::absolute(place).string(), "--socket", options.socket};  // it starts in /
    break;
  }
  return options;
}

namespace {

// Whether a request changes nothing when it happens twice. The others run something on the client's memory, or end a daemon.
bool repeatable(const std::string& method) {
  static constexpr std::array names{
      "hello", "ping", "rpc.discover", "program.check", "program.list", "program.show", "kernel.compile", "kernel.prepare",
      "kernel.load", "kernel.unload", "kernel.explain", "kernel.list", "buffer.register", "buffer.alloc", "buffer.unregister",
      "buffer.list", "event.import", "event.export", "event.release", "stream.create", "stream.release", "plan.create",
      "plan.release", "ring.create", "cache.stats", "cache.list", "cache.verify", "cache.evict", "cache.export", "cache.import",
      "device.list", "engine.stats", "engine.connections", "engine.metrics"};
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return method == name; });
}

// The devices that a request names, as the daemon calls them.
Status name_cards(const VisibleCards& cards, Json& params) {
  if (!params.is_object()) return ok();
  if (const auto device = params.find("device"); device != params.end() && device->is_string()) {
    KILN_TRY(*device, cards.daemon_name(device->get<std::string>()));
  }
  if (const auto kernels = params.find("kernels"); kernels != params.end() && kernels->is_array())
    for (auto& kernel : *kernels) KILN_CHECK(name_cards(cards, kernel));
  return ok();
}

// A connection, to a daemon that is started when none answers; `started`: by us.
Result<UniqueFd> connect_or_start(const ConnectOptions& options, bool& started, const Deadline& deadline) {
  auto socket = connect_once(options.socket);
  if (!options.auto_start || options.daemon_command.empty()) return socket;
  while (!socket && socket.error().code == ErrorCode::not_running && !deadline.passed()) {
    KILN_TRY(started, start_daemon(options));
    socket = connect_once(options.socket);
    // The other one may be just ending; it holds the place until it is gone.
    if (!started && !socket) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return socket;
}

}  // namespace

Result<std::unique_ptr<Client>> Client::connect(const ConnectOptions& options) {
  std::unique_ptr<Client> client(new Client(options));
  if (options.capture.empty()) {
    const char* const path = std::getenv("KILN_CAPTURE");
    const char* const on = std::getenv("KILN_CAPTURE_ON");
    KILN_TRY(client->capture_, CaptureFiles::create(path ? path : "", on ? on : ""));
  } else {
    KILN_TRY(client->capture_, CaptureFiles::create(options.capture, options.capture_on));
  }
  KILN_CHECK(client->open());
  return client;
}

Status Client::open() {
  const auto deadline = Deadline::after(options_.start_timeout);
  for (;;) {
    auto opened = open_once(deadline);
    if (opened) return opened;
    const bool met = owner_ == ::getpid();
    disconnect();
    // It took the connection and ended before the first replies: another one may serve, or be started.
    const auto code = opened.error().code;
    const bool ending = code == ErrorCode::not_running || code == ErrorCode::busy;
    if (!met || !ending || !options_.auto_start || deadline.passed()) return opened;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// Connects, says hello, registers the buffers that are held. owner_ tells whether a daemon was met.
Status Client::open_once(const Deadline& deadline) {
  owner_ = 0;
  KILN_TRY(socket_, connect_or_start(options_, started_, deadline));
  owner_ = ::getpid();
  if (options_.say_hello) {
    Json hello{{"method", "hello"},
               {"params", {{"protocol", std::to_string(protocol::version_major) + "." + std::to_string(protocol::version_minor)},
                           {"client", options_.client_name}}}};
    KILN_TRY(auto answer, exchange(hello, {}, {}, nullptr));
    hello_ = std::move(answer.result);
  }
  return held_.each([this](const char* name, HeldResources::Held& held) -> Status {
    held.wire = 0;
    if (held.own) return ok();  // it went with the card's process
    Json request{{"method", held.method}, {"params", held.params}};
    std::vector<int> fds;
    if (held.fd) fds.push_back(held.fd.get());
    auto answer = exchange(request, fds, {}, nullptr);
    if (answer) held.wire = answer->result.value(name, std::int64_t(0));
    // Another process's memory or event may be gone meanwhile: what uses it says so.
    else if (!socket_.valid() || held.fd) return std::move(answer).error();
    return ok();
  });
}

Result<std::int64_t> Client::register_ipc(const std::string& ipc, const std::string& device, std::uint64_t offset, std::uint64_t size) {
  KILN_TRY(const auto answer, call("buffer.register", Json{{"ipc", ipc}, {"device", device}, {"offset", offset}, {"size", size}}));
  return answer.result.value("buffer", std::int64_t(0));
}

Result<Exported> Client::alloc_on_device(const std::string& device, std::uint64_t size) {
  KILN_TRY(const auto answer, call("buffer.alloc", Json{{"device", device}, {"size", size}}));
  return Exported{answer.result.value("buffer", std::int64_t(0)), answer.result.value("ipc", "")};
}

Result<std::int64_t> Client::import_event(const std::string& ipc, const std::string& device) {
  KILN_TRY(const auto answer, call("event.import", Json{{"ipc", ipc}, {"device", device}}));
  return answer.result.value("event", std::int64_t(0));
}

Result<Exported> Client::export_event(const std::string& device) {
  KILN_TRY(const auto answer, call("event.export", Json{{"device", device}}));
  return Exported{answer.result.value("event", std::int64_t(0)), answer.result.value("ipc", "")};
}

Result<Json> Client::launch(const std::string& key, const std::string& device, Json args, const LaunchOptions& options) {
  Json params{{"key", key}, {"device", device}, {"args", std::move(args)}};
  if (!options.symbols.empty()) params["symbols"] = options.symbols;
  if (options.stream != 0) params["stream"] = options.stream;
  if (!options.wait.empty()) params["wait"] = options.wait;
  if (options.event != 0) params["event"] = options.event;
  if (options.deadline.count() > 0) params["deadline_ms"] = options.deadline.count();
  KILN_TRY(auto answer, call("kernel.launch", std::move(params)));
  return std::move(answer.result);
}

void Client::disconnect() {
  socket_.reset();
  splitter_ = protocol::LineSplitter(answer_bytes_max);
  lines_.clear();
  fds_.clear();
}

pid_t Client::daemon_pid() const {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

Status Client::check_size(const std::string& line, const std::vector<int>& fds) const {
  if (fds.size() > descriptors_max)
    return Error(ErrorCode::invalid_argument, "at most " + std::to_string(descriptors_max) + " descriptors a request");
  const auto limits = hello_.find("limits");
  const auto most = limits == hello_.end() ? std::uint64_t(0) : limits->value("line_bytes_max", std::uint64_t(0));
  if (most > 0 && line.size() > most)
    return Error(ErrorCode::invalid_argument, "the request has " + std::to_string(line.size()) + " bytes, and the daemon takes at most " +
                                                  std::to_string(most) + " (limits.line_bytes_max in its config.json)");
  return ok();
}

Status Client::send(const std::string& line, const std::vector<int>& fds) {
  std::size_t sent = 0;
  while (sent < line.size()) {
    iovec vector{const_cast<char*>(line.data()) + sent, line.size() - sent};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * descriptors_max)];
    if (sent == 0 && !fds.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
      std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
    }
    const auto n = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error(ErrorCode::not_running, std::string("the daemon went away: ") + std::strerror(errno), true);
    sent += std::size_t(n);
  }
  return ok();
}

Result<bool> Client::receive(int timeout_ms) {
  pollfd wait{socket_.get(), POLLIN, 0};
  const int ready = ::poll(&wait, 1, timeout_ms);
  if (ready == 0 || (ready < 0 && errno == EINTR)) return false;
  char buffer[64 << 10];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 64)];
  iovec vector{buffer, sizeof buffer};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const auto got = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return false;
  if (got <= 0) return Error(ErrorCode::not_running, got == 0 ? "the daemon closed the connection" : std::string("the daemon went away: ") + std::strerror(errno), true);
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
      fds_.emplace_back(fd);
    }
  }
  if (!splitter_.feed({buffer, std::size_t(got)}, lines_)) return Error(ErrorCode::protocol_error, "the daemon sent a line that is too long");
  return true;
}

// The line that answers `id`; progress on the way.
Result<Json> Client::next_line(std::int64_t id, const Progress& progress, const CancelToken* cancel) {
  protocol::Limits limits;
  limits.nodes_max = 50000000;
  bool told = false;
  for (;;) {
    while (!lines_.empty()) {
      auto value = protocol::parse_json(lines_.front(), limits);
      lines_.erase(lines_.begin());  // one at a time is the rule
      if (!value) return std::move(value).error();
      if (!value->is_object()) continue;
      if (value->value("method", "") == "$/progress") {
        if (progress && value->contains("params")) progress((*value)["params"]);
        continue;
      }
      const auto found = value->find("id");
      if (found != value->end() && (*found == Json(id) || found->is_null())) return std::move(*value);
    }
    if (cancel && cancel->cancelled() && !told) {
      told = true;
      KILN_CHECK(send(protocol::notification_line("$/cancel", Json{{"id", id}}), {}));
    }
    KILN_TRY(const bool more, receive(cancel ? 20 : -1));
    (void)more;
  }
}

Result<Answer> Client::call(const std::string& method, Json params, const std::vector<int>& fds, const Progress& progress,
                            const CancelToken* cancel) {
  KILN_CHECK(name_cards(options_.cards, params));
  asked_ = capture_.ask(method, params);
  Json request{{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
  if (owner_ != ::getpid()) disconnect();  // forked: the socket is the parent's, closing our copy does not end it
  bool done = false;
  Result<Answer> answer = Error(ErrorCode::not_running, "not connected", true);
  if (socket_.valid()) {
    answer = exchange(request, fds, progress, cancel);
    done = socket_.valid() || answer.has_value() || answer.error().code != ErrorCode::not_running || method == "shutdown" ||
           (cancel && cancel->cancelled());
    if (!done && sent_ && (answering_ || !repeatable(method))) {
      answer = Error(ErrorCode::not_running, answer.error().message + "; whether " + method + " happened is not known, so it was not repeated", true);
      done = true;
    }
  }
  if (!done) {
    KILN_CHECK(open());
    answer = exchange(request, fds, progress, cancel);
  }
  if (answer) KILN_CHECK(held_.answered(request, fds, answer->fds, answer->result));
  return answer;
}

Result<Answer> Client::exchange(Json& request, const std::vector<int>& fds, const Progress& progress, const CancelToken* cancel) {
  auto line = send_and_wait(request, fds, progress, cancel);
  if (!line && !began_) return std::move(line).error();
  if (!line) {  // half a line may be out, or an answer be on its way that nobody waits for
    answering_ = !splitter_.rest().empty();
    disconnect();
    return std::move(line).error();
  }
  Answer answer;
  answer.fds = std::move(fds_);
  fds_.clear();
  if (const auto error = line->find("error"); error != line->end()) {
    auto read = protocol::error_from_json(*error);
    fds_ = std::move(answer.fds);
    if (asked_ && error->is_object() && error->contains("data")) keep_capture((*error)["data"], &read);
    fds_.clear();
    return read;
  }
  if (const auto result = line->find("result"); result != line->end()) answer.result = std::move(*result);
  else answer.result = Json::object();
  if (asked_) {
    fds_ = std::move(answer.fds);
    keep_capture(answer.result, nullptr);
    answer.fds = std::move(fds_);
    fds_.clear();
  }
  return answer;
}

// The launch is what it is, whether its capture can be written or not.
void Client::keep_capture(Json& members, Error* error) {
  const auto kept = capture_.keep(members, fds_);
  if (kept) return;
  const auto why = "the launch could not be captured: " + kept.error().message;
  if (error) error->context.push_back(why);
  else std::fprintf(stderr, "warning: %s\n", why.c_str());
}

Result<Json> Client::send_and_wait(Json& request, const std::vector<int>& fds, const Progress& progress, const CancelToken* cancel) {
  sent_ = began_ = false;
  request["jsonrpc"] = "2.0";
  request["id"] = ++id_;
  if (!fds.empty()) request["fds"] = fds.size();
  const auto text = held_.line(request);
  KILN_CHECK(check_size(text, fds));
  began_ = true;
  if (auto sent = send(text, fds); !sent) {
    auto refusal = next_line(0, nullptr, nullptr);  // a daemon that refuses a connection says why before it closes it
    return refusal ? std::move(refusal) : std::move(sent).error();
  }
  sent_ = true;
  return next_line(id_, progress, cancel);
}

}  // namespace kiln::client
