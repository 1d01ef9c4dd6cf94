#include "engine/emulator/hip/registry.hpp"

#include "engine/emulator/hip/calls.hpp"

namespace kiln::emulator {

Registry& Registry::get() {
  static Registry* const registry = new Registry;
  return *registry;
}

Registry::Binary* Registry::add(const void* image) {
  auto binary = std::make_unique<Binary>();
  binary->image = image;
  const std::lock_guard lock(mutex_);
  return (binaries_[binary.get()] = std::move(binary)).get();
}

void Registry::add_function(Binary* binary, const void* host, const char* name) {
  const std::lock_guard lock(mutex_);
  if (binaries_.contains(binary)) functions_[host] = {binary, name, {}};
}

void Registry::add_variable(Binary* binary, const void* host, const char* name) {
  const std::lock_guard lock(mutex_);
  if (binaries_.contains(binary)) variables_[host] = {binary, name, {}};
}

void Registry::remove(Binary* binary) {
  std::map<int, hip::Module> modules;
  {
    const std::lock_guard lock(mutex_);
    const auto found = binaries_.find(binary);
    if (found == binaries_.end()) return;
    const auto of_it = [&](const auto& entry) { return entry.second.binary == binary; };
    std::erase_if(functions_, of_it);
    std::erase_if(variables_, of_it);
    modules = std::move(found->second->modules);
    binaries_.erase(found);
  }
  for (const auto& [device, module] : modules) hip::hipModuleUnload(module);
}

hip::Code Registry::module(Binary& binary, int device, hip::Module& module) {
  if (const auto found = binary.modules.find(device); found != binary.modules.end()) {
    module = found->second;
    return hip::success;
  }
  const hip::Code code = hip::hipModuleLoadData(&module, binary.image);   // on the thread's device, which `device` is
  if (code == hip::success) binary.modules[device] = module;
  return code;
}

hip::Code Registry::function(const void* host, int device, hip::Function& function) {
  const std::lock_guard lock(mutex_);
  const auto found = functions_.find(host);
  if (found == functions_.end()) return failed(invalid_device_function, "no kernel was registered for this address");
  Entry& entry = found->second;
  if (const auto known = entry.functions.find(device); known != entry.functions.end()) {
    function = known->second;
    return hip::success;
  }
  hip::Module loaded = nullptr;
  if (const hip::Code code = module(*entry.binary, device, loaded); code != hip::success) return code;
  const hip::Code code = hip::hipModuleGetFunction(&function, loaded, entry.name.c_str());
  if (code == hip::success) entry.functions[device] = function;
  return code;
}

hip::Code Registry::variable(const void* host, int device, void*& address, std::size_t& bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = variables_.find(host);
  if (found == variables_.end()) return failed(invalid_symbol, "no variable was registered for this address");
  hip::Module loaded = nullptr;
  if (const hip::Code code = module(*found->second.binary, device, loaded); code != hip::success) return code;
  return hip::hipModuleGetGlobal(&address, &bytes, loaded, found->second.name.c_str());
}

}  // namespace kiln::emulator
