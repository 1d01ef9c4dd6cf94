// Which of a kernel's lowering candidates is taken.
#pragma once

#include <functional>

#include "engine/base/result.hpp"
#include "engine/compile/compiler.hpp"

namespace kiln::compile {

// Compiles candidates, the first of them 0, until one spills no registers or `compile` has no further one (not_found);
// the one that spills least otherwise. A failure ends it: with the best so far, whose decisions then say why no other
// was tried, or with the error when there is none.
Result<Compiled> best_candidate(const std::function<Result<Compiled>(int attempt)>& compile);

}  // namespace kiln::compile
