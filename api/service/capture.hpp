// What a launch gives for its "capture": the launch itself in one file (engine/capture/CAPTURE.md). Internal to the room.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/protocol/json.hpp"
#include "api/service/service.hpp"
#include "engine/capture/capture.hpp"

namespace kiln::service {

// What a kernel was compiled from, by this client's words. Immutable.
struct KernelSource {
  std::shared_ptr<const tile::Program> program;
  specialize::Bindings bindings;               // what a tuning record set among them
  std::string target;
  std::string tuning;                          // what it was compiled by, as JSON: a record, or "default"
};

// "capture" and "seeds" of a launch.
struct CaptureWish {
  enum class When : std::uint8_t { never, fault, always } when = When::never;
  std::map<std::string, std::uint64_t> seeds;   // of tensors that the client filled with Kiln's generator
  [[nodiscard]] bool any() const { return when != When::never; }
  // Whether a launch that ended so is captured. A fault: the launch failed on the device, or verify found other results. What
  // was cancelled or came too late is none.
  [[nodiscard]] bool wants(const capture::Outcome& outcome) const;
};
Result<CaptureWish> read_capture_wish(const protocol::Fields& fields);

// A launch as it was, for capture_launch. Descriptors are the caller's; each holds its tensor's bytes from its start.
struct LaunchRecord {
  struct Argument {
    std::string name;
    Bytes scalar;
    std::uint64_t bytes = 0;
    int before = -1, after = -1;
  };
  const jit::Kernel* kernel = nullptr;
  const KernelSource* source = nullptr;        // null: not known
  device::Device* device = nullptr;
  std::string device_name, purpose, build;
  std::vector<std::pair<std::string, std::string>> switches;
  std::vector<Argument> arguments;
  capture::Outcome outcome;
};
// The sealed file. May take seconds. Errors: resource_limit, io_error, out_of_memory.
Result<UniqueFd> capture_launch(const LaunchRecord& record, const CaptureWish& wish);
// Puts the file, or why there is none, beside the answer: a result's or an error's.
void attach_capture(Reply& reply, Result<UniqueFd> file);

}  // namespace kiln::service
