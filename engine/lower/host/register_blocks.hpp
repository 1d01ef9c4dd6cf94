// The register block of a product on the host: how many accumulators, in which shape.
#pragma once

#include <cstdint>

#include "engine/ir/target/target.hpp"

namespace kiln::lower::host {

struct RegisterBlock {
  int m = 1, n = 8;  // rows; columns, whole vectors
};

// The block with the least estimated time for c[m, n] += a[m, k]·b[k, n] with accumulators of `bytes`. Requires extents
// >= 1.
RegisterBlock choose_register_block(std::int64_t m, std::int64_t n, std::int64_t k, int bytes,
                                    const target::Target& target);

inline std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace kiln::lower::host
