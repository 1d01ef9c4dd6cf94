// What each tile of a launch is used for, and the scratch storage that follows from it.
#pragma once

#include <vector>

#include "engine/ir/bound/program.hpp"
#include "engine/ir/kernel/program.hpp"
#include "engine/lower/host/register_blocks.hpp"
#include "engine/lower/lower.hpp"

namespace kiln::lower::host {

// Why a storage is as it is. Positions are tile ids; storages that lowering adds come behind.
struct TilePlan {
  DType dtype = DType::f32;      // in scratch: f16 and bf16 operands of a product are held as f32
  int contiguous = 0;            // axis
  std::int64_t columns_min = 0;  // elements a row must have room for (whole register blocks)
  std::int64_t rows_min = 0;     // rows there must be room for
  bool operand = false, result = false, streamed = false, streamed_transposed = false;  // of products
  int writers = 0;                                                                      // statements that write it
  bool may_widen = true;  // whatever is written is exact in f32 once it is rounded to the tile's type
};

struct GemmPlan {
  RegisterBlock block;
  bool copy_a = false, copy_b = false;  // the operand must be brought into another type or orientation first
};

// Plans for all tiles, and for all products in the order of a walk over the body.
struct Plans {
  std::vector<TilePlan> tiles;
  std::vector<GemmPlan> gemms;
};
Result<Plans> plan_tiles(const bound::Program& program, const bound::Launch& launch, const target::Target& target);

kernel::Storage make_storage(const std::string& name, int tile, const std::vector<std::int64_t>& shape,
                             const TilePlan& plan);

// Scratch bytes that a storage takes, with the room for whole register blocks.
std::int64_t reserved_bytes(const kernel::Storage& storage, const TilePlan& plan);

// Offsets: storages that are used by disjoint runs of top-level statements share bytes. Sets lds_bytes.
void place_storages(kernel::Launch& launch, const std::vector<TilePlan>& plans);

}  // namespace kiln::lower::host
