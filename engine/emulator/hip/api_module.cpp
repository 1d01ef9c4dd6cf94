// Modules, functions, launches.
#include <algorithm>
#include <climits>
#include <cstdint>

#include "engine/emulator/hip/calls.hpp"
#include "engine/emulator/hip/image.hpp"

using namespace kiln;
using namespace kiln::emulator;

namespace {

hip::Code launch(Runtime& runtime, const std::shared_ptr<Stream>& stream, hip::Function handle,
                 const Geometry& geometry, void** parameters, void** extra) {
  auto function = runtime.function(handle);
  if (function == nullptr) return failed(hip::invalid_handle, "no such function");
  if (function->module->device != stream->device())
    return failed(hip::invalid_handle, "the function and the stream are of different devices");
  if (auto status = check_launch(*function->kernel, geometry, *runtime.card(stream->device())); !status)
    return failed(status.error());
  if (parameters != nullptr && extra != nullptr) return failed(hip::invalid_value, "both kernelParams and extra");
  const auto gather = [&]() -> Result<Bytes> {
    if (extra == nullptr) return gather_arguments(*function->kernel, parameters);
    const void* buffer = nullptr;
    std::size_t bytes = 0;
    for (int i = 0; i < 8 && extra[i] != hip::launch_end; i += 2) {
      if (extra[i] == hip::launch_buffer)
        buffer = extra[i + 1];
      else if (extra[i] == hip::launch_buffer_size && extra[i + 1] != nullptr)
        bytes = *static_cast<std::size_t*>(extra[i + 1]);
      else
        return Error(ErrorCode::invalid_argument, "an unknown key in extra");
    }
    if (buffer == nullptr) bytes = 0;
    return gather_arguments(*function->kernel, ByteView(static_cast<const std::uint8_t*>(buffer), bytes));
  };
  auto arguments = gather();
  if (!arguments) return failed(arguments.error());
  runtime.submit(stream, [&runtime, function, geometry, bytes = std::move(*arguments), raw = stream.get()]() mutable {
    return runtime.launch(*function, geometry, std::move(bytes), *raw);
  });
  return hip::success;
}

hip::Code load(Runtime& runtime, hip::Module* module, const void* image) {
  if (module == nullptr || image == nullptr) return hip::invalid_value;
  const int device = call_state().device;
  const Card& card = *runtime.card(device);
  auto object = find_object(image, card.target);
  if (!object) return failed(object.error());
  auto program = Program::load(*object, card, runtime.core());
  if (!program) return failed(program.error());
  *module = runtime.add_module(std::make_shared<LoadedModule>(LoadedModule{device, std::move(*program)}));
  return hip::success;
}

// Numbers of an object may be anything.
int as_int(std::int64_t value) { return static_cast<int>(std::clamp<std::int64_t>(value, 0, INT_MAX)); }

int attribute_of(const Kernel& kernel, const Card& card, int attribute) {
  namespace a = hip::function_attribute;
  const auto granules = (kernel.rsrc1 & 63) + 1;
  switch (attribute) {
    case a::threads_max: return static_cast<int>(std::min<std::uint32_t>(kernel.threads_max, 1024));
    case a::lds_bytes: return as_int(kernel.lds_bytes);
    case a::constant_bytes: return 0;
    case a::private_bytes: return as_int(kernel.private_bytes);
    case a::registers: return static_cast<int>(granules * 8);
    case a::binary_version: return card.major * 10 + card.minor;
    case a::dynamic_lds_max: return as_int(card.target.lds_bytes - std::int64_t(kernel.lds_bytes));
    default: return -1;
  }
}

}  // namespace

KILN_EXPORT hip::Code hipModuleLoadData(hip::Module* module, const void* image) {
  return call([&](Runtime& runtime) { return load(runtime, module, image); });
}

// The options are a compiler's; there is nothing to compile.
KILN_EXPORT hip::Code hipModuleLoadDataEx(hip::Module* module, const void* image, unsigned, int*, void**) {
  return call([&](Runtime& runtime) { return load(runtime, module, image); });
}

KILN_EXPORT hip::Code hipModuleUnload(hip::Module handle) {
  return call([&](Runtime& runtime) {
    const auto module = runtime.module(handle);
    if (module == nullptr) return failed(hip::invalid_handle, "no such module");
    runtime.synchronize(module->device);   // its code may be running; errors stay with their streams
    return runtime.remove_module(handle) ? hip::success : hip::invalid_handle;
  });
}

KILN_EXPORT hip::Code hipModuleGetFunction(hip::Function* function, hip::Module handle, const char* name) {
  return call([&](Runtime& runtime) {
    if (function == nullptr || name == nullptr) return hip::invalid_value;
    if (runtime.module(handle) == nullptr) return failed(hip::invalid_handle, "no such module");
    *function = runtime.add_function(handle, name);
    if (*function == nullptr) return failed(hip::not_found, std::string("no kernel ") + name + " in the module");
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipModuleGetGlobal(void** address, std::size_t* bytes, hip::Module handle, const char* name) {
  return call([&](Runtime& runtime) {
    if (name == nullptr) return hip::invalid_value;
    const auto module = runtime.module(handle);
    if (module == nullptr) return failed(hip::invalid_handle, "no such module");
    const auto* variable = module->program->variable(name);
    if (variable == nullptr) return failed(hip::not_found, std::string("no variable ") + name + " in the module");
    if (address != nullptr) *address = reinterpret_cast<void*>(variable->address);
    if (bytes != nullptr) *bytes = variable->bytes;
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipFuncGetAttribute(int* value, int attribute, hip::Function handle) {
  return call([&](Runtime& runtime) {
    const auto function = runtime.function(handle);
    if (value == nullptr) return hip::invalid_value;
    if (function == nullptr) return failed(hip::invalid_handle, "no such function");
    const int found = attribute_of(*function->kernel, *runtime.card(function->module->device), attribute);
    if (found < 0) return failed(hip::invalid_value, "no such function attribute");
    *value = found;
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipModuleLaunchKernel(hip::Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned lds_bytes,
                                            hip::Stream stream, void** parameters, void** extra) {
  return call([&](Runtime& runtime) -> hip::Code {
    // The default stream is the function's device's.
    const auto loaded = runtime.function(function);
    if (loaded == nullptr) return failed(hip::invalid_handle, "no such function");
    const auto queue = runtime.stream(stream, loaded->module->device);
    if (queue == nullptr) return failed(hip::invalid_handle, "no such stream");
    const Geometry geometry{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, lds_bytes};
    return launch(runtime, queue, function, geometry, parameters, extra);
  });
}
