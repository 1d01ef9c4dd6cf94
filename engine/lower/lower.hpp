// From a bound program to a kernel program (ARCHITECTURE.md, "Lowering"): pure, deterministic, knows no program's name.
#pragma once

#include <string>
#include <vector>

#include "engine/base/deadline.hpp"
#include "engine/ir/bound/program.hpp"
#include "engine/ir/kernel/program.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::lower {

// What lowering decided and why, for `explain`; one line each, in order.
struct Decision { std::string step, subject, text; };

struct Lowered {
  kernel::Program program;              // verified
  std::vector<Decision> decisions;
  std::vector<std::string> bounds_left; // "load A[row]: row may reach 320, extent 300": checks that remain in the code
};

// `attempt` 0 is the best candidate; a caller that found spills or a broken budget asks for 1, 2, … until not_found.
// Errors: program_invalid (a tile that cannot be laid out, LDS too small …), unsupported (with what and where).
Result<Lowered> lower(const bound::Program& program, const target::Target& target, int attempt, Budget& budget);

}  // namespace kiln::lower
