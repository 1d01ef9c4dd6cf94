// The bytes of an entry in a remote tier (ENTRY.md, "Remote tier"): the entry and, where there is a key, its HMAC.
#pragma once

#include <string>

#include "cache/trust.hpp"
#include "engine/jit/object_store.hpp"

namespace kiln::cache {

// "kiln/1/<key>": the number is the entry's format version.
std::string tier_name(const jit::Key& key);
Bytes seal_entry(const jit::StoredObject& stored, const TrustKey& trust);
// The entry of `key`. Any bytes at all may come in. Errors: permission_denied where a key is set and does not vouch for
// the bytes; corrupt where they are no entry of this key.
Result<jit::StoredObject> open_entry(const jit::Key& key, ByteView bytes, const TrustKey& trust);

}  // namespace kiln::cache
