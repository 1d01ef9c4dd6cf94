// Linear algebra over F2 on coordinates: spans of basis vectors, as machine words.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/ir/layout/layout.hpp"

namespace kiln::layout {

// Packs a coordinate of a unit (extents powers of two) into one word, axis 0 in the low bits. At most 62 bits in all.
class Packing {
 public:
  explicit Packing(const std::vector<std::int64_t>& unit);
  [[nodiscard]] std::uint64_t pack(const Coordinate& coordinate) const;
  [[nodiscard]] Coordinate unpack(std::uint64_t word) const;
  [[nodiscard]] int bits() const { return bits_; }

 private:
  std::vector<int> shift_, width_;
  int bits_ = 0;
};

// The span of vectors added so far. Each vector has a number; `solve` names the vectors whose XOR is a word, using only
// those that were independent of the ones before.
class Span {
 public:
  // Whether the vector was independent of those before. At most 64 vectors.
  bool add(std::uint64_t vector);
  void add(const Packing& packing, const Basis& basis);
  [[nodiscard]] bool contains(std::uint64_t word) const { return solve(word).has_value(); }
  [[nodiscard]] std::optional<std::uint64_t> solve(std::uint64_t word) const;  // bit i: vector i takes part
  [[nodiscard]] int rank() const { return static_cast<int>(rows_.size()); }

 private:
  struct Row { std::uint64_t vector, combination; };  // reduced; leading bits differ
  std::vector<Row> rows_;
  int count_ = 0;
};

// log2 of a power of two.
int log2_exact(std::int64_t value);
bool is_power_of_two(std::int64_t value);
// The largest power of two that divides a positive value.
std::int64_t power_of_two_part(std::int64_t value);

}  // namespace kiln::layout
