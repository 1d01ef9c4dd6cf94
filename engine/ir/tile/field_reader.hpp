// Reading the fields of JSON objects with every mistake reported and the reading going on: the tools of the program
// reader.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ir/tile/document.hpp"
#include "engine/ir/tile/expression_parser.hpp"
#include "engine/ir/tile/program.hpp"

namespace kiln::tile {

// What one reading of a program carries along.
struct ReadContext {
  Diagnostics& diagnostics;
  std::size_t nodes_left;  // expression nodes that may still be made

  void mistake(const std::string& pointer, std::string message, std::string expected = "", std::string found = "",
               std::string hint = "");
  // `what` is a feature of the design that this version does not have (PROGRAM.md, "Not yet").
  void not_yet(const std::string& pointer, const std::string& what, std::string hint = "");
  // Adds the diagnostics of a failed parse, located at `pointer`.
  void parse_failed(const std::string& pointer, const Error& error);
};

// The fields of one object. Ask for each known field; finish() reports the ones that nobody asked for.
class FieldReader {
 public:
  // Reports when `node` is no object; every field is then absent, and `valid()` false.
  FieldReader(ReadContext& context, const JsonNode& node, std::string pointer, std::string what);

  [[nodiscard]] bool valid() const { return valid_; }
  [[nodiscard]] const std::string& pointer() const { return pointer_; }
  [[nodiscard]] std::string pointer(std::string_view field) const { return pointer_to(pointer_, field); }

  const JsonNode* optional(std::string_view name);
  const JsonNode* required(std::string_view name);
  // The field exists in the design but not in this version: reported when present.
  void not_yet(std::string_view name, const std::string& what);

  std::string name(std::string_view field);           // required, a name
  std::string name_or_empty(std::string_view field);  // optional
  Text text(std::string_view field);                  // required, an expression
  Text text_or_absent(std::string_view field);
  std::vector<Text> texts(std::string_view field, std::size_t count_max);  // required array of expressions, not empty
  std::vector<Text> texts_or_absent(std::string_view field, std::size_t count_max);
  std::vector<std::string> names(std::string_view field, std::size_t count_max);
  bool boolean(std::string_view field, bool otherwise);
  std::int64_t integer(std::string_view field, std::int64_t otherwise);
  // Index into `choices`; reports and gives 0 for anything else.
  std::size_t choice(std::string_view field, const std::vector<std::string>& choices, std::size_t otherwise,
                     bool is_required);

  void finish();

 private:
  ReadContext& context_;
  const JsonNode& node_;
  std::string pointer_, what_;
  bool valid_ = true;
  std::vector<std::string> known_;
};

// One expression: a string, or a number or boolean for literals. An absent Text after a mistake.
Text read_text(ReadContext& context, const JsonNode& node, const std::string& pointer);
std::string read_name(ReadContext& context, const JsonNode& node, const std::string& pointer);
// A name that is declared here: not reserved.
std::string read_declared(ReadContext& context, const JsonNode& node, const std::string& pointer);
void check_declared(ReadContext& context, const std::string& name, const std::string& pointer);
std::int64_t read_integer(ReadContext& context, const JsonNode& node, const std::string& pointer);
std::size_t count_nodes(const Expr& expr);

}  // namespace kiln::tile
