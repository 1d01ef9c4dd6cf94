#include "api/daemon/cache_tier.hpp"

#include "cache/tiers/tier.hpp"
#include "cache/tiers/url.hpp"

namespace kiln::daemon {

using protocol::Fields;
using protocol::Json;

Result<TierSetting> read_tier_setting(const Json& root) {
  const Fields fields(root, "");
  TierSetting setting;
  const Json* value = fields.find("cache_tier");
  if (!value) return setting;
  if (value->is_string()) {
    setting.url = value->get<std::string>();
  } else {
    if (!value->is_object())
      return fields.error("cache_tier", "a URL, or an object with url, trusted, timeout_ms, write");
    const Fields tier(*value, "/cache_tier");
    KILN_CHECK(tier.only({"url", "trusted", "timeout_ms", "write"}));
    KILN_TRY(setting.url, tier.text("url"));
    KILN_TRY(setting.trusted, tier.boolean_or("trusted", false));
    KILN_TRY(setting.write, tier.boolean_or("write", true));
    KILN_TRY(setting.timeout_ms, tier.integer_or("timeout_ms", setting.timeout_ms, 1, 60000));
  }
  // Not with the value, as other mistakes are told: it may hold a password.
  if (const auto url = cache::parse_tier_url(setting.url); !url)
    return Error(ErrorCode::invalid_argument, fields.pointer("cache_tier") + ": " + url.error().message);
  return setting;
}

Json tier_setting_json(const TierSetting& setting) {
  if (setting.url.empty()) return nullptr;
  const auto url = cache::parse_tier_url(setting.url);
  return {{"url", url ? url->shown() : "not a URL"},
          {"trusted", setting.trusted},
          {"write", setting.write},
          {"timeout_ms", setting.timeout_ms}};
}

Result<std::shared_ptr<jit::RemoteTier>> open_tier(const TierSetting& setting, const cache::TrustKey& trust_key,
                                                   std::function<void(const std::string&)> warn) {
  if (setting.url.empty()) return std::shared_ptr<jit::RemoteTier>();
  cache::TierOptions options;
  options.url = setting.url;
  options.trusted = setting.trusted;
  options.write = setting.write;
  options.timeout = std::chrono::milliseconds(setting.timeout_ms);
  options.warn = std::move(warn);
  options.key = trust_key;
  return cache::open_tier(std::move(options));
}

}  // namespace kiln::daemon
