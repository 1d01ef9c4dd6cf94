#include "engine/specialize/statement_binder.hpp"

#include <algorithm>

#include "engine/base/bytes.hpp"
#include "engine/ir/float8.hpp"

namespace kiln::specialize {
namespace {

constexpr std::int64_t step_max = (std::int64_t(1) << 31) - 1, stages_max = 8;

std::string shape_words(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string tile_words(const bound::Tile& tile) {
  return "'" + tile.name + "' is " + dtype_name(tile.dtype) + shape_words(tile.shape);
}

// The accumulator of a product: f32 for f32 and narrower floats, i32 for i8.
std::optional<DType> accumulator_of(DType operand) {
  if (operand == DType::f32 || operand == DType::f16 || operand == DType::bf16) return DType::f32;
  if (float8_format(operand)) return DType::f32;
  if (operand == DType::i8) return DType::i32;
  return std::nullopt;
}

}  // namespace

void StatementBinder::body(const tile::Body& statements, bound::Body& out) {
  const std::size_t mark = context_.names.mark();
  for (const auto& stmt : statements) {
    if (!context_.spend()) break;
    statement(stmt, out);
  }
  context_.names.leave(mark);
}

void StatementBinder::statement(const Stmt& stmt, bound::Body& out) {
  if (stmt.when) {
    const auto exists = binder_.condition(stmt.when);
    if (!exists || !*exists) {
      Named named;
      named.kind = exists ? Named::Kind::absent : Named::Kind::value;
      if (const auto* alloc = std::get_if<tile::Alloc>(&stmt.node)) context_.names.declare(alloc->name, named);
      if (const auto* let = std::get_if<tile::Let>(&stmt.node)) context_.names.declare(let->name, named);
      return;
    }
  }
  std::visit([&](const auto& node) { bind(stmt, node, out); }, stmt.node);
}

TileState* StatementBinder::tile(const std::string& name, const std::string& pointer, int& index) {
  const Named* found = context_.names.find(name);
  if (found && found->kind == Named::Kind::tile) {
    index = found->id;
    return &context_.tiles[static_cast<std::size_t>(found->id)];
  }
  if (found && found->kind == Named::Kind::absent)
    mistake(pointer, About::structure,
            {"the tile '" + name + "' does not exist with these options: its 'when' is false", "", name,
             "use it only under the same condition"});
  else if (!found || found->kind != Named::Kind::value || found->value)
    mistake(pointer, About::structure, {"'" + name + "' is no tile", "a tile", name});
  return nullptr;
}

void StatementBinder::bind(const Stmt& stmt, const tile::Alloc& alloc, bound::Body&) {
  TileState state;
  state.pointer = stmt.pointer;
  state.tile.name = alloc.name;
  state.tile.space = alloc.space;
  const auto dtype = binder_.element_type(alloc.dtype);
  state.failed = !dtype;
  state.tile.dtype = dtype.value_or(DType::f32);
  std::int64_t elements = 1;
  for (const auto& text : alloc.shape) {
    const auto extent =
        binder_.constant(text, 1, bound::tile_elements_max, "an extent of the tile '" + alloc.name + "'");
    state.failed = state.failed || !extent;
    state.tile.shape.push_back(extent.value_or(1));
    if (elements <= bound::tile_elements_max) elements *= state.tile.shape.back();
  }
  if (elements > bound::tile_elements_max) {
    state.failed = true;
    mistake(stmt.pointer, About::size,
            {"the tile '" + alloc.name + "' has too many elements",
             "at most " + std::to_string(bound::tile_elements_max), shape_words(state.tile.shape)});
  }
  state.tile.layout = layout_of(stmt, alloc, state.tile);
  Named named;
  named.kind = Named::Kind::tile;
  named.id = static_cast<int>(context_.tiles.size());
  context_.tiles.push_back(std::move(state));
  context_.names.declare(alloc.name, named);
}

LayoutSpec StatementBinder::layout_of(const Stmt& stmt, const tile::Alloc& alloc, const bound::Tile& tile) {
  const auto given = bindings_.layouts.find(alloc.name);
  const bool replaced = given != bindings_.layouts.end();
  const LayoutSpec layout = replaced ? given->second : alloc.layout;
  const std::string pointer = replaced ? "/bindings/layouts/" + alloc.name : stmt.pointer + "/layout";
  if (layout.kind == LayoutSpec::Kind::automatic) return layout;
  const std::int64_t bytes = dtype_bytes(tile.dtype), row_bytes = tile.shape.back() * bytes;
  if (alloc.space != Space::shared) {
    mistake(pointer, About::structure, {"only a shared tile has a layout", "space shared", space_name(alloc.space)});
  } else if (layout.kind == LayoutSpec::Kind::pad && layout.pad_bytes % bytes != 0) {
    mistake(pointer, About::structure,
            {"padding is a whole number of elements", "a multiple of " + std::to_string(bytes) + " bytes",
             std::to_string(layout.pad_bytes)});
  } else if (layout.kind == LayoutSpec::Kind::swizzle &&
             (tile.shape.size() < 2 || layout.chunk_bytes * layout.rows_mod > row_bytes ||
              row_bytes % (layout.chunk_bytes * layout.rows_mod) != 0)) {
    mistake(pointer, About::size,
            {"the swizzle does not fit the tile",
             "rows that are a multiple of chunk_bytes * rows_mod = " +
                 std::to_string(layout.chunk_bytes * layout.rows_mod) + " bytes",
             std::to_string(row_bytes) + " bytes a row"});
  } else {
    return layout;
  }
  return {};
}

void StatementBinder::bind(const Stmt& stmt, const tile::Fill& fill, bound::Body& out) {
  int index = -1;
  TileState* state = tile(fill.tile, stmt.pointer + "/tile", index);
  if (!state) return;
  state->written = true;
  auto value = binder_.value_of_type(fill.value, state->tile.dtype);
  if (!value || state->failed) return;
  emit(stmt, out, bound::Fill{context_.use_tile(index), std::move(value)});
}

void StatementBinder::bind(const Stmt& stmt, const tile::Gemm& gemm, bound::Body& out) {
  int a = -1, b = -1, c = -1;
  TileState* as = tile(gemm.a, stmt.pointer + "/a", a);
  TileState* bs = tile(gemm.b, stmt.pointer + "/b", b);
  TileState* cs = tile(gemm.c, stmt.pointer + "/c", c);
  bound::Gemm bound;
  const auto flag = [&](const tile::Text& text, bool& value) {
    const auto known = text ? binder_.condition(text) : std::optional(false);
    value = known.value_or(false);
    return known.has_value();
  };
  const bool known_a = flag(gemm.transpose_a, bound.transpose_a);  // each, for its mistakes
  const bool known_b = flag(gemm.transpose_b, bound.transpose_b);
  const bool flags = flag(gemm.clear, bound.clear) && known_a && known_b;
  if (cs) cs->written = true;
  if (!as || !bs || !cs || !flags || as->failed || bs->failed || cs->failed) return;
  for (const TileState* state : {as, bs, cs})
    if (state->tile.shape.size() != 2)
      return mistake(stmt.pointer, About::structure,
                     {"gemm works on tiles of two axes", "[rows, columns]", tile_words(state->tile)});
  if (c == a || c == b)
    return mistake(stmt.pointer + "/c", About::structure,
                   {"gemm's result is one of its operands", "another tile", gemm.c});
  if (cs->tile.space != Space::fragment)
    return mistake(stmt.pointer + "/c", About::structure,
                   {"gemm accumulates in a fragment", "space fragment", space_name(cs->tile.space)});
  const std::int64_t m = as->tile.shape[bound.transpose_a ? 1 : 0], ka = as->tile.shape[bound.transpose_a ? 0 : 1];
  const std::int64_t n = bs->tile.shape[bound.transpose_b ? 0 : 1], kb = bs->tile.shape[bound.transpose_b ? 1 : 0];
  if (ka != kb || cs->tile.shape[0] != m || cs->tile.shape[1] != n) {
    mistake(stmt.pointer, About::size,
            {"the tiles of gemm do not fit", "a [m, k], b [k, n], c [m, n], a and b transposed where asked",
             tile_words(as->tile) + (bound.transpose_a ? " transposed" : "") + ", " + tile_words(bs->tile) +
                 (bound.transpose_b ? " transposed" : "") + ", " + tile_words(cs->tile)});
    return;
  }
  const auto accumulator = accumulator_of(as->tile.dtype);
  if (as->tile.dtype != bs->tile.dtype || accumulator != cs->tile.dtype) {
    mistake(stmt.pointer, About::structure,
            {"gemm does not take these types",
             "f32·f32, f16·f16, bf16·bf16 or 8-bit floats of one type into f32, i8·i8 into i32",
             std::string(dtype_name(as->tile.dtype)) + "·" + dtype_name(bs->tile.dtype) + " into " +
                 dtype_name(cs->tile.dtype)});
    return;
  }
  bound.a = context_.use_tile(a);
  bound.b = context_.use_tile(b);
  bound.c = context_.use_tile(c);
  bound.schedule = schedule_of(gemm.schedule);
  emit(stmt, out, bound);
}

void StatementBinder::bind(const Stmt& stmt, const tile::Reduce& reduce, bound::Body& out) {
  int from = -1, to = -1;
  TileState* source = tile(reduce.from, stmt.pointer + "/from", from);
  TileState* result = tile(reduce.to, stmt.pointer + "/to", to);
  if (result) result->written = true;
  if (!source || !result || source->failed || result->failed) return;
  const auto rank = static_cast<std::int64_t>(source->tile.shape.size());
  if (from == to)
    return mistake(stmt.pointer + "/to", About::structure,
                   {"a reduction into its own operand", "another tile", reduce.to});
  if (reduce.axis < 0 || reduce.axis >= rank)
    return mistake(
        stmt.pointer + "/axis", About::structure,
        {"'" + reduce.from + "' has no such axis", "0 to " + std::to_string(rank - 1), std::to_string(reduce.axis)});
  auto rest = source->tile.shape;
  rest.erase(rest.begin() + reduce.axis);
  if (rest.empty()) rest.push_back(1);
  if (rest != result->tile.shape)
    return mistake(stmt.pointer, About::size,
                   {"the result of the reduction does not fit", "'" + reduce.to + "' of shape " + shape_words(rest),
                    shape_words(result->tile.shape)});
  const bool truth = reduce.op == tile::ReduceOp::any || reduce.op == tile::ReduceOp::all;
  const bool place = reduce.op == tile::ReduceOp::argmax || reduce.op == tile::ReduceOp::argmin;
  const DType type = source->tile.dtype;
  if (place && reduce.accumulate)
    return mistake(stmt.pointer + "/accumulate", About::structure,
                   {"a place cannot be accumulated", "a reduction without accumulate", "true"});
  if (truth != (type == DType::boolean) || float8_format(type) || result->tile.dtype != (place ? DType::i32 : type))
    return mistake(
        stmt.pointer, About::structure,
        {"the reduction does not take these types",
         truth   ? "bool into bool"
         : place ? "numbers into i32"
                 : "numbers, both tiles of one type",
         std::string(dtype_name(type)) + " into " + dtype_name(result->tile.dtype)});
  bound::Reduce bound;
  bound.op = reduce.op;
  bound.axis = static_cast<int>(reduce.axis);
  bound.accumulate = reduce.accumulate;
  bound.from = context_.use_tile(from);
  bound.to = context_.use_tile(to);
  emit(stmt, out, bound);
}

void StatementBinder::bind(const Stmt& stmt, const tile::Scan& scan, bound::Body& out) {
  int from = -1, to = -1;
  TileState* source = tile(scan.from, stmt.pointer + "/from", from);
  TileState* result = tile(scan.to, stmt.pointer + "/to", to);
  if (result) result->written = true;
  if (!source || !result || source->failed || result->failed) return;
  const auto rank = static_cast<std::int64_t>(source->tile.shape.size());
  if (from == to)
    return mistake(stmt.pointer + "/to", About::structure, {"a scan into its own operand", "another tile", scan.to});
  if (scan.axis < 0 || scan.axis >= rank)
    return mistake(
        stmt.pointer + "/axis", About::structure,
        {"'" + scan.from + "' has no such axis", "0 to " + std::to_string(rank - 1), std::to_string(scan.axis)});
  if (source->tile.shape != result->tile.shape)
    return mistake(stmt.pointer, About::size,
                   {"the tiles of the scan differ in shape", tile_words(source->tile), tile_words(result->tile)});
  if (source->tile.dtype != result->tile.dtype || source->tile.dtype == DType::boolean ||
      float8_format(source->tile.dtype))
    return mistake(stmt.pointer, About::structure,
                   {"the scan does not take these types", "numbers, both tiles of one type",
                    tile_words(source->tile) + ", " + tile_words(result->tile)});
  bound::Scan bound;
  bound.op = scan.op;
  bound.axis = static_cast<int>(scan.axis);
  bound.reverse = scan.reverse;
  bound.from = context_.use_tile(from);
  bound.to = context_.use_tile(to);
  emit(stmt, out, bound);
}

void StatementBinder::dead_body(const tile::Body& statements) {
  bound::Body nowhere;
  const std::size_t variables = context_.launch.variables.size();
  context_.findings.enter_dead_code();
  body(statements, nowhere);
  context_.findings.leave_dead_code();
  context_.launch.variables.resize(variables);
}

Range StatementBinder::loop_range(const Value& from, const Value& to, std::int64_t step) const {
  Range range{from.range.lo, std::max(from.range.lo, to.range.hi > INT64_MIN ? to.range.hi - 1 : to.range.hi)};
  if (from.range.single() && range.hi > range.lo) {
    const auto span = static_cast<std::uint64_t>(range.hi) - static_cast<std::uint64_t>(range.lo);
    range.hi = static_cast<std::int64_t>(static_cast<std::uint64_t>(range.lo) +
                                         span / static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(step));
  }
  return range;
}

bool StatementBinder::unrolled_bounds(const Stmt& stmt, const Value& from, const Value& to) {
  if (from.constant() && to.constant()) return true;
  mistake(stmt.pointer, About::structure,
          {"an unrolled loop has bounds that are known when the kernel is compiled", "compile-time integers", "",
           "leave out \"kind\": \"unrolled\""});
  return false;
}

void StatementBinder::bind(const Stmt& stmt, const tile::For& loop, bound::Body& out) {
  Value from = loop.from ? binder_.index(loop.from) : integer_value(0);
  Value to = binder_.index(loop.to);
  const auto step =
      loop.step ? binder_.constant(loop.step, 1, step_max, "a loop's step") : std::optional<std::int64_t>(1);
  const auto stages = loop.stages ? binder_.constant(loop.stages, 1, stages_max, "the number of stages")
                                  : std::optional<std::int64_t>(0);
  const bool unrolled = loop.kind == tile::For::Kind::unrolled;
  const bool good = from && to && step && stages && (!unrolled || unrolled_bounds(stmt, from, to));
  const std::size_t mark = context_.names.mark();
  if (!good || from.range.lo >= to.range.hi) {  // mistakes, or no iteration ever: the body is still checked
    context_.names.declare(loop.var, good ? typed_value(from.expr, from.range) : integer_value(0));
    dead_body(loop.body);
    return context_.names.leave(mark);
  }
  if (to.range.hi > INT64_MAX - *step)  // the variable's last increment
    return mistake(stmt.pointer + "/to", About::size,
                   {"the loop's bound leaves no room for its last step within 64 bits", "a smaller bound",
                    std::to_string(to.range.hi), "bound a scalar or an element: min(max(n, 0), N)"});
  bound::For bound;
  bound.kind = loop.kind;
  bound.stages = static_cast<int>(*stages);
  bound.hint = loop.schedule.hint && (!loop.schedule.order.empty() || !loop.schedule.stage.empty());
  bound.var = context_.new_variable(loop.var, DType::index);
  bound::Expr variable;
  variable.kind = bound::Expr::Kind::variable;
  variable.integer = bound.var;
  const Range range = loop_range(from, to, *step);
  context_.names.declare(loop.var, typed_value(std::make_shared<const bound::Expr>(std::move(variable)), range));
  loop_body(stmt, loop, bound.stages, bound.body);
  context_.names.leave(mark);
  bound.from = std::move(from.expr);
  bound.to = std::move(to.expr);
  bound.step = bound::make_integer(*step);
  if (!bound.body.empty()) emit(stmt, out, std::move(bound));
}

void StatementBinder::bind(const Stmt& stmt, const tile::If& branch, bound::Body& out) {
  const Value condition = binder_.runtime_condition(branch.condition);
  if (!condition) {
    dead_body(branch.then);
    return dead_body(branch.otherwise);
  }
  if (condition.constant()) return body(condition.expr->integer != 0 ? branch.then : branch.otherwise, out);
  bound::If bound;
  bound.condition = condition.expr;
  body(branch.then, bound.then);
  body(branch.otherwise, bound.otherwise);
  if (!bound.then.empty() || !bound.otherwise.empty()) emit(stmt, out, std::move(bound));
}

void StatementBinder::bind(const Stmt& stmt, const tile::Let& let, bound::Body& out) {
  Value value = binder_.bind(let.value);
  if (!value || !value.is_typed() || value.constant()) return context_.names.declare(let.name, std::move(value));
  bound::Let bound;
  bound.var = context_.new_variable(let.name, value.type());
  bound.value = value.expr;
  bound::Expr variable;
  variable.kind = bound::Expr::Kind::variable;
  variable.type = value.type();
  variable.integer = bound.var;
  // Whatever it reads is loaded here, once: uses of the variable read nothing.
  context_.names.declare(let.name,
                         typed_value(std::make_shared<const bound::Expr>(std::move(variable)), value.range));
  emit(stmt, out, std::move(bound));
}

}  // namespace kiln::specialize
