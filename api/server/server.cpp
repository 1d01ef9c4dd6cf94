#include "api/server/server.hpp"

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <future>
#include <unordered_map>
#include <utility>

#include "api/protocol/message.hpp"
#include "api/server/connection.hpp"
#include "api/server/metrics_endpoint.hpp"
#include "api/service/metrics.hpp"

namespace kiln::server {
namespace {

constexpr std::size_t crowd = 16;  // connections whose memory is worth giving back at once
constexpr std::size_t records_reserved = 256;
constexpr unsigned overflow_uid = 65534;  // what strangers in a user namespace read as

// Our own user and root: they may do everything.
bool administers(const ucred& peer) {
  return peer.uid == 0 || (peer.uid == ::getuid() && peer.uid != overflow_uid);
}

// Whether the peer had the group, as its own or a supplementary one, when it connected.
bool has_group(int socket, const ucred& peer, gid_t group) {
  if (peer.uid == overflow_uid) return false;
  if (peer.gid == group) return true;
  std::vector<gid_t> groups(64);
  auto size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  while (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) {
    if (errno != ERANGE || size <= groups.size() * sizeof(gid_t)) return false;
    groups.resize(size / sizeof(gid_t));
  }
  groups.resize(size / sizeof(gid_t));
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

class AsioServer final : public Server, public ConnectionOwner {
 public:
  AsioServer(ServerOptions options, UniqueFd listener)
      : options_(std::move(options)), idle_timer_(io_), grace_timer_(io_), retry_timer_(io_), crowd_timer_(io_),
        acceptor_(io_, asio::local::stream_protocol(), listener.release()), spare_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {}

  void set_service(service::Service& service) override { service_ = &service; }

  void serve_metrics(UniqueFd listener, const std::string& token) override {
    MetricsOptions metrics;
    metrics.text = [this] { return service_->metrics(); };
    metrics.content_type = service::metrics_content_type;
    metrics.token = token;
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
    if (address.sin_family == AF_INET) metrics.host = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    else metrics.admit = [this](int socket) { return admits(socket).has_value(); };
    metrics_.push_back(MetricsEndpoint::create(io_, std::move(listener), std::move(metrics)));
  }

  void run() override {
    reserve_records();
    accept_next();
    for (const auto& endpoint : metrics_) endpoint->start();
    arm_idle();
    io_.run();
  }

  void stop(int grace_ms) override {
    if (stopping_.exchange(true)) return;
    asio::post(io_, [this, grace_ms] { begin_stop(grace_ms); });
  }

  protocol::Json stats() override {
    return {{"connections", connections_now_.load()}, {"connections_total", connections_total_.load()},
            {"connections_refused", connections_refused_.load()}};
  }

 private:
  void log(const std::string& line) override {
    if (options_.log) options_.log(line);
  }

  // The reactor keeps a record of every socket that it ever watched at once, for later ones. Those of a crowd would lie
  // between its other memory and keep all of those pages: so they are made before, side by side.
  void reserve_records() {
    std::vector<Connection::Socket> sockets;
    sockets.reserve(records_reserved);
    for (std::size_t i = 0; i < records_reserved; ++i) {
      const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      boost::system::error_code error;
      if (fd >= 0) sockets.emplace_back(io_).assign(asio::local::stream_protocol(), fd, error);
      if (fd < 0 || error) return;
    }
  }

  void accept_next() {
    acceptor_.async_accept([this](const boost::system::error_code& error, Connection::Socket socket) {
      if (stopping_) return;
      if (error) return accept_failed(error);
      admit(std::move(socket));
      accept_next();
    });
  }

  // Out of descriptors: give the spare one up to take and drop the connection, so that the queue does not spin.
  void accept_failed(const boost::system::error_code& error) {
    if (error == asio::error::operation_aborted) return;
    if (error.value() == EMFILE || error.value() == ENFILE) {
      spare_.reset();
      UniqueFd refused(::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      refused.reset();
      spare_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      ++connections_refused_;
      log("connection refused: out of file descriptors");
    }
    retry_timer_.expires_after(std::chrono::milliseconds(10));
    retry_timer_.async_wait([this](const boost::system::error_code& cancelled) { if (!cancelled) accept_next(); });
  }

  // Who is at the other end, if that one is served; else what is told of it.
  tl::expected<service::Peer, std::string> admits(int socket) const {
    ucred peer{};
    socklen_t size = sizeof peer;
    const bool known = ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    const bool administrator = known && administers(peer);
    if (administrator || (known && options_.group && has_group(socket, peer, *options_.group)))
      return service::Peer{peer.pid, peer.uid, administrator};
    return tl::make_unexpected("uid " + std::to_string(peer.uid) + " is not ours" +
                               (options_.group ? " and not of group " + std::to_string(*options_.group) : ""));
  }

  void admit(Connection::Socket socket) {
    const auto peer = admits(socket.native_handle());
    if (!peer) {
      ++connections_refused_;
      service::empty_connection(socket.native_handle());
      return log("connection refused: " + peer.error());
    }
    if (connections_.size() >= options_.limits.connections_max) return refuse_full(socket);
    full_ = false;
    const auto id = ++next_id_;
    auto connection = std::make_shared<Connection>(std::move(socket), id, *peer,
                                                   options_.limits, *service_, *this);
    connections_.emplace(id, connection);
    connections_now_ = connections_.size();
    most_ = std::max(most_, connections_.size());
    ++connections_total_;
    idle_timer_.cancel();
    connection->start();
  }

  // With the reason, as far as it fits into an empty socket; one log line until there is room again.
  void refuse_full(Connection::Socket& socket) {
    const Error full(ErrorCode::busy, std::to_string(connections_.size()) + " connections are open, no more are accepted", true);
    const auto line = protocol::error_line(nullptr, full);
    (void)::send(socket.native_handle(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    service::empty_connection(socket.native_handle());
    ++connections_refused_;
    if (!full_) log("connections are refused: " + std::to_string(connections_.size()) + " are open");
    full_ = true;
  }

  void closed(service::ConnectionId id) override {
    asio::post(io_, [this, id] {
      connections_.erase(id);
      connections_now_ = connections_.size();
      if (stopping_) return finish_if_idle();
      if (connections_.empty()) arm_idle();
      if (most_ >= crowd && connections_.size() <= most_ / 2) crowd_left();
    });
  }

  // A moment later: the service still gives back what they had.
  void crowd_left() {
    most_ = connections_.size();
    crowd_timer_.expires_after(std::chrono::milliseconds(200));
    crowd_timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error && options_.crowd_left) options_.crowd_left();
    });
  }

  void arm_idle() {
    if (options_.idle_exit_s <= 0) return;
    idle_timer_.expires_after(std::chrono::seconds(options_.idle_exit_s));
    idle_timer_.async_wait([this](const boost::system::error_code& error) {
      if (error || !connections_.empty()) return;
      log("idle for " + std::to_string(options_.idle_exit_s) + " s: ending");
      stop(0);
    });
  }

  void begin_stop(int grace_ms) {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    for (const auto& endpoint : metrics_) endpoint->stop();
    idle_timer_.cancel();
    service_->drain();
    finish_if_idle();
    grace_timer_.expires_after(std::chrono::milliseconds(grace_ms));
    grace_timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      service_->cancel_all();
      final_ = true;
      grace_timer_.expires_after(std::chrono::milliseconds(500));
      grace_timer_.async_wait([this](const boost::system::error_code& again) { if (!again) close_all(); });
      finish_if_idle();
    });
    watch_drain();
  }

  // Ends as soon as nothing runs, without waiting for idle clients to leave.
  void watch_drain() {
    retry_timer_.expires_after(std::chrono::milliseconds(5));
    retry_timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      finish_if_idle();
      if (!ended_) watch_drain();
    });
  }

  void finish_if_idle() {
    if (ended_) return;
    for (const auto& [id, connection] : connections_)
      if (connection->in_flight() > 0) return;
    if (!final_ && service_->calls_running() > 0) return;  // launches that were answered when they were enqueued
    close_all();
  }

  void close_all() {
    ended_ = true;
    retry_timer_.cancel();
    grace_timer_.cancel();
    auto all = connections_;
    for (auto& [id, connection] : all) connection->close("");
    io_.stop();
  }

  ServerOptions options_;
  asio::io_context io_{1};
  asio::steady_timer idle_timer_, grace_timer_, retry_timer_, crowd_timer_;
  asio::local::stream_protocol::acceptor acceptor_;
  std::vector<std::unique_ptr<MetricsEndpoint>> metrics_;
  UniqueFd spare_;
  service::Service* service_ = nullptr;
  std::unordered_map<service::ConnectionId, std::shared_ptr<Connection>> connections_;
  service::ConnectionId next_id_ = 0;
  std::size_t most_ = 0;  // connections at once, since a crowd left
  bool full_ = false;  // the last connection was refused because of the others
  std::atomic<std::uint64_t> connections_now_{0}, connections_total_{0}, connections_refused_{0};
  std::atomic<bool> stopping_{false};
  bool ended_ = false, final_ = false;
};

}  // namespace

std::unique_ptr<Server> Server::create(ServerOptions options, UniqueFd listener) {
  return std::make_unique<AsioServer>(std::move(options), std::move(listener));
}

Result<UniqueFd> listen_unix(const LocatedPath& located, UniqueFd& lock, std::optional<gid_t> group) {
  const std::string& path = located.path;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error(ErrorCode::invalid_argument, "the socket path is over " + std::to_string(sizeof address.sun_path - 1) + " bytes: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  KILN_CHECK(group ? prepare_group_folder(located, ::getuid(), *group) : prepare_socket_folder(located, ::getuid()));
  lock = UniqueFd(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return errno_error(errno, "open " + path + ".lock");
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK ? Error(ErrorCode::busy, "another kilnd serves " + path, true) : errno_error(errno, "lock " + path + ".lock");
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return errno_error(errno, "socket");
  struct stat info{};
  if (::lstat(path.c_str(), &info) == 0) {  // we hold the lock: whatever socket is there is stale
    if (!S_ISSOCK(info.st_mode)) return Error(ErrorCode::permission_denied, path + " exists and is no socket");
    ::unlink(path.c_str());
  }
  const auto mask = ::umask(group ? 0117 : 0177);
  const int bound = ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  const int bind_error = errno;
  ::umask(mask);
  if (bound != 0) return errno_error(bind_error, "bind " + path);
  if (group && ::lchown(path.c_str(), uid_t(-1), *group) != 0)
    return errno_error(errno, "give " + path + " to group " + std::to_string(*group));
  if (::listen(listener.get(), 512) != 0) return errno_error(errno, "listen on " + path);
  return listener;
}

Result<UniqueFd> listen_loopback(std::uint16_t port) {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return errno_error(errno, "socket");
  const int on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(listener.get(), 16) != 0)
    return errno_error(errno, "listen on 127.0.0.1:" + std::to_string(port));
  return listener;
}

}  // namespace kiln::server
