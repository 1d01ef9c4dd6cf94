// What travels between ReferenceProcess and kiln-reference.
#pragma once

#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/reference/process.hpp"

namespace kiln::reference {

enum class MessageKind : std::uint8_t { attach = 1, run = 2, done = 3 };
inline constexpr std::size_t attached_fds_max = 1024;

// Descriptors are sent once each and referred to by number: `fds` receives them in order. deadline_ms < 0: none.
Bytes encode_request(const RunRequest& request, int deadline_ms, std::vector<int>& fds);
struct ReceivedRequest {
  RunRequest request;         // Memory::fd are numbers into `fds` replaced by the descriptors themselves
  int deadline_ms = -1;
};
// `corrupt` for bytes that are no request, also for numbers beyond `fds`.
Result<ReceivedRequest> decode_request(ByteView bytes, const std::vector<UniqueFd>& fds);

Bytes encode_reply(const Result<RunReply>& reply);
// The reply's own error, or `corrupt`.
Result<RunReply> decode_reply(ByteView bytes);

}  // namespace kiln::reference
