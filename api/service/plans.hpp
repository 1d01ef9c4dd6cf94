// Plans: launches of one connection on one device, recorded once and run by one message each time. Internal to the
// room.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/service/buffers.hpp"
#include "engine/jit/session.hpp"

namespace kiln::service {

// What is kept for its runs. Whoever lets go of it last, which may wait for the device's process, drops it there; it is
// the connection's and its runs'. Immutable once it is booked.
struct Plan {
  // What the daemon copies in and out, once a run, whatever the number of launches that use it.
  struct Copied {
    std::shared_ptr<Buffer> buffer;
    std::uint64_t offset = 0, bytes = 0;
    bool written = false;
  };
  Plan(device::Device& on, std::string name) : device(on), device_name(std::move(name)) {}
  Plan(const Plan&) = delete;
  ~Plan() {
    if (id != 0) (void)device.drop_plan(id);
  }
  [[nodiscard]] bool has_kernel(const jit::Key& key) const;
  // Counts a range that one of the launches uses.
  void add_copied(const std::shared_ptr<Buffer>& buffer, std::uint64_t offset, std::uint64_t bytes, bool written);

  MemoryShare memory;                                     // first: counted until all below is gone
  device::Device& device;                                 // the session's: outlives every connection
  const std::string device_name;
  device::PlanId id = 0;
  std::vector<std::shared_ptr<const jit::Kernel>> kernels;  // one a launch
  std::vector<jit::LoadedKernelPtr> loaded;
  std::map<std::uint64_t, std::shared_ptr<Buffer>> buffers;  // by the connection's ids
  std::vector<Copied> copied;
  std::uint64_t workspace_bytes = 0;                      // the most that one of the launches takes
};

}  // namespace kiln::service
