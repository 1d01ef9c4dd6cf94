// A device for tests of the device process: speaks the real protocol through device_main. A kernel's object is a word
// that says what a launch does: "fill" sets every byte of the arguments' ranges to the scalar argument's first byte;
// "wait" runs until it is cancelled; "ignore" does not even hear that; "linger" ends a while after it was cancelled and
// those before it have ended, as on a card that stops nothing; "crash" ends the process; "talk" answers with more
// counters than are accepted; "fail" fails. An object "bad" is refused at load; with the arguments --refuse-while FILE everything is
// refused, at load and at map, while FILE exists; with --stall-while FILE loading waits for FILE to go.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "engine/base/os.hpp"
#include "engine/device/device.hpp"
#include "engine/device/plan_chains.hpp"

namespace kiln::device {
namespace {

class FaultDevice final : public Device {
 public:
  FaultDevice(std::string refuses_while, std::string stalls_while)
      : refuses_while_(std::move(refuses_while)), stalls_while_(std::move(stalls_while)) {}
  Result<DeviceInfo> info() override { return DeviceInfo{"host", "host", "fault device", "host", 1, 1 << 20}; }
  Result<KernelId> load(const compile::Metadata&, ByteView object) override {
    KILN_CHECK(willing());
    while (exists(stalls_while_)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (text(object) == "bad") return Error(ErrorCode::launch_failed, "a bad object");
    const std::lock_guard lock(mutex_);
    kernels_[++last_] = std::string(text(object));
    return last_;
  }
  Status unload(KernelId kernel) override {
    const std::lock_guard lock(mutex_);
    return kernels_.erase(kernel) ? Status() : Status(Error(ErrorCode::not_found, "no such kernel"));
  }
  Result<BufferId> map(int fd, std::uint64_t offset, std::uint64_t size, bool writable) override {
    KILN_CHECK(willing());
    KILN_TRY(auto mapping, Mapping::map(fd, size, writable, static_cast<std::int64_t>(offset)));
    const std::lock_guard lock(mutex_);
    buffers_[++last_] = std::move(mapping);
    return last_;
  }
  using Device::unmap;
  Status unmap(BufferId buffer, std::shared_ptr<const void>) override {
    const std::lock_guard lock(mutex_);
    return buffers_.erase(buffer) ? Status() : Status(Error(ErrorCode::not_found, "no such buffer"));
  }
  LaunchId launch(KernelId kernel, std::vector<LaunchArgument> arguments, LaunchSettings, LaunchDone done) override {
    const std::lock_guard lock(mutex_);
    const auto id = ++last_;
    auto cancelled = std::make_shared<std::atomic<bool>>(false);
    running_[id] = cancelled;
    std::thread([this, id, kernel, arguments = std::move(arguments), cancelled, done = std::move(done)] {
      auto report = run(id, kernel, arguments, *cancelled);
      {
        const std::lock_guard again(mutex_);
        running_.erase(id);
        cancelled_.notify_all();
      }
      done(std::move(report));
    }).detach();
    return id;
  }
  Result<MadeEvent> make_event() override {
    const std::lock_guard lock(mutex_);
    return MadeEvent{++last_, {}};
  }
  Result<PlanId> make_plan(const std::vector<PlanStep>& steps) override {
    KILN_CHECK(willing());
    const std::lock_guard lock(mutex_);
    plans_.make(++last_, steps);
    return last_;
  }
  LaunchId run_plan(PlanId plan, std::uint64_t stream, LaunchDone done) override {
    std::unique_lock lock(mutex_);
    const auto id = ++last_;
    lock.unlock();
    plans_.run(id, plan, stream, std::move(done));
    return id;
  }
  Status drop_plan(PlanId plan) override { return plans_.drop(plan); }
  void cancel(LaunchId launch) override {
    if (plans_.cancel(launch)) return;
    const std::lock_guard lock(mutex_);
    const auto it = running_.find(launch);
    if (it == running_.end()) return;
    it->second->store(true);
    cancelled_.notify_all();
  }

 private:
  static bool exists(const std::string& path) { return !path.empty() && ::access(path.c_str(), F_OK) == 0; }
  Status willing() const {
    if (!exists(refuses_while_)) return ok();
    return Error(ErrorCode::out_of_memory, "told to refuse");
  }
  Result<LaunchReport> run(LaunchId id, KernelId kernel, const std::vector<LaunchArgument>& arguments,
                           const std::atomic<bool>& cancelled) {
    std::unique_lock lock(mutex_);
    const auto what = kernels_.at(kernel);
    if (what == "crash") ::raise(SIGABRT);
    if (what == "wait") {
      cancelled_.wait(lock, [&] { return cancelled.load(); });
      return Error(ErrorCode::cancelled, "cancelled");
    }
    if (what == "linger") {
      cancelled_.wait(lock, [&] { return cancelled.load() && running_.begin()->first == id; });
      cancelled_.wait_for(lock, lingers, [] { return false; });
      return Error(ErrorCode::cancelled, "cancelled");
    }
    if (what == "fail") return Error(ErrorCode::launch_failed, "told to fail");
    if (what == "talk") return LaunchReport{0.5, std::string((std::size_t(16) << 20) + 1, ' ')};
    if (what == "ignore") cancelled_.wait(lock, [] { return false; });
    std::uint8_t value = 0;
    for (const auto& argument : arguments)
      if (argument.buffer == 0) value = argument.scalar.at(0);
    for (const auto& argument : arguments)
      if (argument.buffer != 0)
        std::memset(buffers_.at(argument.buffer).data() + argument.offset, value, argument.bytes);
    return LaunchReport{0.5};
  }

  static constexpr auto lingers = std::chrono::milliseconds(100);
  const std::string refuses_while_, stalls_while_;
  std::mutex mutex_;
  std::condition_variable cancelled_;
  std::uint64_t last_ = 100;  // far from the client's ids: a mix-up shows
  std::map<KernelId, std::string> kernels_;
  std::map<BufferId, Mapping> buffers_;
  std::map<LaunchId, std::shared_ptr<std::atomic<bool>>> running_;
  PlanChains plans_{*this};
};

Result<std::unique_ptr<Device>> make(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments[0] == "--refuse") return Error(ErrorCode::unsupported, "told to refuse");
  const auto value = [&](const std::string& flag) {
    return arguments.size() == 2 && arguments[0] == flag ? arguments[1] : std::string();
  };
  return std::unique_ptr<Device>(std::make_unique<FaultDevice>(value("--refuse-while"), value("--stall-while")));
}

}  // namespace
}  // namespace kiln::device

int main(int argc, char** argv) { return kiln::device::device_main(argc, argv, kiln::device::make); }
