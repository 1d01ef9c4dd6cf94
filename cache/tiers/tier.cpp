#include "cache/tiers/tier.hpp"

#include "cache/tiers/worker.hpp"

namespace kiln::cache {

Result<std::shared_ptr<jit::RemoteTier>> open_tier(TierOptions options) {
  KILN_TRY(auto url, parse_tier_url(options.url));
  if (!options.key.is_set() && !options.trusted)
    return Error(ErrorCode::invalid_argument,
                 "the remote tier " + url.shown() + " needs a trust_key: who can write there could run code as you. " +
                 "Set trust_key to a key file that all its users share, or say that everybody who can write there is " +
                 "trusted: \"cache_tier\": {\"url\": …, \"trusted\": true}");
  auto shown = url.shown();
  auto open = [url = std::move(url)] { return url.is_http() ? open_http(url) : open_redis(url); };
  return std::shared_ptr<jit::RemoteTier>(new TierWorker(std::move(options), std::move(shown), std::move(open)));
}

}  // namespace kiln::cache
