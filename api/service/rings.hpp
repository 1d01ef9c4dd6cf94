// Submission rings: what a client asks a device's process for by memory alone. Internal to the room.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "api/service/plans.hpp"

namespace kiln::service {

// One ring of a connection, on one device. Its end, which may wait for the run in flight there, drops it in the
// device's process. The memory and both ends of the doorbell are the client's and that process's.
struct Ring {
  Ring(device::Device& on, std::string name, device::RingId id) : device(on), device_name(std::move(name)), id(id) {}
  Ring(const Ring&) = delete;
  ~Ring() { (void)device.drop_ring(id); }

  // First: they go behind the ring. With the service's lock; by the connection's number.
  std::map<std::uint64_t, std::shared_ptr<const Plan>> plans;
  MemoryShare memory, workspace_memory;   // its own; as much as one of its plans takes at most
  device::Device& device;                 // the session's: outlives every connection
  const std::string device_name;
  const device::RingId id;
};

}  // namespace kiln::service
