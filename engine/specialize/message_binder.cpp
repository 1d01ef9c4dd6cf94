// Binding of `print` and `assert`: as items of maps that write records (engine/ir/bound/records.hpp), and behind them
// the end of a block in which an assertion has failed. Every target and the interpreter run what stands here.
#include <algorithm>

#include "engine/specialize/map_state.hpp"
#include "engine/specialize/statement_binder.hpp"

namespace kiln::specialize {
namespace {

using bound::Expr;
using bound::ExprPtr;
using bound::make_binary;
using bound::make_integer;

ExprPtr word(std::int64_t value) { return make_integer(value, DType::i64); }

ExprPtr node(Expr::Kind kind, Op op, DType type, std::vector<ExprPtr> args) {
  Expr made;
  made.kind = kind;
  made.op = op;
  made.type = type;
  made.args = std::move(args);
  return bound::fold(std::move(made));
}
ExprPtr cast(ExprPtr value, DType type) {
  return value->type == type ? value : node(Expr::Kind::cast, Op::add, type, {std::move(value)});
}
ExprPtr negated(ExprPtr value) {
  return node(Expr::Kind::unary, Op::logical_not, DType::boolean, {std::move(value)});
}
ExprPtr both(const ExprPtr& a, const ExprPtr& b) {
  if (!a || !b) return a ? a : b;
  return make_binary(Op::logical_and, a, b);
}

// As a word of a record.
ExprPtr word_of(ExprPtr value) {
  if (!is_float(value->type)) return cast(std::move(value), DType::i64);
  const int bits = dtype_bits(value->type);
  const DType same_width = bits == 64   ? DType::i64
                           : bits == 32 ? DType::i32
                           : bits == 16 ? DType::i16
                                        : DType::i8;
  return cast(node(Expr::Kind::call, Op::bitcast, same_width, {std::move(value)}), DType::i64);
}

bound::MapItem set_of(int tensor, ExprPtr index, ExprPtr value, ExprPtr where) {
  bound::MapItem item;
  item.tensor = true;
  item.target = tensor;
  item.indices = {std::move(index)};
  item.value = std::move(value);
  item.where = std::move(where);
  return item;
}

bound::Tensor zeroed_workspace(std::string name, DType dtype, std::int64_t elements) {
  bound::Tensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = dtype;
  tensor.shape = {bound::Extent(elements)};
  tensor.strides = {bound::Extent(1)};
  tensor.access = Access::readwrite;
  tensor.workspace = tensor.zeroed = true;
  return tensor;
}

}  // namespace

ExprPtr StatementBinder::block_id(int axis) const {
  if (context_.grid[axis].single()) return make_integer(context_.grid[axis].lo);
  Expr block;
  block.kind = Expr::Kind::block;
  block.integer = axis;
  return std::make_shared<const Expr>(std::move(block));
}

ExprPtr StatementBinder::add_let(const std::string& name, ExprPtr value, MapState& state) {
  bound::MapItem let;
  let.let = context_.new_variable(name, value->type);
  let.value = std::move(value);
  auto variable = variable_of(let.let, let.value->type);
  state.bound.body.push_back(std::move(let));
  return variable;
}

// The site of a message, with the workspace for the first one's records.
std::int64_t StatementBinder::add_site(const tile::MapItem& item, const std::vector<Value>& values,
                                       const MapState& state) {
  auto& messages = context_.messages;
  if (messages.records < 0) {
    messages.records = static_cast<int>(context_.tensors.size());
    context_.tensors.push_back(zeroed_workspace("records", DType::i64, bound::records_words));
  }
  bound::RecordSite site;
  site.pointer = item.pointer;
  site.text = item.message->text;
  site.asserts = item.message->asserts;
  if (state.in_program) site.extent = state.bound.extent;
  for (const auto& value : values) site.values.push_back(value.type());
  messages.sites.push_back(std::move(site));
  return static_cast<std::int64_t>(messages.sites.size()) - 1;
}

// Takes a slot where `happens` (null: in every iteration), and writes it where there was one.
void StatementBinder::write_record(bool asserts, std::int64_t site, const ExprPtr& happens,
                                   const std::vector<Value>& values, MapState& state) {
  const int records = context_.messages.records;
  const std::int64_t slots = asserts ? bound::failures_max : bound::prints_max;
  bound::MapItem take = set_of(records, make_integer(asserts ? 1 : 0), word(1), happens);
  take.atomic = tile::AtomicOp::add;
  take.old = context_.new_variable("slot", DType::i64);
  const ExprPtr slot = variable_of(take.old, DType::i64);
  state.bound.body.push_back(std::move(take));
  const ExprPtr fits =
      add_let("fits", both(happens, make_binary(Op::lt, slot, word(slots))), state);
  // Within the slots whatever the counter says: nothing has to be checked.
  const ExprPtr number = make_binary(
      Op::min, make_binary(Op::max, cast(slot, DType::index), make_integer(0)), make_integer(slots - 1));
  const std::int64_t first = bound::header_words + (asserts ? bound::prints_max * bound::slot_words : 0);
  const ExprPtr at = add_let(
      "at", make_binary(Op::add, make_binary(Op::mul, number, make_integer(bound::slot_words)), make_integer(first)),
      state);
  const auto pair = [](const ExprPtr& low, const ExprPtr& high) {
    return make_binary(Op::add, cast(low, DType::i64),
                       make_binary(Op::mul, cast(high, DType::i64), word(std::int64_t(1) << 32)));
  };
  ExprPtr iteration = make_integer(0);
  for (std::size_t axis = 0; axis < state.bound.index.size(); ++axis)
    iteration = make_binary(Op::add, make_binary(Op::mul, iteration, make_integer(state.bound.extent[axis])),
                            variable_of(state.bound.index[axis], DType::index));
  std::vector<ExprPtr> words{pair(block_id(0), block_id(1)), pair(block_id(2), make_integer(site)),
                             cast(iteration, DType::i64)};
  for (const auto& value : values) words.push_back(word_of(value.expr));
  for (std::size_t i = 0; i < words.size(); ++i)
    state.bound.body.push_back(
        set_of(records, make_binary(Op::add, at, make_integer(static_cast<std::int64_t>(i))), words[i], fits));
}

// What later launches look at: a failure of this one.
void StatementBinder::tell_later_launches(const ExprPtr& failed, MapState& state) {
  auto& messages = context_.messages;
  if (messages.launch + 1 == messages.launches) return;
  if (messages.failed.empty() || messages.failed.back().launch != messages.launch) {
    messages.failed.push_back({messages.launch, static_cast<int>(context_.tensors.size())});
    context_.tensors.push_back(zeroed_workspace("failed_" + std::to_string(messages.launch), DType::i32, 1));
  }
  bound::MapItem item =
      set_of(messages.failed.back().tensor, make_integer(0), make_integer(1, DType::i32), failed);
  item.atomic = tile::AtomicOp::max;
  state.bound.body.push_back(std::move(item));
}

bool StatementBinder::message_values(const tile::Message& message, std::vector<Value>& values) {
  bool good = true;
  for (const auto& text : message.values) {
    Value value = binder_.bind(text);
    good = good && value;
    if (value && !value.is_typed()) {
      mistake(text.pointer, About::structure,
              {"a message shows numbers and booleans", "an expression with a value", type_words(value)});
      good = false;
    }
    values.push_back(std::move(value));
  }
  return good;
}

// `where`: null for everywhere.
bool StatementBinder::message_where(const tile::MapItem& item, const ExprPtr& where, MapState& state) {
  const tile::Message& message = *item.message;
  Value condition;
  if (message.asserts) condition = binder_.runtime_condition(message.condition);
  std::vector<Value> values;
  if (!message_values(message, values) || (message.asserts && !condition)) return false;
  if (context_.findings.in_dead_code()) return true;
  if (!message.asserts) {
    const ExprPtr happens = where ? add_let("prints", where, state) : nullptr;
    write_record(false, add_site(item, values, state), happens, values, state);
    return true;
  }
  if (condition.constant() && condition.expr->integer != 0) return true;
  const ExprPtr fails = both(where, negated(condition.expr));
  const ExprPtr failed = add_let("fails", fails, state);
  write_record(true, add_site(item, values, state), failed, values, state);
  tell_later_launches(failed, state);
  if (!state.in_program && !condition.reads_elements) state.leave = fails;
  else state.failed = state.failed ? make_binary(Op::logical_or, state.failed, failed) : failed;
  return true;
}

bool StatementBinder::map_message(const tile::MapItem& item, MapState& state) {
  if (!item.where) return message_where(item, nullptr, state);
  const Value where = binder_.runtime_condition(item.where);
  if (where && where.constant()) return where.expr->integer == 0 || message_where(item, nullptr, state);
  binder_.enter_condition();
  const bool good = message_where(item, where ? where.expr : make_integer(0, DType::boolean), state);
  binder_.leave_condition();
  return good && where;
}

// Which iterations have failed, in a tile of the map's shape. One iteration's answer goes to where all lanes find it.
void StatementBinder::keep_failures(MapState& state) {
  if (!state.failed) return;
  bound::Tile tile;
  tile.name = "failed";
  tile.dtype = DType::boolean;
  tile.shape = state.bound.extent;
  if (tile.elements() == 1) tile.space = Space::shared;
  bound::MapItem item;
  item.target = static_cast<int>(context_.launch.tiles.size());
  context_.launch.tiles.push_back(std::move(tile));
  for (const int id : state.bound.index) item.indices.push_back(variable_of(id, DType::index));
  item.value = state.failed;
  state.failed_tile = item.target;
  state.bound.body.push_back(std::move(item));
}

// Behind the map: the block ends where any iteration has failed, as a whole. No wave is left waiting for another.
void StatementBinder::leave_after(const MapState& state, bound::Body& out) {
  if (state.leave) return emit(state.stmt, out, bound::Leave{state.leave});
  if (state.failed_tile < 0) return;
  int from = state.failed_tile;
  auto shape = context_.launch.tiles[static_cast<std::size_t>(from)].shape;
  const bool one = context_.launch.tiles[static_cast<std::size_t>(from)].elements() == 1;
  for (bool single = one; !single;) {
    single = shape.size() == 1;
    bound::Reduce reduce;
    reduce.op = tile::ReduceOp::any;
    reduce.from = from;
    reduce.axis = static_cast<int>(shape.size()) - 1;
    shape.pop_back();
    if (single) shape.push_back(1);
    bound::Tile tile;
    tile.name = "any_failed";
    tile.dtype = DType::boolean;
    tile.shape = shape;
    reduce.to = from = static_cast<int>(context_.launch.tiles.size());
    context_.launch.tiles.push_back(std::move(tile));
    emit(state.stmt, out, reduce);
  }
  Expr any;
  any.kind = Expr::Kind::tile;
  any.type = DType::boolean;
  any.integer = from;
  any.args.assign(shape.size(), make_integer(0));
  emit(state.stmt, out, bound::Leave{std::make_shared<const Expr>(std::move(any))});
}

// A statement is a map of one point.
void StatementBinder::bind(const Stmt& stmt, const tile::Message& message, bound::Body& out) {
  const tile::Map none;
  MapState state{stmt, none, {}, {}};
  state.in_program = false;
  const std::size_t variables = context_.launch.variables.size();
  state.bound.index = {context_.new_variable("", DType::index)};
  state.bound.extent = {1};
  tile::MapItem item;
  item.pointer = stmt.pointer;
  item.message = message;
  if (!map_message(item, state) || state.bound.body.empty()) return context_.launch.variables.resize(variables);
  keep_failures(state);
  emit(stmt, out, state.bound);
  leave_after(state, out);
}

// In front of a launch: nothing of it happens after an assertion of an earlier one has failed.
void StatementBinder::leave_after_earlier_launches(const tile::Launch& launch, bound::Body& out) {
  for (const auto& failed : context_.messages.failed) {
    Expr element;
    element.kind = Expr::Kind::tensor;
    element.type = DType::i32;
    element.integer = failed.tensor;
    element.args = {make_integer(0)};
    bound::Let let{context_.new_variable("earlier", DType::i32), std::make_shared<const Expr>(std::move(element))};
    const ExprPtr earlier = variable_of(let.var, DType::i32);
    out.push_back({launch.pointer, std::move(let)});
    out.push_back({launch.pointer, bound::Leave{make_binary(Op::ne, earlier, make_integer(0, DType::i32))}});
  }
}

}  // namespace kiln::specialize
