// Frames over a socketpair between Kiln's own processes: u32 length, u8 kind, payload; descriptors ride on the first
// byte. The peer is ours but may die at any moment or be made to misbehave by generated code: lengths are checked.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/deadline.hpp"
#include "engine/base/fd.hpp"

namespace kiln {

inline constexpr std::size_t frame_bytes_max = std::size_t(256) << 20;
inline constexpr std::size_t frame_fds_max = 16;

struct Frame {
  std::uint8_t kind = 0;
  Bytes payload;
  std::vector<UniqueFd> fds;  // close-on-exec
};

// A pair of connected stream sockets, both close-on-exec.
Result<std::pair<UniqueFd, UniqueFd>> socket_pair();
// Sends the whole frame, blocking up to `deadline`. One writer at a time. Peer gone: device_lost, message "peer
// closed". Never raises SIGPIPE.
Status send_frame(int socket, std::uint8_t kind, ByteView payload, std::span<const int> fds = {}, Deadline deadline = {});
// Receives one frame, blocking up to `deadline` (deadline_exceeded when nothing came). End of file between frames: a
// Result with code not_running. One reader at a time.
Result<Frame> receive_frame(int socket, Deadline deadline = {});

}  // namespace kiln
