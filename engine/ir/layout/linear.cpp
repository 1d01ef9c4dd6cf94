#include "engine/ir/layout/linear.hpp"

#include <bit>

namespace kiln::layout {

int log2_exact(std::int64_t value) { return std::countr_zero(static_cast<std::uint64_t>(value)); }
bool is_power_of_two(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }
std::int64_t power_of_two_part(std::int64_t value) { return value & -value; }

Packing::Packing(const std::vector<std::int64_t>& unit) {
  for (const auto extent : unit) {
    shift_.push_back(bits_);
    width_.push_back(log2_exact(extent));
    bits_ += width_.back();
  }
}

std::uint64_t Packing::pack(const Coordinate& coordinate) const {
  std::uint64_t word = 0;
  for (std::size_t axis = 0; axis < shift_.size(); ++axis) {
    word |= static_cast<std::uint64_t>(coordinate[axis]) << shift_[axis];
  }
  return word;
}

Coordinate Packing::unpack(std::uint64_t word) const {
  Coordinate coordinate;
  for (std::size_t axis = 0; axis < shift_.size(); ++axis) {
    coordinate.push_back(static_cast<std::int64_t>((word >> shift_[axis]) & ((std::uint64_t(1) << width_[axis]) - 1)));
  }
  return coordinate;
}

bool Span::add(std::uint64_t vector) {
  std::uint64_t combination = std::uint64_t(1) << count_++;
  for (const Row& row : rows_) {
    if (vector & std::bit_floor(row.vector)) { vector ^= row.vector; combination ^= row.combination; }
  }
  if (vector == 0) return false;
  rows_.push_back({vector, combination});
  return true;
}

void Span::add(const Packing& packing, const Basis& basis) {
  for (const auto& vector : basis.vectors) add(packing.pack(vector));
}

std::optional<std::uint64_t> Span::solve(std::uint64_t word) const {
  std::uint64_t combination = 0;
  for (const Row& row : rows_) {
    if (word & std::bit_floor(row.vector)) { word ^= row.vector; combination ^= row.combination; }
  }
  if (word != 0) return std::nullopt;
  return combination;
}

}  // namespace kiln::layout
