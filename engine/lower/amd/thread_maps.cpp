#include "engine/lower/amd/thread_maps.hpp"

#include <algorithm>

namespace kiln::lower::amd {
namespace {

using layout::BitSource;
using layout::Coordinate;
using layout::RegLayout;

// Hands out coordinate bits, lowest first, and remembers the order for make_layout.
class BitDealer {
 public:
  explicit BitDealer(const std::vector<std::int64_t>& shape) {
    for (const auto extent : shape) left_.push_back(even_bits(extent));
  }
  // At most `wanted` bits of `axis`; what was given.
  int take(BitSource::Kind kind, int axis, int wanted) {
    const int count = std::clamp(left_[axis], 0, std::max(wanted, 0));
    if (count == 0) return 0;
    left_[axis] -= count;
    order_.push_back({kind, count, axis});
    return count;
  }
  [[nodiscard]] int left(int axis) const { return left_[axis]; }
  [[nodiscard]] const std::vector<BitSource>& order() const { return order_; }

 private:
  std::vector<int> left_;
  std::vector<BitSource> order_;
};

bool zero(const Coordinate& c) {
  return std::all_of(c.begin(), c.end(), [](std::int64_t x) { return x == 0; });
}

}  // namespace

int even_bits(std::int64_t extent) {
  int bits = 0;
  while (extent > 0 && extent % 2 == 0 && bits < 30) { extent /= 2; ++bits; }
  return bits;
}

int log2_of(std::int64_t value) {
  int bits = 0;
  while ((std::int64_t(1) << bits) < value) ++bits;
  return bits;
}

RegLayout thread_map(const MapRequest& request) {
  BitDealer deal(request.shape);
  const int rank = static_cast<int>(request.shape.size());
  deal.take(BitSource::reg, request.fast, request.vector_bits);
  if (request.block_axis >= 0) deal.take(BitSource::reg, request.block_axis, request.block_bits);
  std::vector<int> others;  // innermost first, the block's axis in front
  if (request.block_axis >= 0) others.push_back(request.block_axis);
  for (int axis = rank - 1; axis >= 0; --axis) {
    if (axis != request.fast && axis != request.block_axis) others.push_back(axis);
  }
  int lanes = request.lane_bits, waves = request.wave_bits;
  lanes -= deal.take(BitSource::lane, request.fast, std::min(lanes, request.fast_lane_bits_max));
  int reserved = request.waves_on_rows ? waves : 0;
  for (const int axis : others) {
    const int give = std::max(0, deal.left(axis) - reserved);
    reserved = std::max(0, reserved - deal.left(axis));
    lanes -= deal.take(BitSource::lane, axis, std::min(lanes, give));
  }
  lanes -= deal.take(BitSource::lane, request.fast, lanes);
  for (const int axis : others) waves -= deal.take(BitSource::wave, axis, waves);
  waves -= deal.take(BitSource::wave, request.fast, waves);
  auto made = layout::make_layout(request.shape, deal.order());
  KILN_ASSERT(made.has_value());  // the dealer never gives more bits than the shape has
  return layout::with_free_bits(std::move(*made), lanes, waves);
}

std::int64_t run_along(const RegLayout& layout, int axis) {
  std::int64_t run = 1;
  while (run < layout.unit[axis]) {
    Coordinate wanted(layout.rank(), 0);
    wanted[axis] = run;
    if (std::find(layout.reg.vectors.begin(), layout.reg.vectors.end(), wanted) == layout.reg.vectors.end()) return run;
    run *= 2;
  }
  return run << even_bits(layout.repeat[axis]);
}

bool cut(RegLayout& layout, int axis, std::int64_t extent) {
  if (extent % layout.unit[axis] == 0) {
    layout.repeat[axis] = std::min(layout.repeat[axis], extent / layout.unit[axis]);
    return true;
  }
  if (!power_of_two(extent) || layout.unit[axis] % extent != 0) return false;
  for (const auto* basis : {&layout.lane, &layout.wave}) {
    for (const auto& vector : basis->vectors) {
      if (vector[axis] >= extent) return false;
    }
  }
  auto& vectors = layout.reg.vectors;
  vectors.erase(std::remove_if(vectors.begin(), vectors.end(), [&](const Coordinate& v) { return v[axis] >= extent; }),
                vectors.end());
  layout.unit[axis] = extent;
  layout.repeat[axis] = 1;
  return true;
}

RegLayout insert_axis(RegLayout layout, int at) {
  layout.unit.insert(layout.unit.begin() + at, 1);
  layout.repeat.insert(layout.repeat.begin() + at, 1);
  for (auto* basis : {&layout.reg, &layout.lane, &layout.wave}) {
    for (auto& vector : basis->vectors) vector.insert(vector.begin() + at, 0);
  }
  return layout;
}

RegLayout projected(const RegLayout& iteration, const std::vector<int>& axes) {
  RegLayout result = iteration;
  std::vector<int> left;  // iteration axis of each axis that is still there
  for (int axis = 0; axis < iteration.rank(); ++axis) left.push_back(axis);
  for (int axis = iteration.rank() - 1; axis >= 0; --axis) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
    // A layout has at least one axis: the last one stays, as an axis of extent 1, and is dropped at the end.
    if (result.rank() == 1) result = insert_axis(result, 0), left.insert(left.begin(), -1);
    const auto at = std::find(left.begin(), left.end(), axis) - left.begin();
    result = layout::slice(result, static_cast<int>(at));
    left.erase(left.begin() + at);
  }
  std::vector<int> order;
  for (const int axis : axes) {
    auto at = std::find(left.begin(), left.end(), axis);
    if (axis < 0 || at == left.end()) {
      at = std::find(left.begin(), left.end(), -1);
      if (at == left.end() || std::find(order.begin(), order.end(),
                                        static_cast<int>(at - left.begin())) != order.end()) {
        result = insert_axis(result, result.rank());
        left.push_back(-2);
        at = left.end() - 1;
      }
    }
    order.push_back(static_cast<int>(at - left.begin()));
  }
  return layout::permute(result, order);
}

bool agrees(const RegLayout& held, const RegLayout& needed) {
  if (held.shape() != needed.shape()) return false;
  const auto same_places = [](const layout::Basis& a, const layout::Basis& b) {
    const std::size_t bits = std::max(a.vectors.size(), b.vectors.size());
    for (std::size_t i = 0; i < bits; ++i) {
      const bool in_a = i < a.vectors.size() && !zero(a.vectors[i]), in_b = i < b.vectors.size() && !zero(b.vectors[i]);
      if (in_a != in_b || (in_a && a.vectors[i] != b.vectors[i])) return false;
    }
    return true;
  };
  if (!same_places(held.lane, needed.lane) || !same_places(held.wave, needed.wave)) return false;
  for (int r = 0; r < needed.registers(); ++r) {
    if (!held.register_of(needed.of_register(r))) return false;
  }
  return true;
}

}  // namespace kiln::lower::amd
