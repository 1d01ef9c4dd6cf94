#include "engine/jit/verification.hpp"

#include <chrono>

#include "engine/reference/process.hpp"

namespace kiln::jit {
namespace {

reference::Memory memory_of(const Session::VerifyArgument& argument) {
  return {argument.fd, argument.offset, argument.fd < 0 ? argument.scalar.size() : argument.bytes, argument.scalar};
}

}  // namespace

Verification::Verification(const SessionOptions& options)
    : command_(options.reference_command), environment_(compile::scrubbed_environment(options.pool.environment)),
      log_path_(options.log_path) {}

Result<Session::VerifyResult> Verification::verify(const bound::Program& program,
                                                   const std::vector<Session::VerifyArgument>& before,
                                                   const std::vector<Session::VerifyArgument>& after, Deadline deadline,
                                                   CancelToken cancel) const {
  const auto count = program.arguments();
  if (before.size() != count || after.size() != count)
    return Error(ErrorCode::invalid_argument, "verify takes " + std::to_string(count) + " arguments before and after");
  reference::RunRequest request;
  request.program = bound::encode(program, true);
  for (std::size_t i = 0; i < count; ++i) {
    request.arguments.push_back(memory_of(before[i]));
    const auto& tensor = program.tensors[i];
    if (!tensor.scalar && tensor.access != Access::read)
      request.candidates.push_back({static_cast<int>(i), memory_of(after[i])});
  }
  const auto began = std::chrono::steady_clock::now();
  KILN_TRY(auto process, reference::ReferenceProcess::start({command_, environment_, log_path_, 0}));
  KILN_TRY(const auto reply, process.run(request, deadline, std::move(cancel)));
  Session::VerifyResult result;
  result.tensors.resize(count);
  for (const auto& compared : reply.comparisons) {
    if (compared.tensor < 0 || static_cast<std::size_t>(compared.tensor) >= count)
      return Error(ErrorCode::corrupt, "the reference process compared a tensor that there is not");
    result.tensors[static_cast<std::size_t>(compared.tensor)] = compared.comparison;
  }
  result.reference_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  return result;
}

}  // namespace kiln::jit
