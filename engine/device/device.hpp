// Devices: load code objects, map client memory, launch. Implemented by LocalDevice's (host; hip and cuda later) inside a device
// process, and by DeviceProcess, the client side of one, in kilnd or the CLI. Thread-safe; callbacks come from its own threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/deadline.hpp"
#include "engine/base/fd.hpp"
#include "engine/base/result.hpp"
#include "engine/compile/metadata.hpp"

namespace kiln::device {

struct DeviceInfo {
  std::string name;        // "host", later "hip:0", "emu:gfx942"
  std::string target;      // full target string
  std::string description; // "AMD EPYC …, 2 cores, AVX-512"
  std::string uuid;        // stable identity of the card; "host" for the host
  int compute_units = 0;   // cores on the host
  std::uint64_t memory_bytes = 0;
};

using KernelId = std::uint64_t;
using BufferId = std::uint64_t;
using LaunchId = std::uint64_t;

// An argument: a range of a mapped buffer, or a scalar's bytes.
struct LaunchArgument {
  BufferId buffer = 0;     // 0: scalar
  std::uint64_t offset = 0, bytes = 0;
  Bytes scalar;
};
struct LaunchReport {
  double duration_ms = 0;  // in the device process, submission to completion
};
using LaunchDone = std::function<void(Result<LaunchReport>)>;

class Device {
 public:
  virtual ~Device() = default;
  virtual Result<DeviceInfo> info() = 0;
  // Checks the object against the device's target, loads it. Equal objects may be loaded twice. The object is trusted by now.
  virtual Result<KernelId> load(const compile::Metadata& metadata, ByteView object) = 0;
  virtual Status unload(KernelId kernel) = 0;
  // Maps [offset, offset + size) of `fd` (duplicated). The caller has checked size and seals.
  virtual Result<BufferId> map(int fd, std::uint64_t offset, std::uint64_t size, bool writable) = 0;
  virtual Status unmap(BufferId buffer) = 0;   // after the launches that use it
  // Runs all launches of the kernel in order on `stream` (launches of one stream run in order). Ranges were checked by the caller
  // against TensorInfo::bytes; the device checks them again against its mappings. Errors: cancelled, device_lost (retryable),
  // launch_failed. `done` exactly once.
  virtual LaunchId launch(KernelId kernel, std::vector<LaunchArgument> arguments, std::uint64_t stream, LaunchDone done) = 0;
  // A launch that has not started is not started any more, and is done when this returns; one that runs is told to stop:
  // at most 100 ms until `done` (host: between blocks and in long loops). Never waits for anything that runs.
  virtual void cancel(LaunchId launch) = 0;
};

// What a device process runs inside: same interface, in-process.
using LocalDeviceFactory = std::function<Result<std::unique_ptr<Device>>(const std::vector<std::string>& arguments)>;
// The main of every kiln-device-*: serves frames on descriptor 3; ends on its end of file.
int device_main(int argc, char** argv, const LocalDeviceFactory& factory);

struct DeviceProcessOptions {
  std::vector<std::string> command;
  std::string log_path;
  std::vector<std::string> environment;        // NAME=value, whole
  // A launch that runs on this long after it was told to stop ends the process.
  std::chrono::milliseconds cancel_limit{5000};
  // A cancelled launch that the process says nothing about is answered then.
  std::chrono::milliseconds answer_limit{250};
  // A process that says nothing for this long, with work in flight, is ended.
  std::chrono::milliseconds hung_limit{10000};
};
// Starts the process on first use; when it dies, launches in flight fail with device_lost and what killed it, the next use
// starts a new one, maps registered buffers and loads kernels again (ids stay valid). What it cannot restore it tries again at
// the next launch that uses it, which fails with the reason if that does. Calls may block while it starts.
// A cancelled launch is answered `cancelled` also when the process has to be ended for it, or does not answer; only in that
// last case it may still touch its buffers, until the process answers or is ended. The log says whose launch it was.
// Completions come from a thread of their own, in order: a callback may use the device, but must not wait for another launch.
std::unique_ptr<Device> start_device_process(DeviceProcessOptions options);

}  // namespace kiln::device
