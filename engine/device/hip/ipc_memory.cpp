#include "engine/device/hip/ipc_memory.hpp"

#include <chrono>
#include <cstring>

namespace kiln::device::hip {
namespace {

static_assert(sizeof(IpcHandle) == sizeof(IpcBytes));
constexpr auto closing_limit = std::chrono::seconds(2);

IpcBytes bytes_of(const IpcHandle& handle) {
  IpcBytes bytes;
  std::memcpy(&bytes, handle.data(), sizeof bytes);
  return bytes;
}

// What the driver says about a handle that it does not open, by what is wrong with the handle.
Error refused(const Table& table, Code code, const char* call) {
  Error error = table.check(code, call).error();
  if (code == invalid_handle || code == map_failed) error.code = ErrorCode::not_found;
  else if (code != out_of_memory && code != not_supported) error.code = ErrorCode::invalid_argument;
  if (code == invalid_context || code == invalid_device_pointer)
    error.message = "the IPC handle is of the device process's own memory, which HIP opens in other processes only; " +
                    error.message;
  return error;
}

}  // namespace

// With the lock held: two openings of one handle at a time fail on some drivers.
Result<IpcMemory::Entry> IpcMemory::open_new(const IpcHandle& handle) const {
  Entry entry;
  if (const Code code = table_.hipIpcOpenMemHandle(&entry.pointer, bytes_of(handle), ipc_lazy_peer_access);
      code != success)
    return refused(table_, code, "hipIpcOpenMemHandle");
  void* base = nullptr;
  std::size_t bytes = 0;
  if (auto status = table_.check(table_.hipMemGetAddressRange(&base, &bytes, entry.pointer), "hipMemGetAddressRange");
      !status) {
    (void)table_.hipIpcCloseMemHandle(entry.pointer);
    return std::move(status).error();
  }
  entry.range = {reinterpret_cast<std::uint64_t>(base), bytes};
  return entry;
}

Result<IpcMemory::Range> IpcMemory::open(const IpcHandle& handle) {
  std::unique_lock lock(mutex_);
  if (own_.contains(handle))
    return Error(ErrorCode::invalid_argument,
                 "the IPC handle is of the device process's own memory, from buffer.alloc: use that buffer itself, HIP "
                 "opens handles of other processes only");
  const auto closing = [&] {
    const auto found = open_.find(handle);
    return found != open_.end() && found->second.closing;
  };
  if (!closed_.wait_for(lock, closing_limit, [&] { return !closing(); }))
    return Error(ErrorCode::busy, "the memory of this handle is still being closed, behind what runs on the card",
                 true);
  if (const auto found = open_.find(handle); found != open_.end()) {
    ++found->second.users;
    return found->second.range;
  }
  KILN_TRY(auto entry, open_new(handle));
  entry.users = 1;
  return open_.emplace(handle, entry).first->second.range;
}

void IpcMemory::close(const IpcHandle& handle) {
  std::unique_lock lock(mutex_);
  const auto found = open_.find(handle);
  if (found == open_.end() || --found->second.users > 0) return;
  found->second.closing = true;
  void* const pointer = found->second.pointer;
  lock.unlock();
  (void)table_.hipIpcCloseMemHandle(pointer);
  lock.lock();
  open_.erase(handle);
  closed_.notify_all();
}

void IpcMemory::gave(const IpcHandle& handle) {
  const std::lock_guard lock(mutex_);
  own_.insert(handle);
}

void IpcMemory::took_back(const IpcHandle& handle) {
  const std::lock_guard lock(mutex_);
  own_.erase(handle);
}

Result<std::shared_ptr<const CardEvent>> CardEvent::open(const Table& table, const IpcHandle& handle) {
  Event event = nullptr;
  if (const Code code = table.hipIpcOpenEventHandle(&event, bytes_of(handle)); code != success)
    return refused(table, code, "hipIpcOpenEventHandle");
  return std::make_shared<const CardEvent>(table, event);
}

Result<std::shared_ptr<const CardEvent>> CardEvent::make(const Table& table, IpcHandle& handle) {
  Event event = nullptr;
  KILN_CHECK(table.check(table.hipEventCreateWithFlags(&event, event_interprocess | event_disable_timing),
                         "hipEventCreateWithFlags"));
  auto made = std::make_shared<const CardEvent>(table, event);
  IpcBytes bytes;
  KILN_CHECK(table.check(table.hipIpcGetEventHandle(&bytes, event), "hipIpcGetEventHandle"));
  std::memcpy(handle.data(), &bytes, sizeof bytes);
  return made;
}

}  // namespace kiln::device::hip
