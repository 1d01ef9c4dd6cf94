// Memory, copies, fills.
#include <cstring>

#include "engine/emulator/hip/calls.hpp"

using namespace kiln;
using namespace kiln::emulator;

namespace {

// What a copy's ends may be: device memory must be known to the cards; host memory is the caller's word.
bool valid_copy(Runtime& runtime, void* to, const void* from, std::size_t bytes, int kind) {
  const bool to_device = kind == hip::copy_host_to_device || kind == hip::copy_device_to_device;
  const bool from_device = kind == hip::copy_device_to_host || kind == hip::copy_device_to_device;
  return (!to_device || runtime.known(to, bytes)) && (!from_device || runtime.known(from, bytes));
}

hip::Code copy(hip::Stream handle, void* to, const void* from, std::size_t bytes, int kind, bool wait) {
  return call_on(handle, [&](Runtime& runtime, const std::shared_ptr<Stream>& stream) -> hip::Code {
    if (kind < hip::copy_host_to_host || kind > hip::copy_default) return hip::invalid_memcpy_direction;
    if (bytes == 0) return hip::success;
    if (to == nullptr || from == nullptr || !valid_copy(runtime, to, from, bytes, kind))
      return failed(hip::invalid_value, "a copy's range leaves the memory that the card knows");
    // Pageable memory may be gone when the call is back: such copies are done by then.
    const bool pageable = !runtime.known(to, bytes) || !runtime.known(from, bytes);
    runtime.submit(stream, [to, from, bytes] {
      std::memmove(to, from, bytes);
      return hip::success;
    });
    return wait || pageable ? stream->synchronize() : hip::success;
  });
}

template <class Value> hip::Code fill(hip::Stream handle, void* to, Value value, std::size_t count, bool wait) {
  return call_on(handle, [&](Runtime& runtime, const std::shared_ptr<Stream>& stream) -> hip::Code {
    if (count == 0) return hip::success;
    if (to == nullptr || count > (std::size_t(1) << 46) || !runtime.known(to, count * sizeof value))
      return failed(hip::invalid_value, "a fill's range leaves the memory that the card knows");
    runtime.submit(stream, [to, value, count] {
      auto* bytes = static_cast<std::uint8_t*>(to);
      if constexpr (sizeof value == 1) std::memset(bytes, value, count);
      else
        for (std::size_t i = 0; i < count; ++i) std::memcpy(bytes + i * sizeof value, &value, sizeof value);
      return hip::success;
    });
    return wait ? stream->synchronize() : hip::success;
  });
}

hip::Code done(Status status) { return status ? hip::success : failed(status.error()); }

// Before memory goes away: whatever may use it has ended. Errors stay with their streams.
void quiesce(Runtime& runtime) { runtime.synchronize(-1); }

}  // namespace

KILN_EXPORT hip::Code hipMalloc(void** pointer, std::size_t bytes) {
  return call([&](Runtime& runtime) {
    if (pointer == nullptr) return hip::invalid_value;
    *pointer = nullptr;
    if (bytes == 0) return hip::success;
    auto made = runtime.memory().allocate(bytes, call_state().device);
    if (!made) return failed(hip::out_of_memory, made.error().message);
    *pointer = *made;
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipFree(void* pointer) {
  return call([&](Runtime& runtime) {
    quiesce(runtime);
    return pointer == nullptr ? hip::success : done(runtime.memory().release(pointer));
  });
}

KILN_EXPORT hip::Code hipHostMalloc(void** pointer, std::size_t bytes, unsigned) {
  return call([&](Runtime& runtime) {
    if (pointer == nullptr) return hip::invalid_value;
    *pointer = nullptr;
    if (bytes == 0) return hip::success;
    auto made = runtime.memory().allocate_host(bytes);
    if (!made) return failed(hip::out_of_memory, made.error().message);
    *pointer = *made;
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipHostFree(void* pointer) {
  return call([&](Runtime& runtime) {
    quiesce(runtime);
    return pointer == nullptr ? hip::success : done(runtime.memory().release_host(pointer));
  });
}

KILN_EXPORT hip::Code hipHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  return call([&](Runtime& runtime) {
    return done(runtime.memory().register_host(pointer, bytes, (flags & hip::host_register_read_only) != 0));
  });
}

KILN_EXPORT hip::Code hipHostUnregister(void* pointer) {
  return call([&](Runtime& runtime) {
    quiesce(runtime);
    const auto status = runtime.memory().unregister_host(pointer);
    return status ? hip::success : failed(hip::not_registered, status.error().message);
  });
}

KILN_EXPORT hip::Code hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
  return call([&](Runtime& runtime) -> hip::Code {
    if (device == nullptr || flags != 0) return hip::invalid_value;
    const auto found = runtime.memory().find(reinterpret_cast<std::uint64_t>(host));
    if (!found || (found->kind != MemoryKind::host && found->kind != MemoryKind::registered))
      return failed(hip::invalid_value, "the pointer is no registered host memory");
    *device = host;
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipMemGetInfo(std::size_t* free, std::size_t* total) {
  return call([&](Runtime& runtime) {
    const auto most = runtime.memory().bytes_max(), used = runtime.memory().used_bytes();
    if (free != nullptr) *free = most - std::min(used, most);
    if (total != nullptr) *total = most;
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipMemGetAddressRange(void** base, std::size_t* bytes, void* pointer) {
  return call([&](Runtime& runtime) {
    const auto found = runtime.memory().find(reinterpret_cast<std::uint64_t>(pointer));
    if (!found) return failed(hip::not_found, "no allocation holds the pointer");
    if (base != nullptr) *base = reinterpret_cast<void*>(found->begin);
    if (bytes != nullptr) *bytes = found->bytes;
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipPointerGetAttributes(hip::PointerAttributes* attributes, const void* pointer) {
  return call([&](Runtime& runtime) {
    if (attributes == nullptr) return hip::invalid_value;
    const auto found = runtime.memory().find(reinterpret_cast<std::uint64_t>(pointer));
    if (!found) return failed(hip::invalid_value, "no allocation holds the pointer");
    const bool on_host = found->kind == MemoryKind::host || found->kind == MemoryKind::registered;
    *attributes = {on_host ? 1 : 2, found->device, const_cast<void*>(pointer),
                   on_host ? const_cast<void*>(pointer) : nullptr, 0, 0};
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  return copy(nullptr, to, from, bytes, kind, true);
}
KILN_EXPORT hip::Code hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, hip::Stream stream) {
  return copy(stream, to, from, bytes, kind, false);
}
KILN_EXPORT hip::Code hipMemcpyHtoD(void* to, void* from, std::size_t bytes) {
  return copy(nullptr, to, from, bytes, hip::copy_host_to_device, true);
}
KILN_EXPORT hip::Code hipMemcpyDtoH(void* to, void* from, std::size_t bytes) {
  return copy(nullptr, to, from, bytes, hip::copy_device_to_host, true);
}
KILN_EXPORT hip::Code hipMemcpyDtoD(void* to, void* from, std::size_t bytes) {
  return copy(nullptr, to, from, bytes, hip::copy_device_to_device, true);
}
KILN_EXPORT hip::Code hipMemcpyHtoDAsync(void* to, void* from, std::size_t bytes, hip::Stream stream) {
  return copy(stream, to, from, bytes, hip::copy_host_to_device, false);
}
KILN_EXPORT hip::Code hipMemcpyDtoHAsync(void* to, void* from, std::size_t bytes, hip::Stream stream) {
  return copy(stream, to, from, bytes, hip::copy_device_to_host, false);
}
KILN_EXPORT hip::Code hipMemcpyDtoDAsync(void* to, void* from, std::size_t bytes, hip::Stream stream) {
  return copy(stream, to, from, bytes, hip::copy_device_to_device, false);
}

KILN_EXPORT hip::Code hipMemset(void* to, int value, std::size_t bytes) {
  return fill(nullptr, to, static_cast<std::uint8_t>(value), bytes, true);
}
KILN_EXPORT hip::Code hipMemsetAsync(void* to, int value, std::size_t bytes, hip::Stream stream) {
  return fill(stream, to, static_cast<std::uint8_t>(value), bytes, false);
}
KILN_EXPORT hip::Code hipMemsetD8(void* to, unsigned char value, std::size_t count) {
  return fill(nullptr, to, static_cast<std::uint8_t>(value), count, true);
}
KILN_EXPORT hip::Code hipMemsetD8Async(void* to, unsigned char value, std::size_t count, hip::Stream stream) {
  return fill(stream, to, static_cast<std::uint8_t>(value), count, false);
}
KILN_EXPORT hip::Code hipMemsetD32(void* to, int value, std::size_t count) {
  return fill(nullptr, to, value, count, true);
}
KILN_EXPORT hip::Code hipMemsetD32Async(void* to, int value, std::size_t count, hip::Stream stream) {
  return fill(stream, to, value, count, false);
}
