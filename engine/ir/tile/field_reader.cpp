#include "engine/ir/tile/field_reader.hpp"

#include <algorithm>

#include "engine/base/bytes.hpp"
#include "engine/ir/tile/nearest_name.hpp"

namespace kiln::tile {

void ReadContext::mistake(const std::string& pointer, std::string message, std::string expected, std::string found,
                          std::string hint) {
  Diagnostic d;
  d.pointer = pointer;
  d.message = std::move(message);
  d.expected = std::move(expected);
  d.found = std::move(found);
  d.hint = std::move(hint);
  diagnostics.add(std::move(d));
}

void ReadContext::not_yet(const std::string& pointer, const std::string& what, std::string hint) {
  mistake(pointer, "not yet: " + what + " is part of the design, and this version does not have it", "", "",
          std::move(hint));
}

void ReadContext::parse_failed(const std::string& pointer, const Error& error) {
  for (auto d : error.diagnostics) {
    d.pointer = pointer;
    diagnostics.add(std::move(d));
  }
}

FieldReader::FieldReader(ReadContext& context, const JsonNode& node, std::string pointer, std::string what)
    : context_(context), node_(node), pointer_(std::move(pointer)), what_(std::move(what)) {
  valid_ = node.kind == JsonNode::Kind::object;
  if (!valid_) context_.mistake(pointer_, what_ + " is an object", "an object", describe(node));
}

const JsonNode* FieldReader::optional(std::string_view name) {
  known_.emplace_back(name);
  return valid_ ? node_.find(name) : nullptr;
}

const JsonNode* FieldReader::required(std::string_view name) {
  const JsonNode* found = optional(name);
  if (!found && valid_)
    context_.mistake(pointer_, what_ + " needs the field '" + std::string(name) + "'", "'" + std::string(name) + "'",
                     "no such field");
  return found;
}

void FieldReader::not_yet(std::string_view name, const std::string& what) {
  known_.emplace_back(name);
  if (valid_ && node_.find(name)) context_.not_yet(pointer(name), what);
}

std::string FieldReader::name(std::string_view field) {
  const JsonNode* node = required(field);
  return node ? read_name(context_, *node, pointer(field)) : "";
}

std::string FieldReader::name_or_empty(std::string_view field) {
  const JsonNode* node = optional(field);
  return node ? read_name(context_, *node, pointer(field)) : "";
}

Text FieldReader::text(std::string_view field) {
  const JsonNode* node = required(field);
  return node ? read_text(context_, *node, pointer(field)) : Text{};
}

Text FieldReader::text_or_absent(std::string_view field) {
  const JsonNode* node = optional(field);
  return node ? read_text(context_, *node, pointer(field)) : Text{};
}

std::vector<Text> FieldReader::texts(std::string_view field, std::size_t count_max) {
  if (!required(field)) return {};
  return texts_or_absent(field, count_max);
}

std::vector<Text> FieldReader::texts_or_absent(std::string_view field, std::size_t count_max) {
  const JsonNode* node = optional(field);
  std::vector<Text> texts;
  if (!node) return texts;
  if (node->kind != JsonNode::Kind::array || node->items.empty() || node->items.size() > count_max) {
    const bool array = node->kind == JsonNode::Kind::array;
    context_.mistake(pointer(field), "'" + std::string(field) + "' is an array of expressions",
                     "1 to " + std::to_string(count_max) + " expressions",
                     array ? std::to_string(node->items.size()) + " items" : describe(*node));
    return texts;
  }
  for (std::size_t i = 0; i < node->items.size(); ++i)
    texts.push_back(read_text(context_, node->items[i], pointer_to(pointer(field), i)));
  return texts;
}

std::vector<std::string> FieldReader::names(std::string_view field, std::size_t count_max) {
  const JsonNode* node = required(field);
  std::vector<std::string> names;
  if (!node) return names;
  if (node->kind != JsonNode::Kind::array || node->items.empty() || node->items.size() > count_max) {
    context_.mistake(pointer(field), "'" + std::string(field) + "' is an array of names",
                     "1 to " + std::to_string(count_max) + " names", describe(*node));
    return names;
  }
  for (std::size_t i = 0; i < node->items.size(); ++i)
    names.push_back(read_name(context_, node->items[i], pointer_to(pointer(field), i)));
  return names;
}

bool FieldReader::boolean(std::string_view field, bool otherwise) {
  const JsonNode* node = optional(field);
  if (!node) return otherwise;
  if (node->kind != JsonNode::Kind::boolean) {
    context_.mistake(pointer(field), "'" + std::string(field) + "' is true or false", "true or false", describe(*node));
    return otherwise;
  }
  return node->boolean;
}

std::int64_t FieldReader::integer(std::string_view field, std::int64_t otherwise) {
  const JsonNode* node = optional(field);
  return node ? read_integer(context_, *node, pointer(field)) : otherwise;
}

std::size_t FieldReader::choice(std::string_view field, const std::vector<std::string>& choices, std::size_t otherwise,
                                bool is_required) {
  const JsonNode* node = is_required ? required(field) : optional(field);
  if (!node) return otherwise;
  if (node->kind == JsonNode::Kind::string) {
    const auto found = std::find(choices.begin(), choices.end(), node->text);
    if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  }
  context_.mistake(pointer(field), "unknown value of '" + std::string(field) + "'", "one of " + name_list(choices),
                   describe(*node), nearest_hint(node->text, choices));
  return otherwise;
}

void FieldReader::finish() {
  if (!valid_) return;
  for (const auto& [key, value] : node_.fields) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    std::string hint = nearest_hint(key, known_);
    if (hint.empty()) hint = "known fields: " + name_list(known_);
    context_.mistake(pointer(key), what_ + " has no field '" + key.substr(0, 64) + "'", "", "", std::move(hint));
  }
}

Text read_text(ReadContext& context, const JsonNode& node, const std::string& pointer) {
  Text text;
  text.pointer = pointer;
  switch (node.kind) {
    case JsonNode::Kind::string: text.source = node.text; break;
    case JsonNode::Kind::boolean: text.source = node.boolean ? "true" : "false"; break;
    case JsonNode::Kind::integer: text.source = describe(node); break;
    case JsonNode::Kind::real: text.source = node.text; break;
    default:
      context.mistake(pointer, "an expression is a string, a number or a boolean", "an expression", describe(node));
      return text;
  }
  auto parsed = parse_expression(text.source);
  if (!parsed) {
    context.parse_failed(pointer, parsed.error());
    return text;
  }
  const std::size_t nodes = count_nodes(**parsed);
  if (nodes > context.nodes_left) {
    context.mistake(pointer, "the program's expressions have too many nodes", "", "", "split the program");
    return text;
  }
  context.nodes_left -= nodes;
  text.expr = std::move(*parsed);
  return text;
}

std::string read_name(ReadContext& context, const JsonNode& node, const std::string& pointer) {
  if (node.kind == JsonNode::Kind::string && is_name(node.text)) return node.text;
  context.mistake(pointer, "not a name", "[A-Za-z_][A-Za-z0-9_]{0,63}", describe(node));
  return "";
}

std::string read_declared(ReadContext& context, const JsonNode& node, const std::string& pointer) {
  std::string name = read_name(context, node, pointer);
  if (!name.empty()) check_declared(context, name, pointer);
  return name;
}

void check_declared(ReadContext& context, const std::string& name, const std::string& pointer) {
  if (!is_name(name))
    context.mistake(pointer, "not a name", "[A-Za-z_][A-Za-z0-9_]{0,63}", json_quote(name.substr(0, 80)));
  else if (is_reserved(name))
    context.mistake(pointer, "'" + name + "' is a word of the expression language and cannot be declared",
                    "another name", name, "such as " + name.substr(0, 60) + "_");
}

std::int64_t read_integer(ReadContext& context, const JsonNode& node, const std::string& pointer) {
  if (node.kind == JsonNode::Kind::integer && node.in_range) return node.integer;
  const bool large = node.kind == JsonNode::Kind::integer;
  context.mistake(pointer, large ? "the integer does not fit in 64 bits" : "not an integer", "an integer",
                  describe(node));
  return 0;
}

std::size_t count_nodes(const Expr& expr) {
  std::size_t count = 1;
  for (const auto& arg : expr.args) count += count_nodes(*arg);
  return count;
}

}  // namespace kiln::tile
