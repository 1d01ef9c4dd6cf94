// Remote tiers of the cache: Redis and HTTP servers that several machines share (ENTRY.md, "Remote tier").
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "cache/trust.hpp"
#include "engine/jit/remote_tier.hpp"

namespace kiln::cache {

struct TierOptions {
  std::string url;                // as parse_tier_url takes it
  TrustKey key;                   // set: nothing is taken without its HMAC, and all that is put carries one
  bool trusted = false;           // without a key: whoever can write there is trusted to run code as us
  bool write = true;              // false: it is only read
  std::chrono::milliseconds timeout{1000};  // of one fetch, its time in the queue included, and of one put
  std::uint64_t queue_entries_max = 256, queue_bytes_max = std::uint64_t(64) << 20;  // that wait to be put
  std::uint64_t fetches_max = 1024;  // that wait to be asked
  // Told when the tier goes down and when it is up again; from the tier's thread, may be empty.
  std::function<void(const std::string&)> warn;
};

// Nothing is loaded, started or connected before the first fetch or put. Errors: invalid_argument for the URL, and for
// a tier that is not trusted where there is no key.
Result<std::shared_ptr<jit::RemoteTier>> open_tier(TierOptions options);

}  // namespace kiln::cache
