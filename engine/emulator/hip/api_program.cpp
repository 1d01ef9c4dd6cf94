// What programs call that hipcc has compiled: registration of their device code, launches by <<<>>>, symbols, and the
// runtime functions that such programs use beside them. clang's documentation, "HIP Support", and its host-side ABI.
#include <algorithm>
#include <vector>

#include "engine/emulator/hip/calls.hpp"
#include "engine/emulator/hip/registry.hpp"
#include "engine/profile/occupancy.hpp"

using namespace kiln;
using namespace kiln::emulator;

namespace {

struct Extents { std::uint32_t x, y, z; };   // dim3

// A launch between <<<>>> and the stub of its kernel. Configurations nest: arguments may launch.
struct Configuration {
  Extents grid, block;
  std::size_t lds_bytes;
  hip::Stream stream;
};
std::vector<Configuration>& configurations() {
  static thread_local std::vector<Configuration> stack;
  return stack;
}

struct FatBinary {   // clang's __CudaFatBinaryWrapper
  std::uint32_t magic, version;
  const void* image;
  void* unused;
};
constexpr std::uint32_t fat_binary_magic = 0x48495046;

struct FunctionAttributes {   // hipFuncAttributes
  int binary_version, cache_mode;
  std::size_t constant_bytes, private_bytes;
  int dynamic_lds_max, threads_max, registers, carveout, ptx_version;
  std::size_t lds_bytes;
};

Registry::Binary* binary_of(void** handle) { return reinterpret_cast<Registry::Binary*>(handle); }

// body(hip::Function) with the kernel that a host function stands for, on the thread's device.
template <class Body> hip::Code with_function(const void* host, Body&& body) {
  return call([&](Runtime&) -> hip::Code {
    hip::Function function = nullptr;
    if (const hip::Code code = Registry::get().function(host, call_state().device, function); code != hip::success)
      return code;
    return body(function);
  });
}

// body(address) with [offset, offset + bytes) of the variable that a host variable stands for.
template <class Body> hip::Code with_symbol(const void* host, std::size_t offset, std::size_t bytes, Body&& body) {
  return call([&](Runtime&) -> hip::Code {
    void* address = nullptr;
    std::size_t size = 0;
    if (const hip::Code code = Registry::get().variable(host, call_state().device, address, size); code != hip::success)
      return code;
    if (offset > size || bytes > size - offset) return failed(hip::invalid_value, "a range outside of the variable");
    return body(static_cast<std::uint8_t*>(address) + offset);
  });
}

hip::Code launch(const void* host, Extents grid, Extents block, void** arguments, std::size_t lds_bytes,
                 hip::Stream stream) {
  return with_function(host, [&](hip::Function function) {
    return hip::hipModuleLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                      static_cast<unsigned>(lds_bytes), stream, arguments, nullptr);
  });
}

// Blocks of a kernel that a compute unit holds at once.
int resident_blocks(const Kernel& kernel, const Card& card, std::uint32_t threads, std::size_t dynamic_lds) {
  const int simds = kernel.wave == 32 ? 2 : 4;
  profile::KernelResources resources;
  resources.vgprs = std::int64_t((kernel.rsrc1 & 63) + 1) * 8;
  resources.lds_bytes = static_cast<std::int64_t>(kernel.lds_bytes + dynamic_lds);
  resources.threads = threads;
  if (resources.lds_bytes > card.target.lds_bytes) return 0;
  const std::uint32_t waves = (threads + kernel.wave - 1) / kernel.wave;
  return static_cast<int>(profile::occupancy(card.target, resources).waves_per_simd * simds / waves);
}

// body(kernel, card) -> hip::Code.
template <class Body> hip::Code with_kernel(const void* host, Body&& body) {
  return with_function(host, [&](hip::Function handle) -> hip::Code {
    return call([&](Runtime& runtime) -> hip::Code {
      const auto function = runtime.function(handle);
      if (function == nullptr) return failed(invalid_device_function, "the kernel's module is not loaded any more");
      return body(*function->kernel, *runtime.card(function->module->device));
    });
  });
}

}  // namespace

KILN_EXPORT void** __hipRegisterFatBinary(const void* data) {
  const auto* const wrapper = static_cast<const FatBinary*>(data);
  if (wrapper == nullptr || wrapper->magic != fat_binary_magic) return nullptr;
  return reinterpret_cast<void**>(Registry::get().add(wrapper->image));
}

KILN_EXPORT void __hipUnregisterFatBinary(void** handle) { Registry::get().remove(binary_of(handle)); }

KILN_EXPORT void __hipRegisterFunction(void** handle, const void* host, char*, const char* name, unsigned, void*, void*,
                                       void*, void*, int*) {
  Registry::get().add_function(binary_of(handle), host, name);
}

KILN_EXPORT void __hipRegisterVar(void** handle, void* host, char*, const char* name, int, std::size_t, int, int) {
  Registry::get().add_variable(binary_of(handle), host, name);
}

KILN_EXPORT hip::Code __hipPushCallConfiguration(Extents grid, Extents block, std::size_t lds_bytes,
                                                 hip::Stream stream) {
  configurations().push_back({grid, block, lds_bytes, stream});
  return hip::success;
}

KILN_EXPORT hip::Code __hipPopCallConfiguration(Extents* grid, Extents* block, std::size_t* lds_bytes,
                                                hip::Stream* stream) {
  auto& stack = configurations();
  if (stack.empty()) return hip::invalid_configuration;
  const Configuration top = stack.back();
  stack.pop_back();
  *grid = top.grid;
  *block = top.block;
  *lds_bytes = top.lds_bytes;
  *stream = top.stream;
  return hip::success;
}

KILN_EXPORT hip::Code hipLaunchKernel(const void* host, Extents grid, Extents block, void** arguments,
                                      std::size_t lds_bytes, hip::Stream stream) {
  return launch(host, grid, block, arguments, lds_bytes, stream);
}

// All work groups of a launch make progress here, as many as they are.
KILN_EXPORT hip::Code hipLaunchCooperativeKernel(const void* host, Extents grid, Extents block, void** arguments,
                                                 unsigned lds_bytes, hip::Stream stream) {
  return launch(host, grid, block, arguments, lds_bytes, stream);
}

KILN_EXPORT hip::Code hipFuncGetAttributes(FunctionAttributes* attributes, const void* host) {
  if (attributes == nullptr) return hip::invalid_value;
  return with_function(host, [&](hip::Function function) -> hip::Code {
    namespace a = hip::function_attribute;
    *attributes = {};
    int lds_bytes = 0, private_bytes = 0;
    const std::pair<int, int*> wanted[] = {{a::binary_version, &attributes->binary_version},
                                           {a::dynamic_lds_max, &attributes->dynamic_lds_max},
                                           {a::threads_max, &attributes->threads_max},
                                           {a::registers, &attributes->registers},
                                           {a::lds_bytes, &lds_bytes},
                                           {a::private_bytes, &private_bytes}};
    for (const auto& [attribute, value] : wanted)
      if (const hip::Code code = hip::hipFuncGetAttribute(value, attribute, function); code != hip::success) return code;
    attributes->lds_bytes = static_cast<std::size_t>(lds_bytes);
    attributes->private_bytes = static_cast<std::size_t>(private_bytes);
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int threads,
                                                                   std::size_t dynamic_lds) {
  if (blocks == nullptr || threads < 1 || threads > 1024) return hip::invalid_value;
  return with_kernel(host, [&](const Kernel& kernel, const Card& card) {
    *blocks = resident_blocks(kernel, card, static_cast<std::uint32_t>(threads), dynamic_lds);
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipOccupancyMaxPotentialBlockSize(int* blocks, int* threads, const void* host,
                                                        std::size_t dynamic_lds, int threads_max) {
  if (blocks == nullptr || threads == nullptr) return hip::invalid_value;
  return with_kernel(host, [&](const Kernel& kernel, const Card& card) {
    auto most = std::min<std::uint32_t>(1024, kernel.threads_max);
    if (threads_max > 0) most = std::min(most, static_cast<std::uint32_t>(threads_max));
    std::uint32_t best = 0, best_size = std::min(most, kernel.wave);
    for (std::uint32_t size = most / kernel.wave * kernel.wave; size > 0; size -= kernel.wave) {
      const auto resident = static_cast<std::uint32_t>(resident_blocks(kernel, card, size, dynamic_lds));
      if (resident * size <= best) continue;
      best = resident * size;
      best_size = size;
    }
    *threads = static_cast<int>(best_size);
    *blocks = static_cast<int>(best / best_size) * card.compute_units;
    return hip::success;
  });
}

// Hints: every kernel may use all of the LDS that its card has.
KILN_EXPORT hip::Code hipFuncSetAttribute(const void* host, int, int) {
  return with_function(host, [](hip::Function) { return hip::success; });
}
KILN_EXPORT hip::Code hipFuncSetCacheConfig(const void* host, int) {
  return with_function(host, [](hip::Function) { return hip::success; });
}

KILN_EXPORT hip::Code hipGetSymbolAddress(void** address, const void* host) {
  if (address == nullptr) return hip::invalid_value;
  return with_symbol(host, 0, 0, [&](void* at) { return *address = at, hip::success; });
}

KILN_EXPORT hip::Code hipGetSymbolSize(std::size_t* bytes, const void* host) {
  return call([&](Runtime&) -> hip::Code {
    void* address = nullptr;
    if (bytes == nullptr) return hip::invalid_value;
    return Registry::get().variable(host, call_state().device, address, *bytes);
  });
}

KILN_EXPORT hip::Code hipMemcpyToSymbol(const void* host, const void* from, std::size_t bytes, std::size_t offset,
                                        int kind) {
  return with_symbol(host, offset, bytes, [&](void* at) { return hip::hipMemcpy(at, from, bytes, kind); });
}
KILN_EXPORT hip::Code hipMemcpyToSymbolAsync(const void* host, const void* from, std::size_t bytes, std::size_t offset,
                                             int kind, hip::Stream stream) {
  return with_symbol(host, offset, bytes, [&](void* at) { return hip::hipMemcpyAsync(at, from, bytes, kind, stream); });
}
KILN_EXPORT hip::Code hipMemcpyFromSymbol(void* to, const void* host, std::size_t bytes, std::size_t offset, int kind) {
  return with_symbol(host, offset, bytes, [&](void* at) { return hip::hipMemcpy(to, at, bytes, kind); });
}
KILN_EXPORT hip::Code hipMemcpyFromSymbolAsync(void* to, const void* host, std::size_t bytes, std::size_t offset,
                                               int kind, hip::Stream stream) {
  return with_symbol(host, offset, bytes, [&](void* at) { return hip::hipMemcpyAsync(to, at, bytes, kind, stream); });
}

KILN_EXPORT hip::Code hipMemcpyWithStream(void* to, const void* from, std::size_t bytes, int kind, hip::Stream stream) {
  const hip::Code code = hip::hipMemcpyAsync(to, from, bytes, kind, stream);
  return code == hip::success ? hip::hipStreamSynchronize(stream) : code;
}
KILN_EXPORT hip::Code hipHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  return hip::hipHostMalloc(pointer, bytes, flags);
}
KILN_EXPORT hip::Code hipMallocHost(void** pointer, std::size_t bytes) { return hip::hipHostMalloc(pointer, bytes, 0); }
// Memory of the card is memory of this machine: both sides may touch it.
KILN_EXPORT hip::Code hipMallocManaged(void** pointer, std::size_t bytes, unsigned) {
  return hip::hipMalloc(pointer, bytes);
}
// In a stream's order, and for all: memory is given at once, and taken back once the stream is done.
KILN_EXPORT hip::Code hipMallocAsync(void** pointer, std::size_t bytes, hip::Stream) {
  return hip::hipMalloc(pointer, bytes);
}
KILN_EXPORT hip::Code hipFreeAsync(void* pointer, hip::Stream stream) {
  const hip::Code code = hip::hipStreamSynchronize(stream);
  return code == hip::success ? hip::hipFree(pointer) : code;
}
KILN_EXPORT hip::Code hipStreamCreateWithPriority(hip::Stream* stream, unsigned flags, int) {
  return hip::hipStreamCreateWithFlags(stream, flags);
}
KILN_EXPORT hip::Code hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = 0;
  return hip::success;
}
