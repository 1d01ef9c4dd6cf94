// Intervals of index expressions: what proves that no value leaves 64 bits and decides comparisons before anything
// runs.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "engine/ir/tile/expression.hpp"
#include "engine/ir/types.hpp"

namespace kiln::bound {

// lo <= every value <= hi. Never empty: what cannot be reached is bound with a range of one value.
struct Range {
  std::int64_t lo = std::numeric_limits<std::int64_t>::min(), hi = std::numeric_limits<std::int64_t>::max();
  [[nodiscard]] bool single() const { return lo == hi; }
  [[nodiscard]] bool within(const Range& other) const { return lo >= other.lo && hi <= other.hi; }
  bool operator==(const Range&) const = default;
};
inline Range point(std::int64_t value) { return {value, value}; }
Range hull(const Range& a, const Range& b);
// The values of an integer type; of index and 64-bit types all 64 bits (u64: as bits).
Range range_of_type(DType type);

// The range of an operation on mathematical integers (+ - * // % << >> & | ^ ceildiv min max; neg ~ abs with `b`
// ignored), nothing when a value may leave 64 bits. Sound, not always the least.
std::optional<Range> range_of(Op op, const Range& a, const Range& b);

// A comparison that every pair of values answers alike.
std::optional<bool> decide(Op op, const Range& a, const Range& b);

}  // namespace kiln::bound
