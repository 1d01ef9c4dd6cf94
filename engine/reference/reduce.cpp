// The `reduce` statement.
#include <algorithm>
#include <cmath>

#include "engine/reference/machine.hpp"

namespace kiln::reference {
namespace {

using bound::Value;
using tile::ReduceOp;

struct Total {
  Value value = bound::integer_value(0);
  double scale = 0;
};

// Floats accumulate in f64; the caller rounds once.
void add_float(ReduceOp op, Total& total, double x, double scale) {
  static const auto maximum = bound::function(Op::max, DType::f64), minimum = bound::function(Op::min, DType::f64);
  const Value v = bound::real_value(op == ReduceOp::absmax ? std::fabs(x) : x);
  switch (op) {
    case ReduceOp::sum:
      total.value.real += x;
      total.scale = finite_scale(total.scale + scale + std::fabs(x));
      break;
    case ReduceOp::prod:
      total.scale = finite_scale(total.scale * std::fabs(x) + scale * std::fabs(total.value.real));
      total.value.real *= x;
      break;
    case ReduceOp::max: case ReduceOp::absmax:
      total.value = maximum(total.value, v, v);
      total.scale = std::max(total.scale, scale);
      break;
    case ReduceOp::min:
      total.value = minimum(total.value, v, v);
      total.scale = std::max(total.scale, scale);
      break;
    default: break;
  }
}

// Integers and booleans are exact in the result's type. `x` is of that type.
void add_integer(ReduceOp op, DType type, Total& total, Value x) {
  const auto combine = [&](Op operation) { total.value = bound::function(operation, type)(total.value, x, x); };
  switch (op) {
    case ReduceOp::sum: return combine(Op::add);
    case ReduceOp::prod: return combine(Op::mul);
    case ReduceOp::max: case ReduceOp::absmax: return combine(Op::max);
    case ReduceOp::min: return combine(Op::min);
    case ReduceOp::any: return combine(Op::logical_or);
    case ReduceOp::all: return combine(Op::logical_and);
    case ReduceOp::argmax: case ReduceOp::argmin: return;  // place_row's
  }
}

}  // namespace

Status Machine::check_written(int tile, std::int64_t offset) {
  const auto& state = tiles_[static_cast<std::size_t>(tile)];
  if (state.written[static_cast<std::size_t>(offset)]) return {};
  return uninitialised(place_, tile_name(place_, tile), tile_indices(*state.tile, offset));
}

Status Machine::check_all_written(int tile) {
  const auto& written = tiles_[static_cast<std::size_t>(tile)].written;
  const auto hole = std::find(written.begin(), written.end(), 0);
  return hole == written.end() ? Status() : check_written(tile, hole - written.begin());
}

Status Machine::reduce_row(const bound::Reduce& reduce, std::int64_t first, std::int64_t place, std::int64_t stride) {
  auto& from = tiles_[static_cast<std::size_t>(reduce.from)];
  auto& to = tiles_[static_cast<std::size_t>(reduce.to)];
  const DType source = from.tile->dtype, target = to.tile->dtype;
  const bool floats = is_float(source);
  const auto extent = from.tile->shape[static_cast<std::size_t>(reduce.axis)];
  const auto absolute = reduce.op == ReduceOp::absmax && !floats ? bound::function(Op::abs, source) : nullptr;
  const auto goal = static_cast<std::size_t>(place);
  Total total;
  bool started = reduce.accumulate;
  if (started) {
    KILN_CHECK(check_written(reduce.to, place));
    total = {to.values[goal], with_scale_ ? to.scale[goal] : 0.0};
  }
  for (std::int64_t i = 0; i < extent; ++i) {
    const auto offset = first + i * stride;
    KILN_CHECK(check_written(reduce.from, offset));
    Value x = from.values[static_cast<std::size_t>(offset)];
    const double scale = with_scale_ ? from.scale[static_cast<std::size_t>(offset)] : 0.0;
    if (absolute) x = absolute(x, x, x);
    if (!floats) x = bound::convert(x, source, target);
    if (!started) {
      total = {floats && reduce.op == ReduceOp::absmax ? bound::real_value(std::fabs(x.real)) : x, scale};
      if (floats && reduce.op == ReduceOp::sum) total.scale = finite_scale(scale + std::fabs(x.real));
      started = true;
    } else if (floats) {
      add_float(reduce.op, total, x.real, scale);
    } else {
      add_integer(reduce.op, target, total, x);
    }
  }
  to.values[goal] = floats ? bound::real_value(bound::round_real(target, total.value.real)) : total.value;
  to.written[goal] = 1;
  if (with_scale_) to.scale[goal] = floats ? total.scale : 0.0;
  return {};
}

// The first of the largest (smallest) elements; a NaN is larger and smaller than everything, the first one wins.
Status Machine::place_row(const bound::Reduce& reduce, std::int64_t first, std::int64_t place, std::int64_t stride) {
  auto& from = tiles_[static_cast<std::size_t>(reduce.from)];
  auto& to = tiles_[static_cast<std::size_t>(reduce.to)];
  const DType type = from.tile->dtype;
  const auto beats = bound::function(reduce.op == ReduceOp::argmax ? Op::gt : Op::lt, type);
  const auto extent = from.tile->shape[static_cast<std::size_t>(reduce.axis)];
  Value best = bound::integer_value(0);
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < extent; ++i) {
    const auto offset = first + i * stride;
    KILN_CHECK(check_written(reduce.from, offset));
    const Value x = from.values[static_cast<std::size_t>(offset)];
    const bool nan = is_float(type) && std::isnan(x.real), best_nan = is_float(type) && std::isnan(best.real);
    if (i > 0 && (best_nan || !(nan || beats(x, best, best).integer != 0))) continue;
    best = x;
    found = i;
  }
  const auto goal = static_cast<std::size_t>(place);
  to.values[goal] = bound::integer_value(found);
  to.written[goal] = 1;
  if (with_scale_) to.scale[goal] = 0;
  return {};
}

Status Machine::scan_row(const bound::Scan& scan, std::int64_t first, std::int64_t stride) {
  auto& from = tiles_[static_cast<std::size_t>(scan.from)];
  auto& to = tiles_[static_cast<std::size_t>(scan.to)];
  const DType type = from.tile->dtype;
  const bool floats = is_float(type);
  const auto extent = from.tile->shape[static_cast<std::size_t>(scan.axis)];
  Total total;
  for (std::int64_t i = 0; i < extent; ++i) {
    const auto offset = first + (scan.reverse ? extent - 1 - i : i) * stride;
    KILN_CHECK(check_written(scan.from, offset));
    const auto at = static_cast<std::size_t>(offset);
    const Value x = from.values[at];
    const double scale = with_scale_ ? from.scale[at] : 0.0;
    if (i == 0) {
      total = {x, scale};
      if (floats && scan.op == ReduceOp::sum) total.scale = finite_scale(scale + std::fabs(x.real));
    } else if (floats) {
      add_float(scan.op, total, x.real, scale);
    } else {
      add_integer(scan.op, type, total, x);
    }
    to.values[at] = floats ? bound::real_value(bound::round_real(type, total.value.real)) : total.value;
    to.written[at] = 1;
    if (with_scale_) to.scale[at] = floats ? total.scale : 0.0;
  }
  return {};
}

namespace {

// Calls `row(first, place, stride)` for every row of a tile along `axis`: its first element, its own place in a tile
// without the axis, the distance between neighbours in it.
template <class Row>
Status each_row(const std::vector<std::int64_t>& shape, std::size_t axis, Budget& budget, const Row& row) {
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i < axis) outer *= shape[i];
    if (i > axis) inner *= shape[i];
  }
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      KILN_CHECK(budget.spend(shape[axis]));
      KILN_CHECK(row(o * shape[axis] * inner + i, o * inner + i, inner));
    }
  return {};
}

}  // namespace

Status Machine::run_node(const bound::Scan& scan) {
  const auto& shape = tiles_[static_cast<std::size_t>(scan.from)].tile->shape;
  return each_row(shape, static_cast<std::size_t>(scan.axis), budget_,
                  [&](std::int64_t first, std::int64_t, std::int64_t stride) { return scan_row(scan, first, stride); });
}

Status Machine::run_node(const bound::Reduce& reduce) {
  const auto& shape = tiles_[static_cast<std::size_t>(reduce.from)].tile->shape;
  const bool finds = reduce.op == ReduceOp::argmax || reduce.op == ReduceOp::argmin;
  return each_row(shape, static_cast<std::size_t>(reduce.axis), budget_,
                  [&](std::int64_t first, std::int64_t place, std::int64_t stride) {
                    return finds ? place_row(reduce, first, place, stride) : reduce_row(reduce, first, place, stride);
                  });
}

}  // namespace kiln::reference
