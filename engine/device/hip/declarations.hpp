// HIP's C interface as far as Kiln uses it: own declarations of its types, values and functions, so that nothing of
// ROCm is needed to build. Both sides are built from this list: the table that calls a real library, and the emulated
// card's library. Source of layouts and values: HIP 6 and 7, hip_runtime_api.h; every type is passed as that header
// passes it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kiln::device::hip {

using Code = int;                        // hipError_t
inline constexpr Code success = 0, invalid_value = 1, out_of_memory = 2, not_initialized = 3, invalid_configuration = 9,
                      invalid_memcpy_direction = 21, invalid_device_pointer = 17, no_device = 100, invalid_device = 101,
                      invalid_image = 200, invalid_context = 201, map_failed = 205, no_binary_for_gpu = 209,
                      peer_access_unsupported = 217, invalid_kernel_file = 218, file_not_found = 301,
                      operating_system = 304, invalid_handle = 400, not_found = 500, not_ready = 600,
                      illegal_address = 700, launch_out_of_resources = 701, launch_timeout = 702,
                      already_registered = 712, not_registered = 713, launch_failure = 719, not_supported = 801,
                      unknown = 999;

// Opaque handles.
struct StreamHandle;
struct EventHandle;
struct ModuleHandle;
struct FunctionHandle;
struct ExternalMemoryHandle;
using Stream = StreamHandle*;
using Event = EventHandle*;
using Module = ModuleHandle*;
using Function = FunctionHandle*;
using ExternalMemory = ExternalMemoryHandle*;

struct IpcBytes { char reserved[64]; };  // hipIpcMemHandle_t, hipIpcEventHandle_t; passed by value
struct Uuid { char bytes[16]; };
struct PointerAttributes {               // hipPointerAttribute_t
  int type;                              // 0 unregistered, 1 host, 2 device
  int device;
  void* device_pointer;
  void* host_pointer;
  int managed;
  unsigned flags;
};
struct ExternalMemoryDescription {       // hipExternalMemoryHandleDesc
  int type;                              // 1: opaque descriptor
  union {
    int fd;
    void* names[2];
  } handle;
  unsigned long long size;
  unsigned flags;
  unsigned reserved[16];
};
struct ExternalBufferDescription {       // hipExternalMemoryBufferDesc
  unsigned long long offset, size;
  unsigned flags;
  unsigned reserved[16];
};
static_assert(sizeof(PointerAttributes) == 32 && sizeof(ExternalMemoryDescription) == 104 &&
              sizeof(ExternalBufferDescription) == 88);

// hipDeviceProp_t by offsets: since HIP 6 (R0600), and before.
namespace properties {
inline constexpr std::size_t bytes = 1472, name = 0, uuid = 256, total_memory = 288, lds_per_block = 296,
                             registers_per_block = 304, wave = 308, threads_max = 320, threads_dim = 324, grid = 336,
                             clock_khz = 348, constant_memory = 352, major = 360, minor = 364, compute_units = 388,
                             can_map_host = 400, concurrent_kernels = 576, pci_bus = 584, pci_device = 588,
                             pci_domain = 592, async_engines = 600, unified_addressing = 604, memory_clock_khz = 608,
                             memory_bus_bits = 612, l2_bytes = 616, threads_per_cu = 624, lds_per_cu = 640,
                             registers_per_cu = 648, lds_per_block_optin = 696, blocks_per_cu = 712,
                             host_register = 728, host_register_read_only = 736, ipc_event = 768, arch_name = 1160,
                             lds_per_cu_amd = 1416, arch_flags = 1428, large_bar = 1464;
namespace old {
inline constexpr std::size_t bytes = 792, name = 0, total_memory = 256, lds_per_block = 264, registers_per_block = 272,
                             wave = 276, threads_max = 280, threads_dim = 284, grid = 296, clock_khz = 308,
                             memory_clock_khz = 312, memory_bus_bits = 316, constant_memory = 320, major = 328,
                             minor = 332, compute_units = 336, l2_bytes = 340, threads_per_cu = 344, arch_flags = 356,
                             concurrent_kernels = 360, pci_domain = 364, pci_bus = 368, pci_device = 372,
                             lds_per_cu_amd = 376, can_map_host = 388, arch_name = 396, large_bar = 764;
}  // namespace old
}  // namespace properties

// hipDeviceAttribute_t
namespace attribute {
inline constexpr int async_engines = 2, can_map_host = 3, clock_khz = 5, concurrent_kernels = 8, integrated = 16,
                     l2_bytes = 19, major = 23, blocks_per_cu = 25, block_x = 26, block_y = 27, block_z = 28,
                     grid_x = 29, grid_y = 30, grid_z = 31, threads_per_block = 56, threads_per_cu = 57,
                     memory_bus_bits = 59, memory_clock_khz = 60, minor = 61, compute_units = 63, pci_bus = 67,
                     pci_device = 68, pci_domain = 69, registers_per_block = 71, registers_per_cu = 72,
                     lds_per_block = 74, lds_per_block_optin = 75, lds_per_cu = 76, constant_memory = 83,
                     unified_addressing = 85, wave = 87, host_register = 90, lds_per_cu_amd = 10002,
                     large_bar = 10011, physical_compute_units = 10015, wall_clock_khz = 10017, xccs = 10018;
}  // namespace attribute

// hipFunction_attribute
namespace function_attribute {
inline constexpr int threads_max = 0, lds_bytes = 1, constant_bytes = 2, private_bytes = 3, registers = 4,
                     binary_version = 6, dynamic_lds_max = 8;
}

inline constexpr unsigned event_disable_timing = 2, event_interprocess = 4, stream_non_blocking = 1,
                          host_register_mapped = 2, host_register_read_only = 8, ipc_lazy_peer_access = 1;
inline constexpr int copy_host_to_host = 0, copy_host_to_device = 1, copy_device_to_host = 2, copy_device_to_device = 3,
                     copy_default = 4;
inline constexpr int dma_buf_handle = 1, external_opaque_descriptor = 1;
// Keys of hipModuleLaunchKernel's `extra`.
inline void* const launch_buffer = reinterpret_cast<void*>(1);
inline void* const launch_buffer_size = reinterpret_cast<void*>(2);
inline void* const launch_end = reinterpret_cast<void*>(3);

}  // namespace kiln::device::hip

// X(name, (parameters)) for every function but hipGetErrorName and hipGetErrorString, which return const char*. The
// second list holds those that a library may lack.
#define KILN_HIP_FUNCTIONS(X)                                                                                          \
  X(hipInit, (unsigned flags))                                                                                         \
  X(hipRuntimeGetVersion, (int* version))                                                                              \
  X(hipDriverGetVersion, (int* version))                                                                               \
  X(hipGetDeviceCount, (int* count))                                                                                   \
  X(hipSetDevice, (int device))                                                                                        \
  X(hipGetDevice, (int* device))                                                                                       \
  X(hipDeviceGet, (int* device, int ordinal))                                                                          \
  X(hipDeviceGetName, (char* name, int bytes, int device))                                                             \
  X(hipDeviceGetPCIBusId, (char* id, int bytes, int device))                                                           \
  X(hipDeviceGetAttribute, (int* value, int attribute, int device))                                                    \
  X(hipDeviceTotalMem, (std::size_t* bytes, int device))                                                               \
  X(hipMemGetInfo, (std::size_t* free, std::size_t* total))                                                            \
  X(hipModuleLoadData, (Module* module, const void* image))                                                            \
  X(hipModuleUnload, (Module module))                                                                                  \
  X(hipModuleGetFunction, (Function* function, Module module, const char* name))                                       \
  X(hipModuleGetGlobal, (void** address, std::size_t* bytes, Module module, const char* name))                         \
  X(hipFuncGetAttribute, (int* value, int attribute, Function function))                                               \
  X(hipModuleLaunchKernel, (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,    \
                            unsigned block_y, unsigned block_z, unsigned lds_bytes, Stream stream, void** parameters,  \
                            void** extra))                                                                             \
  X(hipMalloc, (void** pointer, std::size_t bytes))                                                                    \
  X(hipFree, (void* pointer))                                                                                          \
  X(hipHostMalloc, (void** pointer, std::size_t bytes, unsigned flags))                                                \
  X(hipHostFree, (void* pointer))                                                                                      \
  X(hipHostRegister, (void* pointer, std::size_t bytes, unsigned flags))                                               \
  X(hipHostUnregister, (void* pointer))                                                                                \
  X(hipHostGetDevicePointer, (void** device, void* host, unsigned flags))                                              \
  X(hipMemcpy, (void* to, const void* from, std::size_t bytes, int kind))                                              \
  X(hipMemcpyAsync, (void* to, const void* from, std::size_t bytes, int kind, Stream stream))                          \
  X(hipMemcpyHtoD, (void* to, void* from, std::size_t bytes))                                                          \
  X(hipMemcpyDtoH, (void* to, void* from, std::size_t bytes))                                                          \
  X(hipMemcpyDtoD, (void* to, void* from, std::size_t bytes))                                                          \
  X(hipMemcpyHtoDAsync, (void* to, void* from, std::size_t bytes, Stream stream))                                      \
  X(hipMemcpyDtoHAsync, (void* to, void* from, std::size_t bytes, Stream stream))                                      \
  X(hipMemcpyDtoDAsync, (void* to, void* from, std::size_t bytes, Stream stream))                                      \
  X(hipMemset, (void* to, int value, std::size_t bytes))                                                               \
  X(hipMemsetAsync, (void* to, int value, std::size_t bytes, Stream stream))                                           \
  X(hipMemsetD8, (void* to, unsigned char value, std::size_t count))                                                   \
  X(hipMemsetD8Async, (void* to, unsigned char value, std::size_t count, Stream stream))                               \
  X(hipMemsetD32, (void* to, int value, std::size_t count))                                                            \
  X(hipMemsetD32Async, (void* to, int value, std::size_t count, Stream stream))                                        \
  X(hipStreamCreate, (Stream* stream))                                                                                 \
  X(hipStreamCreateWithFlags, (Stream* stream, unsigned flags))                                                        \
  X(hipStreamDestroy, (Stream stream))                                                                                 \
  X(hipStreamSynchronize, (Stream stream))                                                                             \
  X(hipStreamQuery, (Stream stream))                                                                                   \
  X(hipStreamWaitEvent, (Stream stream, Event event, unsigned flags))                                                  \
  X(hipEventCreate, (Event* event))                                                                                    \
  X(hipEventCreateWithFlags, (Event* event, unsigned flags))                                                           \
  X(hipEventRecord, (Event event, Stream stream))                                                                      \
  X(hipEventSynchronize, (Event event))                                                                                \
  X(hipEventQuery, (Event event))                                                                                      \
  X(hipEventElapsedTime, (float* milliseconds, Event from, Event to))                                                  \
  X(hipEventDestroy, (Event event))                                                                                    \
  X(hipDeviceSynchronize, ())                                                                                          \
  X(hipGetLastError, ())                                                                                               \
  X(hipPeekAtLastError, ())                                                                                            \
  X(hipIpcGetMemHandle, (IpcBytes * handle, void* pointer))                                                            \
  X(hipIpcOpenMemHandle, (void** pointer, IpcBytes handle, unsigned flags))                                            \
  X(hipIpcCloseMemHandle, (void* pointer))                                                                             \
  X(hipIpcGetEventHandle, (IpcBytes * handle, Event event))                                                            \
  X(hipIpcOpenEventHandle, (Event * event, IpcBytes handle))                                                           \
  X(hipMemGetAddressRange, (void** base, std::size_t* bytes, void* pointer))                                           \
  X(hipPointerGetAttributes, (PointerAttributes * attributes, const void* pointer))                                    \
  X(hipDeviceCanAccessPeer, (int* can, int device, int peer))

#define KILN_HIP_OPTIONAL_FUNCTIONS(X)                                                                                 \
  X(hipGetDevicePropertiesR0600, (void* properties, int device))                                                       \
  X(hipGetDeviceProperties, (void* properties, int device))                                                            \
  X(hipDeviceGetUuid, (Uuid * uuid, int device))                                                                       \
  X(hipModuleLoadDataEx, (Module * module, const void* image, unsigned options, int* option, void** values))           \
  X(hipMemGetHandleForAddressRange,                                                                                    \
    (void* handle, void* pointer, std::size_t bytes, int type, unsigned long long flags))                              \
  X(hipImportExternalMemory, (ExternalMemory * memory, const ExternalMemoryDescription* description))                  \
  X(hipExternalMemoryGetMappedBuffer,                                                                                  \
    (void** pointer, ExternalMemory memory, const ExternalBufferDescription* description))                             \
  X(hipDestroyExternalMemory, (ExternalMemory memory))
