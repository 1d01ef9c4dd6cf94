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

std::vector<ClientFd> received_fds(msghdr& message) {
  std::vector<ClientFd> fds;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const auto count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

void empty_connection(int socket) {
  ::shutdown(socket, SHUT_RDWR);
  for (;;) {
    char buffer[16 << 10];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * message_fds_max)];
    iovec vector{buffer, sizeof buffer};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const auto got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    (void)received_fds(message);
  }
}

}  // namespace kiln::service
