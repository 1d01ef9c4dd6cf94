// The setting `cache_tier`: the URL of a remote tier, or an object that says more about it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/protocol/json.hpp"
#include "cache/trust.hpp"
#include "engine/jit/remote_tier.hpp"

namespace kiln::daemon {

struct TierSetting {
  std::string url;               // "": no tier; may hold a password
  bool trusted = false;          // without a trust_key: everybody who can write there may run code as us
  bool write = true;
  std::int64_t timeout_ms = 1000;
};

// `/cache_tier` of config.json's root. Errors: invalid_argument with its place.
Result<TierSetting> read_tier_setting(const protocol::Json& root);
// As it may be shown: without user and password, null where there is no tier.
protocol::Json tier_setting_json(const TierSetting& setting);
// The tier, null where none is set. Errors: invalid_argument for the URL, and for a tier that neither a key nor the
// setting vouches for.
Result<std::shared_ptr<jit::RemoteTier>> open_tier(const TierSetting& setting, const cache::TrustKey& trust_key,
                                                   std::function<void(const std::string&)> warn);

}  // namespace kiln::daemon
