#include "engine/base/hash.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#define XXH_INLINE_ALL  // no shared library in workers that never use it
#include <xxhash.h>

namespace kiln {

Digest sha256(ByteView bytes) {
  Digest digest;
  SHA256(bytes.data(), bytes.size(), digest.data());
  return digest;
}

Digest hmac_sha256(ByteView key, ByteView bytes) {
  Digest digest;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes.data(), bytes.size(), digest.data(), nullptr);
  return digest;
}

bool equal_in_constant_time(const Digest& a, const Digest& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::uint64_t checksum64(ByteView bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace kiln
