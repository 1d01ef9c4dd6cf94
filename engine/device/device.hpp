// Devices: load code objects, map client memory, launch. Implemented by LocalDevice's (host; hip and cuda later) inside a device
// process, and by DeviceProcess, the client side of one, in kilnd or the CLI. Thread-safe; callbacks come from its own threads.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/deadline.hpp"
#include "engine/base/fd.hpp"
#include "engine/base/result.hpp"
#include "engine/compile/metadata.hpp"

namespace kiln::device {

// How a card is told from the others of its machine.
struct CardIdentity {
  std::string uuid;        // "GPU-" and AMD's 16 letters, or its 16 bytes in hex; the PCI address where HIP gives none
  std::string pci;         // "0000:0c:00.0"
};
struct DeviceInfo {
  std::string name;        // "host", later "hip:0", "emu:gfx942"
  std::string target;      // full target string
  std::string description; // "AMD EPYC …, 2 cores, AVX-512"
  std::string uuid;        // stable identity of the card; "host" for the host
  int compute_units = 0;   // cores on the host
  std::uint64_t memory_bytes = 0;
  std::string pci;                  // of cards; empty for the host
  std::vector<CardIdentity> cards;  // of cards: all that HIP shows, this one among them, by number
};

using KernelId = std::uint64_t;
using BufferId = std::uint64_t;
using LaunchId = std::uint64_t;
using EventId = std::uint64_t;
using PlanId = std::uint64_t;
using RingId = std::uint64_t;
// hipIpcMemHandle_t, hipIpcEventHandle_t: what names a card's memory or event to another process.
using IpcHandle = std::array<std::uint8_t, 64>;

// An argument: a range of a mapped buffer, or a scalar's bytes.
struct LaunchArgument {
  BufferId buffer = 0;     // 0: scalar
  std::uint64_t offset = 0, bytes = 0;
  Bytes scalar;
};
struct LaunchSettings {
  LaunchSettings(std::uint64_t on = 0) : stream(on) {}
  std::uint64_t stream = 0;        // launches of one stream run in order
  // Count what it executes: emulated cards only, others answer unsupported.
  bool profile = false;
  // Switches of the emulated card for this launch alone, by name: check, seed, order, budget
  // (engine/emulator/machine/options.hpp). Elsewhere unsupported.
  std::vector<std::pair<std::string, std::string>> switches;
  std::vector<EventId> wait;       // the card waits for these before the first grid
  // Recorded behind the last grid; 0: none. A launch with one is given to the card while earlier ones of its stream with one
  // still run. Where such a launch fails or is cancelled, those that the card has behind it on the stream are passed over,
  // their events recorded, and they are done with `cancelled`.
  EventId record = 0;
  // Called at most once, before `done`, when the card has the launch and its event is recorded; may be null.
  std::function<void()> enqueued;
  // A launch that shares the emulated card's switches with no other one.
  [[nodiscard]] bool alone() const { return profile || !switches.empty(); }
};
// One launch of a plan, as `launch` takes it.
struct PlanStep {
  KernelId kernel = 0;
  std::vector<LaunchArgument> arguments;
};
struct StepRecords {
  std::uint64_t step = 0;  // from 0
  Bytes records;
};
struct LaunchReport {
  double duration_ms = 0;  // in the device process, submission to completion
  // profile: the emulated card's counters, a JSON array with one object a grid (engine/emulator/machine/counters.hpp).
  std::string profiles;
  // The records of its prints and asserts (bound::read_records); empty for a kernel that has none.
  Bytes records;
  // Of a plan's run, in place of `records`: those of each step that has some, in order.
  std::vector<StepRecords> steps;
};
struct AllocatedBuffer {   // memory of the card
  BufferId buffer = 0;
  IpcHandle handle{};      // for other processes
};
struct MadeEvent {
  EventId event = 0;
  IpcHandle handle{};
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
  // After the launches that use it. A card gives memory back only behind whatever runs on it: `until_free` is let go when
  // it has, which may be long after this returns, on any thread; its end must not use the device.
  virtual Status unmap(BufferId buffer, std::shared_ptr<const void> until_free) = 0;
  Status unmap(BufferId buffer) { return unmap(buffer, nullptr); }
  // [offset, offset + size) of the allocation that another process's HIP IPC handle names; a handle opened twice is one
  // mapping with a count. The range is checked against the driver's allocation. Writable. Errors: unsupported (a device
  // without IPC handles), invalid_argument (malformed, a handle of the device's own process, a range outside),
  // not_found (the memory or its owner is gone), permission_denied. Here and in the next two `until_free` is let go,
  // like unmap's, when this succeeds, or when what a failure leaves behind is free.
  virtual Result<BufferId> open_memory(const IpcHandle& handle, std::uint64_t offset, std::uint64_t size,
                                       std::shared_ptr<const void> until_free = nullptr);
  // [offset, offset + size) of the card's memory that a descriptor names: a dma-buf, or what an emulated card gives as one.
  // Errors: unsupported (no card, or one without such imports), of the driver.
  virtual Result<BufferId> import_memory(int fd, std::uint64_t offset, std::uint64_t size,
                                         std::shared_ptr<const void> until_free = nullptr);
  // Zeroed memory of the card's own, freed by unmap; it is lost with the device process. Holds up no other call. Errors:
  // unsupported, out_of_memory.
  virtual Result<AllocatedBuffer> allocate(std::uint64_t size, std::shared_ptr<const void> until_free = nullptr);
  // Copies [offset, offset + bytes) of a buffer of any kind into `fd` from its start, after the launches that were done.
  virtual Status read(BufferId buffer, std::uint64_t offset, std::uint64_t bytes, int fd);
  // Another process's event (made with hipEventInterprocess); an event of the card's own, for others; its end.
  virtual Result<EventId> open_event(const IpcHandle& handle);
  virtual Result<MadeEvent> make_event();
  virtual Status close_event(EventId event);
  // Runs all grids of the kernel in order. Ranges were checked by the caller against TensorInfo::bytes; the device checks
  // them again against its mappings. Errors: cancelled, device_lost (retryable), launch_failed (with the emulated card's
  // report as context), unsupported (settings), resource_limit (what it counted is too large to be told). `done` exactly
  // once.
  virtual LaunchId launch(KernelId kernel, std::vector<LaunchArgument> arguments, LaunchSettings settings,
                          LaunchDone done) = 0;
  // Launches that are run together, as often as wanted: kernels and arguments are checked here, by launch's rules, and are
  // to stay until the plan is dropped. Errors: launch's, with the step as context; unsupported (a device without plans).
  virtual Result<PlanId> make_plan(const std::vector<PlanStep>& steps);
  // Runs the steps one after the other, as one launch of the stream that `cancel` stops, between steps and within one. A
  // step that fails, with its number as context, ends the run. `done` exactly once; errors: launch's, not_found.
  virtual LaunchId run_plan(PlanId plan, std::uint64_t stream, LaunchDone done);
  // After its runs.
  virtual Status drop_plan(PlanId plan);
  // Runs a plan on the caller's thread, where that is as good as any: each of its grids has one block. `stop`, set to 1
  // by another thread, ends it as cancel would. Nothing: run_plan is to be used.
  virtual std::optional<Result<LaunchReport>> run_small_plan(PlanId plan, std::atomic<std::uint8_t>& stop);
  // What a client asks for by memory alone (engine/device/ring.hpp), where the device is a process: `memory` is a
  // ring's of that many slots, `bell` one end of its doorbell. Its runs are a stream of its own. It ends with the
  // process, and the other end of the doorbell then does, too. Errors: unsupported, invalid_argument.
  virtual Result<RingId> make_ring(int memory, UniqueFd bell, std::uint32_t slots, std::uint64_t stream);
  // The ring's submissions may name the plan by `number`; the plan stays until the ring is dropped. Errors: device_lost
  // (retryable: the ring ended with its process), not_found.
  virtual Status attach_to_ring(RingId ring, std::uint64_t number, PlanId plan);
  // Stops its run in flight, and waits for the end of that.
  virtual Status drop_ring(RingId ring);
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
  // A launch that runs on this long after it was told to stop, and those before it on its stream have ended, ends the process.
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
