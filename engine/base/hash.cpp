#include "engine/base/hash.hpp"

#include <openssl/sha.h>
#define XXH_INLINE_ALL  // no shared library in workers that never use it
#include <xxhash.h>

namespace kiln {

Digest sha256(ByteView bytes) {
  Digest digest;
  SHA256(bytes.data(), bytes.size(), digest.data());
  return digest;
}

std::uint64_t checksum64(ByteView bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace kiln
