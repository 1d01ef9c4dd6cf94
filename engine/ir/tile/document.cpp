#include "engine/ir/tile/document.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "engine/base/bytes.hpp"

namespace kiln::tile {
namespace {

constexpr std::size_t quoted_bytes_max = 120;

// Line, column and the quoted line of a byte position in the text.
Diagnostic locate(std::string_view json, std::size_t position, std::string message) {
  position = std::min(position, json.size());
  const std::string_view before = json.substr(0, position);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const std::size_t begin = std::max(line_begin, position > quoted_bytes_max / 2 ? position - quoted_bytes_max / 2 : 0);
  const std::size_t end = std::min(json.find('\n', position), std::min(json.size(), begin + quoted_bytes_max));
  Diagnostic d;
  d.message =
      std::move(message) + ", line " + std::to_string(line) + ", column " + std::to_string(position - line_begin + 1);
  d.source = make_valid_utf8(json.substr(begin, end - begin));
  d.offset = make_valid_utf8(json.substr(begin, position - begin)).size();
  d.length = 1;
  return d;
}

// nlohmann's text without its "[json.exception.parse_error.101] parse error at line …: " in front.
std::string plain_message(std::string message) {
  if (const auto bracket = message.find("] "); bracket != std::string::npos) message.erase(0, bracket + 2);
  const auto colon = message.find(": ");
  if (message.starts_with("parse error") && colon != std::string::npos) message.erase(0, colon + 2);
  if (message.size() > 160) message = message.substr(0, 160) + "…";
  return "not valid JSON: " + make_valid_utf8(message);
}

// Receives nlohmann's events. Returning false ends the parse; `failure` says why.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view json, const ReadLimits& limits, Diagnostics& diagnostics)
      : json_(json), limits_(limits), diagnostics_(diagnostics) {}

  JsonNode root;
  std::optional<Error> failure;

  bool null() { return add({}) != nullptr; }
  bool boolean(bool value) {
    JsonNode node;
    node.kind = JsonNode::Kind::boolean;
    node.boolean = value;
    return add(std::move(node)) != nullptr;
  }
  bool number_integer(std::int64_t value) {
    JsonNode node;
    node.kind = JsonNode::Kind::integer;
    node.integer = value;
    return add(std::move(node)) != nullptr;
  }
  bool number_unsigned(std::uint64_t value) {
    JsonNode node;
    node.kind = JsonNode::Kind::integer;
    node.in_range = value <= INT64_MAX;
    if (node.in_range)
      node.integer = static_cast<std::int64_t>(value);
    else
      node.text = std::to_string(value);
    return add(std::move(node)) != nullptr;
  }
  // Integers that no 64 bits hold arrive here as well, with their digits.
  bool number_float(double value, const std::string& digits) {
    JsonNode node;
    const bool real = digits.find_first_of(".eE") != std::string::npos;
    node.kind = real ? JsonNode::Kind::real : JsonNode::Kind::integer;
    node.in_range = real;
    node.real = value;
    node.text = digits;
    return add(std::move(node)) != nullptr;
  }
  bool string(std::string& value) {
    JsonNode node;
    node.kind = JsonNode::Kind::string;
    node.text = std::move(value);
    return add(std::move(node)) != nullptr;
  }
  bool binary(std::vector<std::uint8_t>&) { return false; }  // never in text

  bool start_object(std::size_t) { return open(JsonNode::Kind::object); }
  bool start_array(std::size_t) { return open(JsonNode::Kind::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    Level& level = levels_.back();
    if (!level.keys.insert(name).second) {
      Diagnostic d;
      d.pointer = pointer_to(path(), name);
      d.message = "the key stands twice in one object";
      d.expected = "every key once";
      d.found = "'" + name + "' again";
      d.hint = "remove one of the two";
      diagnostics_.add(std::move(d));
    }
    level.node->fields.emplace_back(std::move(name), JsonNode{});
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& exception) {
    failure = Error(ErrorCode::parse_error, plain_message(exception.what()));
    failure->diagnostics.push_back(locate(json_, position == 0 ? 0 : position - 1, failure->message));
    return false;
  }

 private:
  struct Level {
    JsonNode* node;
    std::unordered_set<std::string> keys;
  };

  JsonNode* add(JsonNode node) {
    if (++nodes_ > limits_.nodes_max) {
      over_limit("more than " + std::to_string(limits_.nodes_max) + " values");
      return nullptr;
    }
    if (levels_.empty()) {
      root = std::move(node);
      return &root;
    }
    JsonNode& parent = *levels_.back().node;
    if (parent.kind == JsonNode::Kind::array) return &parent.items.emplace_back(std::move(node));
    parent.fields.back().second = std::move(node);
    return &parent.fields.back().second;
  }

  bool open(JsonNode::Kind kind) {
    if (levels_.size() >= limits_.depth_max) {
      over_limit("nested deeper than " + std::to_string(limits_.depth_max) + " levels");
      return false;
    }
    JsonNode node;
    node.kind = kind;
    JsonNode* added = add(std::move(node));
    if (added) levels_.push_back({added, {}});
    return added != nullptr;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  void over_limit(const std::string& what) {
    failure = Error(ErrorCode::resource_limit, "the program is " + what);
    Diagnostic d;
    d.pointer = path();
    d.message = failure->message;
    failure->diagnostics.push_back(std::move(d));
  }

  [[nodiscard]] std::string path() const {
    std::string pointer;
    for (std::size_t i = 0; i + 1 < levels_.size(); ++i) pointer = step(pointer, *levels_[i].node);
    return pointer;
  }
  static std::string step(const std::string& pointer, const JsonNode& node) {
    if (node.kind == JsonNode::Kind::array) return pointer_to(pointer, node.items.size() - 1);
    return pointer_to(pointer, node.fields.back().first);
  }

  std::string_view json_;
  const ReadLimits& limits_;
  Diagnostics& diagnostics_;
  std::vector<Level> levels_;
  std::size_t nodes_ = 0;
};

}  // namespace

JsonNode::JsonNode() = default;
JsonNode::JsonNode(const JsonNode&) = default;
JsonNode::JsonNode(JsonNode&&) noexcept = default;
JsonNode& JsonNode::operator=(const JsonNode&) = default;
JsonNode& JsonNode::operator=(JsonNode&&) noexcept = default;
JsonNode::~JsonNode() = default;

const JsonNode* JsonNode::find(std::string_view name) const {
  for (const auto& [key, value] : fields)
    if (key == name) return &value;
  return nullptr;
}

std::string describe(const JsonNode& node) {
  switch (node.kind) {
    case JsonNode::Kind::null: return "null";
    case JsonNode::Kind::boolean: return node.boolean ? "true" : "false";
    case JsonNode::Kind::integer: return node.in_range ? std::to_string(node.integer) : node.text.substr(0, 40);
    case JsonNode::Kind::real: return node.text.substr(0, 40);
    case JsonNode::Kind::string: return "the string " + json_quote(node.text);
    case JsonNode::Kind::array: return "an array";
    case JsonNode::Kind::object: return "an object";
  }
  return "null";
}

std::string pointer_to(const std::string& pointer, std::string_view token) {
  std::string text = pointer + "/";
  if (pointer.size() > 4096) return text + "…";
  for (const char c : token.substr(0, 256)) {
    if (c == '~')
      text += "~0";
    else if (c == '/')
      text += "~1";
    else
      text += c;
  }
  return token.size() > 256 ? make_valid_utf8(text) + "…" : text;
}

std::string pointer_to(const std::string& pointer, std::size_t index) { return pointer + "/" + std::to_string(index); }

Result<JsonNode> read_document(std::string_view json, const ReadLimits& limits, Diagnostics& diagnostics) {
  if (json.size() > limits.bytes_max) {
    Error error(ErrorCode::resource_limit, "the program is longer than " + std::to_string(limits.bytes_max) + " bytes");
    Diagnostic d;
    d.message = error.message;
    d.found = std::to_string(json.size()) + " bytes";
    error.diagnostics.push_back(std::move(d));
    return error;
  }
  TreeBuilder builder(json, limits, diagnostics);
  try {
    const bool read = nlohmann::json::sax_parse(json.begin(), json.end(), &builder);
    if (!read && !builder.failure) builder.failure = Error(ErrorCode::parse_error, "not valid JSON");
  } catch (const std::exception& exception) {
    builder.failure = Error(ErrorCode::parse_error, plain_message(exception.what()));
  }
  if (builder.failure) return std::move(*builder.failure);
  return std::move(builder.root);
}

std::string json_quote(std::string_view text) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': quoted += "\\\""; break;
      case '\\': quoted += "\\\\"; break;
      case '\n': quoted += "\\n"; break;
      case '\t': quoted += "\\t"; break;
      case '\r': quoted += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          quoted += std::string("\\u00") + hex[(c >> 4) & 15] + hex[c & 15];
        } else {
          quoted += c;
        }
    }
  }
  return quoted + "\"";
}

}  // namespace kiln::tile
