#include "engine/ir/tile/schedule_reader.hpp"

#include <algorithm>

namespace kiln::tile {
namespace {

// Parts of the design that no target honours.
void not_yet(FieldReader& schedule, std::initializer_list<const char*> keys) {
  for (const char* key : keys) schedule.not_yet(key, std::string("a schedule's '") + key + "'");
}

// As many numbers as `least` to `most`.
std::vector<Text> numbers(ReadContext& context, FieldReader& schedule, const char* field, std::size_t least,
                          std::size_t most, const char* example) {
  const JsonNode* node = schedule.optional(field);
  if (!node) return {};
  const bool array = node->kind == JsonNode::Kind::array;
  if (array && node->items.size() >= least && node->items.size() <= most) return schedule.texts(field, most);
  context.mistake(schedule.pointer(field), std::string("'") + field + "' is an array of numbers", example,
                  array ? std::to_string(node->items.size()) + " entries" : describe(*node));
  return {};
}

// One entry a statement of the loop's body, null for lowering's choice.
std::vector<Text> by_statement(ReadContext& context, FieldReader& schedule, const char* field, const JsonNode* body) {
  const JsonNode* node = schedule.optional(field);
  if (!node || !body || body->kind != JsonNode::Kind::array) return {};
  const bool array = node->kind == JsonNode::Kind::array;
  if (!array || node->items.size() != body->items.size()) {
    context.mistake(schedule.pointer(field),
                    std::string("'") + field + "' has one entry a statement of the loop's body",
                    std::to_string(body->items.size()) + " numbers, or null for lowering's choice",
                    array ? std::to_string(node->items.size()) + " entries" : describe(*node));
    return {};
  }
  std::vector<Text> list;
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const bool none = node->items[i].kind == JsonNode::Kind::null;
    list.push_back(none ? Text{} : read_text(context, node->items[i], pointer_to(schedule.pointer(field), i)));
  }
  const bool any = std::any_of(list.begin(), list.end(), [](const Text& text) { return static_cast<bool>(text); });
  return any ? list : std::vector<Text>{};
}

void read_block_order(ReadContext& context, const JsonNode& node, const std::string& pointer, LaunchSchedule& made) {
  FieldReader order(context, node, pointer, "a block order");
  made.panel = order.text("panel");
  made.along_y = order.choice("along", {"x", "y"}, 0, false) == 1;
  order.finish();
}

}  // namespace

LaunchSchedule read_launch_schedule(ReadContext& context, FieldReader& fields, const std::string& what) {
  LaunchSchedule made;
  const JsonNode* node = fields.optional("schedule");
  if (!node) return made;
  FieldReader schedule(context, *node, fields.pointer("schedule"), what);
  if (const JsonNode* order = schedule.optional("block_order"))
    read_block_order(context, *order, schedule.pointer("block_order"), made);
  made.waves = numbers(context, schedule, "waves", 2, 2, "waves along m and n, such as [2, 2]");
  made.hint = schedule.boolean("hint", false);
  not_yet(schedule, {"wave_roles", "cluster", "register_split"});
  schedule.finish();
  return made;
}

CopySchedule read_copy_schedule(ReadContext& context, FieldReader& fields) {
  CopySchedule made;
  const JsonNode* node = fields.optional("schedule");
  if (!node) return made;
  FieldReader schedule(context, *node, fields.pointer("schedule"), "a copy's schedule");
  made.vector_bytes = schedule.text_or_absent("vector_bytes");
  made.hint = schedule.boolean("hint", false);
  not_yet(schedule, {"wave_roles", "cluster"});
  schedule.finish();
  return made;
}

GemmSchedule read_gemm_schedule(ReadContext& context, FieldReader& fields) {
  GemmSchedule made;
  const JsonNode* node = fields.optional("schedule");
  if (!node) return made;
  FieldReader schedule(context, *node, fields.pointer("schedule"), "a gemm's schedule");
  made.instruction = numbers(context, schedule, "instruction", 2, 3,
                             "the matrix instruction's m, n and perhaps k, such as [16, 16]");
  made.k_pack = schedule.text_or_absent("k_pack");
  made.waves = numbers(context, schedule, "waves", 2, 2, "waves along m and n, such as [2, 2]");
  made.hint = schedule.boolean("hint", false);
  not_yet(schedule, {"register_split"});
  schedule.finish();
  return made;
}

void read_loop_schedule(ReadContext& context, FieldReader& fields, For& loop) {
  const JsonNode* node = fields.optional("schedule");
  if (!node) return;
  FieldReader schedule(context, *node, fields.pointer("schedule"), "a loop's schedule");
  const Text stages = schedule.text_or_absent("stages");
  const JsonNode* body = fields.optional("body");
  loop.schedule.order = by_statement(context, schedule, "order", body);
  loop.schedule.stage = by_statement(context, schedule, "stage", body);
  loop.schedule.hint = schedule.boolean("hint", false);
  not_yet(schedule, {"wave_roles", "register_split"});
  schedule.finish();
  const bool any = stages || !loop.schedule.order.empty() || !loop.schedule.stage.empty();
  if (any && loop.kind != For::Kind::pipelined)
    context.mistake(fields.pointer("schedule"), "only a pipelined loop has a schedule", "\"kind\": \"pipelined\"");
  if (stages && loop.stages && print_expression(*stages.expr) != print_expression(*loop.stages.expr))
    context.mistake(schedule.pointer("stages"), "the loop's stages are given twice, and differ",
                    print_expression(*loop.stages.expr), print_expression(*stages.expr), "leave one of them out");
  if (!loop.stages) loop.stages = stages;
}

LaunchSchedule with_defaults(LaunchSchedule launch, const LaunchSchedule& program) {
  const bool own = launch.panel || !launch.waves.empty();
  if (!launch.panel) {
    launch.panel = program.panel;
    launch.along_y = program.along_y;
  }
  if (launch.waves.empty()) launch.waves = program.waves;
  if (!own) launch.hint = program.hint;
  return launch;
}

}  // namespace kiln::tile
