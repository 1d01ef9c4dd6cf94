// Memory and events of other processes; descriptors.
#include <cstring>
#include <map>

#include "engine/emulator/hip/calls.hpp"

using namespace kiln;
using namespace kiln::emulator;

namespace {

static_assert(sizeof(IpcHandle) == sizeof(hip::IpcBytes));
constexpr std::uint64_t event_mark = 0x7465766e65;   // IpcHandle::reserved of an event's memory

hip::Code export_memory(Runtime& runtime, const void* pointer, std::uint64_t mark, hip::IpcBytes* into) {
  auto handle = runtime.memory().export_handle(pointer);
  if (!handle) return failed(handle.error());
  handle->reserved = mark;
  std::memcpy(into, &*handle, sizeof *into);
  return hip::success;
}

hip::Code open_memory(Runtime& runtime, const hip::IpcBytes& bytes, std::uint64_t mark, void** pointer) {
  IpcHandle handle;
  std::memcpy(static_cast<void*>(&handle), &bytes, sizeof handle);
  if (handle.reserved != mark) return failed(hip::invalid_value, "no IPC handle of this kind");
  auto opened = runtime.memory().open_handle(handle);
  if (!opened) {
    const auto code = opened.error().code;
    const bool refused = code == ErrorCode::not_found || code == ErrorCode::permission_denied;
    return refused ? failed(hip::invalid_handle, opened.error().message) : failed(opened.error());
  }
  *pointer = *opened;
  return hip::success;
}

// Imported descriptors: HIP's object stands between descriptor and mapping.
struct External {
  UniqueFd fd;
  std::uint64_t bytes = 0;
  std::vector<void*> mapped;
};
struct Externals {
  std::mutex mutex;
  std::map<hip::ExternalMemory, std::unique_ptr<External>> all;
};
Externals& externals() {
  static Externals* const state = new Externals;
  return *state;
}

}  // namespace

KILN_EXPORT hip::Code hipIpcGetMemHandle(hip::IpcBytes* handle, void* pointer) {
  return call([&](Runtime& runtime) {
    return handle == nullptr ? hip::invalid_value : export_memory(runtime, pointer, 0, handle);
  });
}

KILN_EXPORT hip::Code hipIpcOpenMemHandle(void** pointer, hip::IpcBytes handle, unsigned flags) {
  return call([&](Runtime& runtime) {
    if (pointer == nullptr || (flags & ~hip::ipc_lazy_peer_access) != 0) return hip::invalid_value;
    return open_memory(runtime, handle, 0, pointer);
  });
}

KILN_EXPORT hip::Code hipIpcCloseMemHandle(void* pointer) {
  return call([&](Runtime& runtime) {
    runtime.synchronize(-1);
    const auto status = runtime.memory().close_handle(pointer);
    return status ? hip::success : failed(status.error());
  });
}

KILN_EXPORT hip::Code hipIpcGetEventHandle(hip::IpcBytes* handle, hip::Event event_handle) {
  return call([&](Runtime& runtime) -> hip::Code {
    const auto event = runtime.event(event_handle);
    if (handle == nullptr) return hip::invalid_value;
    if (event == nullptr) return failed(hip::invalid_handle, "no such event");
    if (!event->interprocess()) return failed(hip::invalid_value, "the event was made without hipEventInterprocess");
    return export_memory(runtime, event->shared(), event_mark, handle);
  });
}

KILN_EXPORT hip::Code hipIpcOpenEventHandle(hip::Event* event, hip::IpcBytes handle) {
  return call([&](Runtime& runtime) -> hip::Code {
    if (event == nullptr) return hip::invalid_value;
    void* memory = nullptr;
    if (const auto code = open_memory(runtime, handle, event_mark, &memory); code != hip::success) return code;
    const auto found = runtime.memory().find(reinterpret_cast<std::uint64_t>(memory));
    if (!found || found->bytes < sizeof(SharedEvent) || reinterpret_cast<std::uint64_t>(memory) != found->begin) {
      (void)runtime.memory().close_handle(memory);
      return failed(hip::invalid_value, "no IPC handle of an event");
    }
    const auto close = [&runtime, memory] { (void)runtime.memory().close_handle(memory); };
    *event = runtime.add_event(std::make_shared<Event>(hip::event_disable_timing | hip::event_interprocess,
                                                       static_cast<SharedEvent*>(memory), close));
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipMemGetHandleForAddressRange(void* handle, void* pointer, std::size_t bytes, int type,
                                                     unsigned long long) {
  return call([&](Runtime& runtime) -> hip::Code {
    if (handle == nullptr || type != hip::dma_buf_handle) return hip::invalid_value;
    if (!runtime.known(pointer, bytes)) return failed(hip::invalid_value, "the range leaves its allocation");
    std::uint64_t offset = 0;
    auto fd = runtime.memory().export_descriptor(pointer, &offset);
    if (!fd) return failed(fd.error());
    if (offset != 0)
      return failed(hip::invalid_value, "the emulated card exports whole allocations: begin at its first byte");
    const int number = fd->release();
    std::memcpy(handle, &number, sizeof number);
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipImportExternalMemory(hip::ExternalMemory* memory,
                                              const hip::ExternalMemoryDescription* description) {
  return call([&](Runtime&) -> hip::Code {
    if (memory == nullptr || description == nullptr || description->type != hip::external_opaque_descriptor)
      return hip::invalid_value;
    auto external = std::make_unique<External>();
    external->fd.reset(description->handle.fd);   // the object owns it from now on, as HIP says
    external->bytes = description->size;
    const auto key = reinterpret_cast<hip::ExternalMemory>(external.get());
    const std::lock_guard lock(externals().mutex);
    externals().all.emplace(key, std::move(external));
    *memory = key;
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipExternalMemoryGetMappedBuffer(void** pointer, hip::ExternalMemory memory,
                                                       const hip::ExternalBufferDescription* description) {
  return call([&](Runtime& runtime) -> hip::Code {
    if (pointer == nullptr || description == nullptr) return hip::invalid_value;
    const std::lock_guard lock(externals().mutex);
    const auto found = externals().all.find(memory);
    if (found == externals().all.end()) return failed(hip::invalid_handle, "no such external memory");
    External& external = *found->second;
    if (description->offset > external.bytes || description->size > external.bytes - description->offset)
      return failed(hip::invalid_value, "the range leaves the external memory");
    auto mapped = runtime.memory().import_descriptor(external.fd.get(), description->offset, description->size);
    if (!mapped) return failed(mapped.error());
    external.mapped.push_back(*mapped);
    *pointer = *mapped;
    return hip::success;
  });
}

KILN_EXPORT hip::Code hipDestroyExternalMemory(hip::ExternalMemory memory) {
  return call([&](Runtime& runtime) -> hip::Code {
    std::unique_ptr<External> external;
    {
      const std::lock_guard lock(externals().mutex);
      const auto found = externals().all.find(memory);
      if (found == externals().all.end()) return failed(hip::invalid_handle, "no such external memory");
      external = std::move(found->second);
      externals().all.erase(found);
    }
    runtime.synchronize(-1);
    for (void* const pointer : external->mapped) (void)runtime.memory().close_handle(pointer);
    return hip::success;
  });
}
