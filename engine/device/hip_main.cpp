// kiln-device-hip LIBRARY ORDINAL: the process that runs AMD kernels, on a card or, with the emulated library and
// KILN_EMULATOR_TARGETS in its environment, on an emulated one. LIBRARY: path of libamdhip64, "" for the system's.
#include <charconv>

#include "engine/device/hip/hip_device.hpp"

namespace {

using namespace kiln;

Result<std::unique_ptr<device::Device>> make(const std::vector<std::string>& arguments) {
  device::hip::HipDeviceOptions options;
  const bool both = arguments.size() == 2;
  const char* const end = both ? arguments[1].data() + arguments[1].size() : nullptr;
  if (!both || std::from_chars(arguments[1].data(), end, options.ordinal).ptr != end || arguments[1].empty() ||
      options.ordinal < 0) {
    return Error(ErrorCode::invalid_argument, "kiln-device-hip takes the path of libamdhip64 and a card's number");
  }
  options.library = arguments[0];
  return device::hip::make_hip_device(options);
}

}  // namespace

int main(int argc, char** argv) { return kiln::device::device_main(argc, argv, make); }
