// Steps after translation: where LDS storages lie, and where barriers stand.
#pragma once

#include "engine/ir/kernel/program.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::lower::amd {

// What a statement does to LDS storages and tensors by itself (not what is below it).
struct Touches {
  std::vector<int> lds_read, lds_written;      // storage ids
  std::vector<int> tensors_read, tensors_written;
  bool partial_write = false;                  // a map's: not certainly the whole storage
};
Touches touches_of(const kernel::Launch& launch, const kernel::Stmt& stmt);

// lds_allocation.cpp: offsets of all LDS storages and the block's bytes. Storages share bytes when that is what makes
// them fit `share_above` bytes and they are not needed at the same time. Gives back how many bytes sharing saved.
std::int64_t allocate_lds(kernel::Launch& launch, std::int64_t share_above);

// barriers.cpp: a barrier before each statement that would otherwise meet LDS bytes, or elements of a tensor, that
// other waves still write or read; loop back-edges included. As few as a forward pass needs. Gives back their number;
// -1 when loops are nested so deep that the pass is given up (the launch is of no use then).
int place_barriers(kernel::Launch& launch, const std::vector<bound::Tensor>& tensors);

}  // namespace kiln::lower::amd
