// The `copy` statement.
#include <algorithm>

#include "engine/reference/machine.hpp"

namespace kiln::reference {
namespace {

using bound::Value;
using Indices = std::vector<std::int64_t>;

// Calls `row(at)` for each row of an index space, `at` with its last index 0.
template <class F> Status for_each_row(const Indices& shape, F&& row) {
  Indices at(shape.size(), 0);
  for (;;) {
    KILN_CHECK(row(at));
    std::size_t axis = shape.empty() ? 0 : shape.size() - 1;
    for (; axis > 0; --axis) {
      if (++at[axis - 1] < shape[axis - 1]) break;
      at[axis - 1] = 0;
    }
    if (axis == 0) return {};
  }
}

std::int64_t row_length(const Indices& shape) { return shape.empty() ? 1 : shape.back(); }

}  // namespace

bool Machine::Window::holds(const Indices& at) const {
  if (empty) return false;
  for (std::size_t i = 0; i < at.size(); ++i)
    if (at[i] < low[i] || at[i] >= high[i]) return false;
  return true;
}

Result<Machine::Side> Machine::side_of(const bound::Region& region, const Indices& shape) {
  Side side;
  side.is_tensor = region.is_tensor;
  side.id = region.id;
  if (region.is_tensor) {
    const auto& tensor = program_.tensors[static_cast<std::size_t>(region.id)];
    side.extents = tensor.shape;
    side.strides = tensor.strides;
  } else {
    side.extents = launch_.tiles[static_cast<std::size_t>(region.id)].shape;
    side.strides = row_major_strides(side.extents);
  }
  side.start.assign(side.extents.size(), 0);
  const bool whole = region.start.empty();
  for (std::size_t i = 0; i < side.extents.size(); ++i) {
    if (whole || region.ranged[i]) side.axis.push_back(i);
    if (!whole) {
      KILN_TRY(side.start[i], evaluate_index(*region.start[i]));
    }
  }
  if (side.is_tensor) return side;
  Indices end = side.start;
  for (auto& e : end) e = static_cast<std::int64_t>(static_cast<std::uint64_t>(e) + 1);
  for (std::size_t k = 0; k < shape.size(); ++k)
    end[side.axis[k]] = static_cast<std::int64_t>(static_cast<std::uint64_t>(side.start[side.axis[k]]) +
                                                  static_cast<std::uint64_t>(shape[k]));
  for (std::size_t i = 0; i < end.size(); ++i)
    if (side.start[i] < 0 || end[i] < 0 || end[i] > side.extents[i])
      return region_outside_tile(place_, tile_name(place_, side.id), side.start, end, side.extents);
  return side;
}

Result<Machine::Window> Machine::window_of(const bound::Copy& copy, const Side& side) {
  Window window;
  std::vector<bool> ranged(side.extents.size());
  for (std::size_t k = 0; k < copy.shape.size(); ++k) {
    const auto x = side.axis[k];
    ranged[x] = true;
    std::int64_t end = side.extents[x];
    if (k < copy.limit.size() && copy.limit[k]) {
      KILN_TRY(const auto limit, evaluate_index(*copy.limit[k]));
      end = std::min(end, limit);
    }
    const auto start = static_cast<__int128>(side.start[x]);
    const auto clamp = [&](__int128 v) { return static_cast<std::int64_t>(std::clamp<__int128>(v, 0, copy.shape[k])); };
    window.low.push_back(clamp(-start));
    window.high.push_back(clamp(static_cast<__int128>(end) - start));
    if (window.low.back() >= window.high.back()) window.empty = true;
  }
  for (std::size_t i = 0; i < ranged.size(); ++i)
    if (!ranged[i] && (side.start[i] < 0 || side.start[i] >= side.extents[i])) window.empty = true;
  return window;
}

Indices Machine::owner_indices(const Side& side, const Indices& at) const {
  Indices indices = side.start;
  for (std::size_t k = 0; k < at.size(); ++k) indices[side.axis[k]] += at[k];
  return indices;
}

namespace {
std::int64_t offset_of(const Indices& indices, const Indices& strides) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) offset += indices[i] * strides[i];
  return offset;
}
}  // namespace

bool Machine::watch_blocks(int tensor, std::int64_t offset, bool writes, const Side& side, const Indices& at) {
  auto& blocks = tensors_[static_cast<std::size_t>(tensor)].blocks;
  if (blocks.empty()) return true;
  auto& watch = blocks[static_cast<std::size_t>(offset)];
  const auto other = writes ? watch.written_by(block_number_) : watch.read_by(block_number_);
  if (other == Watch::none) return true;
  return fail(block_race(place_, tensor_name(place_, tensor), owner_indices(side, at), writes, other));
}

// A workspace's elements are written before they are read.
bool Machine::mark_workspace(int tensor, std::int64_t offset, bool writes, const Side& side, const Indices& at) {
  auto& written = tensors_[static_cast<std::size_t>(tensor)].written[static_cast<std::size_t>(offset)];
  if (writes) written = 1;
  return written != 0 || fail(unwritten_workspace(place_, tensor_name(place_, tensor), owner_indices(side, at)));
}

Status Machine::copy_in(const bound::Copy& copy, const Side& from, const Side& to, const Window& window) {
  auto& tensor = tensors_[static_cast<std::size_t>(from.id)];
  auto& tile = tiles_[static_cast<std::size_t>(to.id)];
  const DType source = tensor.tensor->dtype, target = tile.tile->dtype;
  const auto convert = source == target ? nullptr : bound::conversion(source, target);
  Value fill = is_float(source) ? bound::real_value(0) : bound::integer_value(0);
  if (copy.fill) {
    KILN_TRY(fill, evaluate(*copy.fill));
  }
  if (convert) fill = convert(fill, fill, fill);
  const std::int64_t length = row_length(copy.shape);
  const std::int64_t from_stride = copy.shape.empty() ? 0 : from.strides[from.axis.back()];
  const std::int64_t to_stride = copy.shape.empty() ? 0 : to.strides[to.axis.back()];
  const bool keep_scale = scale_of_conversion(source, target) && tensor.scale;
  return for_each_row(copy.shape, [&](Indices& at) -> Status {
    KILN_CHECK(budget_.spend(length));
    auto first = at;
    if (!window.empty && !at.empty()) first.back() = window.low.back();
    const bool inside = window.holds(first);
    const std::int64_t low = inside && !at.empty() ? window.low.back() : 0;
    const std::int64_t high = !inside ? 0 : at.empty() ? 1 : window.high.back();
    const std::int64_t source_base =
        inside ? offset_of(owner_indices(from, first), from.strides) - low * from_stride : 0;
    std::int64_t place = offset_of(owner_indices(to, at), to.strides);
    for (std::int64_t j = 0; j < length; ++j, place += to_stride) {
      Value value = fill;
      double scale = 0;
      if (j >= low && j < high) {
        const auto offset = source_base + j * from_stride;
        if (!tensor.blocks.empty() || !tensor.written.empty()) {
          if (!at.empty()) at.back() = j;
          const bool sound = watch_blocks(from.id, offset, false, from, at) &&
                             (tensor.written.empty() || mark_workspace(from.id, offset, false, from, at));
          if (!at.empty()) at.back() = 0;
          if (!sound) return std::move(*finding_);
        }
        value = tensor.load(tensor.data + offset * tensor.element_bytes);
        if (convert) value = convert(value, value, value);
        if (keep_scale) scale = tensor.scale[offset];
      }
      tile.values[static_cast<std::size_t>(place)] = value;
      tile.written[static_cast<std::size_t>(place)] = 1;
      if (with_scale_) tile.scale[static_cast<std::size_t>(place)] = scale;
    }
    return {};
  });
}

Status Machine::copy_out(const bound::Copy& copy, const Side& from, const Side& to, const Window& window) {
  if (window.empty) return {};
  auto& tile = tiles_[static_cast<std::size_t>(from.id)];
  auto& tensor = tensors_[static_cast<std::size_t>(to.id)];
  const DType source = tile.tile->dtype, target = tensor.tensor->dtype;
  const auto convert = source == target ? nullptr : bound::conversion(source, target);
  const bool keep_scale = scale_of_conversion(source, target) != nullptr;
  const std::int64_t from_stride = copy.shape.empty() ? 0 : from.strides[from.axis.back()];
  const std::int64_t to_stride = copy.shape.empty() ? 0 : to.strides[to.axis.back()];
  return for_each_row(copy.shape, [&](Indices& at) -> Status {
    KILN_CHECK(budget_.spend(row_length(copy.shape)));
    auto first = at;
    if (!at.empty()) first.back() = window.low.back();
    if (!window.holds(first)) return {};
    const std::int64_t low = at.empty() ? 0 : window.low.back(), high = at.empty() ? 1 : window.high.back();
    std::int64_t place = offset_of(owner_indices(from, first), from.strides);
    std::int64_t offset = offset_of(owner_indices(to, first), to.strides);
    for (std::int64_t j = low; j < high; ++j, place += from_stride, offset += to_stride) {
      KILN_CHECK(check_written(from.id, place));
      if (!tensor.blocks.empty()) {
        if (!at.empty()) first.back() = j;
        if (!watch_blocks(to.id, offset, true, to, first)) return std::move(*finding_);
      }
      if (!tensor.written.empty()) mark_workspace(to.id, offset, true, to, first);
      Value value = tile.values[static_cast<std::size_t>(place)];
      if (convert) value = convert(value, value, value);
      tensor.store(tensor.data + offset * tensor.element_bytes, value);
      if (tensor.scale) tensor.scale[offset] = keep_scale ? tile.scale[static_cast<std::size_t>(place)] : 0.0;
    }
    return {};
  });
}

Status Machine::copy_between(const bound::Copy& copy, const Side& from, const Side& to) {
  auto& source = tiles_[static_cast<std::size_t>(from.id)];
  auto& target = tiles_[static_cast<std::size_t>(to.id)];
  const bool keep_scale = with_scale_ && scale_of_conversion(source.tile->dtype, target.tile->dtype);
  const auto convert =
      source.tile->dtype == target.tile->dtype ? nullptr : bound::conversion(source.tile->dtype, target.tile->dtype);
  const std::int64_t from_stride = copy.shape.empty() ? 0 : from.strides[from.axis.back()];
  const std::int64_t to_stride = copy.shape.empty() ? 0 : to.strides[to.axis.back()];
  const std::int64_t length = row_length(copy.shape);
  return for_each_row(copy.shape, [&](Indices& at) -> Status {
    KILN_CHECK(budget_.spend(length));
    std::int64_t place = offset_of(owner_indices(from, at), from.strides);
    std::int64_t goal = offset_of(owner_indices(to, at), to.strides);
    for (std::int64_t j = 0; j < length; ++j, place += from_stride, goal += to_stride) {
      KILN_CHECK(check_written(from.id, place));
      Value value = source.values[static_cast<std::size_t>(place)];
      if (convert) value = convert(value, value, value);
      target.values[static_cast<std::size_t>(goal)] = value;
      target.written[static_cast<std::size_t>(goal)] = 1;
      if (with_scale_)
        target.scale[static_cast<std::size_t>(goal)] = keep_scale ? source.scale[static_cast<std::size_t>(place)] : 0.0;
    }
    return {};
  });
}

Status Machine::run_node(const bound::Copy& copy) {
  KILN_TRY(const auto from, side_of(copy.from, copy.shape));
  KILN_TRY(const auto to, side_of(copy.to, copy.shape));
  if (from.is_tensor) {
    KILN_TRY(const auto window, window_of(copy, from));
    return copy_in(copy, from, to, window);
  }
  if (to.is_tensor) {
    KILN_TRY(const auto window, window_of(copy, to));
    return copy_out(copy, from, to, window);
  }
  return copy_between(copy, from, to);
}

}  // namespace kiln::reference
