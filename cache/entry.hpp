// The bytes of one cache entry, as ENTRY.md defines them.
#pragma once

#include <cstdint>
#include <string>

#include "engine/jit/object_store.hpp"

namespace kiln::cache {

inline constexpr std::uint32_t entry_format_version = 1;
inline constexpr std::size_t entry_header_bytes = 64;
inline constexpr std::size_t entry_checksum_bytes = 8;

enum class Defect {
  short_entry,      // fewer bytes than header and lengths say
  long_entry,       // more
  wrong_magic,
  other_version,    // written by another release: no damage, a miss
  wrong_key,        // the entry of another key
  wrong_checksum,
};
// "the checksum is wrong": static storage.
const char* defect_text(Defect defect);

// The entry's size for these parts.
constexpr std::uint64_t entry_bytes(std::uint64_t metadata_bytes, std::uint64_t object_bytes) {
  return entry_header_bytes + metadata_bytes + object_bytes + entry_checksum_bytes;
}
// The key under which a note is encoded as an entry, so that a damaged or misplaced one is noticed.
jit::Key note_key(const std::string& name);
Bytes encode_entry(const jit::Key& key, ByteView metadata, ByteView object);
// The entry's parts, or what is wrong with it. Any bytes at all may come in.
tl::expected<jit::StoredObject, Defect> decode_entry(const jit::Key& key, ByteView bytes);

}  // namespace kiln::cache
