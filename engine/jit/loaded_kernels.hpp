// The session's devices, and which kernels are loaded on them.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/jit/session.hpp"

namespace kiln::jit {

// Thread-safe. A kernel is loaded once per device, also when many ask at once; over `loaded_max` the one loaded longest
// ago without use is unloaded.
class LoadedKernels {
 public:
  LoadedKernels(const SessionOptions& options);
  std::vector<std::string> names() const;
  Result<device::Device*> device(const std::string& name);
  Result<device::KernelId> load(const std::shared_ptr<const Kernel>& kernel, const std::string& device);
  // From all devices. A launch that uses it goes on.
  void unload(const Key& key);
  [[nodiscard]] std::uint64_t loaded() const { return loaded_.load(); }

 private:
  struct Slot {
    std::mutex mutex;  // held while it is loaded
    std::optional<device::KernelId> id;
  };
  struct Place {
    std::shared_ptr<Slot> slot;
    std::uint64_t used = 0;  // a count of loads, not a time
  };
  using PlaceKey = std::pair<Key, std::string>;
  Result<device::KernelId> load_now(const Kernel& kernel, const std::string& name, device::Device& device) const;
  void forget_place(const PlaceKey& key, const std::shared_ptr<Slot>& slot);
  std::vector<std::pair<std::string, std::shared_ptr<Slot>>> take_surplus();  // with the lock held
  void unload(const std::string& device, Slot& slot);

  std::map<std::string, std::unique_ptr<device::Device>> devices_;
  const std::uint64_t loaded_max_;
  std::mutex mutex_;
  std::map<PlaceKey, Place> places_;
  std::uint64_t uses_ = 0;
  std::atomic<std::uint64_t> loaded_{0};
};

}  // namespace kiln::jit
