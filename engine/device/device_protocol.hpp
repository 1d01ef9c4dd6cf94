// What a device process and its client say to each other, in frames (engine/base/channel.hpp) over descriptor 3 of the
// process. The process speaks first: `ready` {DeviceInfo}, or `failed` {Error} and it ends. Ids of kernels, buffers and
// launches are the client's, so that they stay valid when the process is started again. Requests that are answered by
// `done` {request, Status, payload}:
//   load {request, kernel, Metadata, object}    unload {request, id}
//   map {request, buffer, offset, size, writable, card} with the descriptor    unmap {request, id}
//   open_memory, allocate {MemoryOrder}         open_event, make_event {EventOrder}    close_event {request, id}
//   read {ReadOrder} with the descriptor        make_plan {PlanOrder}          drop_plan {request, id}
//   make_ring {RingOrder} with memory and bell  attach_to_ring {AttachOrder}   drop_ring {request, id}
// The payload is the IPC handle that allocate and make_event give, else empty. What brings an id that is there already
// changes nothing.
// An unmap is also answered by `freed` {request}, before or after its `done`, when its memory is free, behind what runs
// on the card; so are open_memory, allocate and a card's map, when they succeed or what a failure has left is free.
// Without `done`: run_plan {RunOrder}, answered at its end by `launched`; launch {LaunchOrder}, answered when the card has it by `enqueued` {launch} where that was asked for,
// and at completion by `launched` {launch, Status, LaunchReport}; cancel
// {launch}; ping {serial}, answered by `pong` {serial} at once: whatever was sent before it is known then, and what a
// cancellation before it found waiting is answered already. An unmap or unload of what launches in flight or plans use is
// done after them, a drop_plan after the plan's runs. The process ends when the socket does.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/device/device.hpp"

namespace kiln::device {

inline constexpr int device_descriptor = 3;

enum class DeviceFrame : std::uint8_t {
  ready = 1, failed, load, unload, map, unmap, launch, cancel, done, launched, ping, pong, enqueued,
  open_memory, allocate, read, open_event, make_event, close_event, freed,
  make_plan, run_plan, drop_plan, make_ring, attach_to_ring, drop_ring
};
// Of LaunchReport::profiles: what counts more instructions is not told. Both sides hold to it.
inline constexpr std::size_t profile_bytes_max = std::size_t(16) << 20;

struct LoadOrder {
  std::uint64_t request = 0;
  KernelId kernel = 0;
  Bytes metadata;  // compile::Metadata, encoded
  Bytes object;
};
struct MapOrder {
  std::uint64_t request = 0;
  BufferId buffer = 0;
  std::uint64_t offset = 0, size = 0;
  bool writable = false;
  bool card = false;                      // the descriptor is the card's memory: import_memory
};
struct MemoryOrder {  // open_memory; allocate without handle and offset
  std::uint64_t request = 0;
  BufferId buffer = 0;
  std::uint64_t offset = 0, size = 0;
  IpcHandle handle{};
};
struct ReadOrder {
  std::uint64_t request = 0;
  BufferId buffer = 0;
  std::uint64_t offset = 0, bytes = 0;
};
struct EventOrder {  // open_event; make_event without handle
  std::uint64_t request = 0;
  EventId event = 0;
  IpcHandle handle{};
};
struct PlanOrder {
  std::uint64_t request = 0;
  PlanId plan = 0;
  std::vector<PlanStep> steps;
};
struct RunOrder {
  LaunchId launch = 0;
  PlanId plan = 0;
  std::uint64_t stream = 0;
};
struct RingOrder {
  std::uint64_t request = 0;
  RingId ring = 0;
  std::uint32_t slots = 0;
  std::uint64_t stream = 0;
};
struct AttachOrder {
  std::uint64_t request = 0;
  RingId ring = 0;
  std::uint64_t number = 0;  // the client's of the plan
  PlanId plan = 0;
};
struct RemoveOrder {  // unload, unmap, close_event, drop_plan, drop_ring
  std::uint64_t request = 0, id = 0;
};
struct LaunchOrder {
  LaunchId launch = 0;
  KernelId kernel = 0;
  std::vector<LaunchArgument> arguments;
  LaunchSettings settings;                // `enqueued` does not travel:
  bool tell_enqueued = false;             // whether there was one
};
struct DoneReport {
  std::uint64_t request = 0;
  Status status;
  Bytes payload;
};
struct LaunchedReport {
  LaunchId launch = 0;
  Result<LaunchReport> report;
};

Bytes encode(const DeviceInfo& value);
Bytes encode(const LoadOrder& value);
Bytes encode(const MapOrder& value);
Bytes encode(const MemoryOrder& value);
Bytes encode(const ReadOrder& value);
Bytes encode(const EventOrder& value);
Bytes encode(const PlanOrder& value);
Bytes encode(const RunOrder& value);
Bytes encode(const RingOrder& value);
Bytes encode(const AttachOrder& value);
Bytes encode(const RemoveOrder& value);
Bytes encode(const LaunchOrder& value);
Bytes encode(const DoneReport& value);
Bytes encode(const LaunchedReport& value);   // resource_limit in place of a report over the limits
// `corrupt` when the bytes are not what encode gives. What is over a limit is no error of the bytes: decode_launched gives the
// launch with the error resource_limit.
Result<DeviceInfo> decode_info(ByteView bytes);
Result<LoadOrder> decode_load(ByteView bytes);
Result<MapOrder> decode_map(ByteView bytes);
Result<MemoryOrder> decode_memory(ByteView bytes);
Result<ReadOrder> decode_read(ByteView bytes);
Result<EventOrder> decode_event(ByteView bytes);
Result<PlanOrder> decode_plan(ByteView bytes);
Result<RunOrder> decode_run(ByteView bytes);
Result<RingOrder> decode_ring(ByteView bytes);
Result<AttachOrder> decode_attach(ByteView bytes);
Result<RemoveOrder> decode_remove(ByteView bytes);
Result<LaunchOrder> decode_launch(ByteView bytes);
Result<DoneReport> decode_done(ByteView bytes);
Result<LaunchedReport> decode_launched(ByteView bytes);

}  // namespace kiln::device
