// Hashes: SHA-256 for keys, XXH3 for checksums.
#pragma once

#include <array>
#include <cstdint>

#include "engine/base/bytes.hpp"

namespace kiln {

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(ByteView bytes);
Digest hmac_sha256(ByteView key, ByteView bytes);
// Takes as long for digests that differ early as for those that differ late.
bool equal_in_constant_time(const Digest& a, const Digest& b);
std::uint64_t checksum64(ByteView bytes);            // XXH3 64, seed 0
inline std::string to_hex(const Digest& digest) { return to_hex(ByteView(digest)); }

}  // namespace kiln
