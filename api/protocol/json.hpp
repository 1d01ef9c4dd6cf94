// JSON at the boundary: one reader with limits, one set of conversions. nlohmann/json is used by api rooms' .cpp files and by
// headers of api rooms only.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/protocol/limits.hpp"
#include "engine/base/result.hpp"

namespace kiln::protocol {

using Json = nlohmann::json;

// The largest magnitude of an integer in a line: what every language's numbers hold.
inline constexpr std::int64_t integer_magnitude_max = (std::int64_t(1) << 53) - 1;

// Parses one value from untrusted text. Refused with a located parse_error (offset in bytes): bad UTF-8, more than
// depth_max levels or nodes_max values, duplicate keys, integers of magnitude 2^53 or more, numbers that overflow a double,
// trailing bytes. Never throws.
Result<Json> parse_json(std::string_view text, const Limits& limits);

// Text of a value; strings are made valid UTF-8 before. Never throws.
std::string dump(const Json& value, int indent = -1);

// The error object of a reply: {code, message, data: {code, context, diagnostics, retryable}}.
Json error_json(const Error& error);
Json diagnostic_json(const Diagnostic& diagnostic);
// The reverse, for clients; anything missing is left at its default.
Error error_from_json(const Json& error);
int rpc_code(ErrorCode code);                 // -32602, -32601, -32700, -32000 - n

// Field access with located errors ("/params/size: expected an integer from 0 to …, found …").
class Fields {
 public:
  // `object` must outlive this; not an object: every access fails.
  Fields(const Json& object, std::string pointer) : object_(object), pointer_(std::move(pointer)) {}
  [[nodiscard]] bool has(const std::string& name) const;
  Result<std::string> text(const std::string& name) const;
  Result<std::string> text_or(const std::string& name, std::string fallback) const;
  Result<std::int64_t> integer(const std::string& name, std::int64_t min, std::int64_t max) const;
  Result<std::int64_t> integer_or(const std::string& name, std::int64_t fallback, std::int64_t min, std::int64_t max) const;
  Result<bool> boolean_or(const std::string& name, bool fallback) const;
  Result<const Json*> array(const std::string& name, std::size_t count_max) const;
  Result<const Json*> object(const std::string& name) const;
  [[nodiscard]] const Json* find(const std::string& name) const;  // null when absent
  // Refuses fields that are not in `known`, with the nearest as hint.
  Status only(std::initializer_list<const char*> known) const;
  [[nodiscard]] Error error(const std::string& name, const std::string& expected) const;
  [[nodiscard]] std::string pointer(const std::string& name) const { return pointer_ + "/" + name; }

 private:
  const Json& object_;
  std::string pointer_;
};

}  // namespace kiln::protocol
