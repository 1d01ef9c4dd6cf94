// Thread maps: which lane holds which elements of a tile that is moved to or from memory, and small algebra on layouts.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/ir/layout/layout.hpp"

namespace kiln::lower::amd {

// Factors of two in an extent (at most 30): the bits that lanes and registers can take of it.
int even_bits(std::int64_t extent);
inline bool power_of_two(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }
int log2_of(std::int64_t value);   // of a power of two

struct MapRequest {
  std::vector<std::int64_t> shape;
  int lane_bits = 6, wave_bits = 0;
  int fast = 0;                // the axis along which neighbouring lanes lie
  int vector_bits = 0;         // registers along `fast`, log2
  int block_axis = -1;         // registers along a second axis: a small block a lane, for transposing
  int block_bits = 0;
  int fast_lane_bits_max = 30; // lanes along `fast` before lanes go along block_axis
  bool waves_on_rows = false;  // waves on the other axes first; lanes leave these bits to them
};
// A coalesced map. What the tile has no bits for replicates (free bits).
layout::RegLayout thread_map(const MapRequest& request);

// Elements along `axis` that one lane holds at coordinates that differ in the lowest bits only: the longest run that a
// vector access can move, wherever the registers are.
std::int64_t run_along(const layout::RegLayout& layout, int axis);

// `layout` cut to the first `extent` elements along `axis`; false when lanes or waves reach beyond.
bool cut(layout::RegLayout& layout, int axis, std::int64_t extent);
// A new axis of extent 1 before axis `at`.
layout::RegLayout insert_axis(layout::RegLayout layout, int at);
// The layout that a tile needs whose axis a is index axes[a] of an iteration space held as `iteration` (-1: extent 1).
layout::RegLayout projected(const layout::RegLayout& iteration, const std::vector<int>& axes);
// Whether every lane finds in `held` what `needed` gives it: equal lane and wave parts, registers in any order.
bool agrees(const layout::RegLayout& held, const layout::RegLayout& needed);

}  // namespace kiln::lower::amd
