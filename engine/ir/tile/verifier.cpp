#include "engine/ir/tile/verifier.hpp"

#include <algorithm>
#include <unordered_map>

#include "engine/ir/tile/nearest_name.hpp"

namespace kiln::tile {
namespace {

enum class NameKind : std::uint8_t { symbol, option, choice, tunable, tensor, scalar, tile, loop, let, index, item };

// What an expression may look at, by where it stands.
enum class Place : std::uint8_t {
  types,    // an option's default: types, choices, options
  compile,  // shapes, grids, `when` …: and symbols, tunables, target.*
  uniform,  // starts, bounds, conditions: and block ids, loop variables, lets, scalars
  named,    // the value of a let statement: and elements of tensors
  element,  // values of a map: and indices of the map, elements of tiles and tensors
};

const char* kind_name(NameKind kind) {
  switch (kind) {
    case NameKind::symbol: return "a symbol";
    case NameKind::option: return "an option";
    case NameKind::choice: return "a choice";
    case NameKind::tunable: return "a tunable";
    case NameKind::tensor: return "a tensor";
    case NameKind::scalar: return "a scalar parameter";
    case NameKind::tile: return "a tile";
    case NameKind::loop: return "a loop variable";
    case NameKind::let: return "a let";
    case NameKind::index: return "an index of a map";
    case NameKind::item: return "a let of a map";
  }
  return "a name";
}

bool fits(NameKind kind, Place place) {
  switch (kind) {
    case NameKind::option:
    case NameKind::choice: return true;
    case NameKind::symbol:
    case NameKind::tunable: return place >= Place::compile;
    case NameKind::scalar:
    case NameKind::loop:
    case NameKind::let: return place >= Place::uniform;
    case NameKind::index:
    case NameKind::item: return place == Place::element;
    case NameKind::tensor:
    case NameKind::tile: return false;  // only with an index
  }
  return false;
}

const char* place_name(Place place) {
  switch (place) {
    case Place::types: return "an option's default, which may use types, choices and earlier options";
    case Place::compile: return "a compile-time expression, which may use symbols, options, tunables and target.*";
    case Place::uniform:
      return "an expression of the whole block, which may also use bid, loop variables, lets and scalars";
    case Place::named:
      return "a let, which may use bid, loop variables, lets, scalars and elements of tensors";
    case Place::element: return "a map";
  }
  return "";
}

const std::vector<std::string> block_names{"bid.x", "bid.y", "bid.z"};
const std::vector<std::string> target_names{"target.wave", "target.lds_bytes", "target.is_host", "target.threads_max"};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class NameVerifier {
 public:
  explicit NameVerifier(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void program(const Program& program) {
    for (const auto& symbol : program.symbols) declare(symbol.name, {NameKind::symbol, 0}, symbol.pointer);
    for (const auto& option : program.options)
      if (option.kind == Option::Kind::name)
        for (const auto& choice : option.choices) declare(choice, {NameKind::choice, 0}, option.pointer);
    for (const auto& option : program.options) {
      expression(option.default_value, Place::types);
      declare(option.name, {NameKind::option, 0}, option.pointer);
    }
    for (const auto& tunable : program.tunables) {
      expression(tunable.default_value, Place::compile);
      declare(tunable.name, {NameKind::tunable, 0}, tunable.pointer);
    }
    for (const auto& text : program.constraints) expression(text, Place::compile);
    for (const auto& param : program.params) {
      for (const auto* texts : {&param.shape, &param.strides}) expressions(*texts, Place::compile);
      expression(param.dtype, Place::compile);
      expression(param.when, Place::compile);
      declare(param.name, {param.scalar ? NameKind::scalar : NameKind::tensor, param.shape.size()}, param.pointer);
    }
    for (const auto& workspace : program.workspace) {
      expressions(workspace.shape, Place::compile);
      expression(workspace.dtype, Place::compile);
      expression(workspace.when, Place::compile);
      declare(workspace.name, {NameKind::tensor, workspace.shape.size()}, workspace.pointer);
    }
    for (const auto& launch : program.launches) {
      expressions(launch.grid, Place::compile);
      expression(launch.threads, Place::compile);
      expression(launch.schedule.panel, Place::compile);
      expressions(launch.schedule.waves, Place::compile);
      body(launch.body, 0);
    }
  }

 private:
  struct Entry {
    NameKind kind;
    std::size_t rank;
  };

  void mistake(const std::string& pointer, std::string message, std::string expected, std::string found,
               std::string hint) {
    Diagnostic d;
    d.pointer = pointer;
    d.message = std::move(message);
    d.expected = std::move(expected);
    d.found = std::move(found);
    d.hint = std::move(hint);
    diagnostics_.add(std::move(d));
  }

  void mistake_in(const Text& text, const Expr& expr, std::string message, std::string expected, std::string hint) {
    Diagnostic d;
    d.pointer = text.pointer;
    d.message = std::move(message);
    d.expected = std::move(expected);
    d.hint = std::move(hint);
    d.source = text.source;
    d.offset = expr.begin;
    d.length = expr.end - expr.begin;
    d.found = text.source.substr(expr.begin, d.length);
    diagnostics_.add(std::move(d));
  }

  void declare(const std::string& name, Entry entry, const std::string& pointer) {
    if (name.empty()) return;
    const auto [at, added] = names_.emplace(name, entry);
    if (!added) {
      if (entry.kind == NameKind::choice && at->second.kind == NameKind::choice) return;  // options may share choices
      mistake(pointer, "the name '" + name + "' is declared twice", "a name of its own",
              "it is already " + std::string(kind_name(at->second.kind)), "rename one of the two");
      return;
    }
    declared_.push_back(name);
  }

  // Forgets what was declared since.
  void leave(std::size_t mark) {
    while (declared_.size() > mark) {
      names_.erase(declared_.back());
      declared_.pop_back();
    }
  }

  std::vector<std::string> known(Place place) const {
    std::vector<std::string> list;
    for (auto name = declared_.rbegin(); name != declared_.rend(); ++name)
      if (fits(names_.at(*name).kind, place)) list.push_back(*name);
    if (place >= Place::compile) list.insert(list.end(), target_names.begin(), target_names.end());
    if (place >= Place::uniform) list.insert(list.end(), block_names.begin(), block_names.end());
    if (place == Place::types)
      for (int i = 0; i < static_cast<int>(DType::index); ++i) list.emplace_back(dtype_name(static_cast<DType>(i)));
    return list;
  }

  std::vector<std::string> known_storage() const {
    std::vector<std::string> list;
    for (const auto& name : declared_) {
      const NameKind kind = names_.at(name).kind;
      if (kind == NameKind::tensor || kind == NameKind::tile) list.push_back(name);
    }
    return list;
  }

  void name(const Text& text, const Expr& expr, Place place) {
    const std::string& name = expr.text;
    if (dtype_from_name(name)) return;
    if (contains(target_names, name) && place >= Place::compile) return;
    if (contains(block_names, name) && place >= Place::uniform) return;
    const auto found = names_.find(name);
    if (found == names_.end()) {
      if (contains(target_names, name) || contains(block_names, name))
        return mistake_in(text, expr, "'" + name + "' has no value here", place_name(place), "");
      return mistake_in(text, expr, "nothing is called '" + name + "'", "a declared name",
                        nearest_hint(name, known(place)));
    }
    const NameKind kind = found->second.kind;
    if (fits(kind, place)) return;
    const bool storage = kind == NameKind::tensor || kind == NameKind::tile;
    mistake_in(text, expr,
               "'" + name + "' is " + kind_name(kind) + (storage ? ", not a value" : " and has no value here"),
               place_name(place), storage ? "elements are written " + name + "[…], inside a map" : "");
  }

  void element(const Text& text, const Expr& expr, Place place) {
    const auto found = names_.find(expr.text);
    const bool storage =
        found != names_.end() && (found->second.kind == NameKind::tensor || found->second.kind == NameKind::tile);
    if (!storage) {
      const std::string what = found == names_.end()
                                   ? "nothing is called '" + expr.text + "'"
                                   : "'" + expr.text + "' is " + kind_name(found->second.kind) + " and has no elements";
      return mistake_in(text, expr, what, "a tile or a tensor", nearest_hint(expr.text, known_storage()));
    }
    const bool of_tensor = found->second.kind == NameKind::tensor;
    if (place != Place::element && !(place == Place::named && of_tensor))
      return mistake_in(text, expr, "an element cannot be read here", place_name(place),
                        of_tensor && place == Place::uniform
                            ? "name it by a statement let, or read it in a map"
                            : "read it in a map");
    if (found->second.rank != expr.args.size())
      mistake_in(text, expr, "'" + expr.text + "' has " + std::to_string(found->second.rank) + " axes",
                 "one index an axis", "");
  }

  void walk(const Text& text, const Expr& expr, Place place) {
    if (expr.kind == Expr::Kind::name) name(text, expr, place);
    if (expr.kind == Expr::Kind::element) element(text, expr, place);
    const bool typed = expr.kind == Expr::Kind::cast || (expr.kind == Expr::Kind::call && expr.op == Op::bitcast);
    if (typed && expr.text != "index" && !dtype_from_name(expr.text)) {
      const auto found = names_.find(expr.text);
      if (found == names_.end() || found->second.kind != NameKind::option)
        mistake_in(text, expr, "'" + expr.text + "' is no type", "a type's name, an option of type dtype, or index",
                   nearest_hint(expr.text, known(Place::types)));
    }
    for (const auto& arg : expr.args) walk(text, *arg, place);
  }

  void expression(const Text& text, Place place) {
    if (text) walk(text, *text.expr, place);
  }
  void expressions(const std::vector<Text>& texts, Place place) {
    for (const auto& text : texts) expression(text, place);
  }

  void tile(const std::string& name, const std::string& pointer) {
    if (name.empty()) return;
    const auto found = names_.find(name);
    if (found != names_.end() && found->second.kind == NameKind::tile) return;
    const bool tensor = found != names_.end() && found->second.kind == NameKind::tensor;
    mistake(pointer,
            found == names_.end() ? "no tile is called '" + name + "'"
                                  : "'" + name + "' is " + kind_name(found->second.kind) + ", not a tile",
            "a tile", name, tensor ? "copy it into a tile first" : nearest_hint(name, known_storage()));
  }

  void region(const Region& region) {
    if (region.name.empty()) return;
    for (const auto& axis : region.at) expression(axis.start, Place::uniform);
    const auto found = names_.find(region.name);
    const bool storage =
        found != names_.end() && (found->second.kind == NameKind::tensor || found->second.kind == NameKind::tile);
    if (!storage) {
      mistake(region.pointer,
              found == names_.end() ? "nothing is called '" + region.name + "'"
                                    : "'" + region.name + "' is " + std::string(kind_name(found->second.kind)),
              "a tensor or a tile", region.name, nearest_hint(region.name, known_storage()));
      return;
    }
    const std::size_t rank = found->second.rank;
    if (region.at.size() == rank || (region.at.empty() && found->second.kind == NameKind::tile)) return;
    std::string example = region.name + "[0:";
    for (std::size_t i = 1; i < rank; ++i) example += ", 0:";
    mistake(region.pointer, "'" + region.name + "' has " + std::to_string(rank) + " axes",
            "an index or a range for each", std::to_string(region.at.size()), "such as " + example + "]");
  }

  void statement(const Stmt& stmt, const Map& map) {
    const std::size_t mark = declared_.size();
    expressions(map.extent, Place::compile);
    for (const auto& index : map.index) declare(index, {NameKind::index, 0}, stmt.pointer + "/index");
    for (const auto& item : map.body) {
      if (item.message) message(*item.message);
      expression(item.value, Place::element);
      expression(item.where, Place::element);
      expression(item.compare, Place::element);
      if (!item.let.empty()) declare(item.let, {NameKind::item, 0}, item.pointer);
      if (item.target.empty()) continue;
      expressions(item.indices, Place::element);
      if (!item.old.empty()) declare(item.old, {NameKind::item, 0}, item.pointer + "/old");
      const std::string field = item.atomic == AtomicOp::none ? "/set" : "/to";
      const auto found = names_.find(item.target);
      const bool storage =
          found != names_.end() && (found->second.kind == NameKind::tensor || found->second.kind == NameKind::tile);
      if (!storage)
        mistake(item.pointer + field, "'" + item.target + "' is no tile or tensor", "a tile or a tensor", item.target,
                nearest_hint(item.target, known_storage()));
      else if (found->second.rank != item.indices.size())
        mistake(item.pointer + field, "'" + item.target + "' has " + std::to_string(found->second.rank) + " axes",
                "one index an axis", std::to_string(item.indices.size()), "");
    }
    leave(mark);
  }

  void statement(const Stmt& stmt, const Alloc& alloc) {
    expression(alloc.dtype, Place::compile);
    expressions(alloc.shape, Place::compile);
    if (depth_ > 0)
      mistake(stmt.pointer, "a tile is allocated inside a loop or a condition", "alloc at the top of a launch's body",
              "", "move it out; a tile that exists only sometimes has a 'when'");
    declare(alloc.name, {NameKind::tile, alloc.shape.size()}, stmt.pointer + "/name");
  }
  void statement(const Stmt&, const Copy& copy) {
    region(copy.from);
    region(copy.to);
    expression(copy.fill, Place::uniform);
    expressions(copy.limit, Place::uniform);
    expression(copy.schedule.vector_bytes, Place::compile);
  }
  void statement(const Stmt& stmt, const Fill& fill) {
    tile(fill.tile, stmt.pointer + "/tile");
    expression(fill.value, Place::uniform);
  }
  void statement(const Stmt& stmt, const Gemm& gemm) {
    tile(gemm.a, stmt.pointer + "/a");
    tile(gemm.b, stmt.pointer + "/b");
    tile(gemm.c, stmt.pointer + "/c");
    for (const auto* flag : {&gemm.transpose_a, &gemm.transpose_b, &gemm.clear}) expression(*flag, Place::compile);
    for (const auto* texts : {&gemm.schedule.instruction, &gemm.schedule.waves}) expressions(*texts, Place::compile);
    expression(gemm.schedule.k_pack, Place::compile);
  }
  void statement(const Stmt& stmt, const Reduce& reduce) {
    tile(reduce.from, stmt.pointer + "/from");
    tile(reduce.to, stmt.pointer + "/to");
  }
  void statement(const Stmt& stmt, const Scan& scan) {
    tile(scan.from, stmt.pointer + "/from");
    tile(scan.to, stmt.pointer + "/to");
  }
  void statement(const Stmt& stmt, const For& loop) {
    expression(loop.from, Place::uniform);
    expression(loop.to, Place::uniform);
    expression(loop.step, Place::compile);
    expression(loop.stages, Place::compile);
    for (const auto* texts : {&loop.schedule.order, &loop.schedule.stage}) expressions(*texts, Place::compile);
    const std::size_t mark = declared_.size();
    declare(loop.var, {NameKind::loop, 0}, stmt.pointer + "/var");
    body(loop.body, depth_ + 1);
    leave(mark);
  }
  void statement(const Stmt&, const If& branch) {
    expression(branch.condition, Place::uniform);
    body(branch.then, depth_ + 1);
    body(branch.otherwise, depth_ + 1);
  }
  void statement(const Stmt& stmt, const Let& let) {
    expression(let.value, Place::named);
    declare(let.name, {NameKind::let, 0}, stmt.pointer + "/name");
  }
  void statement(const Stmt&, const Sync&) {}
  void statement(const Stmt&, const Message& node) { message(node); }
  // Statements may look at elements too: they are maps of one point.
  void message(const Message& message) {
    expression(message.condition, Place::element);
    expressions(message.values, Place::element);
  }

  void body(const Body& statements, int depth) {
    const std::size_t mark = declared_.size();
    const int before = depth_;
    depth_ = depth;
    for (const auto& stmt : statements) {
      expression(stmt.when, Place::compile);
      std::visit([&](const auto& node) { statement(stmt, node); }, stmt.node);
    }
    depth_ = before;
    leave(mark);
  }

  Diagnostics& diagnostics_;
  std::unordered_map<std::string, Entry> names_;
  std::vector<std::string> declared_;
  int depth_ = 0;
};

}  // namespace

void verify_names(const Program& program, Diagnostics& diagnostics) { NameVerifier(diagnostics).program(program); }

}  // namespace kiln::tile
