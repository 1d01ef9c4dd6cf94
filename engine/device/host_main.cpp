// kiln-device-host: the process that runs host kernels.
#include <cstdlib>

#include "engine/device/host/host_device.hpp"

namespace {

using namespace kiln;

// --threads N: how many threads run blocks; one a core without it.
Result<std::unique_ptr<device::Device>> make(const std::vector<std::string>& arguments) {
  device::host::HostDeviceOptions options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] != "--threads" || i + 1 == arguments.size()) {
      return Error(ErrorCode::invalid_argument, "kiln-device-host takes --threads N, not " + arguments[i]);
    }
    options.threads = std::atoi(arguments[++i].c_str());
    if (options.threads < 1 || options.threads > 1024)
      return Error(ErrorCode::invalid_argument, "--threads takes 1 to 1024");
  }
  KILN_TRY(auto loader, device::host::make_object_loader());
  return device::host::make_host_device(std::move(loader), options);
}

}  // namespace

int main(int argc, char** argv) { return kiln::device::device_main(argc, argv, make); }
