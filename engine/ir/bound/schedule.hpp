// What a bound program asks of lowering, and the order of blocks as all targets walk it.
#pragma once

#include <cstdint>

#include "engine/base/result.hpp"

namespace kiln::bound {

// The order in which the blocks of one z start: panels of `panel` rows one after the other, each walked along x, column
// after column; with along_y panels of columns, walked along y, row after row. 0: lowering's choice.
struct BlockOrder {
  std::int64_t panel = 0;
  bool along_y = false;
};
// The x and y of the block that comes at `place`, counted from 0, in a grid of nx by ny; a bijection for every grid. A
// panel of 0 stands for 1. Requires 0 <= place < nx * ny.
struct BlockPlace { std::int64_t x = 0, y = 0; };
BlockPlace block_at(const BlockOrder& order, std::int64_t nx, std::int64_t ny, std::int64_t place);

// What the program asks of lowering; it changes no meaning. 0 everywhere: lowering's choice. `hint`: what cannot be
// honoured is told, not refused.
struct LaunchSchedule {
  BlockOrder order;
  int waves_m = 0, waves_n = 0;              // of each gemm that does not ask itself: powers of two
  bool hint = false;
};
struct CopySchedule {
  int vector_bytes = 0;                      // at most, of an access to memory: 1 2 4 8 16
  bool hint = false;
};
struct GemmSchedule {
  int m = 0, n = 0, k = 0;                   // of the matrix instruction
  int k_pack = 0;                            // a power of two
  int waves_m = 0, waves_n = 0;              // powers of two
  bool hint = false;
};
// When a statement of a pipelined loop has its turn. -1: lowering's choice.
struct Turn {
  int position = -1;                         // in what an iteration does, other statements' before and after
  int stage = -1;                            // how many iterations behind those of stage 0 it is
};
inline constexpr int turns_max = 1 << 16;

// Whether the numbers are as documented above: `corrupt` otherwise.
Status check(const LaunchSchedule& schedule);
Status check(const CopySchedule& schedule);
Status check(const GemmSchedule& schedule);
Status check(const Turn& turn);

}  // namespace kiln::bound
