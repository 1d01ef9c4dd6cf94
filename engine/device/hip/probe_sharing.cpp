#include "engine/device/hip/probe_sharing.hpp"

#include <unistd.h>

#include <chrono>
#include <cstring>

#include "engine/base/error_encoding.hpp"

extern char** environ;

namespace kiln::device::hip {
namespace {

constexpr int second_descriptor = 3;
constexpr auto answer_limit = std::chrono::seconds(30);   // a driver that hangs must not hang the doctor

enum class Said : std::uint8_t { handles = 1, opened, done };

Status say(int socket, Said what, const Status& status) {
  Writer w;
  write_status(w, status);
  return send_frame(socket, static_cast<std::uint8_t>(what), w.data(), {}, Deadline::after(answer_limit));
}

// What the second process does between the handles and its two answers.
class Second {
 public:
  Second(const Table& table, int ordinal) : table_(table), ordinal_(ordinal) {}
  Status open(ByteView handles) {
    Reader r(handles);
    IpcBytes each[3];
    for (auto& handle : each) {
      const auto raw = r.bytes();
      if (raw.size() != sizeof handle) return Error(ErrorCode::protocol_error, "damaged handles");
      std::memcpy(&handle, raw.data(), sizeof handle);
    }
    KILN_CHECK(table_.check(table_.hipInit(0), "hipInit"));
    KILN_CHECK(table_.check(table_.hipSetDevice(ordinal_), "hipSetDevice"));
    KILN_CHECK(table_.check(table_.hipStreamCreateWithFlags(&stream_, stream_non_blocking),
                            "hipStreamCreateWithFlags"));
    KILN_CHECK(table_.check(table_.hipIpcOpenMemHandle(&memory_, each[0], ipc_lazy_peer_access),
                            "hipIpcOpenMemHandle"));
    KILN_CHECK(table_.check(table_.hipIpcOpenEventHandle(&ready_, each[1]), "hipIpcOpenEventHandle"));
    return table_.check(table_.hipIpcOpenEventHandle(&done_, each[2]), "hipIpcOpenEventHandle");
  }
  // Behind the first one's event, in place of its pattern another.
  Status answer() {
    Bytes seen(probe_bytes);
    auto other = probe_pattern(2);
    KILN_CHECK(table_.check(table_.hipStreamWaitEvent(stream_, ready_, 0), "hipStreamWaitEvent"));
    KILN_CHECK(table_.check(table_.hipMemcpyDtoHAsync(seen.data(), memory_, probe_bytes, stream_),
                            "hipMemcpyDtoHAsync"));
    KILN_CHECK(table_.check(table_.hipStreamSynchronize(stream_), "hipStreamSynchronize"));
    if (seen != probe_pattern(1))
      return Error(ErrorCode::corrupt, "the second process sees other bytes than the first wrote");
    KILN_CHECK(table_.check(table_.hipMemcpyHtoDAsync(memory_, other.data(), probe_bytes, stream_),
                            "hipMemcpyHtoDAsync"));
    KILN_CHECK(table_.check(table_.hipEventRecord(done_, stream_), "hipEventRecord"));
    return table_.check(table_.hipStreamSynchronize(stream_), "hipStreamSynchronize");
  }

 private:
  const Table& table_;
  const int ordinal_;
  void* memory_ = nullptr;
  Stream stream_ = nullptr;
  Event ready_ = nullptr, done_ = nullptr;
};

}  // namespace

Bytes probe_pattern(std::uint8_t seed) {
  Bytes pattern(probe_bytes);
  for (std::size_t i = 0; i < pattern.size(); ++i)
    pattern[i] = static_cast<std::uint8_t>((i * 2654435761u + seed * 40503u) >> 11);
  return pattern;
}

int second_process(const std::string& library, int ordinal) {
  auto handles = receive_frame(second_descriptor, Deadline::after(answer_limit));
  if (!handles) return 1;
  auto table = load_table(library);
  if (!table) return say(second_descriptor, Said::opened, Status(table.error())) ? 0 : 1;
  Second second(*table, ordinal);
  const auto opened = second.open(handles->payload);
  if (!say(second_descriptor, Said::opened, opened)) return 1;
  if (opened && !say(second_descriptor, Said::done, second.answer())) return 1;
  (void)receive_frame(second_descriptor, Deadline::after(answer_limit));   // until the first one has read the rest
  return 0;
}

SharingTrial::~SharingTrial() {
  socket_.reset();
  if (second_.running()) second_.kill(9);
  for (Event event : {ready_, done_})
    if (event != nullptr) (void)table_.hipEventDestroy(event);
}

Result<std::string> SharingTrial::own_handle() {
  IpcBytes handle{};
  KILN_CHECK(call(table_.hipIpcGetMemHandle(&handle, memory_), "hipIpcGetMemHandle"));
  void* again = nullptr;
  const Code code = table_.hipIpcOpenMemHandle(&again, handle, ipc_lazy_peer_access);
  (void)table_.hipGetLastError();
  if (code == success) {
    (void)table_.hipIpcCloseMemHandle(again);
    return std::string("opened by this very process; Kiln refuses that by itself");
  }
  return "refused, as expected: " + std::string(table_.hipGetErrorName(code));
}

Result<std::string> SharingTrial::export_all() {
  const unsigned flags = event_interprocess | event_disable_timing;
  KILN_CHECK(call(table_.hipIpcGetMemHandle(&memory_handle_, memory_), "hipIpcGetMemHandle"));
  KILN_CHECK(call(table_.hipEventCreateWithFlags(&ready_, flags), "hipEventCreateWithFlags"));
  KILN_CHECK(call(table_.hipEventCreateWithFlags(&done_, flags), "hipEventCreateWithFlags"));
  KILN_CHECK(call(table_.hipIpcGetEventHandle(&ready_handle_, ready_), "hipIpcGetEventHandle"));
  KILN_CHECK(call(table_.hipIpcGetEventHandle(&done_handle_, done_), "hipIpcGetEventHandle"));
  return std::string("handles of memory and of two events");
}

Result<std::string> SharingTrial::hear() {
  KILN_TRY(const auto frame, receive_frame(socket_.get(), Deadline::after(answer_limit)));
  Reader r(frame.payload);
  KILN_CHECK(read_status(r));
  return std::string();
}

Result<std::string> SharingTrial::second_opens() {
  KILN_TRY(auto sockets, socket_pair());
  SpawnOptions spawn;
  spawn.command = options_.second;
  spawn.command.insert(spawn.command.end(), {options_.library, std::to_string(ordinal_)});
  for (char** entry = environ; *entry != nullptr; ++entry) spawn.environment.emplace_back(*entry);
  spawn.descriptors = {{sockets.second.get(), second_descriptor}};
  KILN_TRY(second_, ChildProcess::spawn(spawn));
  sockets.second.reset();
  socket_ = std::move(sockets.first);
  auto pattern = probe_pattern(1);
  KILN_CHECK(call(table_.hipMemcpyHtoDAsync(memory_, pattern.data(), probe_bytes, stream_), "hipMemcpyHtoDAsync"));
  KILN_CHECK(call(table_.hipEventRecord(ready_, stream_), "hipEventRecord"));
  Writer w;
  for (const auto* handle : {&memory_handle_, &ready_handle_, &done_handle_})
    w.bytes({reinterpret_cast<const std::uint8_t*>(handle), sizeof *handle});
  KILN_CHECK(send_frame(socket_.get(), static_cast<std::uint8_t>(Said::handles), w.data(), {},
                        Deadline::after(answer_limit)));
  KILN_CHECK(hear());
  KILN_CHECK(call(table_.hipStreamSynchronize(stream_), "hipStreamSynchronize"));   // `pattern` is read until then
  return std::string("memory and events opened by pid ") + std::to_string(second_.pid());
}

Result<std::string> SharingTrial::second_answers() {
  if (!socket_) return Error(ErrorCode::not_running, "there is no second process");
  KILN_CHECK(hear());
  Bytes seen(probe_bytes);
  KILN_CHECK(call(table_.hipStreamWaitEvent(stream_, done_, 0), "hipStreamWaitEvent"));
  KILN_CHECK(call(table_.hipMemcpyDtoHAsync(seen.data(), memory_, probe_bytes, stream_), "hipMemcpyDtoHAsync"));
  KILN_CHECK(call(table_.hipStreamSynchronize(stream_), "hipStreamSynchronize"));
  if (seen != probe_pattern(2))
    return Error(ErrorCode::corrupt, "the first process sees other bytes than the second wrote");
  return std::string("each waited for the other's, and saw what it had written");
}

Result<std::string> SharingTrial::dma_buf() {
  if (table_.hipMemGetHandleForAddressRange == nullptr || table_.hipImportExternalMemory == nullptr ||
      table_.hipExternalMemoryGetMappedBuffer == nullptr || table_.hipDestroyExternalMemory == nullptr)
    return Error(ErrorCode::unsupported, "the library has no such functions");
  int number = -1;
  KILN_CHECK(call(table_.hipMemGetHandleForAddressRange(&number, memory_, probe_bytes, dma_buf_handle, 0),
                  "hipMemGetHandleForAddressRange"));
  UniqueFd fd(number);
  auto pattern = probe_pattern(3);
  KILN_CHECK(call(table_.hipMemcpyHtoD(memory_, pattern.data(), probe_bytes), "hipMemcpyHtoD"));
  ExternalMemoryDescription description{};
  description.type = external_opaque_descriptor;
  description.handle.fd = fd.get();
  description.size = probe_bytes;
  ExternalMemory external = nullptr;
  KILN_CHECK(call(table_.hipImportExternalMemory(&external, &description), "hipImportExternalMemory"));
  fd.release();   // the driver's now
  ExternalBufferDescription whole{};
  whole.size = probe_bytes;
  void* mapped = nullptr;
  Bytes seen(probe_bytes);
  auto status =
      call(table_.hipExternalMemoryGetMappedBuffer(&mapped, external, &whole), "hipExternalMemoryGetMappedBuffer");
  if (status) status = call(table_.hipMemcpyDtoH(seen.data(), mapped, probe_bytes), "hipMemcpyDtoH");
  (void)table_.hipDestroyExternalMemory(external);
  KILN_CHECK(status);
  if (seen != pattern) return Error(ErrorCode::corrupt, "the imported memory holds other bytes than the exported");
  return std::string("the same bytes through both");
}

}  // namespace kiln::device::hip
