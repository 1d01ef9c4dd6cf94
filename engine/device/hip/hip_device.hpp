// A card behind HIP's interface, real or emulated, as a device. Lives in a device process.
#pragma once

#include <memory>

#include "engine/device/device.hpp"
#include "engine/device/hip/table.hpp"

namespace kiln::device::hip {

struct HipDeviceOptions {
  std::string library;   // path of libamdhip64; "": the system's
  int ordinal = 0;
};
// Launches of one stream run one after the other, of different streams side by side (as far as there are queues).
// Buffers are registered with the card where it can read the client's memory, else copied to and fro around each
// launch. A launch on a real card cannot be stopped: its cancellation takes effect between its grids. Errors: of
// load_table; unknown_target (no such device, or of a target that Kiln does not know).
Result<std::unique_ptr<Device>> make_hip_device(const HipDeviceOptions& options);

}  // namespace kiln::device::hip
