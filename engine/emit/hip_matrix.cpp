// Matrix instructions. The wrappers of kernels/include/kiln/matrix.hpp are named after clang's builtins.
#include <numeric>
#include <set>

#include "engine/emit/hip_context.hpp"

namespace kiln::emit::hip {
namespace {

std::vector<int> run_of(int first, int count) {
  std::vector<int> regs(count);
  std::iota(regs.begin(), regs.end(), first);
  return regs;
}

}  // namespace

Status print_mma(Context& context, const kernel::Mma& mma) {
  constexpr std::string_view prefix = "__builtin_amdgcn_";
  const auto* instruction = context.target.matrix_named(mma.instruction);
  if (instruction == nullptr || !std::string_view(instruction->builtin).starts_with(prefix)) {
    return Error(ErrorCode::unsupported, "matrix instruction " + mma.instruction + " on " + context.target.full);
  }
  const std::string function = instruction->builtin.substr(prefix.size());
  KILN_TRY(const auto steps, kernel::mma_steps(context.launch, mma, *instruction));
  const kernel::Storage& a = context.storage(mma.a);
  const kernel::Storage& b = context.storage(mma.b);
  const kernel::Storage& c = context.storage(mma.c);
  std::set<int> begun;
  for (const auto& step : steps) {
    const auto results = run_of(step.c, instruction->result_elements);
    const std::string from_a = registers_value(a, mma.a, run_of(step.a, instruction->operand_elements));
    const std::string from_b = registers_value(b, mma.b, run_of(step.b, instruction->operand_elements));
    const std::string type = data_type(c.dtype, instruction->result_elements);
    const bool first = begun.insert(step.c).second;
    const std::string sum = mma.clear && first ? type + "(0)" : registers_value(c, mma.c, results);
    const std::string call =
        function + "(" + (mma.swapped ? from_b + ", " + from_a : from_a + ", " + from_b) + ", " + sum + ")";
    if (c.vector_elements == instruction->result_elements) {
      context.line(registers_value(c, mma.c, results) + " = " + call + ";");
      continue;
    }
    const std::string name = context.fresh("x");
    context.line("const " + type + " " + name + " = " + call + ";");
    registers_store(context, mma.c, results, name);
  }
  return ok();
}

}  // namespace kiln::emit::hip
