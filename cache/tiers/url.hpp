// Where a remote tier is: http://host[:port]/prefix, https://…, redis://[[user]:password@]host[:port][/db][?prefix=…],
// redis+unix:///path/of/socket[?db=…&prefix=…].
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/result.hpp"

namespace kiln::cache {

struct TierUrl {
  enum class Kind : std::uint8_t { http, https, redis, redis_unix };
  Kind kind = Kind::http;
  std::string user, password;     // decoded; "" for none
  std::string host;               // a name or an address, an IPv6 one in brackets; "" for redis_unix
  std::uint16_t port = 0;         // 80, 443, 6379 where the URL names none
  std::string path;               // HTTP: "" or "/a/b", as in the URL; redis_unix: the socket's
  std::uint32_t database = 0;     // Redis
  std::string prefix;             // Redis: what key names begin with

  [[nodiscard]] bool is_http() const { return kind == Kind::http || kind == Kind::https; }
  // The URL without user and password, for either may be a secret: what may be shown.
  [[nodiscard]] std::string shown() const;
};

// Errors: invalid_argument that says what is wrong and never shows a password.
Result<TierUrl> parse_tier_url(std::string_view text);

}  // namespace kiln::cache
