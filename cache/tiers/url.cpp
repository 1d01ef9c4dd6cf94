#include "cache/tiers/url.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "engine/base/bytes.hpp"

namespace kiln::cache {
namespace {

constexpr std::string_view known = "http://host[:port]/prefix, https://…, redis://[user:password@]host[:port][/db] or "
                                   "redis+unix:///path";
constexpr std::size_t url_bytes_max = 2048;

Error wrong(const std::string& what) {
  return Error(ErrorCode::invalid_argument, "the URL of the remote tier " + what + "; expected " + std::string(known));
}

template <class Number>
std::optional<Number> number_of(std::string_view text, Number max) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || failure != std::errc() || end != text.data() + text.size() || number > max) return std::nullopt;
  return number;
}

// %41 becomes A; nothing where that is malformed or gives a control character.
std::optional<std::string> decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const auto byte = from_hex(text.substr(i + 1, 2));
      if (!byte || byte->size() != 1) return std::nullopt;
      c = static_cast<char>((*byte)[0]);
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 32 || c == 127) return std::nullopt;
    result += c;
  }
  return result;
}

// Cuts `rest` at the first of `stops`; what was before it.
std::string_view cut(std::string_view& rest, std::string_view stops) {
  const auto at = std::min(rest.find_first_of(stops), rest.size());
  const auto head = rest.substr(0, at);
  rest.remove_prefix(at);
  return head;
}

Status read_user(std::string_view text, TierUrl& url) {
  const auto colon = std::min(text.find(':'), text.size());
  const auto user = decoded(text.substr(0, colon));
  const auto password = decoded(colon < text.size() ? text.substr(colon + 1) : std::string_view());
  if (!user || !password) return wrong("has a malformed user or password (other characters as %XX)");
  url.user = *user;
  url.password = *password;
  return {};
}

Status read_host(std::string_view text, TierUrl& url) {
  const auto bracket = text.starts_with('[') ? text.find(']') : std::string_view::npos;
  const auto colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  url.host = text.substr(0, colon);
  const bool address = bracket != std::string_view::npos;
  const auto letters = address ? std::string_view("0123456789abcdefABCDEF:.[]")
                               : std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_");
  if (url.host.empty() || url.host.find_first_not_of(letters) != std::string::npos ||
      (address && bracket + 1 != url.host.size()))
    return wrong("names no host");
  url.port = url.kind == TierUrl::Kind::http ? 80 : url.kind == TierUrl::Kind::https ? 443 : 6379;
  if (colon == std::string_view::npos) return {};
  const auto port = number_of<std::uint16_t>(text.substr(colon + 1), 65535);
  if (!port || *port == 0) return wrong("names no port from 1 to 65535 after the host");
  url.port = *port;
  return {};
}

// db=3&prefix=team:
Status read_query(std::string_view query, TierUrl& url) {
  while (!query.empty()) {
    query.remove_prefix(1);  // ? or &
    auto value = cut(query, "&");
    const auto name = cut(value, "=");
    if (!value.empty()) value.remove_prefix(1);
    const auto text = decoded(value);
    if (name == "prefix" && text) url.prefix = *text;
    else if (const auto database = number_of<std::uint32_t>(value, 1u << 20); name == "db" && database)
      url.database = *database;
    else return wrong("has something else after '?' than db=NUMBER and prefix=TEXT");
  }
  return {};
}

Status read_path(std::string_view path, std::string_view query, TierUrl& url) {
  if (url.is_http()) {
    if (!query.empty()) return wrong("has a '?', which its prefix cannot have");
    while (path.ends_with('/')) path.remove_suffix(1);
    url.path = path;
    return {};
  }
  if (url.kind == TierUrl::Kind::redis_unix) {
    const auto socket = decoded(path);
    if (!socket || socket->size() < 2) return wrong("names no socket by an absolute path");
    url.path = *socket;
  } else if (path.size() > 1) {
    const auto database = number_of<std::uint32_t>(path.substr(1), 1u << 20);
    if (!database) return wrong("names no database by a number after the host");
    url.database = *database;
  }
  return read_query(query, url);
}

}  // namespace

Result<TierUrl> parse_tier_url(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, TierUrl::Kind>, 4> schemes{
      {{"http://", TierUrl::Kind::http}, {"https://", TierUrl::Kind::https}, {"redis://", TierUrl::Kind::redis},
       {"redis+unix://", TierUrl::Kind::redis_unix}}};
  const auto scheme = std::find_if(schemes.begin(), schemes.end(), [&](auto& s) { return text.starts_with(s.first); });
  if (scheme == schemes.end()) return wrong("begins with no scheme that is known");
  const auto graphic = [](char c) { return c > 32 && c < 127; };
  if (text.size() > url_bytes_max || !std::all_of(text.begin(), text.end(), graphic))
    return wrong("is longer than 2048 bytes or has characters that have to be written as %XX");
  if (text.find('#') != std::string_view::npos) return wrong("has a '#'");
  TierUrl url;
  url.kind = scheme->second;
  text.remove_prefix(scheme->first.size());
  auto place = cut(text, "/?");
  if (const auto at = place.rfind('@'); at != std::string_view::npos) {
    KILN_CHECK(read_user(place.substr(0, at), url));
    place.remove_prefix(at + 1);
  }
  if (url.kind != TierUrl::Kind::redis_unix) KILN_CHECK(read_host(place, url));
  else if (!place.empty()) return wrong("names a host before the path of a socket (three slashes)");
  const auto path = cut(text, "?");
  KILN_CHECK(read_path(path, text, url));
  return url;
}

std::string TierUrl::shown() const {
  static constexpr std::array names{"http://", "https://", "redis://", "redis+unix://"};
  std::string text = names[static_cast<std::size_t>(kind)];
  if (kind != Kind::redis_unix) text += host + ":" + std::to_string(port);
  text += path;
  if (kind == Kind::redis && database != 0) text += "/" + std::to_string(database);
  if (kind == Kind::redis_unix && database != 0) text += "?db=" + std::to_string(database);
  if (!prefix.empty()) text += (text.find('?') == std::string::npos ? "?" : "&") + std::string("prefix=") + prefix;
  return text;
}

}  // namespace kiln::cache
