// Elements that a statement `let` reads: they are the same for the whole block only where the launch does not write
// them.
#pragma once

#include <string>
#include <vector>

#include "engine/ir/bound/program.hpp"

namespace kiln::specialize {

struct WrittenRead {
  std::string pointer;  // of the let
  int tensor = 0;
};
// The lets of a launch that read a tensor which the launch writes, in the program's order.
std::vector<WrittenRead> reads_of_written(const bound::Body& body, std::size_t tensors);

}  // namespace kiln::specialize
