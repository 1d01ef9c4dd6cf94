// One launch on its way through the service. Internal to the room.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/service/report.hpp"
#include "api/service/state.hpp"
#include "engine/compile/launch_sizes.hpp"

namespace kiln::service {

// One argument of a launch: a range of a buffer, or a scalar's bytes.
struct Argument {
  std::shared_ptr<Buffer> buffer;
  std::uint64_t buffer_id = 0;             // the connection's
  std::uint64_t offset = 0, bytes = 0;
  Access access = Access::read;
  Bytes scalar;
};

enum class LaunchPurpose : std::uint8_t { run, verify, profile };

struct LaunchJob {
  std::unique_ptr<Ahead> ahead;            // first: what is in order behind it starts when all else is given back
  TurnPtr turn;
  CallPtr call;
  const protocol::Fields* fields = nullptr;  // what the launch is told by: the call's, or a part of it
  std::shared_ptr<const jit::Kernel> kernel;
  std::shared_ptr<const bound::Program> program;
  std::string device_name;
  device::Device* device = nullptr;
  jit::LoadedKernelPtr loaded;
  bound::SymbolValues symbols;             // of the kernel's dynamic symbols
  std::shared_ptr<const compile::LaunchSizes> sizes;  // at these; null: the kernel has none
  std::vector<Argument> arguments;         // of its tensors
  LaunchPurpose purpose = LaunchPurpose::run;
  std::uint64_t stream = 0;                // the connection's name of it
  device::LaunchSettings settings;
  std::vector<std::shared_ptr<CardEvent>> events;  // those that `settings` names
  // Those that the request names, as they were when it came: what releases them later does not overtake it.
  std::map<std::uint64_t, std::shared_ptr<CardEvent>> named_events;
  bool enqueued = false;                   // and answered; of the device's thread
  bool finished = false;                   // with the service's lock
  bool late = false;                       // stopped at its deadline; with the service's lock
  std::uint64_t deadline_entry = 0;        // in the deadline watch, where it records an event; with the service's lock
  MemoryShare before_memory, workspace_memory;
  // verify, capture: the tensors as they were, and are where they cannot be mapped; one a tensor.
  std::vector<UniqueFd> before, after;
  CaptureWish capture;
  std::shared_ptr<const KernelSource> source;
  double launch_ms = 0;
  protocol::Json printed;                  // of a kernel that prints or asserts: members of its answer

  // What it holds is free when the client knows; then the next one starts.
  void answer(Reply reply);
  [[nodiscard]] const std::string& name(std::size_t index) const {
    return tensor_name(kernel->metadata, program.get(), index);
  }
  // As they are in this launch.
  [[nodiscard]] const std::vector<compile::TensorInfo>& tensors() const {
    return sizes ? sizes->tensors : kernel->metadata.tensors;
  }
  [[nodiscard]] bool has_argument(const std::string& wanted) const;
  [[nodiscard]] bool copies() const;       // whether the daemon copies a buffer in and out
};
using JobPtr = std::shared_ptr<LaunchJob>;

// Whether the device counts what it executes and takes switches.
bool counts(const std::string& device_name);

// launch_methods.cpp: what a request is answered with when its launch did not end well.
Error launch_failure(ActiveCall& call, std::uint64_t stream, Error error);

// launch_parameters.cpp: what a request says, checked; errors are located.
Status read_symbols(LaunchJob& job);       // "symbols", or what "set" says of them
Status read_arguments(LaunchJob& job);     // behind read_symbols
// A number as the bytes of a scalar argument.
Result<Bytes> read_scalar(const protocol::Json& value, DType type, const std::string& pointer);
Status read_settings(LaunchJob& job);      // "switches", of the emulated card
Status read_events(LaunchJob& job);        // "wait" and "event"
// The events that a request names, where there are such now. Nothing is checked.
std::map<std::uint64_t, std::shared_ptr<CardEvent>> named_events(const ActiveCall& call);

// launch_answers.cpp: what goes before the launch and what is answered after it.
Status copy_in(LaunchJob& job);
Status copy_out(LaunchJob& job);
// A copy of every tensor as the launch finds it; it counts as the clients' buffers do.
Status take_before(LaunchJob& job);
// Answers, with the launch as a file where that was asked for. A file that cannot be made takes no answer away.
void answer_launch(const JobPtr& job, Reply reply, capture::Outcome outcome);
void answer_failure(const JobPtr& job, Error error);
// What the prints and asserts of one launch of the kernel have left: `members` of its answer. Errors: assertion_failed.
Status read_records(const compile::Metadata& metadata, ByteView records, protocol::Json& members);
// An argument as devices take it. Errors: Buffer::on_device's.
Result<device::LaunchArgument> device_argument(const Argument& argument, device::Device& device);
void answer_verify(const JobPtr& job);     // runs the interpreter
void answer_profile(const JobPtr& job, const device::LaunchReport& report);
void answer_duration(const JobPtr& job);

}  // namespace kiln::service
