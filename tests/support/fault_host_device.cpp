// The host device for tests of what kernels may do to it: a launch of a program whose name begins with "crash" ends the
// process, one whose name begins with "hang" never ends and does not hear that it is cancelled, one whose name begins
// with "kill" kills the process as somebody else might. Where the name ends in "once" only the first launch does
// that of all processes that were given the same folder as their argument. All others run as they do.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "engine/device/host/host_device.hpp"

namespace kiln::device {
namespace {

class FaultHostDevice final : public Device {
 public:
  FaultHostDevice(std::unique_ptr<Device> host, std::string folder)
      : host_(std::move(host)), folder_(std::move(folder)) {}
  Result<DeviceInfo> info() override { return host_->info(); }
  Result<KernelId> load(const compile::Metadata& metadata, ByteView object) override {
    KILN_TRY(const auto kernel, host_->load(metadata, object));
    const std::lock_guard lock(mutex_);
    names_[kernel] = metadata.program;
    return kernel;
  }
  Status unload(KernelId kernel) override { return host_->unload(kernel); }
  Result<BufferId> map(int fd, std::uint64_t offset, std::uint64_t size, bool writable) override {
    return host_->map(fd, offset, size, writable);
  }
  using Device::unmap;
  Status unmap(BufferId buffer, std::shared_ptr<const void> until_free) override {
    return host_->unmap(buffer, std::move(until_free));
  }
  LaunchId launch(KernelId kernel, std::vector<LaunchArgument> arguments, LaunchSettings settings,
                  LaunchDone done) override {
    {
      const std::lock_guard lock(mutex_);
      const auto& name = names_[kernel];
      const bool now = !name.ends_with("once") || first(name);
      if (now && name.starts_with("crash")) ::raise(SIGSEGV);
      if (now && name.starts_with("kill")) ::raise(SIGKILL);
      if (now && name.starts_with("hang")) {
        kept_.push_back(std::move(done));
        return far_id + kept_.size();
      }
    }
    return host_->launch(kernel, std::move(arguments), std::move(settings), std::move(done));
  }
  void cancel(LaunchId launch) override {
    if (launch < far_id) host_->cancel(launch);
  }

 private:
  // A file says what a predecessor did.
  [[nodiscard]] bool first(const std::string& name) const {
    const int fd = ::open((folder_ + "/" + name).c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) ::close(fd);
    return fd >= 0;
  }

  static constexpr LaunchId far_id = LaunchId(1) << 40;
  const std::unique_ptr<Device> host_;
  const std::string folder_;
  std::mutex mutex_;
  std::map<KernelId, std::string> names_;
  std::vector<LaunchDone> kept_;
};

Result<std::unique_ptr<Device>> make(const std::vector<std::string>& arguments) {
  KILN_TRY(auto loader, host::make_object_loader());
  return std::unique_ptr<Device>(std::make_unique<FaultHostDevice>(
      host::make_host_device(std::move(loader), {}), arguments.empty() ? "" : arguments.front()));
}

}  // namespace
}  // namespace kiln::device

int main(int argc, char** argv) { return kiln::device::device_main(argc, argv, kiln::device::make); }
