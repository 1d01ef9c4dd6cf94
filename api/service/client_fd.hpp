// Descriptors that came from a client. Who asks about one, or closes it, may have to wait for as long as the client
// likes: for a socket that lingers, or for a file of the client's own file system. Only the kernel's memory is safe.
#pragma once

#include <sys/types.h>

#include <span>
#include <vector>

#include "engine/base/fd.hpp"

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

// What one look at a connection's socket brought.
struct Received {
  ssize_t bytes = 0;   // in the buffer; 0: the client's end of file; -1: nothing, `error_number` says why
  int error_number = 0;
  std::vector<ClientFd> fds;
  bool cut_off = false;  // descriptors that found no place are lost
};
// One message, without waiting for one.
Received receive(int socket, std::span<char> buffer);

// Before a connection's socket is closed: nothing more is received, and the descriptors that it holds unread are closed
// one by one, since they would be closed with it. Any thread, never blocks.
void empty_connection(int socket);

}  // namespace kiln::service
