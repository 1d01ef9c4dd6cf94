// A device in a process of its own, and the arguments that every candidate is launched on.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/jit/tuning.hpp"

namespace kiln::tune {

// How long a launch may take, and who may stop it before.
struct LaunchLimits {
  std::chrono::milliseconds candidate{0};   // 0: no limit of its own
  Deadline deadline;
  CancelToken cancel;
};
struct LaunchEnd {
  enum class How : std::uint8_t { done, hung, failed, stopped } how = How::done;  // stopped: by who waits for the tune
  device::LaunchReport report;  // done
  Error error;                  // the others
};
// What launches left in the written tensors; memory of its own, one entry an argument, empty where nothing is written.
struct Results {
  std::vector<UniqueFd> memory;
  std::shared_ptr<const void> counted;
};

// One thread. Ends the device's process with it.
class Bench {
 public:
  // `program`: whose arguments `inputs` are. Written tensors get memory of their own: inputs stay as they are.
  static Result<std::unique_ptr<Bench>> open(jit::Session& session, const std::string& device,
                                             const bound::Program& program, std::vector<jit::TuneInput> inputs,
                                             const decltype(jit::TuneRequest::account)& account);
  // Goes on with a fresh process of the device.
  Status restart();
  // Every written tensor as the inputs have it.
  void restore();
  // The same for those that a launch also reads: what it may leave out between launches that are only timed.
  void restore_read_ones();
  // One launch, and its end. Errors are the kernel's: it is loaded on its first launch and unloaded when it did not end
  // well.
  LaunchEnd launch(const std::shared_ptr<const jit::Kernel>& kernel, const LaunchLimits& limits, bool profile = false);
  // Copies of the written tensors.
  Result<Results> results();
  [[nodiscard]] std::vector<jit::Session::VerifyArgument> before() const;
  [[nodiscard]] std::vector<jit::Session::VerifyArgument> after(const Results& results) const;
  // The bytes that a launch writes, all tensors together.
  [[nodiscard]] std::uint64_t written_bytes() const;
  [[nodiscard]] const std::vector<jit::TuneInput>& inputs() const { return inputs_; }
  [[nodiscard]] ByteView input(std::size_t index) const { return arguments_[index].input.bytes(); }

 private:
  struct Argument {
    Access access = Access::read;
    std::uint64_t bytes = 0;
    Mapping input;               // what the launch finds
    UniqueFd own;                // of a written tensor
    Mapping own_bytes;
    device::BufferId buffer = 0;
  };
  Bench(jit::Session& session, std::string device, const bound::Program& program, std::vector<jit::TuneInput> inputs)
      : session_(session), device_name_(std::move(device)), program_(program), inputs_(std::move(inputs)) {}
  Status take_memory(const decltype(jit::TuneRequest::account)& account);
  void restore(bool all);

  jit::Session& session_;
  const std::string device_name_;
  const bound::Program& program_;
  std::vector<jit::TuneInput> inputs_;
  std::shared_ptr<const void> counted_;
  decltype(jit::TuneRequest::account) account_;
  std::vector<Argument> arguments_;
  std::map<jit::Key, device::KernelId> kernels_;
  std::unique_ptr<device::Device> device_;   // ends first: it has the memory mapped
};

}  // namespace kiln::tune
