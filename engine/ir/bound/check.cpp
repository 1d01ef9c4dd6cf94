// The structural validator of bound programs: what decode and hand-made programs go through before anything trusts
// them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/bound/atomic.hpp"
#include "engine/ir/bound/program.hpp"
#include "engine/ir/bound/symbols.hpp"

namespace kiln::bound {
namespace {

using tile::AtomicOp;

constexpr std::size_t tensor_rank_max = 8, tile_rank_max = 4, map_rank_max = 4, list_max = 1 << 16;
constexpr std::size_t symbols_max = 256;
constexpr std::int64_t tensor_bytes_max = std::int64_t(1) << 62;
constexpr int threads_max = 1 << 16;
constexpr int stages_max = 64;

bool is_element(DType type) { return type != DType::index && is_supported(type); }
bool is_value_type(DType type) { return type == DType::index || is_supported(type); }
bool is_power_of_two(std::int64_t v) { return v > 0 && (v & (v - 1)) == 0; }

bool is_identifier(const std::string& name) {
  if (name.empty() || name.size() > 64 || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

Error bad(const std::string& what) { return Error(ErrorCode::corrupt, "bound program: " + what); }

#define KILN_NEED(condition, what) \
  do {                             \
    if (!(condition)) return bad(what); \
  } while (false)

// Index arithmetic over symbols and nothing else.
Status check_size_expression(const Expr& e, DType type, std::size_t symbols, int depth) {
  KILN_NEED(depth < expression_depth_max, "an extent that is too deep");
  KILN_NEED(e.type == type && (type == DType::index || type == DType::boolean), "an extent's type");
  for (const auto& arg : e.args) KILN_NEED(arg != nullptr, "an extent's operand is missing");
  using Kind = Expr::Kind;
  switch (e.kind) {
    case Kind::integer:
      KILN_NEED(e.args.empty() && wrap_integer(e.type, e.integer) == e.integer, "an integer outside its type");
      return {};
    case Kind::symbol:
      KILN_NEED(e.args.empty() && type == DType::index, "a symbol");
      KILN_NEED(e.integer >= 0 && static_cast<std::size_t>(e.integer) < symbols, "a symbol's number");
      return {};
    case Kind::select:
      KILN_NEED(e.args.size() == 3, "a select without three arguments");
      KILN_CHECK(check_size_expression(*e.args[0], DType::boolean, symbols, depth + 1));
      KILN_CHECK(check_size_expression(*e.args[1], type, symbols, depth + 1));
      return check_size_expression(*e.args[2], type, symbols, depth + 1);
    case Kind::unary: case Kind::binary: case Kind::call: break;
    default: return bad("an extent that is no index arithmetic");
  }
  KILN_NEED(e.op != Op::bitcast && e.args.size() == static_cast<std::size_t>(arity(e.op)) && !e.args.empty(),
            "an extent's operation");
  const DType operand = e.args[0]->type;
  KILN_NEED(function(e.op, operand) && result_type(e.op, operand) == e.type, "an extent's operation");
  for (const auto& arg : e.args) KILN_CHECK(check_size_expression(*arg, operand, symbols, depth + 1));
  return {};
}

// The most that an extent may be; it is never negative.
Result<std::int64_t> largest(const Extent& extent, const std::vector<Symbol>& symbols) {
  KILN_CHECK(check_form(extent, symbols));
  const auto range = range_of(extent, symbols);
  KILN_NEED(range && range->lo >= 0, "a negative or too large extent or stride");
  return range->hi;
}

Status check_tensor(const Tensor& t, const std::vector<Symbol>& symbols) {
  KILN_NEED(is_element(t.dtype), "a tensor of a type that is not supported");
  KILN_NEED(t.shape.size() <= tensor_rank_max && t.strides.size() == t.shape.size(), "a tensor's rank or strides");
  KILN_NEED(!t.scalar || (t.shape.empty() && t.access == Access::read), "a scalar with a shape or written");
  KILN_NEED(!t.workspace || (!t.scalar && t.access == Access::readwrite && !t.may_alias), "a workspace's access");
  KILN_NEED(t.workspace || !t.zeroed, "a parameter that the engine fills");
  KILN_NEED(is_power_of_two(t.align_bytes) && t.align_bytes <= 16, "a tensor's alignment class");
  __int128 span = 1;
  bool empty = false;
  for (std::size_t i = 0; i < t.shape.size(); ++i) {
    KILN_TRY(const auto extent, largest(t.shape[i], symbols));
    KILN_TRY(const auto stride, largest(t.strides[i], symbols));
    empty = empty || extent == 0;
    if (extent > 0) span += static_cast<__int128>(extent - 1) * stride;
    KILN_NEED(span <= tensor_bytes_max, "a tensor too large to address");
  }
  KILN_NEED(empty || span * dtype_bytes(t.dtype) <= tensor_bytes_max, "a tensor too large to address");
  return {};
}

Status check_layout(const LayoutSpec& l) {
  using Kind = LayoutSpec::Kind;
  KILN_NEED(l.kind == Kind::pad ? l.pad_bytes >= 0 && l.pad_bytes <= 65536 : l.pad_bytes == 0, "a layout's padding");
  if (l.kind == Kind::swizzle) {
    const bool sound = is_power_of_two(l.chunk_bytes) && l.chunk_bytes <= 1024 && is_power_of_two(l.row_divisor) &&
                       l.row_divisor <= 65536 && is_power_of_two(l.rows_mod) && l.rows_mod <= 65536;
    KILN_NEED(sound, "a layout's swizzle");
  } else {
    KILN_NEED(l.chunk_bytes == 0 && l.row_divisor == 1 && l.rows_mod == 1, "a swizzle on another layout");
  }
  return {};
}

// `elements_left` is what the launch's tiles may still take.
Status check_tile(const Tile& t, std::int64_t& elements_left) {
  KILN_NEED(is_element(t.dtype), "a tile of a type that is not supported");
  KILN_NEED(t.shape.size() >= 1 && t.shape.size() <= tile_rank_max, "a tile's rank");
  std::int64_t elements = 1;
  for (const auto extent : t.shape) {
    KILN_NEED(extent >= 1 && extent <= tile_elements_max / elements, "a tile's extent");
    elements *= extent;
  }
  elements_left -= elements;
  KILN_NEED(elements_left >= 0, "tiles over the limit of elements");
  return check_layout(t.layout);
}

class LaunchChecker {
 public:
  LaunchChecker(const Program& program, const Launch& launch) : program_(program), launch_(launch) {}

  Status run() {
    KILN_NEED(launch_.grid.size() == 3, "a grid without three extents");
    KILN_CHECK(check(launch_.schedule));
    for (const auto& extent : launch_.grid) KILN_CHECK(largest(extent, program_.symbols));
    if (all_static(launch_.grid)) {
      for (const auto& extent : launch_.grid) KILN_NEED(extent.value() <= grid_extent_max, "a grid's extent");
      KILN_NEED(block_count(values(launch_.grid)) <= blocks_max, "a grid's number of blocks");
    }
    KILN_NEED(launch_.threads >= 1 && launch_.threads <= threads_max, "a launch's threads");
    KILN_NEED(launch_.tiles.size() <= list_max && launch_.variables.size() <= list_max, "too many tiles or variables");
    std::int64_t elements_left = tile_elements_max;
    for (const auto& tile : launch_.tiles) KILN_CHECK(check_tile(tile, elements_left));
    for (const auto& variable : launch_.variables) KILN_NEED(is_value_type(variable.type), "a variable's type");
    set_.assign(launch_.variables.size(), 0);
    return body(launch_.body, 0);
  }

 private:
  // ---- scopes: 0 not set, 1 set by a let, 2 a loop's or map's index (may not be set again inside)
  Status declare(int id, std::uint8_t how, DType type, std::vector<int>& opened) {
    KILN_NEED(id >= 0 && static_cast<std::size_t>(id) < set_.size(), "a variable's id");
    KILN_NEED(launch_.variables[id].type == type, "a variable's type differs from its value's");
    KILN_NEED(set_[id] != 2 && (how == 1 || set_[id] == 0), "a variable that is set twice");
    if (set_[id] == 0) opened.push_back(id);
    set_[id] = how;
    return {};
  }
  void close(std::vector<int>& opened) {
    for (const int id : opened) set_[id] = 0;
    opened.clear();
  }

  const Tile* tile(int id) const {
    return id >= 0 && static_cast<std::size_t>(id) < launch_.tiles.size() ? &launch_.tiles[id] : nullptr;
  }
  const Tensor* tensor(std::int64_t id) const {
    return id >= 0 && static_cast<std::size_t>(id) < program_.tensors.size() ? &program_.tensors[id] : nullptr;
  }

  // ---- expressions
  Status expr(const ExprPtr& e, DType type, int depth = 0) {
    KILN_NEED(e != nullptr, "an expression is missing");
    KILN_NEED(e->type == type, std::string("an expression of type ") + dtype_name(e->type) + " where " +
                                   dtype_name(type) + " is needed");
    KILN_NEED(depth < expression_depth_max, "an expression that is too deep");
    KILN_NEED(is_value_type(e->type), "an expression of a type that is not supported");
    using Kind = Expr::Kind;
    switch (e->kind) {
      case Kind::integer: case Kind::real: case Kind::block: case Kind::variable: case Kind::scalar:
      case Kind::symbol: return leaf(*e);
      case Kind::unary: case Kind::binary: case Kind::call: return operation(*e, depth);
      case Kind::select:
        KILN_NEED(e->args.size() == 3, "a select without three arguments");
        KILN_CHECK(expr(e->args[0], DType::boolean, depth + 1));
        KILN_CHECK(expr(e->args[1], e->type, depth + 1));
        return expr(e->args[2], e->type, depth + 1);
      case Kind::cast:
        KILN_NEED(e->args.size() == 1 && e->args[0], "a cast without one argument");
        return expr(e->args[0], e->args[0]->type, depth + 1);
      case Kind::tile: case Kind::tensor: return element(*e, depth);
    }
    return bad("an expression's kind");
  }
  Status leaf(const Expr& e) {
    KILN_NEED(e.args.empty(), "arguments on a leaf");
    using Kind = Expr::Kind;
    switch (e.kind) {
      case Kind::integer:
        KILN_NEED(!is_float(e.type) && wrap_integer(e.type, e.integer) == e.integer, "an integer outside its type");
        return {};
      case Kind::real:
        KILN_NEED(is_float(e.type) && (std::isnan(e.real) || round_real(e.type, e.real) == e.real),
                  "a real outside its type");
        return {};
      case Kind::block:
        KILN_NEED(e.integer >= 0 && e.integer <= 2 && e.type == DType::index, "a block id");
        return {};
      case Kind::variable:
        KILN_NEED(e.integer >= 0 && static_cast<std::size_t>(e.integer) < set_.size(), "a variable's id");
        KILN_NEED(set_[e.integer] != 0, "a variable that is not set");
        KILN_NEED(launch_.variables[e.integer].type == e.type, "a variable's type");
        return {};
      case Kind::symbol:
        KILN_NEED(e.integer >= 0 && static_cast<std::size_t>(e.integer) < program_.symbols.size(), "a symbol's number");
        KILN_NEED(e.type == DType::index, "a symbol's type");
        return {};
      default: {
        const auto* scalar = tensor(e.integer);
        KILN_NEED(scalar && scalar->scalar && scalar->dtype == e.type, "a scalar parameter");
        return {};
      }
    }
  }
  Status operation(const Expr& e, int depth) {
    KILN_NEED(e.args.size() == static_cast<std::size_t>(arity(e.op)) && e.args[0], "an operation's arguments");
    const auto kind = !is_operator(e.op)   ? Expr::Kind::call
                      : e.args.size() == 1 ? Expr::Kind::unary
                                           : Expr::Kind::binary;
    KILN_NEED(e.kind == kind, "an operation's kind");
    const DType operand = e.args[0]->type;
    if (e.op == Op::bitcast) {
      const bool sound = is_element(operand) && is_element(e.type) && dtype_bits(operand) == dtype_bits(e.type);
      KILN_NEED(sound && (operand == DType::boolean) == (e.type == DType::boolean), "a bitcast between these types");
    } else {
      KILN_NEED(function(e.op, operand) && result_type(e.op, operand) == e.type,
                std::string("`") + op_text(e.op) + "` on " + dtype_name(operand));
    }
    for (const auto& arg : e.args) KILN_CHECK(expr(arg, operand, depth + 1));
    return {};
  }
  Status element(const Expr& e, int depth) {
    const bool is_tile = e.kind == Expr::Kind::tile;
    KILN_NEED(e.integer >= 0 && e.integer < static_cast<std::int64_t>(list_max), "an element's owner");
    const auto* t = is_tile ? tile(static_cast<int>(e.integer)) : nullptr;
    const auto* p = is_tile ? nullptr : tensor(e.integer);
    KILN_NEED(t || (p && !p->scalar && p->access != Access::write), "an element's owner");
    KILN_NEED((t ? t->dtype : p->dtype) == e.type, "an element's type");
    KILN_NEED(e.args.size() == (t ? t->shape.size() : p->shape.size()), "an element's indices");
    for (const auto& arg : e.args) KILN_CHECK(expr(arg, DType::index, depth + 1));
    return {};
  }

  // ---- statements
  Status body(const Body& statements, int depth) {
    KILN_NEED(depth <= statement_depth_max, "statements nested too deep");
    std::vector<int> opened;
    for (const auto& s : statements) {
      auto status = stmt(s, depth, opened);
      if (!status) {
        auto error = std::move(status).error();
        if (!s.pointer.empty() && error.context.empty()) error.context.push_back("at " + s.pointer);
        return error;
      }
    }
    close(opened);
    return {};
  }
  Status stmt(const Stmt& s, int depth, std::vector<int>& opened) {
    KILN_CHECK(check(s.turn));
    if (const auto* n = std::get_if<Copy>(&s.node)) return copy(*n);
    if (const auto* n = std::get_if<Gemm>(&s.node)) return gemm(*n);
    if (const auto* n = std::get_if<Map>(&s.node)) return map(*n);
    if (const auto* n = std::get_if<Reduce>(&s.node)) return reduce(*n);
    if (const auto* n = std::get_if<Scan>(&s.node)) return scan(*n);
    if (const auto* n = std::get_if<For>(&s.node)) return loop(*n, depth);
    if (const auto* n = std::get_if<Fill>(&s.node)) {
      const auto* t = tile(n->tile);
      KILN_NEED(t, "a tile's id");
      return expr(n->value, t->dtype);
    }
    if (const auto* n = std::get_if<If>(&s.node)) {
      KILN_CHECK(expr(n->condition, DType::boolean));
      KILN_CHECK(body(n->then, depth + 1));
      return body(n->otherwise, depth + 1);
    }
    if (const auto* n = std::get_if<Leave>(&s.node)) return expr(n->condition, DType::boolean);
    const auto& let = std::get<Let>(s.node);
    KILN_NEED(let.value, "an expression is missing");
    KILN_CHECK(expr(let.value, let.value->type));
    return declare(let.var, 1, let.value->type, opened);
  }

  // One side of a copy: its extents, with how many axes are ranged. A tile taken whole has no starts.
  Status region(const Region& r, const std::vector<std::int64_t>& shape, bool written) {
    const auto* p = r.is_tensor ? tensor(r.id) : nullptr;
    const auto* t = r.is_tensor ? nullptr : tile(r.id);
    KILN_NEED(t || (p && !p->scalar), "a region's owner");
    if (p) KILN_NEED(p->access != (written ? Access::read : Access::write), "a region against its tensor's access");
    const std::size_t rank = t ? t->shape.size() : p->shape.size();
    if (t && r.start.empty() && r.ranged.empty()) {
      KILN_NEED(shape == t->shape, "a copy's extents differ from its tile's");
      return {};
    }
    KILN_NEED(r.start.size() == rank && r.ranged.size() == rank, "a region's axes");
    std::size_t axis = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      KILN_CHECK(expr(r.start[i], DType::index));
      if (!r.ranged[i]) continue;
      KILN_NEED(axis < shape.size() && (p || shape[axis] <= t->shape[i]), "a copy's extents exceed its tile's");
      ++axis;
    }
    KILN_NEED(axis == shape.size(), "a region's ranged axes");
    return {};
  }
  Status copy(const Copy& c) {
    KILN_CHECK(check(c.schedule));
    KILN_NEED(!(c.from.is_tensor && c.to.is_tensor), "a copy without a tile");
    KILN_NEED(c.from.is_tensor || c.to.is_tensor || c.from.id != c.to.id, "a copy of a tile to itself");
    KILN_NEED(c.shape.size() <= tile_rank_max, "a copy's rank");
    std::int64_t elements = 1;
    for (const auto extent : c.shape) {
      KILN_NEED(extent >= 1 && extent <= tile_elements_max / elements, "a copy's extent");
      elements *= extent;
    }
    KILN_CHECK(region(c.from, c.shape, false));
    KILN_CHECK(region(c.to, c.shape, true));
    if (c.fill)
      KILN_CHECK(expr(c.fill, c.from.is_tensor ? program_.tensors[c.from.id].dtype : launch_.tiles[c.from.id].dtype));
    KILN_NEED(c.limit.empty() || (c.limit.size() == c.shape.size() && (c.from.is_tensor || c.to.is_tensor)),
              "a copy's limits");
    for (const auto& limit : c.limit)
      if (limit) KILN_CHECK(expr(limit, DType::index));
    return {};
  }
  Status gemm(const Gemm& g) {
    KILN_CHECK(check(g.schedule));
    const auto *a = tile(g.a), *b = tile(g.b), *c = tile(g.c);
    KILN_NEED(a && b && c && a->shape.size() == 2 && b->shape.size() == 2 && c->shape.size() == 2, "a gemm's tiles");
    KILN_NEED(g.c != g.a && g.c != g.b, "a gemm into its own operand");
    const std::int64_t m = a->shape[g.transpose_a ? 1 : 0], k = a->shape[g.transpose_a ? 0 : 1];
    const std::int64_t n = b->shape[g.transpose_b ? 0 : 1], kb = b->shape[g.transpose_b ? 1 : 0];
    KILN_NEED(k == kb && c->shape[0] == m && c->shape[1] == n, "a gemm's shapes");
    const bool floats = is_float(a->dtype) && is_float(b->dtype) && is_float(c->dtype);
    KILN_NEED(floats || (is_integer(a->dtype) && is_integer(b->dtype) && is_integer(c->dtype)), "a gemm's types");
    return {};
  }
  Status map(const Map& m) {
    KILN_NEED(!m.index.empty() && m.index.size() <= map_rank_max && m.extent.size() == m.index.size(),
              "a map's indices");
    std::int64_t iterations = 1;
    for (const auto extent : m.extent) {
      KILN_NEED(extent >= 0 && (iterations == 0 || extent <= map_iterations_max / iterations), "a map's extent");
      iterations *= extent;
    }
    std::vector<int> opened;
    for (const int id : m.index) KILN_CHECK(declare(id, 2, DType::index, opened));
    for (const auto& item : m.body) {
      KILN_NEED(item.value, "an expression is missing");
      KILN_NEED(item.atomic == AtomicOp::none ? !item.compare && item.old == -1 : item.let < 0 && item.tensor,
                "an atomic's parts");
      KILN_NEED((item.atomic == AtomicOp::cas) == (item.compare != nullptr), "an atomic's comparison");
      if (item.let >= 0) {
        KILN_NEED(!item.where, "a condition on a map's let");
        KILN_CHECK(expr(item.value, item.value->type));
        KILN_CHECK(declare(item.let, 1, item.value->type, opened));
        continue;
      }
      const auto* t = item.tensor ? nullptr : tile(item.target);
      const auto* p = item.tensor ? tensor(item.target) : nullptr;
      KILN_NEED(t || (p && !p->scalar && p->access != Access::read), "a map's target");
      KILN_NEED(item.indices.size() == (t ? t->shape.size() : p->shape.size()), "a map's target indices");
      for (const auto& index : item.indices) KILN_CHECK(expr(index, DType::index));
      KILN_CHECK(expr(item.value, t ? t->dtype : p->dtype));
      if (item.where) KILN_CHECK(expr(item.where, DType::boolean));
      if (item.atomic == AtomicOp::none) continue;
      KILN_NEED(p->access == Access::readwrite && atomic_takes(item.atomic, p->dtype), "an atomic's tensor");
      if (item.compare) KILN_CHECK(expr(item.compare, p->dtype));
      if (item.old >= 0) KILN_CHECK(declare(item.old, 1, p->dtype, opened));
    }
    close(opened);
    return {};
  }
  Status reduce(const Reduce& r) {
    const auto *from = tile(r.from), *to = tile(r.to);
    KILN_NEED(from && to && r.from != r.to, "a reduction's tiles");
    KILN_NEED(r.axis >= 0 && static_cast<std::size_t>(r.axis) < from->shape.size(), "a reduction's axis");
    auto rest = from->shape;
    rest.erase(rest.begin() + r.axis);
    if (rest.empty()) rest.push_back(1);
    KILN_NEED(rest == to->shape, "a reduction's shapes");
    const bool truth = r.op == tile::ReduceOp::any || r.op == tile::ReduceOp::all;
    const auto same = [&](bool (*of)(DType)) { return of(from->dtype) && of(to->dtype); };
    const bool place = r.op == tile::ReduceOp::argmax || r.op == tile::ReduceOp::argmin;
    KILN_NEED(!place || !r.accumulate, "an accumulated place");
    const bool types =
        place ? to->dtype == DType::i32 && (is_float(from->dtype) || is_integer(from->dtype)) :
        truth ? from->dtype == DType::boolean && to->dtype == DType::boolean : same(is_float) || same(is_integer);
    KILN_NEED(types, "a reduction's types");
    return {};
  }
  Status scan(const Scan& s) {
    const auto *from = tile(s.from), *to = tile(s.to);
    KILN_NEED(from && to && s.from != s.to && from->shape == to->shape, "a scan's tiles");
    KILN_NEED(s.axis >= 0 && static_cast<std::size_t>(s.axis) < from->shape.size(), "a scan's axis");
    KILN_NEED(s.op <= tile::ReduceOp::min, "a scan's kind");
    KILN_NEED(from->dtype == to->dtype && from->dtype != DType::boolean, "a scan's types");
    return {};
  }
  Status loop(const For& f, int depth) {
    KILN_CHECK(expr(f.from, DType::index));
    KILN_CHECK(expr(f.to, DType::index));
    KILN_CHECK(expr(f.step, DType::index));
    KILN_NEED(f.step->kind == Expr::Kind::integer && f.step->integer > 0, "a loop's step");
    KILN_NEED(f.stages >= 0 && f.stages <= stages_max, "a loop's stages");
    std::vector<int> opened;
    KILN_CHECK(declare(f.var, 2, DType::index, opened));
    KILN_CHECK(body(f.body, depth + 1));
    close(opened);
    return {};
  }

  const Program& program_;
  const Launch& launch_;
  std::vector<std::uint8_t> set_;
};

}  // namespace

Status check_form(const Extent& extent, const std::vector<Symbol>& symbols) {
  KILN_NEED(extent.is_static() || !symbols.empty(), "an extent that depends on nothing and is no number");
  return extent.is_static() ? ok() : check_size_expression(*extent.expr(), DType::index, symbols.size(), 0);
}

Status check(const Extent& extent, const std::vector<Symbol>& symbols) {
  KILN_TRY(const auto most, largest(extent, symbols));
  (void)most;
  return {};
}

Status check(const Symbol& s) {
  KILN_NEED(s.min >= 0 && s.min <= s.max && s.max <= Symbol::symbol_max, "a symbol's range");
  KILN_NEED(s.multiple_of >= 1 && s.multiple_of <= Symbol::symbol_max, "a symbol's multiple");
  return {};
}

// A number of sites whose records fit the workspace as records.hpp lays it out.
Status check_records(const Program& program) {
  if (program.records < 0) {
    KILN_NEED(program.records == -1 && program.sites.empty(), "sites without records");
    return {};
  }
  KILN_NEED(static_cast<std::size_t>(program.records) < program.tensors.size(), "the records' id");
  const Tensor& tensor = program.tensors[static_cast<std::size_t>(program.records)];
  KILN_NEED(tensor.workspace && tensor.zeroed && tensor.dtype == DType::i64 && tensor.is_static() &&
                tensor.bytes() == records_words * 8,
            "the records' workspace");
  KILN_NEED(!program.sites.empty() && program.sites.size() <= list_max, "the number of sites");
  for (const RecordSite& site : program.sites) {
    KILN_NEED(site.values.size() <= tile::message_values_max && site.extent.size() <= map_rank_max, "a site's parts");
    KILN_NEED(site.text.size() <= tile::message_text_bytes_max, "a site's text");
    for (const auto extent : site.extent) KILN_NEED(extent >= 1 && extent <= map_iterations_max, "a site's extent");
  }
  return {};
}

Status check(const Program& program) {
  KILN_NEED(is_identifier(program.name), "its name");
  KILN_NEED(program.target.size() <= 256, "its target");
  KILN_NEED(program.tensors.size() <= list_max && program.launches.size() <= list_max, "too many parts");
  KILN_NEED(program.symbols.size() <= symbols_max, "too many symbols");
  for (const auto& symbol : program.symbols) KILN_CHECK(check(symbol));
  for (const auto& tensor : program.tensors) KILN_CHECK(check_tensor(tensor, program.symbols));
  for (std::size_t i = 0; i < program.arguments(); ++i)
    KILN_NEED(!program.tensors[i].workspace, "a workspace before a parameter");
  for (const auto& launch : program.launches) KILN_CHECK(LaunchChecker(program, launch).run());
  KILN_CHECK(check_records(program));
  return {};
}

}  // namespace kiln::bound
