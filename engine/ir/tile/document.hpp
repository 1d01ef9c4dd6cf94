// A JSON document as read: integers and floats apart, fields in order, nothing merged. What read_program works on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/ir/tile/program.hpp"

namespace kiln::tile {

struct JsonNode {
  // Defined where the type is complete: it is part of its own fields.
  JsonNode();
  JsonNode(const JsonNode&);
  JsonNode(JsonNode&&) noexcept;
  JsonNode& operator=(const JsonNode&);
  JsonNode& operator=(JsonNode&&) noexcept;
  ~JsonNode();

  enum class Kind : std::uint8_t { null, boolean, integer, real, string, array, object } kind = Kind::null;
  bool boolean = false;
  bool in_range = true;  // integer: false when it does not fit in 64 bits signed; `text` has the digits
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<JsonNode> items;                           // array
  std::vector<std::pair<std::string, JsonNode>> fields;  // object, in the order written

  // The field's value, or null. The first when a key came twice (which read_document reports).
  [[nodiscard]] const JsonNode* find(std::string_view name) const;
};

// "an object", "the string \"x\"", "12": what diagnostics call it.
std::string describe(const JsonNode& node);

// `pointer` with one more token (escaped, and cut when it is absurdly long).
std::string pointer_to(const std::string& pointer, std::string_view token);
std::string pointer_to(const std::string& pointer, std::size_t index);

// Reads one JSON text. Text that is no JSON (invalid UTF-8 included), deeper, longer or with more values than the
// limits is parse_error or resource_limit with one diagnostic that quotes the line; duplicate keys are collected in
// `diagnostics`, all of them, and the rest is still read.
Result<JsonNode> read_document(std::string_view json, const ReadLimits& limits, Diagnostics& diagnostics);

// A JSON string literal of valid UTF-8, quotes included.
std::string json_quote(std::string_view text);

}  // namespace kiln::tile
