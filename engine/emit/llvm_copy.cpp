// Copies between tensors and tiles: rows as vectors, the part outside the tensor filled; where the tile is contiguous
// along another axis than the tensor, square blocks transposed in registers.
#include <algorithm>
#include <numeric>

#include "engine/emit/llvm_context.hpp"
#include "engine/emit/llvm_elements.hpp"
#include "engine/emit/llvm_expression.hpp"

namespace kiln::emit::llvm_text {
namespace {

// One axis of the tile's rectangle, with the part of it that lies inside the tensor: lo <= i < hi.
struct Axis {
  std::int64_t extent = 1, tile_stride = 0;                     // strides in bytes
  Value tensor_stride = Builder::constant(0);
  bool whole = true;                                            // proved: lo = 0, hi = extent
  Value lo, hi;
};

class Copy {
 public:
  Copy(Context& ctx, const kernel::Direct& direct)
      : ctx_(ctx),
        ir_(ctx.ir),
        direct_(direct),
        tile_(storage_memory(ctx, direct.lds.storage)),
        tensor_(tensor_memory(ctx, direct.global.tensor)) {}
  void emit();

 private:
  void find_axes();
  void find_axis(int tensor_axis, const Value& start, Value& all_inside);
  Value fill_vector(int lanes);
  void rows(std::size_t level, const Value& tile, const Value& tensor);
  void fill(std::size_t level, const Value& tile);
  void fill_run(const Axis& axis, const Value& tile, const Value& begin, const Value& end);
  void copy_run(const Axis& axis, const Value& tile, const Value& tensor);
  void prefetch(const Value& where);
  void copy_one(const Value& tile, const Value& tensor, int lanes, const Value& mask);
  void elements(const Axis& axis, const Value& tile, const Value& tensor);
  void transposed(const Value& tile, const Value& tensor);
  void block(const Value& tile, const Value& tensor, const Value& row_count, const Value& column_count);
  std::vector<Value> transpose(std::vector<Value> rows);
  Value read_tensor(const Value& at, int lanes, const Value& mask);
  Value in_tile_memory(const Value& raw_of_tensor);
  Value lanes_below(const Value& count, int lanes);
  Value at(const Value& base, const Value& index, std::int64_t stride) {
    return at(base, index, Builder::constant(stride));
  }
  Value at(const Value& base, const Value& index, const Value& stride) {
    return ir_.offset(base, ir_.mul(index, stride));
  }

  Context& ctx_;
  Builder& ir_;
  const kernel::Direct& direct_;
  Memory tile_, tensor_;
  std::vector<Axis> axes_;  // one a storage axis
  std::vector<int> order_;  // loops, outermost first; the run last
  enum class Form : std::uint8_t { runs, transposed, elements } form_ = Form::runs;
  int across_ = -1;  // transposed: the storage axis along which the tensor is contiguous
  int run_lanes_ = 8;
  Value fill_value_;  // scalar, in the tile's memory type
  Value tile_base_, tensor_base_;
};

Value Copy::lanes_below(const Value& count, int lanes) {
  const Value limit = ir_.min_signed(count, Builder::constant(lanes));
  if (limit.known) return Builder::lane_mask(lanes, static_cast<int>(*limit.known));
  const Value small = ir_.cast("trunc", limit, integer(32));
  return ir_.compare("icmp slt", Builder::lane_numbers(integer(32, lanes)), ir_.splat(small, lanes));
}

// The part of tensor axis `tensor_axis` that the rectangle may touch, as the range of the tile axis along it.
void Copy::find_axis(int tensor_axis, const Value& start, Value& all_inside) {
  const auto& global = direct_.global;
  const int tile_axis = global.tile_axis[tensor_axis];
  if (tile_axis >= 0) axes_[tile_axis].tensor_stride = tensor_.stride_bytes[tensor_axis];
  if (!global.checked[tensor_axis]) return;
  Value limit = tensor_.extents[tensor_axis];
  if (const auto& given = global.limit[tensor_axis]) {
    limit = ir_.min_signed(limit, Evaluator(ctx_).index_value(*given));
  }
  if (tile_axis < 0) {
    const Value inside =
        ir_.op("and", ir_.compare("icmp sge", start, Builder::constant(0)), ir_.compare("icmp slt", start, limit));
    all_inside = all_inside.empty() ? inside : ir_.op("and", all_inside, inside);
    return;
  }
  Axis& axis = axes_[tile_axis];
  const auto saturating = [&](const Value& a, const Value& b) {
    return ir_.call("llvm.ssub.sat.i64", integer(64), {a, b});
  };
  axis.whole = false;
  const Value zero = Builder::constant(0), whole = Builder::constant(axis.extent);
  axis.lo =
      start.known && *start.known >= 0 ? zero : ir_.min_signed(whole, ir_.max_signed(zero, saturating(zero, start)));
  axis.hi = ir_.max_signed(axis.lo, ir_.min_signed(whole, saturating(limit, start)));
}

void Copy::find_axes() {
  const auto& shape = direct_.shape;
  axes_.resize(tile_.rank());
  for (int i = 0; i < tile_.rank(); ++i) {
    axes_[i].extent = shape[i];
    axes_[i].tile_stride = tile_.stride(i);
    axes_[i].lo = Builder::constant(0);
    axes_[i].hi = Builder::constant(shape[i]);
  }
  Value all_inside, tensor_offset = Builder::constant(0), tile_offset = Builder::constant(0);
  for (int t = 0; t < tensor_.rank(); ++t) {
    const Value start = Evaluator(ctx_).index_value(*direct_.global.start[t]);
    tensor_offset = ir_.add(tensor_offset, ir_.mul(start, tensor_.stride_bytes[t]));
    find_axis(t, start, all_inside);
  }
  if (!all_inside.empty()) {
    for (Axis& axis : axes_) {
      axis.whole = false;
      axis.lo = ir_.select(all_inside, axis.lo, Builder::constant(0));
      axis.hi = ir_.select(all_inside, axis.hi, Builder::constant(0));
    }
  }
  for (std::size_t i = 0; i < direct_.lds.start.size(); ++i) {
    tile_offset = ir_.add(tile_offset, Builder::constant(direct_.lds.start[i] * axes_[i].tile_stride));
  }
  tile_base_ = ir_.offset(tile_.base, tile_offset);
  tensor_base_ = ir_.offset(tensor_.base, tensor_offset);
}

void Copy::emit() {
  find_axes();
  const int contiguous = ctx_.storage(direct_.lds.storage).lds_layout.contiguous;
  const int bytes = dtype_bytes(tensor_.dtype);
  const auto runs_along_tensor = [&](int axis) {
    return axes_[axis].tensor_stride.known == bytes && axes_[axis].extent > 1;
  };
  form_ = Form::elements;
  if (runs_along_tensor(contiguous)) form_ = Form::runs;
  for (int axis = 0; axis < tile_.rank() && form_ == Form::elements && direct_.to_lds; ++axis) {
    if (!runs_along_tensor(axis) || axes_[contiguous].extent == 1) continue;
    form_ = Form::transposed;
    across_ = axis;
  }
  for (int axis = 0; axis < tile_.rank(); ++axis) {
    if (axis != contiguous && axis != across_) order_.push_back(axis);
  }
  if (across_ >= 0) order_.push_back(across_);
  order_.push_back(contiguous);
  const bool converts = tile_.dtype != tensor_.dtype;
  const int widest = std::max({dtype_bytes(tile_.dtype), bytes, converts || form_ != Form::runs ? 4 : 1});
  run_lanes_ = ctx_.vector_bytes / widest;
  if (direct_.to_lds) {
    const Value raw =
        direct_.fill ? Evaluator(ctx_).uniform_value(*direct_.fill) : Builder::zero(value_type(tensor_.dtype));
    fill_value_ = to_memory(ir_, convert(ir_, raw, tensor_.dtype, tile_.dtype), tile_.dtype);
  }
  rows(0, tile_base_, tensor_base_);
}

void Copy::rows(std::size_t level, const Value& tile, const Value& tensor) {
  const Axis& axis = axes_[order_[level]];
  if (form_ == Form::transposed && level + 2 == order_.size()) return transposed(tile, tensor);
  if (level + 1 == order_.size())
    return form_ == Form::runs ? copy_run(axis, tile, tensor) : elements(axis, tile, tensor);
  if (direct_.to_lds && !axis.whole) {
    const auto fill_rows = [&](const Value& begin, const Value& end) {
      ir_.loop(begin, end, 1, [&](const Value& i) { fill(level + 1, at(tile, i, axis.tile_stride)); });
    };
    fill_rows(Builder::constant(0), axis.lo);
    fill_rows(axis.hi, Builder::constant(axis.extent));
  }
  ir_.loop(axis.lo, axis.hi, 1,
           [&](const Value& i) { rows(level + 1, at(tile, i, axis.tile_stride), at(tensor, i, axis.tensor_stride)); });
}

void Copy::fill(std::size_t level, const Value& tile) {
  const Axis& axis = axes_[order_[level]];
  const Value zero = Builder::constant(0), end = Builder::constant(axis.extent);
  if (level + 1 == order_.size()) return fill_run(axis, tile, zero, end);
  ir_.loop(zero, end, 1, [&](const Value& i) { fill(level + 1, at(tile, i, axis.tile_stride)); });
}

void Copy::fill_run(const Axis& axis, const Value& tile, const Value& begin, const Value& end) {
  const int lanes = ctx_.vector_bytes / dtype_bytes(tile_.dtype);
  const Value wide = ir_.splat(fill_value_, lanes);
  ir_.loop(begin, end, lanes, [&](const Value& i) {
    ir_.store_masked(wide, at(tile, i, axis.tile_stride), tile_.align, lanes_below(ir_.sub(end, i), lanes));
  });
}

Value Copy::read_tensor(const Value& at, int lanes, const Value& mask) {
  const Type type = memory_type(tensor_.dtype, lanes);
  if (mask.empty()) return ir_.load(type, at, tensor_.align, tensor_.scope);
  return ir_.load_masked(type, at, tensor_.align, mask, Builder::zero(type));
}

Value Copy::in_tile_memory(const Value& raw) {
  if (tile_.dtype == tensor_.dtype) return raw;
  return to_memory(ir_, convert(ir_, from_memory(ir_, raw, tensor_.dtype), tensor_.dtype, tile_.dtype), tile_.dtype);
}

void Copy::copy_one(const Value& tile, const Value& tensor, int lanes, const Value& mask) {
  if (direct_.to_lds) {
    const Value raw = in_tile_memory(read_tensor(tensor, lanes, mask));
    if (mask.empty())
      ir_.store(raw, tile, tile_.align, tile_.scope);
    else
      ir_.store_masked(raw, tile, tile_.align, mask);
    return;
  }
  // Reading the whole vector from the tile is safe (rows are padded to whole vectors); only what is inside is written.
  const Type type = memory_type(tile_.dtype, lanes);
  Value raw = mask.empty() ? ir_.load(type, tile, tile_.align, tile_.scope)
                           : ir_.load_masked(type, tile, tile_.align, mask, Builder::zero(type));
  if (tile_.dtype != tensor_.dtype) {
    raw = to_memory(ir_, convert(ir_, from_memory(ir_, raw, tile_.dtype), tile_.dtype, tensor_.dtype), tensor_.dtype);
  }
  if (mask.empty())
    ir_.store(raw, tensor, tensor_.align, tensor_.scope);
  else
    ir_.store_masked(raw, tensor, tensor_.align, mask);
}

// Rows of a large tensor lie on different pages, where the processor's own prefetching stops: some rows ahead are asked
// for. (A prefetch never faults, wherever it points.)
void Copy::prefetch(const Value& where) {
  constexpr std::int64_t bytes_ahead = 4096;
  if (!direct_.to_lds || order_.size() < 2) return;
  const Axis& rows = axes_[order_[order_.size() - 2]];
  const std::int64_t row_bytes = axes_[order_.back()].extent * dtype_bytes(tensor_.dtype);
  const std::int64_t ahead = std::max<std::int64_t>(bytes_ahead / std::max<std::int64_t>(row_bytes, 1), 1);
  if ((rows.tensor_stride.known && *rows.tensor_stride.known <= row_bytes) || rows.extent <= ahead) return;
  const Value later = at(where, Builder::constant(ahead), rows.tensor_stride);
  const Type flag = integer(32);
  ir_.call_void("llvm.prefetch.p0",
                {later, Builder::constant(0, flag), Builder::constant(3, flag), Builder::constant(1, flag)});
}

void Copy::copy_run(const Axis& axis, const Value& tile, const Value& tensor) {
  if (direct_.to_lds && !axis.whole) {
    fill_run(axis, tile, Builder::constant(0), axis.lo);
    fill_run(axis, tile, axis.hi, Builder::constant(axis.extent));
  }
  const int lanes = run_lanes_;
  const Value count = ir_.sub(axis.hi, axis.lo);
  const Value full = count.known ? Builder::constant(*count.known / lanes * lanes)
                                 : ir_.op("and", count, Builder::constant(-static_cast<std::int64_t>(lanes)));
  const Value middle = ir_.add(axis.lo, full);
  const auto one = [&](const Value& i, const Value& mask) {
    prefetch(at(tensor, i, axis.tensor_stride));
    copy_one(at(tile, i, axis.tile_stride), at(tensor, i, axis.tensor_stride), lanes, mask);
  };
  ir_.loop(axis.lo, middle, lanes, [&](const Value& i) { one(i, {}); });
  const Value rest = ir_.sub(count, full);
  if (rest.known == 0) return;
  if (rest.known) return one(middle, Builder::lane_mask(lanes, static_cast<int>(*rest.known)));
  ir_.branch(ir_.compare("icmp sgt", rest, Builder::constant(0)), [&] { one(middle, lanes_below(rest, lanes)); });
}

void Copy::elements(const Axis& axis, const Value& tile, const Value& tensor) {
  if (direct_.to_lds && !axis.whole) {
    fill_run(axis, tile, Builder::constant(0), axis.lo);
    fill_run(axis, tile, axis.hi, Builder::constant(axis.extent));
  }
  ir_.loop(axis.lo, axis.hi, 1,
           [&](const Value& i) { copy_one(at(tile, i, axis.tile_stride), at(tensor, i, axis.tensor_stride), 1, {}); });
}

// Squares: 4x4 by unpacking within quarters, then quarters exchanged.
std::vector<Value> Copy::transpose(std::vector<Value> rows) {
  const int n = static_cast<int>(rows.size());
  const auto stage = [&](int distance, const std::function<int(int, bool)>& source) {
    for (int i = 0; i < n; ++i) {
      if (i & distance) continue;
      std::vector<int> low, high;
      for (int lane = 0; lane < n; ++lane) {
        low.push_back(source(lane, false));
        high.push_back(source(lane, true));
      }
      const Value a = rows[i], b = rows[i + distance];
      rows[i] = ir_.shuffle(a, b, low);
      rows[i + distance] = ir_.shuffle(a, b, high);
    }
  };
  // unpack of single elements, then of pairs, within each four lanes
  stage(1, [&](int lane, bool high) { return (lane & ~3) + (high ? 2 : 0) + (lane & 3) / 2 + (lane & 1) * n; });
  stage(2, [&](int lane, bool high) { return (lane & ~3) + (high ? 2 : 0) + (lane & 1) + (lane & 2) / 2 * n; });
  // After unpacking, row 1 and 2 of each four have changed places.
  for (int i = 0; i < n; i += 4) std::swap(rows[i + 1], rows[i + 2]);
  for (int distance = 4; distance < n; distance *= 2) {
    stage(distance, [&](int lane, bool high) {
      const bool second = (lane & distance) != 0;
      return high ? (second ? lane + n : lane + distance) : (second ? lane - distance + n : lane);
    });
  }
  return rows;
}

// One square at tile, tensor. Counts empty: all of it; else what of it lies inside.
void Copy::block(const Value& tile, const Value& tensor, const Value& row_count, const Value& column_count) {
  const int n = run_lanes_;
  const Axis& run = axes_[order_.back()];
  const Axis& across = axes_[across_];
  const bool partial = !row_count.empty();
  const Value columns = partial ? lanes_below(column_count, n) : Value();
  const Value rows_inside = partial ? lanes_below(row_count, n) : Value();
  std::vector<Value> rows;
  for (int r = 0; r < n; ++r) {
    Value mask;
    if (partial) mask = ir_.op("and", columns, ir_.splat(ir_.compare("icmp sgt", row_count, Builder::constant(r)), n));
    rows.push_back(in_tile_memory(read_tensor(at(tensor, Builder::constant(r), run.tensor_stride), n, mask)));
  }
  rows = transpose(std::move(rows));
  for (int j = 0; j < n; ++j) {
    const Value to = at(tile, Builder::constant(j), across.tile_stride);
    if (!partial) {
      ir_.store(rows[j], to, tile_.align, tile_.scope);
      continue;
    }
    const Value inside = ir_.splat(ir_.compare("icmp sgt", column_count, Builder::constant(j)), n);
    ir_.store_masked(rows[j], to, tile_.align, ir_.op("and", rows_inside, inside));
  }
}

void Copy::transposed(const Value& tile, const Value& tensor) {
  const int n = run_lanes_;
  const Axis& run = axes_[order_.back()];
  const Axis& across = axes_[across_];
  if (!run.whole || !across.whole) {
    const auto full = [&](const Axis& axis) {
      return ir_.compare("icmp eq", ir_.sub(axis.hi, axis.lo), Builder::constant(axis.extent));
    };
    const Value incomplete = ir_.op("xor", ir_.op("and", full(run), full(across)), Builder::truth(true));
    ir_.branch(incomplete, [&] { fill(order_.size() - 2, tile); });
  }
  ir_.loop(run.lo, run.hi, n, [&](const Value& row) {
    const Value tile_row = at(tile, row, run.tile_stride), tensor_row = at(tensor, row, run.tensor_stride);
    const Value rows_left = ir_.sub(run.hi, row);
    ir_.loop(across.lo, across.hi, n, [&](const Value& column) {
      const Value to = at(tile_row, column, across.tile_stride), from = at(tensor_row, column, across.tensor_stride);
      const Value columns_left = ir_.sub(across.hi, column);
      if (run.whole && across.whole && run.extent % n == 0 && across.extent % n == 0) return block(to, from, {}, {});
      const Value square = Builder::constant(n);
      const Value complete =
          ir_.op("and", ir_.compare("icmp sge", rows_left, square), ir_.compare("icmp sge", columns_left, square));
      ir_.branch(complete, [&] { block(to, from, {}, {}); }, [&] { block(to, from, rows_left, columns_left); });
    });
  });
}

}  // namespace

void emit_direct(Context& ctx, const kernel::Direct& direct) {
  for (const std::int64_t extent : direct.shape) {
    if (extent <= 0) return;
  }
  Copy(ctx, direct).emit();
}

}  // namespace kiln::emit::llvm_text
