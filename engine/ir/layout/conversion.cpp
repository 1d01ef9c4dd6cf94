#include "engine/ir/layout/layout.hpp"
#include "engine/ir/layout/linear.hpp"

namespace kiln::layout {
namespace {

// The same set of held elements with the largest unit: power-of-two parts of repeats become register bits.
RegLayout largest_unit(RegLayout layout) {
  for (int axis = layout.rank() - 1; axis >= 0; --axis) {
    const auto part = power_of_two_part(layout.repeat[axis]);
    for (std::int64_t step = 1; step < part; step *= 2) {
      Coordinate vector(layout.unit.size(), 0);
      vector[axis] = layout.unit[axis] * step;
      layout.reg.vectors.push_back(std::move(vector));
    }
    layout.unit[axis] *= part;
    layout.repeat[axis] /= part;
  }
  return layout;
}

std::uint64_t packed(const Packing& packing, const Basis& basis, int bit) {
  return bit < basis.bits() ? packing.pack(basis.vectors[bit]) : 0;
}

bool all_in(const Packing& packing, const Basis& basis, const Span& span) {
  for (const auto& vector : basis.vectors) {
    if (!span.contains(packing.pack(vector))) return false;
  }
  return true;
}

// Each bit of `a` and `b` moves to the same place, or to places that differ by what `span` reaches.
bool agree(const Packing& packing, const Basis& a, const Basis& b, const Span& span) {
  for (int bit = 0; bit < std::max(a.bits(), b.bits()); ++bit) {
    if (!span.contains(packed(packing, a, bit) ^ packed(packing, b, bit))) return false;
  }
  return true;
}

}  // namespace

Conversion conversion(const RegLayout& from, const RegLayout& to) {
  const auto wide_from = largest_unit(from), wide_to = largest_unit(to);
  const Packing packing(wide_from.unit);
  const Span nothing;
  Span registers;
  registers.add(packing, wide_from.reg);
  const bool waves_equal = agree(packing, wide_from.wave, wide_to.wave, nothing);
  if (waves_equal && agree(packing, wide_from.lane, wide_to.lane, nothing) && all_in(packing, wide_to.reg, registers)) {
    bool same = from.registers() == to.registers();
    for (int r = 0; same && r < from.registers(); ++r) same = from.of_register(r) == to.of_register(r);
    return same ? Conversion::none : Conversion::registers;
  }
  Span wave_holds = registers;
  wave_holds.add(packing, wide_from.lane);
  const bool inside_wave = waves_equal && all_in(packing, wide_to.reg, wave_holds) &&
      all_in(packing, wide_to.lane, wave_holds);
  return inside_wave ? Conversion::lanes : Conversion::lds;
}

}  // namespace kiln::layout
