#include <algorithm>
#include <bit>

#include "engine/ir/layout/layout.hpp"
#include "engine/ir/layout/linear.hpp"

namespace kiln::layout {
namespace {

// Lowering asks for millions of places: only the bits that are set are looked at.
void add_bits(Coordinate& to, const Basis& basis, int index) {
  const std::size_t rank = to.size();
  std::int64_t* const sum = to.data();
  for (auto rest = static_cast<unsigned>(index); rest != 0; rest &= rest - 1) {
    const int bit = std::countr_zero(rest);
    if (bit >= basis.bits()) return;
    const std::int64_t* const vector = basis.vectors[bit].data();
    for (std::size_t axis = 0; axis < rank; ++axis) sum[axis] ^= vector[axis];
  }
}

std::int64_t repeats(const RegLayout& layout) {
  std::int64_t count = 1;
  for (const auto extent : layout.repeat) count *= extent;
  return count;
}

Status check_form(const RegLayout& layout) {
  const auto wrong = [](const std::string& what) { return Error(ErrorCode::invalid_argument, "layout: " + what); };
  if (layout.repeat.size() != layout.unit.size()) return wrong("unit and repeat differ in rank");
  int bits = 0;
  for (std::size_t axis = 0; axis < layout.unit.size(); ++axis) {
    if (!is_power_of_two(layout.unit[axis])) return wrong("a unit extent is no power of two");
    if (layout.repeat[axis] < 1) return wrong("a repeat is below 1");
    bits += log2_exact(layout.unit[axis]);
  }
  if (bits > 40) return wrong("the unit has more than 2^40 elements");
  if (layout.reg.bits() + layout.lane.bits() + layout.wave.bits() > 60) return wrong("more than 60 bits");
  for (const Basis* basis : {&layout.reg, &layout.lane, &layout.wave}) {
    for (const auto& vector : basis->vectors) {
      if (vector.size() != layout.unit.size()) return wrong("a basis vector's rank differs from the unit's");
      for (std::size_t axis = 0; axis < vector.size(); ++axis) {
        if (vector[axis] < 0 || vector[axis] >= layout.unit[axis]) return wrong("a basis vector leaves the unit");
      }
    }
  }
  return ok();
}

}  // namespace

Coordinate RegLayout::shape() const {
  Coordinate shape(unit.size());
  for (std::size_t axis = 0; axis < unit.size(); ++axis) shape[axis] = unit[axis] * repeat[axis];
  return shape;
}

int RegLayout::registers() const { return static_cast<int>(repeats(*this) << reg.bits()); }

Coordinate RegLayout::at(int reg_index, int lane_index, int wave_index) const {
  Coordinate coordinate(unit.size(), 0);
  add_bits(coordinate, reg, reg_index);
  add_bits(coordinate, lane, lane_index);
  add_bits(coordinate, wave, wave_index);
  std::int64_t rest = reg_index >> reg.bits();
  for (int axis = rank() - 1; axis >= 0 && rest > 0; --axis) {
    coordinate[axis] += unit[axis] * (rest % repeat[axis]);
    rest /= repeat[axis];
  }
  return coordinate;
}

std::optional<int> RegLayout::register_of(const Coordinate& coordinate) const {
  Coordinate inside(unit.size());
  std::int64_t which = 0;
  for (int axis = 0; axis < rank(); ++axis) {
    if (coordinate[axis] < 0 || coordinate[axis] >= unit[axis] * repeat[axis]) return std::nullopt;
    inside[axis] = coordinate[axis] % unit[axis];
    which = which * repeat[axis] + coordinate[axis] / unit[axis];
  }
  const Packing packing(unit);
  Span span;
  span.add(packing, reg);
  const auto bits = span.solve(packing.pack(inside));
  if (!bits) return std::nullopt;
  return static_cast<int>(*bits | static_cast<std::uint64_t>(which) << reg.bits());
}

Status RegLayout::covers() const {
  KILN_CHECK(check_form(*this));
  const Packing packing(unit);
  Span span;
  for (const Basis* basis : {&reg, &lane, &wave}) span.add(packing, *basis);
  for (int bit = 0; bit < packing.bits(); ++bit) {
    if (span.contains(std::uint64_t(1) << bit)) continue;
    std::string where;
    for (const auto entry : packing.unpack(std::uint64_t(1) << bit)) {
      where += (where.empty() ? "" : ",") + std::to_string(entry);
    }
    return Error(ErrorCode::invalid_argument, "layout: no register, lane and wave holds element [" + where + "]");
  }
  return ok();
}

int RegLayout::replication() const {
  const Packing packing(unit);
  Span registers_only, all;
  registers_only.add(packing, reg);
  for (const Basis* basis : {&reg, &lane, &wave}) all.add(packing, *basis);
  return 1 << (lane.bits() + wave.bits() - (all.rank() - registers_only.rank()));
}

bool RegLayout::operator==(const RegLayout& other) const {
  return unit == other.unit && repeat == other.repeat && reg.vectors == other.reg.vectors &&
         lane.vectors == other.lane.vectors && wave.vectors == other.wave.vectors;
}

Result<RegLayout> make_layout(const std::vector<std::int64_t>& shape, const std::vector<BitSource>& order) {
  RegLayout layout;
  const int rank = static_cast<int>(shape.size());
  std::vector<int> used(rank, 0);
  for (const BitSource& run : order) {
    Basis& basis = run.kind == BitSource::reg ? layout.reg : run.kind == BitSource::lane ? layout.lane : layout.wave;
    if (run.axis >= rank || run.axis < -1 || run.count < 0 || run.count > 30) {
      return Error(ErrorCode::invalid_argument, "layout: a run of bits names axis " + std::to_string(run.axis) +
                   " of rank " + std::to_string(rank));
    }
    for (int i = 0; i < run.count; ++i) {
      Coordinate vector(rank, 0);
      if (run.axis >= 0) vector[run.axis] = std::int64_t(1) << used[run.axis]++;
      basis.vectors.push_back(std::move(vector));
      if (run.axis >= 0 && used[run.axis] > 40) {
        return Error(ErrorCode::invalid_argument, "layout: too many bits along one axis");
      }
    }
  }
  for (int axis = 0; axis < rank; ++axis) {
    const std::int64_t unit = std::int64_t(1) << used[axis];
    if (shape[axis] < 1 || shape[axis] % unit != 0) {
      return Error(ErrorCode::invalid_argument, "layout: extent " + std::to_string(shape[axis]) + " of axis " +
                                                    std::to_string(axis) + " is no multiple of " +
                                                        std::to_string(unit));
    }
    layout.unit.push_back(unit);
    layout.repeat.push_back(shape[axis] / unit);
  }
  return layout;
}

RegLayout with_free_bits(RegLayout layout, int lane_bits, int wave_bits) {
  const Coordinate zero(layout.unit.size(), 0);
  layout.lane.vectors.insert(layout.lane.vectors.end(), lane_bits, zero);
  layout.wave.vectors.insert(layout.wave.vectors.end(), wave_bits, zero);
  return layout;
}

RegLayout slice(const RegLayout& layout, int axis) {
  RegLayout result = layout;
  result.unit.erase(result.unit.begin() + axis);
  result.repeat.erase(result.repeat.begin() + axis);
  for (Basis* basis : {&result.reg, &result.lane, &result.wave}) {
    for (auto& vector : basis->vectors) vector.erase(vector.begin() + axis);
  }
  // Registers that differ along the axis only hold the same element now: one of them stays.
  const Packing packing(result.unit);
  Span span;
  std::erase_if(result.reg.vectors, [&](const Coordinate& vector) { return !span.add(packing.pack(vector)); });
  return result;
}

RegLayout permute(const RegLayout& layout, const std::vector<int>& axes) {
  RegLayout result = layout;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    result.unit[i] = layout.unit[axes[i]];
    result.repeat[i] = layout.repeat[axes[i]];
  }
  const auto move = [&](Basis& to, const Basis& from) {
    for (std::size_t b = 0; b < from.vectors.size(); ++b) {
      for (std::size_t i = 0; i < axes.size(); ++i) to.vectors[b][i] = from.vectors[b][axes[i]];
    }
  };
  move(result.reg, layout.reg);
  move(result.lane, layout.lane);
  move(result.wave, layout.wave);
  return result;
}

int contiguous_registers(const RegLayout& layout, int axis) {
  int bits = 0;
  while (bits < layout.reg.bits()) {
    Coordinate wanted(layout.unit.size(), 0);
    wanted[axis] = std::int64_t(1) << bits;
    if (layout.reg.vectors[bits] != wanted) break;
    ++bits;
  }
  std::int64_t run = std::int64_t(1) << bits;
  // All registers of the unit are one run that fills its axis: the repeats go on, where this axis is the one counted
  // fastest.
  if (bits == layout.reg.bits() && run == layout.unit[axis]) {
    bool fastest = true;
    for (int later = axis + 1; later < layout.rank(); ++later) fastest = fastest && layout.repeat[later] == 1;
    if (fastest) run *= power_of_two_part(layout.repeat[axis]);
  }
  return static_cast<int>(run);
}

}  // namespace kiln::layout
