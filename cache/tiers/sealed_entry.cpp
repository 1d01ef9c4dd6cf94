#include "cache/tiers/sealed_entry.hpp"

#include <algorithm>

#include "cache/entry.hpp"

namespace kiln::cache {

std::string tier_name(const jit::Key& key) { return "kiln/" + std::to_string(entry_format_version) + "/" + key.hex(); }

Bytes seal_entry(const jit::StoredObject& stored, const TrustKey& trust) {
  auto bytes = encode_entry(stored.key, stored.metadata, stored.object);
  if (const auto mac = trust.sign(bytes)) bytes.insert(bytes.end(), mac->begin(), mac->end());
  return bytes;
}

Result<jit::StoredObject> open_entry(const jit::Key& key, ByteView bytes, const TrustKey& trust) {
  if (trust.is_set()) {
    Digest mac{};
    if (bytes.size() < mac.size()) return Error(ErrorCode::permission_denied, "no HMAC follows the entry");
    const auto last = bytes.last(mac.size());
    std::copy(last.begin(), last.end(), mac.begin());
    bytes = bytes.first(bytes.size() - mac.size());
    if (!trust.vouches_for(bytes, mac)) return Error(ErrorCode::permission_denied, "the entry's HMAC is not the key's");
  }
  auto entry = decode_entry(key, bytes);
  if (!entry) return Error(ErrorCode::corrupt, defect_text(entry.error()));
  return std::move(*entry);
}

}  // namespace kiln::cache
