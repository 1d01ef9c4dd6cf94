#include "engine/lower/amd/accesses.hpp"

#include <algorithm>
#include <cmath>

#include "engine/ir/bound/symbols.hpp"
#include "engine/lower/amd/thread_maps.hpp"

namespace kiln::lower::amd {
namespace {

// Collects the accesses of one map, tile by tile.
class Collector {
 public:
  Collector(const Subject& subject, const bound::Map& map) : subject_(subject), map_(map) {}

  void item(const bound::MapItem& item) {
    if (item.where) expression(*item.where);
    expression(*item.value);
    if (item.compare) expression(*item.compare);
    for (const auto& index : item.indices) expression(*index);
    if (item.let >= 0 || item.tensor) return;
    TileAccess& access = add(item.target, item.indices);
    access.read_first = access.read_first || (item.where && !access.written);  // what it does not set stays
    access.written = true;
  }
  std::vector<TileAccess> take() { return std::move(list_); }

 private:
  void expression(const bound::Expr& expr) {
    for (const auto& arg : expr.args) expression(*arg);
    if (expr.kind != bound::Expr::Kind::tile) return;
    TileAccess& access = add(static_cast<int>(expr.integer), expr.args);
    access.read_first = access.read_first || !access.written;
    access.read = true;
  }

  TileAccess& add(int tile, const std::vector<bound::ExprPtr>& indices) {
    std::vector<int> axes;
    const bool direct = direct_axes(tile, indices, axes);
    auto at = std::find_if(list_.begin(), list_.end(), [&](const TileAccess& a) { return a.tile == tile; });
    if (at == list_.end()) {
      list_.push_back({tile, direct, axes, false, false, false});
      at = list_.end() - 1;
    } else if (!direct || !at->direct || at->axes != axes) {
      at->direct = false;
    }
    return *at;
  }

  bool direct_axes(int tile, const std::vector<bound::ExprPtr>& indices, std::vector<int>& axes) const {
    const auto& shape = subject_.tile(tile).shape;
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      if (shape[axis] == 1) { axes.push_back(-1); continue; }
      if (indices[axis]->kind != bound::Expr::Kind::variable) return false;
      const auto at = std::find(map_.index.begin(), map_.index.end(), static_cast<int>(indices[axis]->integer));
      if (at == map_.index.end()) return false;
      const int position = static_cast<int>(at - map_.index.begin());
      if (map_.extent[position] != shape[axis]) return false;
      if (std::find(axes.begin(), axes.end(), position) != axes.end()) return false;
      axes.push_back(position);
    }
    return true;
  }

  const Subject& subject_;
  const bound::Map& map_;
  std::vector<TileAccess> list_;
};

bool covers_all(const bound::Map& map, const TileAccess& access) {
  for (std::size_t i = 0; i < map.index.size(); ++i) {
    if (map.extent[i] > 1 && std::find(access.axes.begin(), access.axes.end(),
                                       static_cast<int>(i)) == access.axes.end()) return false;
  }
  return true;
}

layout::RegLayout iteration_from(const layout::RegLayout& home, const bound::Map& map, const TileAccess& access) {
  std::vector<int> axes;
  for (std::size_t i = 0; i < map.index.size(); ++i) {
    const auto at = std::find(access.axes.begin(), access.axes.end(), static_cast<int>(i));
    axes.push_back(at == access.axes.end() ? -1 : static_cast<int>(at - access.axes.begin()));
  }
  return projected(home, axes);
}

bool is_zero(const bound::ExprPtr& expr) { return constant_of(*expr) == 0; }
bool fills_zero(const bound::ExprPtr& fill) {
  if (!fill) return true;
  return fill->kind == bound::Expr::Kind::real ? fill->real == 0 && !std::signbit(fill->real) : is_zero(fill);
}

struct AxisUse {
  std::int64_t extent = 1;   // elements touched along the tensor axis
  int tile_axis = -1;
};

std::vector<AxisUse> axis_uses(const Subject& subject, const bound::Copy& copy) {
  const bound::Region& tensor = copy.from.is_tensor ? copy.from : copy.to;
  const bound::Region& tile = copy.from.is_tensor ? copy.to : copy.from;
  std::vector<int> tile_axes;  // of the ranged ones, in order
  for (std::size_t axis = 0; axis < tile.ranged.size(); ++axis) {
    if (tile.ranged[axis]) tile_axes.push_back(static_cast<int>(axis));
  }
  std::vector<AxisUse> uses;
  std::size_t ranged = 0;
  for (std::size_t axis = 0; axis < tensor.ranged.size(); ++axis) {
    AxisUse use;
    if (tensor.ranged[axis]) {
      use.tile_axis = tile_axes[ranged];
      use.extent = copy.shape[ranged++];
    }
    uses.push_back(use);
  }
  (void)subject;
  return uses;
}

}  // namespace

std::vector<TileAccess> direct_accesses(const Subject& subject, const bound::Map& map) {
  Collector collector(subject, map);
  for (const auto& item : map.body) collector.item(item);
  return collector.take();
}

std::optional<layout::RegLayout> iteration_layout(const Subject& subject, const Plan& plan, const bound::Map& map,
                                                  const std::vector<TileAccess>& accesses) {
  for (const bool written : {true, false}) {
    for (const auto& access : accesses) {
      if (access.written != written || !access.direct || subject.in_lds(access.tile)) continue;
      if (!plan.tiles[access.tile].placed || !covers_all(map, access)) continue;
      return iteration_from(plan.tiles[access.tile].home, map, access);
    }
  }
  return std::nullopt;
}

std::vector<std::int64_t> padded_extents(const Subject& subject, const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> padded = extents;
  if (subject.is_odd(extents)) {
    for (auto& extent : padded) extent = std::int64_t(1) << log2_of(extent);
  }
  int bits = 0;
  for (const auto extent : padded) bits += even_bits(extent);
  for (; bits < subject.lane_bits() + subject.wave_bits; ++bits) padded.back() *= 2;
  return padded;
}

layout::RegLayout default_iteration(const Subject& subject, const Plan& plan, const bound::Map& map) {
  MapRequest request;
  request.shape = padded_extents(subject, map.extent);
  request.lane_bits = subject.lane_bits();
  request.wave_bits = plan.wave_bits;
  request.fast = static_cast<int>(map.extent.size()) - 1;
  return thread_map(request);
}

bool whole_tile(const Subject& subject, const bound::Region& region, const std::vector<std::int64_t>& shape) {
  if (region.is_tensor) return false;
  const auto& tile = subject.tile(region.id).shape;
  std::size_t ranged = 0;
  for (std::size_t axis = 0; axis < tile.size(); ++axis) {
    if (!is_zero(region.start[axis])) return false;
    if (region.ranged[axis]) {
      if (shape[ranged++] != tile[axis]) return false;
    } else if (tile[axis] != 1) {
      return false;
    }
  }
  return true;
}

TensorSide tensor_access(const Subject& subject, const Facts& facts, const bound::Copy& copy,
                         const std::vector<bound::ExprPtr>& start) {
  const bound::Region& region = copy.from.is_tensor ? copy.from : copy.to;
  const bound::Tensor& tensor = subject.program.tensors[region.id];
  const auto uses = axis_uses(subject, copy);
  TensorSide side;
  side.load = copy.from.is_tensor;
  side.tensor = region.id;
  side.tile = side.load ? copy.to.id : copy.from.id;
  side.ref.tensor = region.id;
  side.ref.start = start;
  const int bytes = dtype_bytes(tensor.dtype);
  const Interval span = interval_of(bound::elements_span(tensor), facts);
  const bool fits_buffer = span.hi > 0 && span.hi * bytes < (std::int64_t(1) << 31);
  if (side.load && fits_buffer && fills_zero(copy.fill)) side.addressing = kernel::Addressing::buffer;
  const int widest = copy.schedule.vector_bytes > 0 ? copy.schedule.vector_bytes : 16;
  int vector = std::max(1, widest / bytes);
  while (vector > 1 && vector * bytes > tensor.align_bytes) vector /= 2;
  int memory = -1;
  std::size_t ranged = 0;
  for (std::size_t axis = 0; axis < uses.size(); ++axis) {
    const AxisUse& use = uses[axis];
    bound::ExprPtr limit;
    if (region.ranged[axis]) {
      if (ranged < copy.limit.size()) limit = copy.limit[ranged];
      ++ranged;
    }
    // A limit beyond the extent never widens what may be touched.
    if (limit && interval_of(*limit, facts).hi > interval_of(tensor.shape[axis], facts).lo &&
        !stays_below(*limit, 0, *tensor.shape[axis].expr(), facts)) {
      limit = bound::make_binary(Op::min, limit, tensor.shape[axis].expr());
    }
    const bool inside = !limit && stays_inside(*start[axis], use.extent, tensor.shape[axis], facts);
    side.ref.tile_axis.push_back(use.tile_axis);
    side.ref.limit.push_back(limit);
    // Also along the outermost axis of a buffer, whose own check would do: compilers may leave the scalar offset, which
    // holds the block's start, out of it.
    side.ref.checked.push_back(!inside);
    if (!inside) {
      const std::string why = limit ? "the limit is known at run time only"
                                    : how_it_leaves(*start[axis], use.extent, tensor.shape[axis], facts);
      side.left.push_back((side.load ? "load " : "store ") + tensor.name + " axis " + std::to_string(axis) + ": " +
                          why);
    }
    const std::int64_t stride = divisor_of(tensor.strides[axis], facts);  // what divides it, where it is dynamic
    const std::int64_t whole = divisor_of(tensor.shape[axis], facts);
    const bool along = use.tile_axis >= 0 && tensor.strides[axis].is(1) && use.extent > 1;
    if (along) {
      memory = static_cast<int>(axis);
      side.memory_axis = use.tile_axis;
    }
    // What moves the vector's first element must keep it aligned; along the contiguous axis so must what ends it.
    const auto steps = [&](std::int64_t v) {
      const std::int64_t apart = use.tile_axis >= 0 && !along ? stride : std::int64_t(0);
      if (apart % v != 0 && use.extent > 1) return false;
      if (divisor_of(*start[axis], facts) % v * (stride % v) % v != 0) return false;
      if (!along) return true;
      if (use.extent % v != 0) return false;
      if (limit) return divisor_of(*limit, facts) % v == 0 && whole % v == 0;
      return inside || whole % v == 0;
    };
    while (vector > 1 && !steps(vector)) vector /= 2;
  }
  side.vector_elements_max = memory >= 0 ? vector : 1;
  return side;
}

std::optional<TensorSide> tensor_side(const Subject& subject, const Site& site, const bound::Copy& copy) {
  if (copy.from.is_tensor == copy.to.is_tensor) return std::nullopt;
  const bound::Region& tile = copy.from.is_tensor ? copy.to : copy.from;
  if (!whole_tile(subject, tile, copy.shape) || subject.odd[tile.id]) return std::nullopt;
  return tensor_access(subject, site.facts, copy, (copy.from.is_tensor ? copy.from : copy.to).start);
}

}  // namespace kiln::lower::amd
