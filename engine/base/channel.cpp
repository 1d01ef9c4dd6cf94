#include "engine/base/channel.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "engine/base/os.hpp"

namespace kiln {
namespace {

constexpr std::size_t header_bytes = 5;  // u32 payload length, u8 kind
// Payload memory grows as bytes arrive: a length alone makes nobody allocate.
constexpr std::size_t growth_bytes = std::size_t(1) << 20;

union ControlBuffer {
  cmsghdr alignment;
  std::uint8_t bytes[CMSG_SPACE(frame_fds_max * sizeof(int))];
};

bool peer_is_gone(int error_number) { return error_number == EPIPE || error_number == ECONNRESET; }

// Waits until the socket is ready; an expired deadline is deadline_exceeded.
Status wait_ready(int socket, short events, const Deadline& deadline) {
  for (;;) {
    pollfd entry{socket, events, 0};
    const int ready = os::poll(&entry, 1, deadline.left_ms());
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return errno_error(errno, "cannot wait for a peer");
    if (deadline.passed()) return Error(ErrorCode::deadline_exceeded, "deadline passed", true);
  }
}

void attach_fds(msghdr& message, ControlBuffer& control, std::span<const int> fds) {
  if (fds.empty()) return;
  message.msg_control = control.bytes;
  message.msg_controllen = CMSG_SPACE(fds.size_bytes());
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(head), fds.data(), fds.size_bytes());
}

void collect_fds(msghdr& message, std::vector<UniqueFd>& fds) {
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
}

// Receives up to `into.size()` bytes, at least one; 0 at the end of the stream. Descriptors go to `fds`; without it the
// kernel drops any that come.
Result<std::size_t> receive_some(int socket, std::span<std::uint8_t> into, std::vector<UniqueFd>* fds,
                                 const Deadline& deadline) {
  for (;;) {
    iovec part{into.data(), into.size()};
    ControlBuffer control;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (fds) message.msg_control = control.bytes, message.msg_controllen = sizeof control.bytes;
    const auto n = os::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n >= 0) {
      if (fds) collect_fds(message, *fds);
      if (fds && (message.msg_flags & MSG_CTRUNC))
        return Error(ErrorCode::resource_limit, "descriptors that came with a frame were cut off");
      return static_cast<std::size_t>(n);
    }
    if (peer_is_gone(errno)) return std::size_t(0);
    if (errno != EAGAIN) return errno_error(errno, "cannot receive from a peer");
    KILN_CHECK(wait_ready(socket, POLLIN, deadline));
  }
}

// A failure after the first byte leaves the stream between frames: it is of no further use.
Error in_mid_frame(Error error) {
  if (error.code == ErrorCode::deadline_exceeded)
    return Error(ErrorCode::protocol_error, "deadline passed in the middle of a frame");
  return error;
}

}  // namespace

Result<std::pair<UniqueFd, UniqueFd>> socket_pair() {
  int fds[2];
  if (os::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
    return errno_error(errno, "cannot make a socket pair");
  return std::pair(UniqueFd(fds[0]), UniqueFd(fds[1]));
}

Status send_frame(int socket, std::uint8_t kind, ByteView payload, std::span<const int> fds, Deadline deadline) {
  if (payload.size() > frame_bytes_max) return Error(ErrorCode::resource_limit, "a frame over 256 MiB");
  if (fds.size() > frame_fds_max) return Error(ErrorCode::resource_limit, "over 16 descriptors in a frame");
  std::array<std::uint8_t, header_bytes> header;
  const auto length = static_cast<std::uint32_t>(payload.size());
  std::memcpy(header.data(), &length, sizeof length);
  header[4] = kind;
  const std::size_t total = header_bytes + payload.size();
  for (std::size_t done = 0; done < total;) {
    iovec parts[2];
    int count = 0;
    if (done < header_bytes) parts[count++] = {header.data() + done, header_bytes - done};
    const std::size_t sent = done < header_bytes ? 0 : done - header_bytes;
    if (sent < payload.size())
      parts[count++] = {const_cast<std::uint8_t*>(payload.data()) + sent, payload.size() - sent};
    ControlBuffer control{};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = static_cast<std::size_t>(count);
    if (done == 0) attach_fds(message, control, fds);
    const auto n = os::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) { done += static_cast<std::size_t>(n); continue; }
    if (peer_is_gone(errno)) return Error(ErrorCode::device_lost, "peer closed");
    if (errno != EAGAIN) return errno_error(errno, "cannot send to a peer");
    if (auto ready = wait_ready(socket, POLLOUT, deadline); !ready)
      return done == 0 ? std::move(ready).error() : in_mid_frame(std::move(ready).error());
  }
  return {};
}

Result<Frame> receive_frame(int socket, Deadline deadline) {
  Frame frame;
  std::array<std::uint8_t, header_bytes> header;
  for (std::size_t done = 0; done < header_bytes;) {
    auto n = receive_some(socket, std::span(header).subspan(done), &frame.fds, deadline);
    if (!n) return done == 0 ? std::move(n).error() : in_mid_frame(std::move(n).error());
    if (*n == 0 && done == 0) return Error(ErrorCode::not_running, "peer closed");
    if (*n == 0) return Error(ErrorCode::device_lost, "peer closed in the middle of a frame");
    done += *n;
  }
  std::uint32_t length;
  std::memcpy(&length, header.data(), sizeof length);
  frame.kind = header[4];
  if (length > frame_bytes_max) return Error(ErrorCode::protocol_error, "peer announced a frame over 256 MiB");
  if (frame.fds.size() > frame_fds_max) return Error(ErrorCode::protocol_error, "peer sent too many descriptors");
  for (std::size_t done = 0; done < length;) {
    if (done == frame.payload.size())
      frame.payload.resize(std::min<std::size_t>(length, std::max(2 * done, growth_bytes)));
    auto n = receive_some(socket, std::span(frame.payload).subspan(done), nullptr, deadline);
    if (!n) return in_mid_frame(std::move(n).error());
    if (*n == 0) return Error(ErrorCode::device_lost, "peer closed in the middle of a frame");
    done += *n;
  }
  return frame;
}

}  // namespace kiln
