#include "api/service/client_fd.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

namespace kiln::service {

ClientFd& ClientFd::operator=(ClientFd&& other) noexcept {
  const ClientFd old(std::move(fd_));
  fd_ = std::move(other.fd_);
  return *this;
}

// The thread may wait in close() for ever. It uses nothing of ours, so nobody has to join it.
ClientFd::~ClientFd() {
  if (!fd_ || is_memory()) return;
  const int fd = fd_.release();
  try {
    std::thread([fd] { ::close(fd); }).detach();
  } catch (const std::system_error&) {  // no thread to be had
    ::close(fd);
  }
}

bool ClientFd::is_memory() const { return ::fcntl(fd_.get(), F_GET_SEALS) >= 0; }

Received receive(int socket, std::span<char> buffer) {
  constexpr std::size_t message_fds_max = 253;  // SCM_MAX_FD: what one message can bring
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * message_fds_max)];
  iovec vector{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  Received received;
  received.bytes = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (received.bytes < 0) {
    received.error_number = errno;
    return received;
  }
  received.cut_off = (message.msg_flags & MSG_CTRUNC) != 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const auto count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
      received.fds.emplace_back(fd);
    }
  }
  return received;
}

void empty_connection(int socket) {
  ::shutdown(socket, SHUT_RDWR);
  for (;;) {
    char buffer[16 << 10];
    const auto received = receive(socket, buffer);
    if (received.bytes == 0 || (received.bytes < 0 && received.error_number != EINTR)) return;
  }
}

}  // namespace kiln::service
