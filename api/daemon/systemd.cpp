#include "api/daemon/systemd.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstring>

namespace kiln::daemon {

namespace {

constexpr int first_passed_fd = 3;

std::optional<int> number_of(const std::string& text) {
  int number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

int socket_option(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

std::string path_of(int fd) {
  sockaddr_un address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  if (size <= offsetof(sockaddr_un, sun_path) || address.sun_path[0] == '\0') return {};
  return {address.sun_path, ::strnlen(address.sun_path, size - offsetof(sockaddr_un, sun_path))};
}

}  // namespace

Result<std::optional<PassedSocket>> passed_socket(const Environment& environment) {
  if (number_of(environment.get("LISTEN_PID")) != ::getpid()) return std::optional<PassedSocket>();
  const auto count = number_of(environment.get("LISTEN_FDS")).value_or(0);
  if (count <= 0) return std::optional<PassedSocket>();
  const auto wrong = [](const std::string& what) {
    return Error(ErrorCode::invalid_argument, "socket activation: " + what);
  };
  if (count > 1) return wrong(std::to_string(count) + " sockets were passed, expected one");
  PassedSocket passed{UniqueFd(first_passed_fd), ""};
  const int flags = ::fcntl(passed.fd.get(), F_GETFL);
  if (flags < 0) {
    (void)passed.fd.release();
    return wrong("descriptor 3 is closed");
  }
  if (socket_option(passed.fd.get(), SO_DOMAIN) != AF_UNIX || socket_option(passed.fd.get(), SO_TYPE) != SOCK_STREAM ||
      socket_option(passed.fd.get(), SO_ACCEPTCONN) != 1)
    return wrong("descriptor 3 is no listening Unix stream socket (ListenStream=/path, Accept=no)");
  if (::fcntl(passed.fd.get(), F_SETFD, FD_CLOEXEC) != 0 ||
      ::fcntl(passed.fd.get(), F_SETFL, flags | O_NONBLOCK) != 0)
    return errno_error(errno, "take the passed socket over");
  passed.path = path_of(passed.fd.get());
  return std::optional(std::move(passed));
}

void notify_manager(const Environment& environment, const std::string& text) {
  const auto name = environment.get("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() < 2 || name.size() > sizeof address.sun_path || (name[0] != '/' && name[0] != '@')) return;
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';  // an abstract name
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return;
  (void)::sendto(socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                 reinterpret_cast<const sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size()));
}

}  // namespace kiln::daemon
