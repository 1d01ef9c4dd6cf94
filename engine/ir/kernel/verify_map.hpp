// The verifier's part for elementwise statements.
#pragma once

#include <functional>
#include <string>

#include "engine/ir/kernel/verify_steps.hpp"

namespace kiln::kernel {

struct MapCheck {
  const Subject& subject;
  const Role& role;
  const Ranges& ranges;  // around the statement
  std::function<void(const std::string&)> wrong;
};
// Register operands and targets are indexed by the map's own indices and lie as the iteration does; LDS indices stay
// inside unless the statement checks.
void check_map(const MapCheck& check, const Map& map);

}  // namespace kiln::kernel
