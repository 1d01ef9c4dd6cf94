#include "engine/capture/compression.hpp"

#include <zstd.h>

#include <algorithm>
#include <memory>

#include "engine/base/fd.hpp"

namespace kiln::capture {
namespace {

constexpr int level = 3;
constexpr std::size_t piece_bytes = std::size_t(1) << 20;

Error failed(std::size_t code) {
  return Error(ErrorCode::corrupt, std::string("compressed bytes that are none: ") + ZSTD_getErrorName(code));
}

}  // namespace

Result<std::uint64_t> compress_to(int fd, ByteView bytes) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  if (!context) return Error(ErrorCode::out_of_memory, "no memory to compress a capture");
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  Bytes piece(piece_bytes);
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  std::uint64_t written = 0;
  for (std::size_t left = 1; left != 0;) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    left = ZSTD_compressStream2(context.get(), &out, &in, ZSTD_e_end);
    if (ZSTD_isError(left)) return Error(ErrorCode::internal, std::string("compress: ") + ZSTD_getErrorName(left));
    KILN_CHECK(write_all(fd, ByteView(piece).first(out.pos)));
    written += out.pos;
  }
  return written;
}

Result<Bytes> decompress(ByteView frame, std::uint64_t bytes) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (!context) return Error(ErrorCode::out_of_memory, "no memory to decompress a capture");
  Bytes result;
  ZSTD_inBuffer in{frame.data(), frame.size(), 0};
  for (;;) {
    const auto had = result.size();
    // One byte over the end shows a frame that holds more.
    const auto room = std::min<std::uint64_t>(std::max<std::uint64_t>(piece_bytes, had), bytes + 1 - had);
    result.resize(had + std::size_t(room));
    ZSTD_outBuffer out{result.data(), result.size(), had};
    const auto left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left)) return failed(left);
    result.resize(out.pos);
    if (result.size() > bytes) return Error(ErrorCode::corrupt, "the frame holds more than " + std::to_string(bytes) + " bytes");
    if (left == 0) break;
    if (in.pos == in.size && out.pos == had) return Error(ErrorCode::corrupt, "the frame is cut short");
  }
  if (in.pos != in.size) return Error(ErrorCode::corrupt, "bytes stand behind the frame");
  if (result.size() != bytes)
    return Error(ErrorCode::corrupt, "the frame holds " + std::to_string(result.size()) + " bytes instead of " + std::to_string(bytes));
  return result;
}

}  // namespace kiln::capture
