#include "engine/ir/tile/document.hpp"
#include "engine/ir/tile/program.hpp"

namespace kiln::tile {
namespace {

// Builds indented JSON. Arrays of scalars stay on one line; objects and arrays of objects take a line an entry.
class JsonText {
 public:
  void open(char bracket) {
    text_ += bracket;
    ++depth_;
    first_ = true;
  }
  void close(char bracket) {
    --depth_;
    if (!first_) line();
    text_ += bracket;
    first_ = false;
  }
  void item() {
    if (!first_) text_ += ',';
    first_ = false;
    line();
  }
  void key(std::string_view name) {
    item();
    text_ += json_quote(name) + ": ";
  }
  void raw(std::string_view text) { text_ += text; }
  std::string take() { return std::move(text_) + "\n"; }

 private:
  void line() { text_ += "\n" + std::string(2 * depth_, ' '); }
  std::string text_;
  std::size_t depth_ = 0;
  bool first_ = true;
};

std::string expression(const Text& text) { return text ? print_expression(*text.expr) : ""; }

std::string region_text(const Region& region) {
  std::string text = region.name;
  for (std::size_t i = 0; i < region.at.size(); ++i)
    text += (i ? ", " : "[") + expression(region.at[i].start) + (region.at[i].range ? ":" : "");
  return region.at.empty() ? text : text + "]";
}

class ProgramWriter {
 public:
  std::string write(const Program& program) {
    json_.open('{');
    field("kiln", "tile/1");
    field("name", program.name);
    if (program.clips) field("outside", "zero");
    if (!program.symbols.empty()) symbols(program.symbols);
    if (!program.options.empty()) options(program.options);
    params(program.params);
    if (!program.tunables.empty()) tunables(program.tunables);
    if (!program.constraints.empty()) fields("constraints", program.constraints);
    if (!program.workspace.empty()) workspace(program.workspace);
    json_.key("launches");
    json_.open('[');
    for (const auto& launch : program.launches) {
      json_.item();
      json_.open('{');
      fields("grid", launch.grid);
      field("threads", launch.threads);
      schedule(launch.schedule);
      body("body", launch.body);
      json_.close('}');
    }
    json_.close(']');
    json_.close('}');
    return json_.take();
  }

 private:
  void field(std::string_view name, std::string_view value) {
    json_.key(name);
    json_.raw(json_quote(value));
  }
  void field(std::string_view name, const char* value) { field(name, std::string_view(value)); }
  void field(std::string_view name, std::int64_t value) {
    json_.key(name);
    json_.raw(std::to_string(value));
  }
  void field(std::string_view name, const Text& text) {
    if (text) field(name, std::string_view(expression(text)));
  }
  // Left out when it says what holds without it.
  void field_unless(std::string_view name, const Text& text, std::string_view otherwise) {
    if (expression(text) != otherwise) field(name, text);
  }
  void flag(std::string_view name, bool value) {
    if (!value) return;
    json_.key(name);
    json_.raw("true");
  }
  void fields(std::string_view name, const std::vector<Text>& texts) {
    if (texts.empty()) return;
    std::vector<std::string> items;
    for (const auto& text : texts) items.push_back(text ? json_quote(expression(text)) : "null");
    list(name, items);
  }
  void names(std::string_view name, const std::vector<std::string>& values) {
    std::vector<std::string> items;
    for (const auto& value : values) items.push_back(json_quote(value));
    list(name, items);
  }
  void list(std::string_view name, const std::vector<std::string>& items) {
    json_.key(name);
    std::string text;
    for (const auto& item : items) text += (text.empty() ? "" : ", ") + item;
    json_.raw("[" + text + "]");
  }

  void symbols(const std::vector<Symbol>& symbols) {
    bool plain = true;
    std::vector<std::string> list;
    for (const auto& symbol : symbols) {
      plain = plain && !symbol.dynamic && symbol.multiple_of == 1 && !symbol.min && !symbol.max;
      list.push_back(symbol.name);
    }
    if (plain) return names("symbols", list);
    json_.key("symbols");
    json_.open('{');
    for (const auto& symbol : symbols) {
      json_.key(symbol.name);
      json_.open('{');
      if (symbol.dynamic) {
        json_.key("dynamic");
        json_.raw("true");
      }
      if (symbol.multiple_of != 1) field("multiple_of", symbol.multiple_of);
      if (symbol.min) field("min", *symbol.min);
      if (symbol.max) field("max", *symbol.max);
      json_.close('}');
    }
    json_.close('}');
  }

  void options(const std::vector<Option>& options) {
    static constexpr const char* kinds[] = {"dtype", "boolean", "name"};
    json_.key("options");
    json_.open('{');
    for (const auto& option : options) {
      json_.key(option.name);
      json_.open('{');
      field("type", kinds[static_cast<int>(option.kind)]);
      field("default", option.default_value);
      if (!option.choices.empty()) names("choices", option.choices);
      json_.close('}');
    }
    json_.close('}');
  }

  void params(const std::vector<Param>& params) {
    json_.key("params");
    json_.open('[');
    for (const auto& param : params) {
      json_.item();
      json_.open('{');
      field("name", param.name);
      flag("scalar", param.scalar);
      field("dtype", param.dtype);
      fields("shape", param.shape);
      fields("strides", param.strides);
      if (!param.scalar) field("access", access_name(param.access));
      flag("may_alias", param.may_alias);
      field("when", param.when);
      json_.close('}');
    }
    json_.close(']');
  }

  void workspace(const std::vector<Workspace>& list) {
    json_.key("workspace");
    json_.open('[');
    for (const auto& one : list) {
      json_.item();
      json_.open('{');
      field("name", one.name);
      field("dtype", one.dtype);
      fields("shape", one.shape);
      flag("zeroed", one.zeroed);
      field("when", one.when);
      json_.close('}');
    }
    json_.close(']');
  }

  void tunables(const std::vector<Tunable>& tunables) {
    json_.key("tunables");
    json_.open('{');
    for (const auto& tunable : tunables) {
      json_.key(tunable.name);
      json_.open('{');
      field("default", tunable.default_value);
      if (!tunable.candidates.empty()) {
        std::vector<std::string> items;
        for (const auto candidate : tunable.candidates) items.push_back(std::to_string(candidate));
        list("candidates", items);
      }
      json_.close('}');
    }
    json_.close('}');
  }

  void body(std::string_view name, const Body& statements) {
    json_.key(name);
    json_.open('[');
    for (const auto& stmt : statements) {
      json_.item();
      json_.open('{');
      std::visit([&](const auto& node) { statement(node); }, stmt.node);
      field("when", stmt.when);
      json_.close('}');
    }
    json_.close(']');
  }

  void open_schedule() {
    json_.key("schedule");
    json_.open('{');
  }
  void close_schedule(bool hint) {
    flag("hint", hint);
    json_.close('}');
  }
  void schedule(const LaunchSchedule& asked) {
    if (!asked.panel && asked.waves.empty()) return;
    open_schedule();
    if (asked.panel) {
      json_.key("block_order");
      json_.open('{');
      field("panel", asked.panel);
      if (asked.along_y) field("along", "y");
      json_.close('}');
    }
    fields("waves", asked.waves);
    close_schedule(asked.hint);
  }

  void statement(const Alloc& alloc) {
    field("op", "alloc");
    field("name", alloc.name);
    field("space", space_name(alloc.space));
    field("dtype", alloc.dtype);
    fields("shape", alloc.shape);
    if (alloc.layout.kind != LayoutSpec::Kind::automatic) layout(alloc.layout);
  }
  void layout(const LayoutSpec& spec) {
    if (spec.kind == LayoutSpec::Kind::row_major) return field("layout", "row_major");
    json_.key("layout");
    if (spec.kind == LayoutSpec::Kind::pad) return json_.raw("{\"pad\": " + std::to_string(spec.pad_bytes) + "}");
    json_.raw("{\"swizzle\": {\"chunk_bytes\": " + std::to_string(spec.chunk_bytes) + ", \"row_divisor\": " +
              std::to_string(spec.row_divisor) + ", \"rows_mod\": " + std::to_string(spec.rows_mod) + "}}");
  }
  void statement(const Copy& copy) {
    field("op", "copy");
    field("from", region_text(copy.from));
    field("to", region_text(copy.to));
    field("fill", copy.fill);
    fields("limit", copy.limit);
    if (!copy.schedule.vector_bytes) return;
    open_schedule();
    field("vector_bytes", copy.schedule.vector_bytes);
    close_schedule(copy.schedule.hint);
  }
  void statement(const Fill& fill) {
    field("op", "fill");
    field("tile", fill.tile);
    field("value", fill.value);
  }
  void statement(const Gemm& gemm) {
    field("op", "gemm");
    field("a", gemm.a);
    field("b", gemm.b);
    field("c", gemm.c);
    field_unless("transpose_a", gemm.transpose_a, "false");
    field_unless("transpose_b", gemm.transpose_b, "false");
    field_unless("clear", gemm.clear, "false");
    const GemmSchedule& asked = gemm.schedule;
    if (asked.instruction.empty() && !asked.k_pack && asked.waves.empty()) return;
    open_schedule();
    fields("instruction", asked.instruction);
    field("k_pack", asked.k_pack);
    fields("waves", asked.waves);
    close_schedule(asked.hint);
  }
  void statement(const Map& map) {
    field("op", "map");
    names("index", map.index);
    fields("extent", map.extent);
    json_.key("body");
    json_.open('[');
    for (const auto& item : map.body) {
      json_.item();
      json_.open('{');
      if (item.message) {
        message(*item.message, true);
      } else if (!item.let.empty()) {
        field("let", item.let);
      } else {
        std::string target = item.target;
        for (std::size_t i = 0; i < item.indices.size(); ++i) target += (i ? ", " : "[") + expression(item.indices[i]);
        if (item.atomic != AtomicOp::none) field("atomic", atomic_op_name(item.atomic));
        field(item.atomic == AtomicOp::none ? "set" : "to", target + "]");
      }
      field("value", item.value);
      field("compare", item.compare);
      if (!item.old.empty()) field("old", item.old);
      field("where", item.where);
      json_.close('}');
    }
    json_.close(']');
  }
  void statement(const Reduce& reduce) {
    field("op", "reduce");
    field("kind", reduce_op_name(reduce.op));
    field("from", reduce.from);
    field("to", reduce.to);
    field("axis", reduce.axis);
    flag("accumulate", reduce.accumulate);
  }
  void statement(const Scan& scan) {
    field("op", "scan");
    field("kind", reduce_op_name(scan.op));
    field("from", scan.from);
    field("to", scan.to);
    field("axis", scan.axis);
    flag("reverse", scan.reverse);
  }
  void statement(const For& loop) {
    static constexpr const char* kinds[] = {"serial", "unrolled", "pipelined"};
    field("op", "for");
    field("var", loop.var);
    field_unless("from", loop.from, "0");
    field("to", loop.to);
    field_unless("step", loop.step, "1");
    if (loop.kind != For::Kind::serial) field("kind", kinds[static_cast<int>(loop.kind)]);
    field("stages", loop.stages);
    if (!loop.schedule.order.empty() || !loop.schedule.stage.empty()) {
      open_schedule();
      fields("order", loop.schedule.order);
      fields("stage", loop.schedule.stage);
      close_schedule(loop.schedule.hint);
    }
    body("body", loop.body);
  }
  void statement(const If& branch) {
    field("op", "if");
    field("condition", branch.condition);
    body("then", branch.then);
    if (!branch.otherwise.empty()) body("else", branch.otherwise);
  }
  void statement(const Let& let) {
    field("op", "let");
    field("name", let.name);
    field("value", let.value);
  }
  void statement(const Sync&) { field("op", "sync"); }
  void statement(const Message& node) {
    field("op", node.asserts ? "assert" : "print");
    message(node, false);
  }
  void message(const Message& message, bool in_map) {
    field(in_map ? "assert" : "condition", message.condition);
    const bool named = in_map && !message.asserts;
    if (named || !message.text.empty()) field(named ? "print" : "text", message.text);
    fields("values", message.values);
  }

  JsonText json_;
};

}  // namespace

std::string write_program(const Program& program) { return ProgramWriter().write(program); }

}  // namespace kiln::tile
