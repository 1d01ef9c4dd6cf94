// Finds and loads the execution core that fits this machine.
#pragma once

#include <string>

#include "engine/base/result.hpp"
#include "engine/emulator/core/core.hpp"

namespace kiln::emulator {

// Loads libkiln-emulator-core-<level>.so, level "v4" or "v3" ("": v4 where the machine has its features, else v3), from
// `folder` or, when that is empty, from where the library or program that holds this function is: its folder, the one
// above, ../lib/kiln. The core stays loaded for the life of the process. Errors: unsupported (the machine lacks
// features, which are named), not_found, corrupt.
Result<const Core*> load_core(const std::string& level, const std::string& folder);

}  // namespace kiln::emulator
