// The host as a device: kernels are objects in this process, buffers are mappings, blocks run on a pool of threads.
#pragma once

#include <memory>

#include "engine/device/device.hpp"
#include "engine/device/host/object_loader.hpp"

namespace kiln::device::host {

struct HostDeviceOptions {
  int threads = 0;  // 0: one a core that this process may use
};
// Launches of one stream run one after the other, of different streams side by side. `done` of a launch is called by a
// pool thread (or, for what is refused and for cancelled launches that have not begun, by the caller's). Destroying the
// device ends launches in flight without calling `done`.
std::unique_ptr<Device> make_host_device(std::unique_ptr<ObjectLoader> loader, HostDeviceOptions options = {});

}  // namespace kiln::device::host
