#include "engine/ir/tile/statement_reader.hpp"

#include <algorithm>

#include "engine/ir/tile/message_text.hpp"
#include "engine/ir/tile/nearest_name.hpp"
#include "engine/ir/tile/schedule_reader.hpp"

namespace kiln::tile {
namespace {

constexpr std::size_t tile_rank_max = 4, tensor_rank_max = 8;

const std::vector<std::string> statement_names{"alloc",  "copy", "fill", "gemm", "map",
                                               "reduce", "scan", "for",  "if",   "let",  "sync",
                                               "print",  "assert"};
const std::vector<std::string> later_statements{"while"};
const std::vector<std::string> atomic_names{"add", "max", "min", "or", "and", "xor", "exchange", "cas"};

Region read_region_object(ReadContext& context, const JsonNode& node, const std::string& pointer) {
  Region region;
  region.pointer = pointer;
  FieldReader fields(context, node, pointer, "a region");
  region.name = fields.name("name");
  if (const JsonNode* at = fields.optional("at")) {
    if (at->kind != JsonNode::Kind::array || at->items.empty() || at->items.size() > tensor_rank_max)
      context.mistake(fields.pointer("at"), "'at' is an array with an index or a range per axis", "1 to 8 strings",
                      describe(*at));
    for (std::size_t i = 0; i < at->items.size() && i < tensor_rank_max; ++i) {
      const std::string place = pointer_to(fields.pointer("at"), i);
      const JsonNode& item = at->items[i];
      const std::string source = item.kind == JsonNode::Kind::string ? item.text : describe(item);
      auto axis = parse_region_axis(source);
      if (!axis) {
        context.parse_failed(place, axis.error());
        continue;
      }
      region.at.push_back({Text{axis->start, source, place}, axis->range});
    }
  }
  fields.finish();
  return region;
}

Region read_region(ReadContext& context, const JsonNode& node, const std::string& pointer) {
  if (node.kind == JsonNode::Kind::object) return read_region_object(context, node, pointer);
  Region region;
  region.pointer = pointer;
  if (node.kind != JsonNode::Kind::string) {
    context.mistake(pointer, "a region is a string", "such as \"A[m:, k:]\"", describe(node));
    return region;
  }
  auto parsed = parse_region(node.text);
  if (!parsed) {
    context.parse_failed(pointer, parsed.error());
    return region;
  }
  region.name = std::move(parsed->name);
  std::size_t nodes = 0;
  for (auto& axis : parsed->at) {
    nodes += count_nodes(*axis.start);
    region.at.push_back({Text{std::move(axis.start), node.text, pointer}, axis.range});
  }
  if (nodes > context.nodes_left) context.mistake(pointer, "the program's expressions have too many nodes");
  context.nodes_left -= std::min(nodes, context.nodes_left);
  return region;
}

Region region_field(ReadContext& context, FieldReader& fields, std::string_view field) {
  const JsonNode* node = fields.required(field);
  return node ? read_region(context, *node, fields.pointer(field)) : Region{};
}

Alloc read_alloc(ReadContext& context, FieldReader& fields) {
  Alloc alloc;
  if (const JsonNode* name = fields.required("name"))
    alloc.name = read_declared(context, *name, fields.pointer("name"));
  alloc.space = static_cast<Space>(fields.choice("space", {"shared", "fragment", "local"}, 1, true));
  alloc.dtype = fields.text("dtype");
  alloc.shape = fields.texts("shape", tile_rank_max);
  if (const JsonNode* layout = fields.optional("layout"))
    alloc.layout = read_layout(context, *layout, fields.pointer("layout"));
  return alloc;
}

Copy read_copy(ReadContext& context, FieldReader& fields) {
  Copy copy;
  copy.from = region_field(context, fields, "from");
  copy.to = region_field(context, fields, "to");
  copy.fill = fields.text_or_absent("fill");
  if (const JsonNode* limit = fields.optional("limit")) {
    if (limit->kind != JsonNode::Kind::array || limit->items.empty() || limit->items.size() > tile_rank_max)
      context.mistake(fields.pointer("limit"), "'limit' is an array, one entry a ranged axis",
                      "expressions, or null for none", describe(*limit));
    for (std::size_t i = 0; i < limit->items.size() && i < tile_rank_max; ++i) {
      const std::string place = pointer_to(fields.pointer("limit"), i);
      const bool none = limit->items[i].kind == JsonNode::Kind::null;
      copy.limit.push_back(none ? Text{} : read_text(context, limit->items[i], place));
    }
  }
  copy.schedule = read_copy_schedule(context, fields);
  return copy;
}

Gemm read_gemm(ReadContext& context, FieldReader& fields) {
  Gemm gemm;
  gemm.a = fields.name("a");
  gemm.b = fields.name("b");
  gemm.c = fields.name("c");
  gemm.transpose_a = fields.text_or_absent("transpose_a");
  gemm.transpose_b = fields.text_or_absent("transpose_b");
  gemm.clear = fields.text_or_absent("clear");
  for (const char* later : {"precision", "scale_a", "scale_b", "accumulate"})
    fields.not_yet(later, std::string("gemm's '") + later + "'");
  gemm.schedule = read_gemm_schedule(context, fields);
  return gemm;
}

std::string read_message_text(ReadContext& context, FieldReader& fields, std::string_view field, bool is_required) {
  const JsonNode* node = is_required ? fields.required(field) : fields.optional(field);
  if (!node) return "";
  const std::string wrong = node->kind == JsonNode::Kind::string ? what_is_not_printable(node->text) : describe(*node);
  if (wrong.empty()) return node->text;
  context.mistake(fields.pointer(field), "a message is one line of printable text",
                  "at most " + std::to_string(message_text_bytes_max) + " bytes of UTF-8 without control characters",
                  wrong);
  return "";
}

// A statement's fields; in a map `text` and `condition` are named otherwise.
Message read_message(ReadContext& context, FieldReader& fields, bool asserts, bool in_map) {
  Message message;
  message.asserts = asserts;
  if (asserts) message.condition = fields.text(in_map ? "assert" : "condition");
  const bool named = in_map && !asserts;
  message.text = read_message_text(context, fields, named ? "print" : "text", named);
  const JsonNode* values = fields.optional("values");
  if (values && (values->kind != JsonNode::Kind::array || !values->items.empty()))
    message.values = fields.texts("values", message_values_max);
  return message;
}

MapItem read_map_message(ReadContext& context, FieldReader& fields, bool asserts) {
  MapItem item;
  item.pointer = fields.pointer();
  item.message = read_message(context, fields, asserts, true);
  item.where = fields.text_or_absent("where");
  fields.finish();
  return item;
}

MapItem read_map_item(ReadContext& context, const JsonNode& node, const std::string& pointer) {
  MapItem item;
  item.pointer = pointer;
  FieldReader fields(context, node, pointer, "an item of a map");
  const bool prints = node.find("print") != nullptr, asserts = node.find("assert") != nullptr;
  if (prints || asserts) return read_map_message(context, fields, asserts);
  const JsonNode* let = fields.optional("let");
  const JsonNode* set = fields.optional("set");
  const JsonNode* atomic = fields.optional("atomic");
  item.value = fields.text("value");
  if (atomic) {
    set = fields.required("to");
    item.atomic = static_cast<AtomicOp>(1 + fields.choice("atomic", atomic_names, 0, true));
    if (item.atomic == AtomicOp::cas) item.compare = fields.text("compare");
    if (const JsonNode* old = fields.optional("old")) item.old = read_declared(context, *old, fields.pointer("old"));
  }
  item.where = fields.text_or_absent("where");
  fields.finish();
  if (!fields.valid()) return item;
  if ((let ? 1 : 0) + (set || atomic ? 1 : 0) != 1) {
    context.mistake(pointer, "an item of a map has one of 'let', 'set', 'atomic', 'print' and 'assert'", "one of them",
                    let ? "several" : "none");
    return item;
  }
  if (let) {
    item.let = read_declared(context, *let, fields.pointer("let"));
    if (item.where)
      context.mistake(fields.pointer("where"), "a let has no 'where'", "a let of every iteration", "",
                      "choose its value: a if c else b");
    return item;
  }
  if (!set) return item;  // an atomic without 'to', which is told
  const char* field = atomic ? "to" : "set";
  const Text target = read_text(context, *set, fields.pointer(field));
  if (!target) return item;
  if (target.expr->kind != Expr::Kind::element) {
    context.mistake(target.pointer, std::string("'") + field + "' names one element", "such as acc[i, j]",
                    json_quote(target.source));
    return item;
  }
  item.target = target.expr->text;
  for (const auto& index : target.expr->args) item.indices.push_back(Text{index, target.source, target.pointer});
  return item;
}

Map read_map(ReadContext& context, FieldReader& fields) {
  Map map;
  map.index = fields.names("index", tile_rank_max);
  map.extent = fields.texts("extent", tile_rank_max);
  for (std::size_t i = 0; i < map.index.size(); ++i)
    if (!map.index[i].empty()) check_declared(context, map.index[i], pointer_to(fields.pointer("index"), i));
  if (map.index.size() != map.extent.size())
    context.mistake(fields.pointer("extent"), "a map has one extent an index", std::to_string(map.index.size()),
                    std::to_string(map.extent.size()));
  const JsonNode* body = fields.required("body");
  if (!body) return map;
  if (body->kind != JsonNode::Kind::array || body->items.empty()) {
    context.mistake(fields.pointer("body"), "a map's body is an array of items",
                    "{\"set\": …, \"value\": …}, {\"let\": …, \"value\": …} or "
                    "{\"atomic\": …, \"to\": …, \"value\": …}",
                    body->kind == JsonNode::Kind::array ? "an empty array" : describe(*body));
    return map;
  }
  for (std::size_t i = 0; i < body->items.size(); ++i)
    map.body.push_back(read_map_item(context, body->items[i], pointer_to(fields.pointer("body"), i)));
  return map;
}

Reduce read_reduce(FieldReader& fields) {
  Reduce reduce;
  reduce.op = static_cast<ReduceOp>(fields.choice("kind", reduce_op_names(), 0, true));
  reduce.from = fields.name("from");
  reduce.to = fields.name("to");
  if (fields.required("axis")) reduce.axis = fields.integer("axis", 0);
  reduce.accumulate = fields.boolean("accumulate", false);
  fields.not_yet("combine", "a combine expression");
  fields.not_yet("nan", "reduce's 'nan'");
  return reduce;
}

Scan read_scan(FieldReader& fields) {
  Scan scan;
  scan.op = static_cast<ReduceOp>(fields.choice("kind", {"sum", "prod", "max", "min"}, 0, true));
  scan.from = fields.name("from");
  scan.to = fields.name("to");
  if (fields.required("axis")) scan.axis = fields.integer("axis", 0);
  scan.reverse = fields.boolean("reverse", false);
  return scan;
}

For read_for(ReadContext& context, FieldReader& fields) {
  For loop;
  if (const JsonNode* var = fields.required("var")) loop.var = read_declared(context, *var, fields.pointer("var"));
  loop.from = fields.text_or_absent("from");
  loop.to = fields.text("to");
  loop.step = fields.text_or_absent("step");
  loop.kind = static_cast<For::Kind>(fields.choice("kind", {"serial", "unrolled", "pipelined"}, 0, false));
  loop.stages = fields.text_or_absent("stages");
  if (loop.stages && loop.kind != For::Kind::pipelined)
    context.mistake(fields.pointer("stages"), "only a pipelined loop has stages", "\"kind\": \"pipelined\"", "");
  if (const JsonNode* body = fields.required("body")) loop.body = read_body(context, *body, fields.pointer("body"));
  read_loop_schedule(context, fields, loop);
  return loop;
}

If read_if(ReadContext& context, FieldReader& fields) {
  If branch;
  branch.condition = fields.text("condition");
  if (const JsonNode* then = fields.required("then")) branch.then = read_body(context, *then, fields.pointer("then"));
  if (const JsonNode* otherwise = fields.optional("else"))
    branch.otherwise = read_body(context, *otherwise, fields.pointer("else"));
  return branch;
}

Let read_let(ReadContext& context, FieldReader& fields) {
  Let let;
  if (const JsonNode* name = fields.required("name")) let.name = read_declared(context, *name, fields.pointer("name"));
  let.value = fields.text("value");
  return let;
}

void read_operation(ReadContext& context, FieldReader& fields, const std::string& op, Stmt& stmt) {
  if (op == "alloc") stmt.node = read_alloc(context, fields);
  if (op == "copy") stmt.node = read_copy(context, fields);
  if (op == "fill") {
    Fill fill;
    fill.tile = fields.name("tile");
    fill.value = fields.text("value");
    stmt.node = std::move(fill);
  }
  if (op == "gemm") stmt.node = read_gemm(context, fields);
  if (op == "map") stmt.node = read_map(context, fields);
  if (op == "reduce") stmt.node = read_reduce(fields);
  if (op == "scan") stmt.node = read_scan(fields);
  if (op == "for") stmt.node = read_for(context, fields);
  if (op == "if") stmt.node = read_if(context, fields);
  if (op == "let") stmt.node = read_let(context, fields);
  if (op == "sync") stmt.node = Sync{};
  if (op == "print" || op == "assert") stmt.node = read_message(context, fields, op == "assert", false);
}

bool read_statement(ReadContext& context, const JsonNode& node, const std::string& pointer, Stmt& stmt) {
  stmt.pointer = pointer;
  FieldReader fields(context, node, pointer, "a statement");
  const JsonNode* op = fields.required("op");
  if (!op) return false;
  const bool known = std::find(statement_names.begin(), statement_names.end(), op->text) != statement_names.end();
  if (op->kind != JsonNode::Kind::string || !known) {
    const bool later = std::find(later_statements.begin(), later_statements.end(), op->text) != later_statements.end();
    if (later && op->kind == JsonNode::Kind::string) {
      context.not_yet(fields.pointer("op"), "the statement '" + op->text + "'");
    } else {
      context.mistake(fields.pointer("op"), "unknown statement", "one of " + name_list(statement_names), describe(*op),
                      nearest_hint(op->text, statement_names));
    }
    return false;
  }
  stmt.when = fields.text_or_absent("when");
  read_operation(context, fields, op->text, stmt);
  fields.finish();
  return true;
}

}  // namespace

const std::vector<std::string>& reduce_op_names() {
  static const std::vector<std::string> names{"sum", "prod", "max", "min", "absmax", "any", "all", "argmax", "argmin"};
  return names;
}

const char* atomic_op_name(AtomicOp op) {
  return op == AtomicOp::none ? "" : atomic_names[static_cast<std::size_t>(op) - 1].c_str();
}

const char* reduce_op_name(ReduceOp op) { return reduce_op_names()[static_cast<std::size_t>(op)].c_str(); }

Body read_body(ReadContext& context, const JsonNode& node, const std::string& pointer) {
  Body body;
  if (node.kind != JsonNode::Kind::array) {
    context.mistake(pointer, "a body is an array of statements", "an array", describe(node));
    return body;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    Stmt stmt;
    if (read_statement(context, node.items[i], pointer_to(pointer, i), stmt)) body.push_back(std::move(stmt));
  }
  return body;
}

LayoutSpec read_layout(ReadContext& context, const JsonNode& node, const std::string& pointer) {
  std::string text;
  if (node.kind == JsonNode::Kind::string) text = node.text;
  if (node.kind == JsonNode::Kind::object && node.find("pad")) {
    FieldReader fields(context, node, pointer, "a layout");
    text = "pad:" + std::to_string(fields.integer("pad", 0));
    fields.finish();
  } else if (node.kind == JsonNode::Kind::object && node.find("swizzle")) {
    FieldReader fields(context, node, pointer, "a layout");
    FieldReader swizzle(context, *fields.required("swizzle"), fields.pointer("swizzle"), "a swizzle");
    text = "swizzle:" + std::to_string(swizzle.integer("chunk_bytes", 16)) + "," +
           std::to_string(swizzle.integer("row_divisor", 1)) + "," + std::to_string(swizzle.integer("rows_mod", 8));
    swizzle.finish();
    fields.finish();
  }
  const auto layout = layout_spec_from_text(text);
  if (!layout)
    context.mistake(pointer, "no layout",
                    "\"auto\", \"row_major\", {\"pad\": bytes up to 4096} or {\"swizzle\": {\"chunk_bytes\": 8 or 16, "
                    "\"row_divisor\": a power of two, \"rows_mod\": a power of two}}",
                    text.empty() ? describe(node) : text);
  return layout.value_or(LayoutSpec{});
}

}  // namespace kiln::tile
