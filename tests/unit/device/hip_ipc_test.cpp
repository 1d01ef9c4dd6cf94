// Memory and events that the HIP device's process shares with others, on the emulated card. This process is the other one.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>

#include "engine/device/device.hpp"
#include "engine/device/hip/ipc_memory.hpp"
#include "engine/device/hip/table.hpp"

namespace kiln::device {
namespace {

const std::string library = KILN_BIN_DIR "/../lib/kiln/emulated/libamdhip64.so.6";
constexpr std::uint32_t n = 1000;
constexpr std::uint64_t bytes = n * 4;

// HIP as this process uses it.
const hip::Table& own_hip() {
  static const hip::Table table = [] {
    ::setenv("KILN_EMULATOR_TARGETS", "gfx942", 1);
    auto loaded = hip::load_table(library);
    EXPECT_TRUE(loaded) << to_text(loaded.error());
    return *loaded;
  }();
  return table;
}

void check(hip::Code code) { ASSERT_EQ(code, hip::success) << own_hip().hipGetErrorName(code); }

IpcHandle handle_of(void* pointer) {
  hip::IpcBytes from{};
  check(own_hip().hipIpcGetMemHandle(&from, pointer));
  IpcHandle handle;
  std::memcpy(handle.data(), &from, sizeof from);
  return handle;
}

// Memory of the card that this process owns.
struct Memory {
  explicit Memory(std::uint32_t first, std::uint64_t size = bytes) {
    check(own_hip().hipMalloc(&pointer, size));
    std::vector<std::uint32_t> words(size / 4);
    for (auto& word : words) word = first++;
    check(own_hip().hipMemcpyHtoD(pointer, words.data(), size));
  }
  ~Memory() {
    if (pointer != nullptr) check(own_hip().hipFree(pointer));
  }
  Memory(const Memory&) = delete;
  [[nodiscard]] std::vector<std::uint32_t> words(std::uint64_t size = bytes) const {
    std::vector<std::uint32_t> got(size / 4);
    check(own_hip().hipMemcpyDtoH(got.data(), pointer, size));
    return got;
  }
  [[nodiscard]] IpcHandle handle() const { return handle_of(pointer); }
  void* pointer = nullptr;
};

struct SharedEvent {
  SharedEvent() {
    check(own_hip().hipEventCreateWithFlags(&event, hip::event_interprocess | hip::event_disable_timing));
    hip::IpcBytes from{};
    check(own_hip().hipIpcGetEventHandle(&from, event));
    std::memcpy(handle.data(), &from, sizeof from);
  }
  ~SharedEvent() { check(own_hip().hipEventDestroy(event)); }
  SharedEvent(const SharedEvent&) = delete;
  hip::Event event = nullptr;
  IpcHandle handle{};
};

Bytes corpus() {
  const auto read = read_file(std::string(KILN_SOURCE_DIR) + "/tests/unit/emulator/corpus/launch_gfx942.co");
  EXPECT_TRUE(read);
  return read.value_or(Bytes());
}

// A stream of this process that is busy until it is let go.
struct Busy {
  Busy() {
    const auto& hip = own_hip();
    check(hip.hipHostMalloc(&flag, 4, 0));
    std::memset(flag, 0, 4);
    check(hip.hipStreamCreateWithFlags(&stream, hip::stream_non_blocking));
    hip::Function function = nullptr;
    check(hip.hipModuleLoadData(&module, image.data()));
    check(hip.hipModuleGetFunction(&function, module, "endless"));
    void* parameters[] = {&flag};
    check(hip.hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr));
  }
  ~Busy() {
    let_go();
    check(own_hip().hipStreamDestroy(stream));
    check(own_hip().hipModuleUnload(module));
    check(own_hip().hipHostFree(flag));
  }
  Busy(const Busy&) = delete;
  void let_go() const { *static_cast<volatile std::uint32_t*>(flag) = 1; }
  const Bytes image = corpus();
  void* flag = nullptr;
  hip::Module module = nullptr;
  hip::Stream stream = nullptr;
};

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    for (pid_t pid; list >> pid;) found.push_back(pid);
  }
  return found;
}

using Reported = std::future<Result<LaunchReport>>;

class HipIpcTest : public testing::Test {
 protected:
  void SetUp() override {
    DeviceProcessOptions options;
    options.command = {std::string(KILN_BIN_DIR) + "/kiln-device-hip", library, "0"};
    options.environment = {"KILN_EMULATOR_TARGETS=gfx942", "HOME=/", "PATH=/usr/bin:/bin"};
    if (const char* core = std::getenv("KILN_EMULATOR_CORE"))
      options.environment.push_back(std::string("KILN_EMULATOR_CORE=") + core);
    device_ = start_device_process(std::move(options));
    compile::Metadata metadata;   // out[i] = a + in[i], for i below the second scalar
    metadata.target = "gfx942";
    compile::TensorInfo out, in, scalar;
    out.name = "out";
    out.access = Access::write;
    out.bytes = bytes;
    out.align_bytes = 4;
    in = out;
    in.name = "in";
    in.access = Access::read;
    scalar.name = "a";
    scalar.scalar = true;
    scalar.bytes = 4;
    metadata.tensors = {out, in, scalar, scalar};
    compile::LaunchInfo launch;
    launch.symbol = "scale_add";
    launch.grid = {(n + 255) / 256, 1, 1};
    launch.threads = 256;
    launch.arguments = {{"global_buffer", 0, 8}, {"global_buffer", 8, 8}, {"by_value", 16, 4}, {"by_value", 20, 4}};
    metadata.launches = {launch};
    const auto kernel = device_->load(metadata, corpus());
    ASSERT_TRUE(kernel) << to_text(kernel.error());
    kernel_ = *kernel;
  }
  BufferId open(const IpcHandle& handle, std::uint64_t offset = 0, std::uint64_t size = bytes) {
    const auto id = device_->open_memory(handle, offset, size);
    EXPECT_TRUE(id) << to_text(id.error());
    return id.value_or(0);
  }
  ErrorCode refused(const IpcHandle& handle, std::uint64_t offset = 0, std::uint64_t size = bytes) {
    const auto id = device_->open_memory(handle, offset, size);
    EXPECT_FALSE(id);
    return id ? ErrorCode::internal : id.error().code;
  }
  EventId open(const SharedEvent& event) {
    const auto id = device_->open_event(event.handle);
    EXPECT_TRUE(id) << to_text(id.error());
    return id.value_or(0);
  }
  static LaunchArgument scalar(std::uint32_t value) {
    Bytes raw(4);
    std::memcpy(raw.data(), &value, 4);
    return {0, 0, 0, raw};
  }
  Reported launch(BufferId out, BufferId in, LaunchSettings settings = {}, std::uint64_t out_offset = 0) {
    auto promise = std::make_shared<std::promise<Result<LaunchReport>>>();
    last_ = device_->launch(kernel_, {{out, out_offset, bytes, {}}, {in, 0, bytes, {}}, scalar(7), scalar(n)}, std::move(settings),
                            [promise](Result<LaunchReport> report) { promise->set_value(std::move(report)); });
    return promise->get_future();
  }
  Result<std::vector<std::uint32_t>> contents(BufferId buffer, std::uint64_t offset = 0) {
    KILN_TRY(const auto fd, create_memfd("contents", bytes));
    KILN_CHECK(device_->read(buffer, offset, bytes, fd.get()));
    KILN_TRY(const auto raw, read_all(fd.get(), bytes));
    std::vector<std::uint32_t> words(n);
    std::memcpy(words.data(), raw.data(), bytes);
    return words;
  }
  std::unique_ptr<Device> device_;
  KernelId kernel_ = 0;
  LaunchId last_ = 0;
};

std::vector<std::uint32_t> expected(std::uint32_t first) {  // of scale_add with 7
  std::vector<std::uint32_t> words(n);
  for (std::uint32_t i = 0; i < n; ++i) words[i] = 7 * i + first + i;
  return words;
}

TEST_F(HipIpcTest, RunsOnMemoryOfThisProcess) {
  const Memory in(1), out(0);
  const auto x = open(in.handle()), y = open(out.handle());
  const auto report = launch(y, x).get();
  ASSERT_TRUE(report) << to_text(report.error());
  EXPECT_EQ(out.words(), expected(1));
  const auto read = contents(y);
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(*read, out.words());
  EXPECT_TRUE(device_->unmap(x));
  EXPECT_TRUE(device_->unmap(y));
}

TEST_F(HipIpcTest, AHandleIsOpenOnceHoweverOftenItIsAskedFor) {
  const Memory both(1, 2 * bytes);
  const auto handle = both.handle();
  const auto first = open(handle, 0, 2 * bytes), second = open(handle, bytes);
  EXPECT_TRUE(device_->unmap(first));
  const auto again = open(handle);
  const auto report = launch(second, again).get();
  ASSERT_TRUE(report) << to_text(report.error());
  const auto words = both.words(2 * bytes);
  EXPECT_EQ(std::vector<std::uint32_t>(words.begin() + n, words.end()), expected(1));
  EXPECT_TRUE(device_->unmap(second));
  EXPECT_TRUE(device_->unmap(again));
  const auto last = open(handle);   // opened anew
  EXPECT_TRUE(device_->unmap(last));
}

TEST_F(HipIpcTest, RangesAndHandlesAreChecked) {
  const Memory memory(1);
  const auto handle = memory.handle();
  EXPECT_EQ(refused(handle, 0, bytes + 1), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(handle, bytes, 1), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(handle, ~std::uint64_t(0), 8), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(handle, 8, ~std::uint64_t(0)), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(handle, 0, 0), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(IpcHandle{}), ErrorCode::invalid_argument);
  // An inner pointer's handle names the same allocation, and what overlaps there is noticed.
  const auto inner = handle_of(static_cast<char*>(memory.pointer) + 64);
  const auto x = open(handle), y = open(inner);
  EXPECT_EQ(launch(y, x).get().error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(device_->open_event(handle).error().code, ErrorCode::invalid_argument);
  const SharedEvent event;
  EXPECT_EQ(refused(event.handle), ErrorCode::invalid_argument);
}

TEST_F(HipIpcTest, FreedMemoryIsNotFoundAndTheCauseIsNamed) {
  IpcHandle handle;
  {
    const Memory memory(1);
    handle = memory.handle();
  }
  const auto gone = device_->open_memory(handle, 0, bytes);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::not_found);
  const auto text = to_text(gone.error());
  for (const char* part : {"hipIpcOpenMemHandle", "hipErrorInvalidHandle", "freed", "HSA_ENABLE_IPC_MODE_LEGACY", "namespaces"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(HipIpcTest, AllocatesMemoryForOthers) {
  const auto made = device_->allocate(2 * bytes);
  ASSERT_TRUE(made) << to_text(made.error());
  hip::IpcBytes from;
  std::memcpy(&from, made->handle.data(), sizeof from);
  void* pointer = nullptr;
  check(own_hip().hipIpcOpenMemHandle(&pointer, from, hip::ipc_lazy_peer_access));
  std::vector<std::uint32_t> words(2 * n, 1);
  check(own_hip().hipMemcpyDtoH(words.data(), pointer, 2 * bytes));
  EXPECT_EQ(words, std::vector<std::uint32_t>(2 * n));
  for (std::uint32_t i = 0; i < n; ++i) words[i] = i + 1;
  check(own_hip().hipMemcpyHtoD(pointer, words.data(), bytes));
  const auto report = launch(made->buffer, made->buffer, {}, bytes).get();
  ASSERT_TRUE(report) << to_text(report.error());
  const auto read = contents(made->buffer, bytes);
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(*read, expected(1));
  const auto own = device_->open_memory(made->handle, 0, bytes);
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(own.error().message.find("own memory"), std::string::npos) << own.error().message;
  check(own_hip().hipIpcCloseMemHandle(pointer));
  EXPECT_TRUE(device_->unmap(made->buffer));
  EXPECT_EQ(device_->allocate(std::uint64_t(1) << 50).error().code, ErrorCode::out_of_memory);
}

TEST_F(HipIpcTest, ImportsADescriptorOfTheCardsMemory) {
  const Memory in(1), out(0);
  const auto import = [&](const Memory& memory) -> BufferId {
    int fd = -1;
    check(own_hip().hipMemGetHandleForAddressRange(&fd, memory.pointer, bytes, hip::dma_buf_handle, 0));
    const UniqueFd held(fd);
    const auto id = device_->import_memory(fd, 0, bytes);
    EXPECT_TRUE(id) << to_text(id.error());
    EXPECT_EQ(device_->import_memory(fd, 0, 1 << 20).error().code, ErrorCode::invalid_argument);
    return id.value_or(0);
  };
  const auto report = launch(import(out), import(in)).get();
  ASSERT_TRUE(report) << to_text(report.error());
  EXPECT_EQ(out.words(), expected(1));
}

TEST_F(HipIpcTest, EventsOrderTheLaunch) {
  const Memory in(1), out(0);
  const auto x = open(in.handle()), y = open(out.handle());
  const SharedEvent ready;
  const auto made = device_->make_event();
  ASSERT_TRUE(made) << to_text(made.error());
  hip::IpcBytes from;
  std::memcpy(&from, made->handle.data(), sizeof from);
  hip::Event done = nullptr;
  check(own_hip().hipIpcOpenEventHandle(&done, from));
  const Busy busy;
  check(own_hip().hipEventRecord(ready.event, busy.stream));
  std::promise<void> enqueued;
  LaunchSettings settings;
  settings.wait = {open(ready)};
  settings.record = made->event;
  settings.enqueued = [&] { enqueued.set_value(); };
  auto report = launch(y, x, std::move(settings));
  enqueued.get_future().get();
  EXPECT_EQ(own_hip().hipEventQuery(done), hip::not_ready);
  EXPECT_EQ(report.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  busy.let_go();
  check(own_hip().hipEventSynchronize(done));
  EXPECT_EQ(out.words(), expected(1));
  EXPECT_TRUE(report.get());
  EXPECT_TRUE(device_->close_event(made->event));
  EXPECT_EQ(device_->close_event(made->event).error().code, ErrorCode::not_found);
}

TEST_F(HipIpcTest, NothingWaitsForALaunchThatWaits) {
  const Memory in(1), out(0), others(1, 2 * bytes);
  const auto x = open(in.handle()), y = open(out.handle());
  const SharedEvent ready;
  const Busy busy;
  check(own_hip().hipEventRecord(ready.event, busy.stream));
  LaunchSettings settings;
  settings.wait = {open(ready)};
  auto waiting = launch(y, x, settings);
  const auto waiting_id = last_;
  // What HIP does behind everything that runs on the card must not hold others up.
  for (int round = 0; round < 3; ++round) {
    const auto from = open(others.handle()), to = open(others.handle(), bytes);
    EXPECT_TRUE(launch(to, from, LaunchSettings(std::uint64_t(10 + round))).get());
    EXPECT_TRUE(device_->unmap(from));
    EXPECT_TRUE(device_->unmap(to));
  }
  const auto own = device_->allocate(bytes);
  ASSERT_TRUE(own) << to_text(own.error());
  EXPECT_TRUE(contents(own->buffer));
  EXPECT_TRUE(device_->unmap(own->buffer));
  const auto before = children();
  const auto begin = std::chrono::steady_clock::now();
  device_->cancel(waiting_id);
  const auto report = waiting.get();
  const auto took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  std::cout << "a launch that waits was cancelled in " << took << " ms (promised: 100)\n";
  EXPECT_EQ(report.error().code, ErrorCode::cancelled);
  EXPECT_TRUE(launch(y, x).get());
  EXPECT_EQ(children(), before);   // it ended by itself
}

TEST_F(HipIpcTest, WhatTheProcessOwnedIsLostWithItAndTheRestIsOpenedAgain) {
  const Memory in(1), out(0);
  const auto x = open(in.handle()), y = open(out.handle());
  const SharedEvent event;
  const auto imported = open(event);
  const auto own = device_->allocate(bytes);
  const auto made = device_->make_event();
  ASSERT_TRUE(own && made);
  for (const auto pid : children()) ASSERT_EQ(::kill(pid, SIGKILL), 0);
  LaunchSettings waits;
  waits.wait = {imported};
  Result<LaunchReport> report = Error(ErrorCode::internal, "");
  do report = launch(y, x, waits).get();
  while (!report && report.error().code == ErrorCode::device_lost && report.error().retryable);
  ASSERT_TRUE(report) << to_text(report.error());
  EXPECT_EQ(out.words(), expected(1));
  const auto lost = launch(own->buffer, x).get();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::device_lost);
  EXPECT_FALSE(lost.error().retryable);
  EXPECT_NE(lost.error().message.find("allocate it again"), std::string::npos) << lost.error().message;
  EXPECT_EQ(contents(own->buffer).error().code, ErrorCode::device_lost);
  waits.wait = {made->event};
  EXPECT_EQ(launch(y, x, waits).get().error().code, ErrorCode::device_lost);
  EXPECT_TRUE(device_->unmap(own->buffer));
  EXPECT_TRUE(device_->close_event(made->event));
  EXPECT_EQ(device_->unmap(own->buffer).error().code, ErrorCode::not_found);
}

// ---- a driver as strict as one may be: a handle that is open is not opened again -----------------------------------
struct StrictDriver {
  static inline int opened = 0, closed = 0;
  static inline hip::Code answer = hip::success;
  static inline bool is_open = false;
  static inline std::promise<void>* closing = nullptr;          // set: a close tells here that it has begun,
  static inline std::future<void>* may_close = nullptr;         // and waits for this

  static hip::Table table() {
    opened = closed = 0;
    answer = hip::success;
    is_open = false;
    hip::Table made;
    made.hipGetErrorName = [](hip::Code) -> const char* { return "hipErrorOfTheTest"; };
    made.hipGetErrorString = [](hip::Code) -> const char* { return "as told"; };
    made.hipIpcOpenMemHandle = [](void** pointer, hip::IpcBytes, unsigned) -> hip::Code {
      if (answer != hip::success || is_open) return is_open ? hip::already_registered : answer;
      is_open = true;
      ++opened;
      *pointer = reinterpret_cast<void*>(0x2040);
      return hip::success;
    };
    made.hipIpcCloseMemHandle = [](void* pointer) -> hip::Code {
      EXPECT_EQ(pointer, reinterpret_cast<void*>(0x2040));
      if (closing != nullptr) closing->set_value();
      if (may_close != nullptr) may_close->wait();
      is_open = false;
      ++closed;
      return hip::success;
    };
    made.hipMemGetAddressRange = [](void** base, std::size_t* size, void*) -> hip::Code {
      *base = reinterpret_cast<void*>(0x2000);
      *size = 0x1000;
      return hip::success;
    };
    return made;
  }
};

TEST(IpcMemory, OpensAHandleOnceAndClosesItWithItsLastUser) {
  const auto table = StrictDriver::table();
  hip::IpcMemory memory(table);
  const IpcHandle handle{1};
  for (int round = 1; round <= 2; ++round) {
    for (int user = 0; user < 3; ++user) {
      const auto range = memory.open(handle);
      ASSERT_TRUE(range) << to_text(range.error());
      EXPECT_EQ(range->base, 0x2000u);   // the allocation's, not where the handle's pointer lies
      EXPECT_EQ(range->bytes, 0x1000u);
    }
    for (int user = 0; user < 3; ++user) {
      EXPECT_EQ(StrictDriver::closed, round - 1);
      memory.close(handle);
    }
    EXPECT_EQ(StrictDriver::opened, round);
    EXPECT_EQ(StrictDriver::closed, round);
  }
}

TEST(IpcMemory, WhoeverNeedsAHandleThatIsBeingClosedWaitsForIt) {
  const auto table = StrictDriver::table();
  hip::IpcMemory memory(table);
  const IpcHandle handle{1};
  ASSERT_TRUE(memory.open(handle));
  std::promise<void> begun, let;
  auto may = let.get_future();
  StrictDriver::closing = &begun;
  StrictDriver::may_close = &may;
  auto closing = std::async(std::launch::async, [&] { memory.close(handle); });
  begun.get_future().wait();
  StrictDriver::closing = nullptr;
  StrictDriver::answer = hip::invalid_handle;
  EXPECT_EQ(memory.open(IpcHandle{2}).error().code, ErrorCode::invalid_argument);   // others do not wait: the driver is asked
  StrictDriver::answer = hip::success;
  auto again = std::async(std::launch::async, [&] { return memory.open(handle); });
  let.set_value();
  closing.get();
  const auto range = again.get();
  EXPECT_TRUE(range) << to_text(range.error());
  EXPECT_EQ(StrictDriver::opened, 2);
  StrictDriver::may_close = nullptr;
  memory.close(handle);
  EXPECT_EQ(StrictDriver::closed, 2);
}

TEST(IpcMemory, RefusalsSayWhatIsWrongWithTheHandle) {
  const auto table = StrictDriver::table();
  hip::IpcMemory memory(table);
  const IpcHandle handle{1};
  const auto refused = [&](hip::Code code) {
    StrictDriver::answer = code;
    return memory.open(handle).error();
  };
  for (const auto code : {hip::invalid_context, hip::invalid_device_pointer}) {
    const auto error = refused(code);
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_NE(error.message.find("device process's own memory"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("hipIpcOpenMemHandle: hipErrorOfTheTest"), std::string::npos) << error.message;
  }
  EXPECT_EQ(refused(hip::invalid_value).code, ErrorCode::invalid_argument);
  EXPECT_EQ(refused(hip::invalid_handle).code, ErrorCode::not_found);
  EXPECT_EQ(refused(hip::map_failed).code, ErrorCode::not_found);
  EXPECT_EQ(refused(hip::out_of_memory).code, ErrorCode::out_of_memory);
  EXPECT_EQ(refused(hip::not_supported).code, ErrorCode::unsupported);
  StrictDriver::answer = hip::success;
  memory.gave(handle);
  const auto own = memory.open(handle);
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(StrictDriver::opened, 0);   // the driver was not even asked
  memory.took_back(handle);
  EXPECT_TRUE(memory.open(handle));
  memory.close(handle);
}

}  // namespace
}  // namespace kiln::device
