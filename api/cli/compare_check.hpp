// Whether two sides computed what they should: against the definition, or against each other.
#pragma once

#include <functional>

#include "api/cli/operands.hpp"
#include "engine/ir/bound/program.hpp"

namespace kiln::cli {

// What both sides left in the written tensors, a file in memory for each operand (none for those that are only read).
using Results = std::vector<UniqueFd>;

struct CheckInput {
  const bound::Program *a = nullptr, *b = nullptr;
  const std::vector<Operand>* operands = nullptr;  // as before the launches
  std::vector<std::size_t> order_a, order_b;       // of A's and B's parameters: their operands
  const Results *results_a = nullptr, *results_b = nullptr;
  int seconds = 60;  // that the interpreter may be estimated to take
  // A's results on the absolute values of the inputs: what its products add up to, for the tolerance of a gemm.
  std::function<Result<Results>()> on_absolute_inputs;
};

// {by: "definition", "a", "none"; text; passed: true, false, null where nothing could be said; a, b: {error_max,
// ratio_max (share of the tolerance), wrong, elements, tensors} or null}. Both sides are compared with A's program: as
// the interpreter runs it where that is estimated to end in time, else B's results with A's. Errors: what the
// interpreter finds in A's program; cancelled.
Result<protocol::Json> check_sides(Context& context, const CheckInput& input);

}  // namespace kiln::cli
