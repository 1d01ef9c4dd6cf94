// Reductions of tiles whose extents cannot be spread over lanes: these are in LDS, are read into a padded array with
// the operation's neutral element around them, and reduced there.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/lower/amd/builder.hpp"
#include "engine/lower/amd/nodes.hpp"
#include "engine/lower/amd/shared_layouts.hpp"
#include "engine/lower/amd/thread_maps.hpp"

namespace kiln::lower::amd {
namespace {

using bound::Expr;
using bound::ExprPtr;

// Combined with it, every value stays what it is.
ExprPtr neutral(tile::ReduceOp op, DType type) {
  const bool real = is_float(type);
  const auto number = [&](std::int64_t integer, double value) {
    return make_node(real ? Expr::Kind::real : Expr::Kind::integer, type, {}, real ? 0 : integer, Op::add, real ? value : 0);
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const int bits = dtype_bits(type);
  const std::int64_t least = !is_signed(type) ? 0 : bits >= 64 ? std::numeric_limits<std::int64_t>::min()
      : -(std::int64_t(1) << (bits - 1));
  const std::int64_t most = type == DType::boolean ? 1
                            : is_signed(type)      ? (bits >= 64 ? std::numeric_limits<std::int64_t>::max()
                                                      : (std::int64_t(1) << (bits - 1)) - 1)
                            : bits >= 64           ? -1   // all bits
                                                   : (std::int64_t(1) << bits) - 1;
  switch (op) {
    case tile::ReduceOp::prod: case tile::ReduceOp::all: return number(1, 1);
    case tile::ReduceOp::max: return number(least, -infinity);
    case tile::ReduceOp::min: return number(most, infinity);
    default: return number(0, 0);
  }
}

ExprPtr combined(tile::ReduceOp op, DType type, ExprPtr a, ExprPtr b) {
  const auto binary = [&](Op which) { return make_node(Expr::Kind::binary, type, {a, b}, 0, which); };
  const auto call = [&](Op which) { return make_node(Expr::Kind::call, type, {a, b}, 0, which); };
  switch (op) {
    case tile::ReduceOp::sum: return binary(Op::add);
    case tile::ReduceOp::prod: return binary(Op::mul);
    case tile::ReduceOp::min: return call(Op::min);
    case tile::ReduceOp::max: case tile::ReduceOp::absmax: return call(Op::max);
    case tile::ReduceOp::any: return type == DType::boolean ? binary(Op::logical_or) : binary(Op::bit_or);
    case tile::ReduceOp::all: return type == DType::boolean ? binary(Op::logical_and) : binary(Op::bit_and);
    case tile::ReduceOp::argmax: case tile::ReduceOp::argmin: break;   // simple_statements has taken them apart
  }
  return a;
}

}  // namespace

Status Builder::translate_odd_reduce(const bound::Reduce& reduce, kernel::Body& to) {
  const bound::Tile& from = subject.tile(reduce.from);
  std::vector<std::int64_t> shape = from.shape;
  int along = reduce.axis;
  const bool row = shape.size() == 1;  // as one row, so that the result has an axis
  if (row) { shape.insert(shape.begin(), 1); along = 1; }
  MapRequest request;
  for (const auto extent : shape) request.shape.push_back(std::int64_t(1) << log2_of(extent));
  request.lane_bits = subject.lane_bits();
  request.wave_bits = plan.wave_bits;
  request.fast = static_cast<int>(shape.size()) - 1;
  // The padded array: the tile's elements, neutral ones around them.
  const int padded = add_regs(name_of(reduce.from) + "_padded", from.dtype, thread_map(request));
  kernel::Map fill;
  std::vector<ExprPtr> at;
  ExprPtr inside;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    fill.index.push_back(add_variable("i"));
    at.push_back(make_node(Expr::Kind::variable, DType::index, {}, fill.index.back()));
    if (request.shape[axis] == shape[axis]) continue;
    const auto one = make_node(Expr::Kind::binary, DType::boolean, {at.back(), bound::make_integer(shape[axis])}, 0, Op::lt);
    inside = inside ? make_node(Expr::Kind::binary, DType::boolean, {inside, one}, 0, Op::logical_and) : one;
  }
  fill.extent = request.shape;
  fill.iteration = storage(padded).reg_layout;
  std::vector<ExprPtr> in_tile(at.begin() + (row ? 1 : 0), at.end());
  const auto element = rewrite(make_node(Expr::Kind::tile, from.dtype, in_tile, reduce.from));
  bound::MapItem item;
  item.target = padded;
  item.indices = at;
  item.value = inside ? make_node(Expr::Kind::select, from.dtype, {inside, element, neutral(reduce.op, from.dtype)})
      : element;
  fill.body.push_back(std::move(item));
  fill.checked = {true, false};
  emit(to, std::move(fill), "padded to powers of two");
  const DType dtype = subject.tile(reduce.to).dtype;
  const int part = add_regs(name_of(reduce.to) + "_part", dtype, layout::slice(storage(padded).reg_layout, along));
  emit_reduce({reduce.op, padded, part, along, false, -1}, to);
  return finish_odd_reduce(reduce, part, to);
}

// From the padded result to the tile, combined with what that holds when accumulating.
Status Builder::finish_odd_reduce(const bound::Reduce& reduce, int part, kernel::Body& to) {
  const DType dtype = subject.tile(reduce.to).dtype;
  layout::LdsLayout scratch;
  scratch.shape = storage(part).shape;
  scratch.element_bytes = dtype_bytes(dtype);
  scratch.contiguous = static_cast<int>(scratch.shape.size()) - 1;
  const int moved = add_lds("scratch", dtype, scratch);
  store_lds(moved, part, to);
  // Every lane that holds an element of the tile takes its result from there.
  const bool shared = subject.in_lds(reduce.to);
  const int home = storage_of(reduce.to);
  bound::Map over;
  over.extent = subject.tile(reduce.to).shape;
  kernel::Map map;
  map.iteration = shared ? default_iteration(subject, plan, over) : storage(home).reg_layout;
  map.extent = map.iteration.shape();
  std::vector<ExprPtr> at;
  for (std::size_t axis = 0; axis < map.extent.size(); ++axis) {
    map.index.push_back(add_variable("i"));
    at.push_back(make_node(Expr::Kind::variable, DType::index, {}, map.index.back()));
  }
  const auto value = make_node(Expr::Kind::tile, dtype, at, moved);
  bound::MapItem item;
  item.target = home;
  item.indices = storage_indices(reduce.to, at);
  item.value = reduce.accumulate ? combined(reduce.op, dtype, make_node(Expr::Kind::tile, dtype, item.indices, home),
                                            value) : value;
  map.body.push_back(std::move(item));
  map.checked = {true, true, true};
  emit(to, std::move(map));
  return ok();
}

}  // namespace kiln::lower::amd
