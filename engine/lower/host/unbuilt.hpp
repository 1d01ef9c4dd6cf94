// What PROGRAM.md has and host targets do not have yet, found before code is made of it.
#pragma once

#include "engine/base/result.hpp"
#include "engine/ir/bound/program.hpp"

namespace kiln::lower::host {

// `unsupported`, with a diagnostic at each statement that uses such a function (PROGRAM.md, "Not yet").
Status check_built(const bound::Launch& launch);

}  // namespace kiln::lower::host
