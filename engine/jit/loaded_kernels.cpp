#include "engine/jit/loaded_kernels.hpp"

#include <algorithm>

#include "engine/ir/target/target.hpp"

namespace kiln::jit {

LoadedKernels::LoadedKernels(const SessionOptions& options)
    : loaded_max_(std::max<std::uint64_t>(options.memory_entries_max, 1)) {
  if (options.device_host_command.empty()) return;
  device::DeviceProcessOptions process;
  process.command = options.device_host_command;
  process.log_path = options.log_path;
  process.environment = compile::scrubbed_environment(options.pool.environment);
  devices_["host"] = device::start_device_process(std::move(process));
}

std::vector<std::string> LoadedKernels::names() const {
  std::vector<std::string> names;
  for (const auto& [name, device] : devices_) names.push_back(name);
  return names;
}

Result<device::Device*> LoadedKernels::device(const std::string& name) {
  const auto it = devices_.find(name);
  if (it != devices_.end()) return it->second.get();
  auto error = Error(ErrorCode::unknown_target, "no device " + name.substr(0, 80));
  for (const auto& known : names()) error.context.push_back("there is: " + known);
  return error;
}

Result<device::KernelId> LoadedKernels::load(const std::shared_ptr<const Kernel>& kernel, const std::string& name) {
  KILN_TRY(auto* const device, this->device(name));
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(mutex_);
    auto& place = places_[{kernel->key, name}];
    if (!place.slot) place.slot = std::make_shared<Slot>();
    place.used = ++uses_;
    slot = place.slot;
  }
  {
    const std::lock_guard lock(slot->mutex);
    if (slot->id) return *slot->id;
    auto id = load_now(*kernel, name, *device);
    if (!id) forget_place({kernel->key, name}, slot);
    KILN_TRY(slot->id, std::move(id));
    ++loaded_;
  }
  std::vector<std::pair<std::string, std::shared_ptr<Slot>>> surplus;
  {
    const std::lock_guard lock(mutex_);
    auto& place = places_[{kernel->key, name}];
    if (!place.slot) place = {slot, ++uses_};  // a failed load before ours took it away
    surplus = take_surplus();
  }
  for (const auto& [other, old] : surplus) unload(other, *old);
  const std::lock_guard lock(slot->mutex);
  if (!slot->id) return Error(ErrorCode::busy, "the kernel was unloaded meanwhile", true);
  return *slot->id;
}

Result<device::KernelId> LoadedKernels::load_now(const Kernel& kernel, const std::string& name,
                                                 device::Device& device) const {
  KILN_TRY(const auto info, device.info());
  KILN_TRY(const auto object_target, target::parse_target(kernel.metadata.target));
  KILN_TRY(const auto device_target, target::parse_target(info.target));
  if (!target::serves(object_target, device_target))
    return Error(ErrorCode::unsupported, "the kernel is compiled for " + object_target.full + ", device " + name +
                                             " runs " + device_target.full);
  return device.load(kernel.metadata, kernel.stored->object);
}

// A load that failed leaves nothing behind; who waited for it meanwhile tries in its turn.
void LoadedKernels::forget_place(const PlaceKey& key, const std::shared_ptr<Slot>& slot) {
  const std::lock_guard lock(mutex_);
  if (const auto it = places_.find(key); it != places_.end() && it->second.slot == slot) places_.erase(it);
}

std::vector<std::pair<std::string, std::shared_ptr<LoadedKernels::Slot>>> LoadedKernels::take_surplus() {
  std::vector<std::pair<std::string, std::shared_ptr<Slot>>> surplus;
  while (places_.size() > loaded_max_) {
    const auto oldest = std::min_element(places_.begin(), places_.end(),
                                         [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
    surplus.emplace_back(oldest->first.second, oldest->second.slot);
    places_.erase(oldest);
  }
  return surplus;
}

void LoadedKernels::unload(const std::string& device, Slot& slot) {
  const std::lock_guard lock(slot.mutex);
  if (!slot.id) return;
  (void)devices_.at(device)->unload(*slot.id);
  slot.id.reset();
  --loaded_;
}

void LoadedKernels::unload(const Key& key) {
  std::vector<std::pair<std::string, std::shared_ptr<Slot>>> taken;
  {
    const std::lock_guard lock(mutex_);
    for (auto it = places_.begin(); it != places_.end();) {
      if (it->first.first != key) { ++it; continue; }
      taken.emplace_back(it->first.second, it->second.slot);
      it = places_.erase(it);
    }
  }
  for (const auto& [device, slot] : taken) unload(device, *slot);
}

}  // namespace kiln::jit
