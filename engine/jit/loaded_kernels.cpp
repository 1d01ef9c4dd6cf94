#include "engine/jit/loaded_kernels.hpp"

#include <algorithm>
#include <set>

#include "engine/device/card_names.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::jit {

namespace {

constexpr std::size_t devices_max = 96;   // more than there can be names: the emulated cards with all features, 16 cards

// Every AMD target that is known has an emulated card (engine/emulator/machine/card.cpp).
bool is_emulated(const target::Target& target) { return target.family != target::Family::host; }

// The rest of the name behind "emu:" or "hip:", empty when it begins otherwise.
std::string behind(const std::string& name, const std::string& kind) {
  return name.rfind(kind, 0) == 0 ? name.substr(kind.size()) : std::string();
}

// A device is named, where a target is meant, or a kind of device without saying which.
Error unknown_device(const std::string& name) {
  const std::string card = "hip:0 (the first AMD card)";
  const auto target = target::parse_target(name);
  std::string meant;
  if (target && target->is_host()) meant = "host";
  else if (target) meant = "emu:" + name + " (emulated) or " + card;
  else if (name == "hip" || name == "gpu" || name == "emu" || name == "hip:" || name == "emu:")
    meant = card + " or emu:gfx942 (emulated)";
  return Error(ErrorCode::unknown_target,
               "no device " + name + (meant.empty() ? "" : "; did you mean " + meant + "?"));
}

bool is_card_number(const std::string& text) {
  return !text.empty() && text.size() < 4 && text.find_first_not_of("0123456789") == std::string::npos;
}

// What a card's process needs to know of ours: which cards it may see, which emulated ones stand for them; and a profiler
// that started this process (rocprofv3) is to see it too.
std::vector<std::string> card_environment(const std::vector<std::string>& all) {
  std::vector<std::string> kept, chosen;
  bool profiled = false;
  constexpr const char* names[] = {"HIP_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=", "GPU_DEVICE_ORDINAL=", "HSA_",
                                   "KILN_EMULATOR_"};
  for (const auto& entry : all)
    for (const char* const name : names)
      if (entry.starts_with(name) && !entry.starts_with("HSA_TOOLS_LIB=")) chosen.push_back(entry);
  for (const auto& entry : all) {
    const bool tool = entry.starts_with("ROCP_") || entry.starts_with("ROCPROF");
    profiled = profiled || tool;
    if (tool || entry.starts_with("LD_PRELOAD=") || entry.starts_with("HSA_TOOLS_LIB=")) kept.push_back(entry);
  }
  if (profiled) chosen.insert(chosen.end(), kept.begin(), kept.end());
  return chosen;
}

}  // namespace

LoadedKernels::LoadedKernels(const SessionOptions& options)
    : loaded_max_(std::max<std::uint64_t>(options.memory_entries_max, 1)),
      host_command_(options.device_host_command),
      hip_command_(options.device_hip_command),
      environment_(compile::scrubbed_environment(options.pool.environment)),
      card_environment_(card_environment(options.pool.environment)),
      emulated_hip_(options.emulated_hip),
      log_path_(options.log_path) {}

LoadedKernels::~LoadedKernels() { books_->closed = true; }

std::vector<std::string> LoadedKernels::names() {
  std::set<std::string> names;
  if (!host_command_.empty()) names.insert("host");
  if (!hip_command_.empty() && !emulated_hip_.empty())
    for (const auto& known : target::known_targets()) {
      const auto target = target::parse_target(known);
      if (target && is_emulated(*target)) names.insert("emu:" + target->arch);
    }
  const std::lock_guard lock(devices_mutex_);
  for (const auto& [name, device] : devices_) names.insert(name);
  return {names.begin(), names.end()};
}

std::vector<std::string> LoadedKernels::find() {
  std::size_t cards = 0;
  if (!hip_command_.empty()) {
    if (const auto first = made("hip:0"))
      if (const auto info = (*first)->info()) cards = info->cards.size();
  }
  std::vector<std::string> all = names();
  std::erase_if(all, [&](const std::string& name) {   // cards that were asked for and are not there
    const auto number = behind(name, "hip:");
    return !number.empty() && number != "0" && std::stoul(number) >= cards;
  });
  for (std::size_t i = 0; i < cards; ++i) {
    auto name = "hip:" + std::to_string(i);
    if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(std::move(name));
  }
  std::sort(all.begin(), all.end());
  return all;
}

Result<std::string> LoadedKernels::name_of(const std::string& name) {
  {
    const std::lock_guard lock(devices_mutex_);
    if (devices_.contains(name)) return name;
  }
  const auto card = behind(name, "hip:");
  if (is_card_number(card) || !device::may_name_card(card) || hip_command_.empty()) {
    if (auto known = process_of(name); !known) return with_names(std::move(known).error());
    if (!is_card_number(card)) return name;
    // Only cards that HIP shows get a process, but for the first, which says why there is none.
    const auto number = std::stoul(card);
    if (number > 0) {
      KILN_TRY(auto* const first, made("hip:0"));
      KILN_TRY(const auto info, first->info());
      if (number >= info.cards.size())
        return with_names(Error(ErrorCode::unknown_target, "no card " + card + ": HIP shows " + std::to_string(info.cards.size())));
    }
    return "hip:" + std::to_string(number);
  }
  KILN_TRY(auto* const first, made("hip:0"));
  KILN_TRY(const auto info, first->info());
  KILN_TRY(const auto number, device::find_card(info.cards, card));
  return "hip:" + std::to_string(number);
}

Error LoadedKernels::with_names(Error error) {
  for (const auto& known : names()) error.context.push_back("there is: " + known);
  return error;
}

Result<device::Device*> LoadedKernels::device(const std::string& name) {
  KILN_TRY(const auto own, name_of(name));
  return made(own);
}

Result<device::Device*> LoadedKernels::made(const std::string& name) {
  {
    const std::lock_guard lock(devices_mutex_);
    if (const auto it = devices_.find(name); it != devices_.end()) return it->second.get();
  }
  auto process = process_of(name);
  if (!process) return with_names(std::move(process).error());
  const std::lock_guard lock(devices_mutex_);
  auto& place = devices_[name];
  if (place) return place.get();
  if (devices_.size() > devices_max) {
    devices_.erase(name);
    return Error(ErrorCode::resource_limit, "more than " + std::to_string(devices_max) + " devices");
  }
  place = device::start_device_process(std::move(*process));
  return place.get();
}

Result<std::unique_ptr<device::Device>> LoadedKernels::private_device(const std::string& name) {
  KILN_TRY(const auto own, name_of(name));
  auto process = process_of(own);
  if (!process) return with_names(std::move(process).error());
  return device::start_device_process(std::move(*process));
}

Result<device::DeviceProcessOptions> LoadedKernels::process_of(const std::string& name) const {
  device::DeviceProcessOptions process;
  process.log_path = log_path_;
  process.environment = environment_;
  const auto card = behind(name, "hip:"), emulated = behind(name, "emu:");
  if (name == "host" && !host_command_.empty()) {
    process.command = host_command_;
  } else if (is_card_number(card) && !hip_command_.empty()) {
    process.command = hip_command_;
    process.command.insert(process.command.end(), {"", card});
    process.environment.insert(process.environment.end(), card_environment_.begin(), card_environment_.end());
  } else if (!emulated.empty() && !hip_command_.empty() && !emulated_hip_.empty()) {
    KILN_TRY(const auto target, target::parse_target(emulated));
    if (!is_emulated(target))
      return Error(ErrorCode::unknown_target, "there is no emulated card for " + target.full);
    process.command = hip_command_;
    process.command.insert(process.command.end(), {emulated_hip_, "0"});
    process.environment.push_back("KILN_EMULATOR_TARGETS=" + target.full);
  } else {
    return unknown_device(name.substr(0, 80));
  }
  return process;
}

Result<std::string> LoadedKernels::target(const std::string& name) {
  if (const auto emulated = behind(name, "emu:"); !emulated.empty()) {
    KILN_CHECK(process_of(name));
    KILN_TRY(const auto target, target::parse_target(emulated));
    return target.full;
  }
  if (name == "host") return name;
  KILN_TRY(auto* const device, this->device(name));
  KILN_TRY(const auto info, device->info());
  KILN_TRY(const auto target, target::parse_target(info.target));
  return target.arch;  // serves every card of the kind
}

Result<LoadedKernelPtr> LoadedKernels::load(const std::shared_ptr<const Kernel>& kernel, const std::string& called) {
  KILN_TRY(const auto name, name_of(called));
  KILN_TRY(auto* const device, made(name));
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(mutex_);
    auto& place = places_[{kernel->key, name}];
    if (!place.slot) place.slot = std::make_shared<Slot>();
    place.used = ++uses_;
    slot = place.slot;
  }
  LoadedKernelPtr loaded;
  {
    const std::lock_guard lock(slot->mutex);
    if (slot->kernel) return slot->kernel;
    auto made = load_now(*kernel, name, *device);
    if (!made) forget_place({kernel->key, name}, slot);
    KILN_TRY(loaded, std::move(made));
    slot->kernel = loaded;
  }
  std::vector<std::shared_ptr<Slot>> surplus;
  {
    const std::lock_guard lock(mutex_);
    auto& place = places_[{kernel->key, name}];
    if (!place.slot) place = {slot, ++uses_};  // a failed load before ours took it away
    surplus = take_surplus();
  }
  return loaded;
}

Result<LoadedKernelPtr> LoadedKernels::load_now(const Kernel& kernel, const std::string& name,
                                                device::Device& device) const {
  KILN_TRY(const auto info, device.info());
  KILN_TRY(const auto object_target, target::parse_target(kernel.metadata.target));
  KILN_TRY(const auto device_target, target::parse_target(info.target));
  if (!target::serves(object_target, device_target))
    return Error(ErrorCode::unsupported, "the kernel is compiled for " + object_target.full + ", device " + name +
                                             " runs " + device_target.full);
  KILN_TRY(const auto id, device.load(kernel.metadata, kernel.stored->object));
  ++books_->loaded;
  return LoadedKernelPtr(new LoadedKernel{id}, [books = books_, &device](const LoadedKernel* loaded) {
    if (!books->closed) (void)device.unload(loaded->id);
    --books->loaded;
    delete loaded;
  });
}

// A load that failed leaves nothing behind; who waited for it meanwhile tries in its turn.
void LoadedKernels::forget_place(const PlaceKey& key, const std::shared_ptr<Slot>& slot) {
  const std::lock_guard lock(mutex_);
  if (const auto it = places_.find(key); it != places_.end() && it->second.slot == slot) places_.erase(it);
}

std::vector<std::shared_ptr<LoadedKernels::Slot>> LoadedKernels::take_surplus() {
  std::vector<std::shared_ptr<Slot>> surplus;
  while (places_.size() > loaded_max_) {
    const auto oldest = std::min_element(places_.begin(), places_.end(),
                                         [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
    surplus.push_back(std::move(oldest->second.slot));
    places_.erase(oldest);
  }
  return surplus;
}

void LoadedKernels::unload(const Key& key) {
  std::vector<std::shared_ptr<Slot>> taken;  // goes after the lock
  const std::lock_guard lock(mutex_);
  for (auto it = places_.begin(); it != places_.end();) {
    if (it->first.first != key) { ++it; continue; }
    taken.push_back(std::move(it->second.slot));
    it = places_.erase(it);
  }
}

}  // namespace kiln::jit
