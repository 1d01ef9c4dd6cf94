// Zstandard frames: one for each run of bytes.
#pragma once

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"

namespace kiln::capture {

// Appends one frame to what `fd` holds at its position; gives the frame's bytes.
Result<std::uint64_t> compress_to(int fd, ByteView bytes);
// One frame that holds exactly `bytes` bytes, and nothing behind it. Memory grows with what the frame gives, up to `bytes`.
Result<Bytes> decompress(ByteView frame, std::uint64_t bytes);

}  // namespace kiln::capture
