#include "engine/jit/verification.hpp"

#include <algorithm>
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

Result<std::vector<Session::VerifyResult>> Verification::verify(
    const bound::Program& program, const std::vector<Session::VerifyArgument>& before,
    const std::vector<std::vector<Session::VerifyArgument>>& after, Deadline deadline, CancelToken cancel) const {
  const auto count = program.arguments();
  const bool fits = before.size() == count && std::all_of(after.begin(), after.end(),
                                                          [&](const auto& launch) { return launch.size() == count; });
  if (!fits)
    return Error(ErrorCode::invalid_argument, "verify takes " + std::to_string(count) + " arguments before and after");
  reference::RunRequest request;
  request.program = bound::encode(program, true);
  std::vector<std::size_t> launches;   // of each candidate
  for (const auto& argument : before) request.arguments.push_back(memory_of(argument));
  for (std::size_t launch = 0; launch < after.size(); ++launch)
    for (std::size_t i = 0; i < count; ++i) {
      const auto& tensor = program.tensors[i];
      if (tensor.scalar || tensor.access == Access::read) continue;
      request.candidates.push_back({static_cast<int>(i), memory_of(after[launch][i])});
      launches.push_back(launch);
    }
  const auto began = std::chrono::steady_clock::now();
  KILN_TRY(auto process, reference::ReferenceProcess::start({command_, environment_, log_path_, 0}));
  KILN_TRY(const auto reply, process.run(request, deadline, std::move(cancel)));
  std::vector<Session::VerifyResult> results(after.size());
  if (reply.comparisons.size() != launches.size())
    return Error(ErrorCode::corrupt, "the reference process compared another number of tensors than it was given");
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const auto& compared = reply.comparisons[i];
    if (compared.tensor != request.candidates[i].tensor)
      return Error(ErrorCode::corrupt, "the reference process compared another tensor than it was given");
    auto& tensors = results[launches[i]].tensors;
    tensors.resize(count);
    tensors[static_cast<std::size_t>(compared.tensor)] = compared.comparison;
  }
  const auto took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  for (auto& result : results) {
    result.tensors.resize(count);
    result.reference_ms = took;
  }
  return results;
}

}  // namespace kiln::jit
