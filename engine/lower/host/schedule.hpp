// What `schedule` means on the host.
#pragma once

#include <vector>

#include "engine/ir/bound/program.hpp"
#include "engine/lower/lower.hpp"

namespace kiln::lower::host {

// Tells what is honoured (the order of blocks) and what has no meaning where there are no waves and no matrix unit.
void describe_schedule(const bound::Launch& launch, std::vector<Decision>& decisions);

}  // namespace kiln::lower::host
