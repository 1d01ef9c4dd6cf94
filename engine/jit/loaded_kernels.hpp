// The session's devices, and which kernels are loaded on them.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/jit/session.hpp"

namespace kiln::jit {

// Thread-safe. A kernel is loaded once per device, also when many ask at once. It is unloaded when nobody holds it any
// more and it was unloaded by key, or is the one asked for longest ago of more than `loaded_max`.
class LoadedKernels {
 public:
  LoadedKernels(const SessionOptions& options);
  ~LoadedKernels();
  // Those that there are: the host, the emulated cards that Kiln knows, and what was made by name beside them.
  std::vector<std::string> names();
  // The same, and hip:0 with all cards beside it that it shows.
  std::vector<std::string> find();
  Result<std::string> name_of(const std::string& name);
  // Makes the device on first use of its name.
  Result<device::Device*> device(const std::string& name);
  // One more process of the device, the caller's own.
  Result<std::unique_ptr<device::Device>> private_device(const std::string& name);
  Result<std::string> target(const std::string& name);
  Result<LoadedKernelPtr> load(const std::shared_ptr<const Kernel>& kernel, const std::string& device);
  // From all devices; who holds it may go on to use it.
  void unload(const Key& key);
  [[nodiscard]] std::uint64_t loaded() const { return books_->loaded.load(); }

 private:
  struct Slot {
    std::mutex mutex;  // held while it is loaded
    LoadedKernelPtr kernel;
  };
  struct Place {
    std::shared_ptr<Slot> slot;
    std::uint64_t used = 0;  // a count of loads, not a time
  };
  using PlaceKey = std::pair<Key, std::string>;
  Result<device::DeviceProcessOptions> process_of(const std::string& name) const;
  Error with_names(Error error);   // adds what there is
  Result<device::Device*> made(const std::string& name);   // the device of that very name
  // What the last holder of a kernel needs, which may be there longer than this.
  struct Books {
    std::atomic<bool> closed{false};  // the devices are ending, and unload everything
    std::atomic<std::uint64_t> loaded{0};
  };
  Result<LoadedKernelPtr> load_now(const Kernel& kernel, const std::string& name, device::Device& device) const;
  void forget_place(const PlaceKey& key, const std::shared_ptr<Slot>& slot);
  std::vector<std::shared_ptr<Slot>> take_surplus();  // with the lock held; they are unloaded when they go, without it

  const std::uint64_t loaded_max_;
  const std::vector<std::string> host_command_, hip_command_, environment_, card_environment_;
  const std::string emulated_hip_, log_path_;
  std::mutex devices_mutex_;
  std::map<std::string, std::unique_ptr<device::Device>> devices_;  // only grows
  std::mutex mutex_;
  std::map<PlaceKey, Place> places_;
  std::uint64_t uses_ = 0;
  const std::shared_ptr<Books> books_ = std::make_shared<Books>();
};

}  // namespace kiln::jit
