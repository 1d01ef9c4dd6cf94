#include <algorithm>

#include "engine/ir/tile/declaration_order.hpp"
#include "engine/ir/tile/nearest_name.hpp"
#include "engine/ir/tile/schedule_reader.hpp"
#include "engine/ir/tile/statement_reader.hpp"
#include "engine/ir/tile/verifier.hpp"

namespace kiln::tile {
namespace {

constexpr std::size_t tensor_rank_max = 8, declarations_max = 256, candidates_max = 64, launches_max = 64;
constexpr std::int64_t size_max = (std::int64_t(1) << 31) - 1;
constexpr const char* version = "tile/1";

// Calls `read(name, node, pointer)` for each field of an object of declarations.
template <class F>
void each_declaration(ReadContext& context, const JsonNode& node, const std::string& pointer, const char* what,
                      F&& read) {
  if (node.kind != JsonNode::Kind::object) {
    context.mistake(pointer, std::string(what) + " are an object, a declaration a name", "an object", describe(node));
    return;
  }
  if (node.fields.size() > declarations_max) {
    context.mistake(pointer, std::string("too many ") + what, "at most " + std::to_string(declarations_max),
                    std::to_string(node.fields.size()));
    return;
  }
  for (const auto& [name, declaration] : node.fields) {
    const std::string place = pointer_to(pointer, name);
    check_declared(context, name, place);
    read(name.substr(0, 64), declaration, place);
  }
}

Symbol read_symbol(ReadContext& context, const std::string& name, const JsonNode& node, const std::string& pointer) {
  Symbol symbol;
  symbol.name = name;
  symbol.pointer = pointer;
  FieldReader fields(context, node, pointer, "a symbol");
  symbol.dynamic = fields.boolean("dynamic", false);
  symbol.multiple_of = fields.integer("multiple_of", 1);
  if (symbol.multiple_of < 1) {
    context.mistake(fields.pointer("multiple_of"), "'multiple_of' is at least 1", "1 or more",
                    std::to_string(symbol.multiple_of));
    symbol.multiple_of = 1;
  }
  if (fields.optional("min")) symbol.min = fields.integer("min", 0);
  if (fields.optional("max")) symbol.max = fields.integer("max", 0);
  for (const auto& [field, value] : {std::pair{"min", symbol.min}, std::pair{"max", symbol.max},
                                     std::pair{"multiple_of", std::optional(symbol.multiple_of)}})
    if (value && (*value < 0 || *value > size_max))
      context.mistake(fields.pointer(field), "sizes are from 0 to " + std::to_string(size_max), "",
                      std::to_string(*value));
  if (symbol.min && symbol.max && *symbol.min > *symbol.max)
    context.mistake(fields.pointer("min"), "'min' is larger than 'max'", "min <= max", std::to_string(*symbol.min));
  fields.finish();
  return symbol;
}

void read_symbols(ReadContext& context, const JsonNode& node, const std::string& pointer, Program& program) {
  if (node.kind != JsonNode::Kind::array) {
    each_declaration(context, node, pointer, "symbols",
                     [&](const std::string& name, const JsonNode& item, const std::string& at) {
                       program.symbols.push_back(read_symbol(context, name, item, at));
                     });
    return;
  }
  if (node.items.size() > declarations_max) {
    context.mistake(pointer, "too many symbols", "at most " + std::to_string(declarations_max),
                    std::to_string(node.items.size()));
    return;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    Symbol symbol;
    symbol.pointer = pointer_to(pointer, i);
    symbol.name = read_declared(context, node.items[i], symbol.pointer);
    program.symbols.push_back(std::move(symbol));
  }
}

Option read_option(ReadContext& context, const std::string& name, const JsonNode& node, const std::string& pointer) {
  Option option;
  option.name = name;
  option.pointer = pointer;
  FieldReader fields(context, node, pointer, "an option");
  option.kind = static_cast<Option::Kind>(fields.choice("type", {"dtype", "boolean", "name"}, 1, true));
  option.default_value = fields.text("default");
  const JsonNode* choices = fields.optional("choices");
  fields.finish();
  if (!choices) {
    if (option.kind == Option::Kind::name)
      context.mistake(pointer, "an option of type 'name' lists its choices", "'choices'", "no such field");
    return option;
  }
  if (option.kind == Option::Kind::boolean)
    context.mistake(fields.pointer("choices"), "a boolean has no choices", "", "");
  option.choices = fields.names("choices", 64);
  for (std::size_t i = 0; i < option.choices.size(); ++i) {
    const std::string at = pointer_to(fields.pointer("choices"), i);
    if (option.choices[i].empty()) continue;
    if (option.kind == Option::Kind::name) check_declared(context, option.choices[i], at);
    if (option.kind == Option::Kind::dtype && !dtype_from_name(option.choices[i]))
      context.mistake(at, "no such type", "a type's name such as f16", option.choices[i]);
  }
  return option;
}

Param read_param(ReadContext& context, const JsonNode& node, const std::string& pointer) {
  Param param;
  param.pointer = pointer;
  FieldReader fields(context, node, pointer, "a parameter");
  if (const JsonNode* name = fields.required("name"))
    param.name = read_declared(context, *name, fields.pointer("name"));
  param.scalar = fields.boolean("scalar", false);
  param.dtype = fields.text("dtype");
  param.when = fields.text_or_absent("when");
  if (param.scalar) {
    for (const char* field : {"shape", "strides", "access", "may_alias"})
      if (fields.optional(field))
        context.mistake(fields.pointer(field), "a scalar has no '" + std::string(field) + "'");
  } else {
    param.shape = fields.texts("shape", tensor_rank_max);
    param.strides = fields.texts_or_absent("strides", tensor_rank_max);
    param.access = static_cast<Access>(fields.choice("access", {"read", "write", "readwrite"}, 0, true));
    param.may_alias = fields.boolean("may_alias", false);
    if (!param.strides.empty() && param.strides.size() != param.shape.size())
      context.mistake(fields.pointer("strides"), "one stride an axis", std::to_string(param.shape.size()),
                      std::to_string(param.strides.size()));
  }
  fields.finish();
  return param;
}

Tunable read_tunable(ReadContext& context, const std::string& name, const JsonNode& node, const std::string& pointer) {
  Tunable tunable;
  tunable.name = name;
  tunable.pointer = pointer;
  if (node.kind != JsonNode::Kind::object) {  // the default alone
    tunable.default_value = read_text(context, node, pointer);
    return tunable;
  }
  FieldReader fields(context, node, pointer, "a tunable");
  tunable.default_value = fields.text("default");
  if (const JsonNode* candidates = fields.optional("candidates")) {
    if (candidates->kind != JsonNode::Kind::array || candidates->items.size() > candidates_max)
      context.mistake(fields.pointer("candidates"), "'candidates' is an array of integers", "at most 64 integers",
                      describe(*candidates));
    for (std::size_t i = 0; i < candidates->items.size() && i < candidates_max; ++i)
      tunable.candidates.push_back(
          read_integer(context, candidates->items[i], pointer_to(fields.pointer("candidates"), i)));
  }
  fields.finish();
  return tunable;
}

Workspace read_workspace(ReadContext& context, const JsonNode& node, const std::string& pointer) {
  Workspace workspace;
  workspace.pointer = pointer;
  FieldReader fields(context, node, pointer, "a workspace");
  if (const JsonNode* name = fields.required("name"))
    workspace.name = read_declared(context, *name, fields.pointer("name"));
  workspace.dtype = fields.text("dtype");
  workspace.shape = fields.texts("shape", tensor_rank_max);
  workspace.zeroed = fields.boolean("zeroed", false);
  workspace.when = fields.text_or_absent("when");
  fields.finish();
  return workspace;
}

Launch read_launch(ReadContext& context, const JsonNode& node, const std::string& pointer,
                   const LaunchSchedule& of_program) {
  Launch launch;
  launch.pointer = pointer;
  FieldReader fields(context, node, pointer, "a launch");
  launch.grid = fields.texts("grid", 3);
  launch.threads = fields.text("threads");
  fields.not_yet("resident", "a resident launch");
  launch.schedule = with_defaults(read_launch_schedule(context, fields, "a launch's schedule"), of_program);
  if (const JsonNode* body = fields.required("body")) launch.body = read_body(context, *body, fields.pointer("body"));
  fields.finish();
  return launch;
}

void read_list_fields(ReadContext& context, FieldReader& fields, Program& program) {
  if (const JsonNode* params = fields.required("params")) {
    if (params->kind != JsonNode::Kind::array || params->items.size() > declarations_max)
      context.mistake(fields.pointer("params"), "'params' is an array of parameters", "at most 256 objects",
                      describe(*params));
    for (std::size_t i = 0; i < params->items.size() && i < declarations_max; ++i)
      program.params.push_back(read_param(context, params->items[i], pointer_to(fields.pointer("params"), i)));
  }
  const JsonNode* constraints = fields.optional("constraints");
  if (constraints && !(constraints->kind == JsonNode::Kind::array && constraints->items.empty()))
    program.constraints = fields.texts_or_absent("constraints", declarations_max);
  if (const JsonNode* workspace = fields.optional("workspace")) {
    if (workspace->kind != JsonNode::Kind::array || workspace->items.size() > declarations_max)
      context.mistake(fields.pointer("workspace"), "'workspace' is an array of tensors", "at most 256 objects",
                      describe(*workspace));
    for (std::size_t i = 0; i < workspace->items.size() && i < declarations_max; ++i)
      program.workspace.push_back(
          read_workspace(context, workspace->items[i], pointer_to(fields.pointer("workspace"), i)));
  }
  const LaunchSchedule schedule = read_launch_schedule(context, fields, "a program's schedule");
  if (const JsonNode* launches = fields.required("launches")) {
    if (launches->kind != JsonNode::Kind::array || launches->items.empty() || launches->items.size() > launches_max)
      context.mistake(fields.pointer("launches"), "'launches' is an array of launches", "1 to 64 launches",
                      describe(*launches));
    for (std::size_t i = 0; i < launches->items.size() && i < launches_max; ++i)
      program.launches.push_back(
          read_launch(context, launches->items[i], pointer_to(fields.pointer("launches"), i), schedule));
  }
}

void read_top(ReadContext& context, const JsonNode& root, Program& program) {
  FieldReader fields(context, root, "", "a program");
  if (!fields.valid()) return;
  if (const JsonNode* kiln = fields.required("kiln");
      kiln && (kiln->kind != JsonNode::Kind::string || kiln->text != version))
    context.mistake("/kiln", "unknown format version", std::string("\"") + version + "\"", describe(*kiln));
  if (const JsonNode* name = fields.required("name")) program.name = read_name(context, *name, "/name");
  if (const JsonNode* outside = fields.optional("outside")) {
    program.clips = outside->kind == JsonNode::Kind::string && outside->text == "zero";
    if (!program.clips)
      context.mistake("/outside", "'outside' says what elements outside of a tensor are", "\"zero\", or no such field",
                      describe(*outside));
  }
  if (const JsonNode* symbols = fields.optional("symbols")) read_symbols(context, *symbols, "/symbols", program);
  if (const JsonNode* options = fields.optional("options")) {
    each_declaration(context, *options, "/options", "options",
                     [&](const std::string& name, const JsonNode& node, const std::string& at) {
                       program.options.push_back(read_option(context, name, node, at));
                     });
  }
  if (const JsonNode* tunables = fields.optional("tunables")) {
    each_declaration(context, *tunables, "/tunables", "tunables",
                     [&](const std::string& name, const JsonNode& node, const std::string& at) {
                       program.tunables.push_back(read_tunable(context, name, node, at));
                     });
  }
  read_list_fields(context, fields, program);
  fields.finish();
}

}  // namespace

Result<Program> read_program(std::string_view json, const ReadLimits& limits) {
  Diagnostics diagnostics;
  KILN_TRY(const JsonNode root, read_document(json, limits, diagnostics));
  Program program;
  ReadContext context{diagnostics, limits.nodes_max};
  read_top(context, root, program);
  order_by_use(program.options);
  order_by_use(program.tunables);
  verify_names(program, diagnostics);
  if (!diagnostics.has_errors()) return program;
  auto list = diagnostics.take();
  const std::size_t count = list.size();
  return program_error(
      count == 1 ? "the program has a mistake" : "the program has " + std::to_string(count) + " mistakes",
      std::move(list));
}

}  // namespace kiln::tile
