// Descriptors that came from a client. Who asks about one, or closes it, may have to wait for as long as the client
// likes: for a socket that lingers, or for a file of the client's own file system. Only the kernel's memory is safe.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/base/fd.hpp"

struct msghdr;

namespace kiln::service {

// Closes its descriptor when destroyed: memory at once, anything else on a thread of its own. Move only.
class ClientFd {
 public:
  ClientFd() = default;
  explicit ClientFd(int fd) : fd_(fd) {}
  ClientFd(UniqueFd fd) : fd_(std::move(fd)) {}  // implicit: a UniqueFd is good wherever this is wanted
  ClientFd(ClientFd&&) noexcept = default;
  ClientFd& operator=(ClientFd&& other) noexcept;
  ~ClientFd();
  [[nodiscard]] int get() const { return fd_.get(); }
  // Files of tmpfs and of huge pages. Asks nobody.
  [[nodiscard]] bool is_memory() const;
  // For memory alone: closed like any other from now on.
  UniqueFd take() { return std::move(fd_); }

 private:
  UniqueFd fd_;
};

inline constexpr std::size_t message_fds_max = 253;  // SCM_MAX_FD: what one message can bring

// Those that came with a message.
std::vector<ClientFd> received_fds(msghdr& message);

// Before a connection's socket is closed: nothing more is received, and the descriptors that it holds unread are closed
// one by one, since they would be closed with it. Any thread, never blocks.
void empty_connection(int socket);

}  // namespace kiln::service
