// Devices, their properties, errors.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "engine/emulator/hip/calls.hpp"
#include "engine/emulator/hip/registry.hpp"

using namespace kiln;
using namespace kiln::emulator;

namespace {

constexpr int hip_version = 60443484;   // of the release whose interface this is: 6.4
constexpr int registers_per_cu = 131072;

std::string pci_id(int device) {
  char text[32];
  std::snprintf(text, sizeof text, "0000:%02x:00.0", device + 1);
  return text;
}

hip::Uuid uuid_of(const Card& card, int device) {
  // Stable: the same target in the same place is the same card.
  hip::Uuid uuid;
  const std::string name = "kiln emulated " + card.target.full + " " + std::to_string(device);
  std::uint64_t hash[2] = {0xcbf29ce484222325u, 0x84222325cbf29ce4u};
  for (const char c : name)
    for (auto& part : hash) part = (part ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  // HIP's UUIDs are 16 printable characters, the card's serial number in hexadecimal.
  for (int i = 0; i < 16; ++i) uuid.bytes[i] = "0123456789abcdef"[hash[i / 8] >> (4 * (i % 8) + 16) & 15];
  return uuid;
}

// Writes a property of the struct at `to`.
template <class T> void put(void* to, std::size_t offset, T value) {
  std::memcpy(static_cast<char*>(to) + offset, &value, sizeof value);
}
void put_text(void* to, std::size_t offset, const std::string& text) {
  std::memcpy(static_cast<char*>(to) + offset, text.c_str(), std::min<std::size_t>(text.size(), 255) + 1);
}

int lds_bytes(const Card& card) { return static_cast<int>(card.target.lds_bytes); }
int threads_per_cu(const Card& card) { return card.waves_per_cu * card.target.wave; }

// 17 one-bit facts (hipDeviceArch_t), those of AMD's cards: all but surfaces, funnel shift, dynamic parallelism.
constexpr unsigned arch_flags = 0x1'6fff & ~(1u << 11);

hip::Code fill_properties(void* to, Runtime& runtime, const Card& card, int device) {
  namespace p = hip::properties;
  std::memset(to, 0, p::bytes);
  put_text(to, p::name, card.name);
  put(to, p::uuid, uuid_of(card, device));
  put<std::size_t>(to, p::total_memory, runtime.memory().bytes_max());
  for (const std::size_t at : {p::lds_per_block, p::lds_per_cu, p::lds_per_block_optin, p::lds_per_cu_amd})
    put<std::size_t>(to, at, static_cast<std::size_t>(lds_bytes(card)));
  put(to, p::registers_per_block, registers_per_cu);
  put(to, p::registers_per_cu, registers_per_cu);
  put(to, p::wave, card.target.wave);
  put(to, p::threads_max, 1024);
  for (int i = 0; i < 3; ++i) {
    put(to, p::threads_dim + 4 * i, 1024);
    put(to, p::grid + 4 * i, i == 0 ? 0x7fffffff : 65536);
  }
  put(to, p::clock_khz, card.clock_khz);
  put<std::size_t>(to, p::constant_memory, 0x7fffffff);
  put(to, p::major, card.major), put(to, p::minor, card.minor);
  put(to, p::compute_units, card.compute_units);
  for (const std::size_t at : {p::can_map_host, p::concurrent_kernels, p::unified_addressing, p::host_register,
                               p::host_register_read_only, p::ipc_event, p::large_bar}) {
    put(to, at, 1);
  }
  put(to, p::pci_bus, device + 1);
  put(to, p::async_engines, 8);
  put(to, p::memory_clock_khz, card.memory_clock_khz), put(to, p::memory_bus_bits, card.memory_bus_bits);
  put(to, p::l2_bytes, card.l2_bytes);
  put(to, p::threads_per_cu, threads_per_cu(card));
  put(to, p::blocks_per_cu, 2);
  put(to, p::arch_flags, arch_flags);
  put_text(to, p::arch_name, card.target.full);
  return hip::success;
}

hip::Code fill_old_properties(void* to, Runtime& runtime, const Card& card, int device) {
  namespace p = hip::properties::old;
  std::memset(to, 0, p::bytes);
  put_text(to, p::name, card.name);
  put<std::size_t>(to, p::total_memory, runtime.memory().bytes_max());
  put<std::size_t>(to, p::lds_per_block, static_cast<std::size_t>(lds_bytes(card)));
  put<std::size_t>(to, p::lds_per_cu_amd, static_cast<std::size_t>(lds_bytes(card)));
  put(to, p::registers_per_block, registers_per_cu);
  put(to, p::wave, card.target.wave);
  put(to, p::threads_max, 1024);
  for (int i = 0; i < 3; ++i) {
    put(to, p::threads_dim + 4 * i, 1024);
    put(to, p::grid + 4 * i, i == 0 ? 0x7fffffff : 65536);
  }
  put(to, p::clock_khz, card.clock_khz);
  put(to, p::memory_clock_khz, card.memory_clock_khz), put(to, p::memory_bus_bits, card.memory_bus_bits);
  put<std::size_t>(to, p::constant_memory, 0x7fffffff);
  put(to, p::major, card.major), put(to, p::minor, card.minor);
  put(to, p::compute_units, card.compute_units);
  put(to, p::l2_bytes, card.l2_bytes);
  put(to, p::threads_per_cu, threads_per_cu(card));
  put(to, p::arch_flags, arch_flags);
  put(to, p::concurrent_kernels, 1), put(to, p::can_map_host, 1), put(to, p::large_bar, 1);
  put(to, p::pci_bus, device + 1);
  put_text(to, p::arch_name, card.target.full);
  return hip::success;
}

// -1: not known.
int attribute_of(const Card& card, int device, int attribute) {
  namespace a = hip::attribute;
  switch (attribute) {
    case a::async_engines: return 8;
    case a::can_map_host:
    case a::concurrent_kernels:
    case a::unified_addressing:
    case a::host_register:
    case a::large_bar: return 1;
    case a::integrated:
    case a::pci_device:
    case a::pci_domain: return 0;
    case a::clock_khz: return card.clock_khz;
    case a::memory_clock_khz: return card.memory_clock_khz;
    case a::memory_bus_bits: return card.memory_bus_bits;
    case a::l2_bytes: return card.l2_bytes;
    case a::major: return card.major;
    case a::minor: return card.minor;
    case a::blocks_per_cu: return 2;
    case a::block_x:
    case a::block_y:
    case a::block_z:
    case a::threads_per_block: return 1024;
    case a::grid_x: return 0x7fffffff;
    case a::grid_y:
    case a::grid_z: return 65536;
    case a::threads_per_cu: return threads_per_cu(card);
    case a::compute_units:
    case a::physical_compute_units: return card.compute_units;
    case a::pci_bus: return device + 1;
    case a::registers_per_block:
    case a::registers_per_cu: return registers_per_cu;
    case a::lds_per_block:
    case a::lds_per_block_optin:
    case a::lds_per_cu:
    case a::lds_per_cu_amd: return lds_bytes(card);
    case a::constant_memory: return 0x7fffffff;
    case a::wave: return card.target.wave;
    case a::wall_clock_khz: return 100000;
    case a::xccs: return card.xccs;
    default: return -1;
  }
}

// body(runtime, card) for a device that there is.
template <class Body> hip::Code call_device(int device, bool given, Body&& body) {
  return call([&](Runtime& runtime) -> hip::Code {
    if (!given) return hip::invalid_value;
    const Card* card = runtime.card(device);
    if (card == nullptr) return failed(hip::invalid_device, "there is no device " + std::to_string(device));
    return body(runtime, *card);
  });
}

hip::Code give_name(const std::string& name, char* to, int bytes) {
  if (bytes <= 0) return hip::invalid_value;
  give_text(name, to, static_cast<std::size_t>(bytes));
  return hip::success;
}

struct Named {
  hip::Code code;
  const char *name, *text;
};
constexpr Named errors[] = {
    {hip::success, "hipSuccess", "no error"},
    {hip::invalid_value, "hipErrorInvalidValue", "invalid argument"},
    {hip::out_of_memory, "hipErrorOutOfMemory", "out of memory"},
    {hip::not_initialized, "hipErrorNotInitialized", "initialization error"},
    {hip::invalid_configuration, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {invalid_symbol, "hipErrorInvalidSymbol", "invalid device symbol"},
    {invalid_device_function, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {hip::invalid_device_pointer, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {hip::invalid_memcpy_direction, "hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {hip::no_device, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {hip::invalid_device, "hipErrorInvalidDevice", "invalid device ordinal"},
    {hip::invalid_image, "hipErrorInvalidImage", "device kernel image is invalid"},
    {hip::invalid_context, "hipErrorInvalidContext", "invalid device context"},
    {hip::map_failed, "hipErrorMapFailed", "mapping of buffer object failed"},
    {hip::no_binary_for_gpu, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
    {hip::peer_access_unsupported, "hipErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {hip::invalid_kernel_file, "hipErrorInvalidKernelFile", "invalid kernel file"},
    {hip::file_not_found, "hipErrorFileNotFound", "file not found"},
    {hip::operating_system, "hipErrorOperatingSystem", "OS call failed or operation not supported on this OS"},
    {hip::invalid_handle, "hipErrorInvalidHandle", "invalid resource handle"},
    {hip::not_found, "hipErrorNotFound", "named symbol not found"},
    {hip::not_ready, "hipErrorNotReady", "device not ready"},
    {hip::illegal_address, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {hip::launch_out_of_resources, "hipErrorLaunchOutOfResources", "out of resources"},
    {hip::launch_timeout, "hipErrorLaunchTimeOut", "the launch timed out and was terminated"},
    {hip::already_registered, "hipErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {hip::not_registered, "hipErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {hip::launch_failure, "hipErrorLaunchFailure", "unspecified launch failure"},
    {hip::not_supported, "hipErrorNotSupported", "operation not supported"},
    {hip::unknown, "hipErrorUnknown", "unknown error"},
};

const Named& named(hip::Code code) {
  for (const auto& error : errors)
    if (error.code == code) return error;
  return errors[std::size(errors) - 1];
}

}  // namespace

KILN_EXPORT hip::Code hipInit(unsigned flags) {
  return call([&](Runtime&) { return flags == 0 ? hip::success : hip::invalid_value; });
}

KILN_EXPORT hip::Code hipRuntimeGetVersion(int* version) {
  if (version == nullptr) return hip::invalid_value;
  *version = hip_version;
  return hip::success;
}

KILN_EXPORT hip::Code hipDriverGetVersion(int* version) { return hipRuntimeGetVersion(version); }

KILN_EXPORT hip::Code hipGetDeviceCount(int* count) {
  return call([&](Runtime& runtime) {
    if (count == nullptr) return hip::invalid_value;
    *count = static_cast<int>(runtime.cards().size());
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipSetDevice(int device) {
  return call_device(device, true, [&](Runtime&, const Card&) {
    call_state().device = device;
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipGetDevice(int* device) {
  return call([&](Runtime&) {
    if (device == nullptr) return hip::invalid_value;
    *device = call_state().device;
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipDeviceGet(int* device, int ordinal) {
  return call_device(ordinal, device != nullptr, [&](Runtime&, const Card&) {
    *device = ordinal;
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipDeviceGetName(char* name, int bytes, int device) {
  return call_device(device, name != nullptr,
                     [&](Runtime&, const Card& card) { return give_name(card.name, name, bytes); });
}

KILN_EXPORT hip::Code hipDeviceGetPCIBusId(char* id, int bytes, int device) {
  return call_device(device, id != nullptr,
                     [&](Runtime&, const Card&) { return give_name(pci_id(device), id, bytes); });
}

KILN_EXPORT hip::Code hipDeviceGetUuid(hip::Uuid* uuid, int device) {
  return call_device(device, uuid != nullptr, [&](Runtime&, const Card& card) {
    *uuid = uuid_of(card, device);
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipDeviceGetAttribute(int* value, int attribute, int device) {
  return call_device(device, value != nullptr, [&](Runtime&, const Card& card) {
    const int found = attribute_of(card, device, attribute);
    if (found < 0)
      return failed(hip::invalid_value, "the emulated card does not tell attribute " + std::to_string(attribute));
    *value = found;
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipGetDevicePropertiesR0600(void* properties, int device) {
  return call_device(device, properties != nullptr, [&](Runtime& runtime, const Card& card) {
    return fill_properties(properties, runtime, card, device);
  });
}

KILN_EXPORT hip::Code hipGetDeviceProperties(void* properties, int device) {
  return call_device(device, properties != nullptr, [&](Runtime& runtime, const Card& card) {
    return fill_old_properties(properties, runtime, card, device);
  });
}

KILN_EXPORT hip::Code hipDeviceTotalMem(std::size_t* bytes, int device) {
  return call_device(device, bytes != nullptr, [&](Runtime& runtime, const Card&) {
    *bytes = runtime.memory().bytes_max();
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return call_device(device, can != nullptr, [&](Runtime& runtime, const Card&) -> hip::Code {
    if (runtime.card(peer) == nullptr) return failed(hip::invalid_device, "there is no device " + std::to_string(peer));
    *can = device != peer;   // all emulated cards of a process share its memory
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipDeviceSynchronize() {
  return call([](Runtime& runtime) { return runtime.synchronize(call_state().device); });
}

KILN_EXPORT hip::Code hipPeekAtLastError() {
  const auto runtime = Runtime::get();
  if (runtime && call_state().last == hip::success) return (*runtime)->sticking_error(call_state().device);
  return call_state().last;
}

KILN_EXPORT hip::Code hipGetLastError() {
  const hip::Code code = hipPeekAtLastError();
  call_state().last = hip::success;
  return code;
}

KILN_EXPORT const char* hipGetErrorName(hip::Code code) { return named(code).name; }
KILN_EXPORT const char* hipGetErrorString(hip::Code code) { return named(code).text; }
