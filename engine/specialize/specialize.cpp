#include "engine/specialize/specialize.hpp"

#include <algorithm>

#include "engine/base/bytes.hpp"
#include "engine/ir/bound/symbols.hpp"
#include "engine/specialize/settings.hpp"
#include "engine/specialize/statement_binder.hpp"
#include "engine/specialize/uniform_reads.hpp"

namespace kiln::specialize {
namespace {

constexpr std::int64_t threads_max = 1024;

// Nodes of a bound body, a statement and an expression node each one; the bodies of unrolled loops count an iteration
// each.
class NodeCount {
 public:
  std::int64_t of(const bound::Body& body) {
    std::int64_t count = 0;
    for (const auto& stmt : body)
      count = add(count, add(1, std::visit([&](const auto& node) { return nodes(node); }, stmt.node)));
    return count;
  }

 private:
  static constexpr std::int64_t most = std::int64_t(1) << 40;
  static std::int64_t add(std::int64_t a, std::int64_t b) { return std::min(a + b, most); }

  std::int64_t of(const bound::ExprPtr& expr) {
    if (!expr) return 0;
    std::int64_t count = 1;
    for (const auto& arg : expr->args) count = add(count, of(arg));
    return count;
  }
  template <class List>
  std::int64_t all(const List& list) {
    std::int64_t count = 0;
    for (const auto& expr : list) count = add(count, of(expr));
    return count;
  }
  std::int64_t nodes(const bound::Copy& copy) {
    return all(copy.from.start) + all(copy.to.start) + all(copy.limit) + of(copy.fill);
  }
  std::int64_t nodes(const bound::Fill& fill) { return of(fill.value); }
  std::int64_t nodes(const bound::Gemm&) { return 0; }
  std::int64_t nodes(const bound::Reduce&) { return 0; }
  std::int64_t nodes(const bound::Scan&) { return 0; }
  std::int64_t nodes(const bound::Let& let) { return of(let.value); }
  std::int64_t nodes(const bound::Leave& leave) { return of(leave.condition); }
  std::int64_t nodes(const bound::If& branch) {
    return add(of(branch.condition), add(of(branch.then), of(branch.otherwise)));
  }
  std::int64_t nodes(const bound::Map& map) {
    std::int64_t count = 0;
    for (const auto& item : map.body)
      count = add(count, 1 + all(item.indices) + of(item.value) + of(item.compare) + of(item.where));
    return count;
  }
  std::int64_t nodes(const bound::For& loop) {
    const std::int64_t once = add(of(loop.body), all(std::vector{loop.from, loop.to, loop.step}));
    if (loop.kind != tile::For::Kind::unrolled) return once;
    if (loop.to->integer <= loop.from->integer) return 0;
    const std::uint64_t span =
        static_cast<std::uint64_t>(loop.to->integer) - static_cast<std::uint64_t>(loop.from->integer);
    const auto trips = static_cast<std::int64_t>(std::min<std::uint64_t>(
        span / static_cast<std::uint64_t>(loop.step->integer) + 1, static_cast<std::uint64_t>(most)));
    return once > most / trips ? most : once * trips;
  }
};

class Specializer {
 public:
  Specializer(const tile::Program& program, const Bindings& bindings, BindContext& context, bool sample)
      : program_(program), bindings_(bindings), context_(context), sample_(sample) {}

  bound::Program run() {
    bound::Program bound;
    bound.name = program_.name;
    bound.target = context_.target.full;
    bound.clips = program_.clips;
    bind_settings(context_, program_, bindings_, sample_);
    if (context_.findings.has_errors()) return bound;  // what follows would only repeat them
    bind_params(context_, program_, bindings_);
    context_.messages.launches = program_.launches.size();
    for (const auto& launch : program_.launches) {
      context_.messages.launch = bound.launches.size();
      bound.launches.push_back(bind_launch(launch));
    }
    unknown_layouts();
    bound.symbols = context_.symbols;
    bound.tensors = context_.tensors;
    bound.sites = context_.messages.sites;
    bound.records = context_.messages.records;
    return bound;
  }

 private:
  bound::Launch bind_launch(const tile::Launch& launch) {
    context_.launch = {};
    context_.tiles.clear();
    ExpressionBinder binder(context_);
    bool empty = false;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      std::optional<bound::Extent> extent = bound::Extent(1);
      if (axis < launch.grid.size()) extent = grid_extent(binder, launch.grid[axis]);
      context_.launch.grid.push_back(extent.value_or(1));
      const std::int64_t most =
          std::min(range_of(context_, context_.launch.grid.back()).hi, bound::grid_extent_max);
      context_.grid[axis] = {0, std::max<std::int64_t>(most - 1, 0)};
      empty = empty || most == 0;
    }
    check_grid(launch);
    if (nothing_to_write()) {
      empty = true;
      context_.launch.grid[0] = 0;
    }
    const auto threads = binder.constant(
        launch.threads, 1,
        context_.target.is_host() ? threads_max : std::min<std::int64_t>(threads_max, context_.target.threads_max),
        "the number of threads");
    context_.launch.threads = static_cast<int>(threads.value_or(1));
    if (empty) context_.findings.enter_dead_code();  // no block ever runs
    StatementBinder statements(context_, bindings_);
    context_.launch.schedule = statements.schedule_of(launch.schedule);
    bound::Body body;
    if (!empty) statements.leave_after_earlier_launches(launch, body);
    statements.body(launch.body, body);
    if (empty) context_.findings.leave_dead_code();
    if (context_.stopped) return {};
    if (empty)
      context_.launch.variables.clear();
    else
      context_.launch.body = std::move(body);
    check_launch(launch);
    return std::move(context_.launch);
  }

  // One that depends on dynamic symbols may be over the limit for some of their values: a launch says so.
  static std::optional<bound::Extent> grid_extent(ExpressionBinder& binder, const tile::Text& text) {
    const Value value = binder.index(text);
    if (value && !value.constant()) return binder.extent(text, 0, INT64_MAX, "an extent of the grid");
    return binder.extent(text, 0, bound::grid_extent_max, "an extent of the grid");
  }

  // Whether what the program may write has no element at all: then no block needs to run.
  bool nothing_to_write() const {
    bool written = false;
    for (const auto& tensor : context_.tensors) {
      if (tensor.scalar || tensor.workspace || tensor.access == Access::read) continue;
      written = true;
      if (!tensor.is_static() || tensor.elements_span() > 0) return false;
    }
    return written;
  }

  void check_launch(const tile::Launch& launch) {
    for (const auto& state : context_.tiles) {
      if (state.written || state.failed) continue;
      context_.findings.add(
          state.pointer, About::structure,
          {"the tile '" + state.tile.name + "' is never written", "a copy, fill, gemm, map or reduce into it", "",
           "remove it, or write it before it is read"});
    }
    std::int64_t elements = 0;
    for (const auto& tile : context_.launch.tiles) elements += tile.elements();
    if (elements > bound::tile_elements_max)
      context_.findings.add(launch.pointer, About::size,
                            {"the tiles of the launch have too many elements",
                             "at most " + std::to_string(bound::tile_elements_max), std::to_string(elements)});
    check_lds(launch);
    for (const auto& state : context_.tiles) {
      tile_names_.push_back(state.tile.name);
      if (state.tile.space == Space::shared) shared_names_.push_back(state.tile.name);
    }
    for (const auto& read : reads_of_written(context_.launch.body, context_.tensors.size()))
      context_.findings.add(read.pointer + "/value", About::structure,
                            {"a let reads '" + context_.tensors[static_cast<std::size_t>(read.tensor)].name +
                                 "', which this launch writes",
                             "a tensor that the launch only reads", "",
                             "read it in a map, or write it in another launch"});
    nodes_ += NodeCount().of(context_.launch.body);
    if (nodes_ > nodes_after_unrolling_max)
      context_.findings.add(
          launch.pointer + "/body", About::size,
          {"the program is larger than " + std::to_string(nodes_after_unrolling_max) + " nodes after unrolling", "", "",
           "make loops serial, or tiles larger"});
  }

  void check_grid(const tile::Launch& launch) {
    if (!bound::all_static(context_.launch.grid)) return;
    const auto grid = bound::values(context_.launch.grid);
    if (bound::block_count(grid) <= bound::blocks_max) return;
    context_.findings.add(launch.pointer + "/grid", About::size,
                          {"the grid has too many blocks", "at most " + std::to_string(bound::blocks_max) + " together",
                           std::to_string(grid[0]) + " * " + std::to_string(grid[1]) + " * " + std::to_string(grid[2]),
                           "larger tiles: set a block tunable"});
  }

  void check_lds(const tile::Launch& launch) {
    std::int64_t total = 0;
    std::string parts;
    for (const auto& tile : context_.launch.tiles) {
      if (tile.space != Space::shared) continue;
      const std::int64_t rows = tile.elements() / tile.shape.back();
      const std::int64_t bytes = tile.elements() * dtype_bytes(tile.dtype) + rows * tile.layout.pad_bytes;
      total += bytes;
      parts += (parts.empty() ? "" : ", ") + tile.name + " " + std::to_string(bytes);
    }
    if (total <= context_.target.lds_bytes) return;
    context_.findings.add(
        launch.pointer, About::size,
        {"the shared tiles do not fit in the local memory of " + context_.target.full,
         "at most " + std::to_string(context_.target.lds_bytes) + " bytes", std::to_string(total) + " bytes: " + parts,
         "smaller tiles: set a block tunable such as BK"});
  }

  void unknown_layouts() {
    for (const auto& [name, layout] : bindings_.layouts) {
      if (std::find(tile_names_.begin(), tile_names_.end(), name) != tile_names_.end()) continue;
      std::string tiles;
      for (const auto& shared : shared_names_) tiles += (tiles.empty() ? "" : ", ") + shared;
      context_.findings.add("/bindings/layouts/" + make_valid_utf8(name.substr(0, 64)), About::structure,
                            {"no tile is called '" + make_valid_utf8(name.substr(0, 64)) + "'",
                             tiles.empty() ? "" : "one of the shared tiles " + tiles});
    }
  }

  const tile::Program& program_;
  const Bindings& bindings_;
  BindContext& context_;
  bool sample_;
  std::int64_t nodes_ = 0;  // of all launches so far
  std::vector<std::string> tile_names_, shared_names_;
};

Error failed(const tile::Program& program, Findings& findings, const target::Target& target) {
  auto list = findings.diagnostics().take();
  const std::string count = list.size() == 1 ? "a mistake" : std::to_string(list.size()) + " mistakes";
  return program_error("'" + program.name + "' cannot be specialized for " + target.full + ": " + count,
                       std::move(list));
}

}  // namespace

Result<bound::Program> specialize(const tile::Program& program, const Bindings& bindings, const target::Target& target,
                                  Budget& budget) {
  Findings findings;
  BindContext context{target, findings, budget, {}, {}, {}, {}, {}, {}, {}};
  auto bound = Specializer(program, bindings, context, false).run();
  if (context.stopped) return std::move(*context.stopped);
  if (findings.has_errors()) return failed(program, findings, target);
  if (auto sound = bound::check(bound); !sound)
    return Error(ErrorCode::internal, "specialization gave a malformed program: " + sound.error().message);
  return bound;
}

Result<bound::SymbolValues> symbol_values(const std::vector<bound::Symbol>& symbols,
                                          const std::map<std::string, std::string>& set) {
  bound::SymbolValues values;
  for (const auto& symbol : symbols) {
    const auto given = set.find(symbol.name);
    const auto value = given == set.end() ? std::nullopt : parse_integer(given->second);
    if (value) {
      values.push_back(*value);
      continue;
    }
    Diagnostic d;
    d.pointer = "/bindings/symbols/" + symbol.name;
    d.message = "the dynamic symbol '" + symbol.name + "' has no value";
    d.expected = "an integer from " + std::to_string(symbol.min) + " to " + std::to_string(symbol.max);
    d.found = given == set.end() ? "nothing" : make_valid_utf8(given->second.substr(0, 64));
    d.hint = "set " + symbol.name + "=…";
    Error error(ErrorCode::invalid_argument, d.pointer + ": " + d.message + "; " + d.hint);
    error.diagnostics.push_back(std::move(d));
    return error;
  }
  KILN_CHECK(bound::check_values(symbols, values));
  return values;
}

Diagnostics check_program(const tile::Program& program) {
  Findings findings(false);
  target::Target target;
  target.full = target.arch = "gfx942";
  Budget budget(10'000'000);
  BindContext context{target, findings, budget, {}, {}, {}, {}, {}, {}, {}};
  const Bindings none;
  Specializer(program, none, context, true).run();
  return std::move(findings.diagnostics());
}

Result<std::vector<ResolvedBinding>> describe_bindings(const tile::Program& program, const Bindings& bindings,
                                                       const target::Target& target) {
  Findings findings;
  Budget budget(10'000'000);
  BindContext context{target, findings, budget, {}, {}, {}, {}, {}, {}, {}};
  auto resolved = bind_settings(context, program, bindings, false);
  if (context.stopped) return std::move(*context.stopped);
  if (findings.has_errors()) return failed(program, findings, target);
  return resolved;
}

}  // namespace kiln::specialize
