// Layouts as linear maps over bits (F2), as in "Linear Layouts" (arXiv 2505.23819): where an element of a tile lives.
// Immutable values; every function is pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/ir/types.hpp"

namespace kiln::layout {

using Coordinate = std::vector<std::int64_t>;   // one entry a tile axis

// A linear map from `in` bits to a coordinate: the image of input x is the XOR of basis[b] over the set bits b of x.
struct Basis {
  std::vector<Coordinate> vectors;  // one a bit, lowest bit first; an all-zero vector is a free (replicating) bit
  [[nodiscard]] int bits() const { return static_cast<int>(vectors.size()); }
};

// Registers of a block: (register, lane, wave) -> tile coordinate.
// A tile of shape S is covered by prod(repeat) copies of a unit of power-of-two extents: S[i] == unit[i] * repeat[i].
// Register index = bits of `reg` inside the unit, plus 2^reg.bits() * (row-major index of the repeat, last axis
// fastest).
struct RegLayout {
  std::vector<std::int64_t> unit, repeat;
  Basis reg, lane, wave;

  [[nodiscard]] int rank() const { return static_cast<int>(unit.size()); }
  [[nodiscard]] Coordinate shape() const;
  [[nodiscard]] int registers() const;                       // elements one lane holds
  [[nodiscard]] Coordinate at(int reg_index, int lane_index, int wave_index) const;
  // Parts of `at` that add up (bits of register, lane and wave never share a coordinate bit unless they are free).
  [[nodiscard]] Coordinate of_register(int reg_index) const { return at(reg_index, 0, 0); }
  // The register of lane 0, wave 0 that holds the element, if that lane does (free bits: the lowest register).
  [[nodiscard]] std::optional<int> register_of(const Coordinate& coordinate) const;
  // Every element held by at least one place: success, else what is missing.
  [[nodiscard]] Status covers() const;
  // Copies of each element over lanes and waves (product of the free bits), 1 for none.
  [[nodiscard]] int replication() const;
  bool operator==(const RegLayout&) const;
};

// Builds a layout from a list of coordinate bits: `order` names, lowest first, what each successive coordinate bit run
// is assigned to. Used by all makers below.
struct BitSource { enum Kind { reg, lane, wave } kind; int count; int axis; };
// Assigns runs in order: each takes `count` next bits of coordinate axis `axis` (counted per axis from bit 0); axis -1:
// free bits, which replicate.
// What remains of the shape becomes repeat; error when the shape has not enough bits.
Result<RegLayout> make_layout(const std::vector<std::int64_t>& shape, const std::vector<BitSource>& order);
// As above, `free_lane`/`free_wave` bits appended that replicate.
RegLayout with_free_bits(RegLayout layout, int lane_bits, int wave_bits);

// The layout of `layout`'s tile with `axis` removed (what a reduction along it gives; registers along it collapse into
// one, lane and wave bits along it become free).
RegLayout slice(const RegLayout& layout, int axis);
// Transposed tile: axes permuted.
RegLayout permute(const RegLayout& layout, const std::vector<int>& axes);

// Elements that are contiguous along `axis` and held by consecutive low registers of one lane: a power of two that
// divides registers(), 1 when none.
int contiguous_registers(const RegLayout& layout, int axis);

// How a value of layout `from` becomes one of layout `to` (same shape): not at all, by register moves that are the same
// in all lanes, by exchange between lanes (waves move both layouts alike), or through LDS.
enum class Conversion : std::uint8_t { none, registers, lanes, lds };
Conversion conversion(const RegLayout& from, const RegLayout& to);

// An LDS (or host scratch) tile: coordinate -> byte offset. Axis `contiguous` runs along rows; rows are all other axes.
//   offset = row * (row_bytes + pad_bytes) + ((column * element_bytes) ^ (xor_of(row) * chunk_bytes))
// with column along `contiguous`, row the row-major index over the other axes in tile order.
struct LdsLayout {
  std::vector<std::int64_t> shape;
  int element_bytes = 2;
  int contiguous = 1;                       // the axis whose elements are adjacent
  std::int64_t pad_bytes = 0;
  int chunk_bytes = 16;                     // the unit that the swizzle moves
  std::vector<std::int64_t> xor_basis;      // chunk index XOR for each bit of the row; empty: no swizzle

  [[nodiscard]] std::int64_t row_bytes() const { return shape[contiguous] * element_bytes; }
  [[nodiscard]] std::int64_t pitch_bytes() const { return row_bytes() + pad_bytes; }
  [[nodiscard]] std::int64_t rows() const;
  [[nodiscard]] std::int64_t bytes() const;  // of the whole tile
  [[nodiscard]] std::int64_t row_of(const Coordinate& coordinate) const;
  [[nodiscard]] std::int64_t offset(const Coordinate& coordinate) const;
  // Longest aligned run, in bytes, that stays contiguous at this layout: chunk_bytes when swizzled, else the row's
  // alignment.
  [[nodiscard]] int run_bytes_max() const;
  [[nodiscard]] std::string text() const;    // "row_major", "pad 16 B", "xor16(row%8)", "xor8(row/2%8)"
  // Exclusive bound of what a swizzle may XOR into a chunk index and stay inside the row: the largest power of two that
  // divides the row's number of chunks; 1 (no swizzle) when chunks do not divide the row.
  [[nodiscard]] std::int64_t xor_limit() const;
  bool operator==(const LdsLayout&) const = default;
};
// `layout` with the chunk index XORed with (row / row_divisor) % rows_mod (powers of two); what would leave the row is
// cut off.
LdsLayout with_swizzle(LdsLayout layout, int chunk_bytes, std::int64_t row_divisor, std::int64_t rows_mod);

// "reg(1.0-1,0.5) lane(0.0-4,1.2) wave(-,0.6) repeat(1,3)": each bit, lowest first, as axis.bit of the coordinate, runs
// joined, "-" a free bit, "0.3^1.2" a bit that moves both; repeat only where it is not 1 everywhere.
std::string to_text(const RegLayout& layout);

}  // namespace kiln::layout
