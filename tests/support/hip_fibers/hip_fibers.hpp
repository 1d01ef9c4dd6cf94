// Runs emitted HIP text on the CPU: compiled by clang with the device's intrinsics replaced, one fiber a lane. Matrix
// instructions, lane exchange and barriers are points where fibers meet. What it finds, as errors: accesses outside LDS
// or the arguments, reads of LDS that nobody wrote, two waves touching the same LDS bytes without a barrier between,
// lanes that do not meet. For tests; not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/ir/kernel/program.hpp"

namespace kiln::test {

class HipModule {
 public:
  // `include_folder`: kernels/include; `fibers_folder`: this folder's include. Needs clang++-22 on PATH. Errors:
  // compile_failed.
  static Result<HipModule> compile(const std::string& text, const kernel::Program& program,
                                   const target::Target& target, const std::string& source_folder);
  HipModule(HipModule&& other) noexcept;
  HipModule& operator=(HipModule&&) = delete;
  ~HipModule();

  // Runs all launches in order. `arguments`: one a tensor (scalars: their value's bytes), and the values of dynamic
  // symbols behind them, 4 bytes each. `seed` decides in which order
  // waves run. Errors: program_invalid, the message says kernel, block, lane and what.
  Status run(const std::vector<std::span<std::uint8_t>>& arguments, std::uint64_t seed);

 private:
  HipModule() = default;
  const kernel::Program* program_ = nullptr;
  const target::Target* target_ = nullptr;
  void* library_ = nullptr;
  std::string folder_;
};

}  // namespace kiln::test
