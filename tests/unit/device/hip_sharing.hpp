// What tests of memory and events between processes share: this process is the other one, with a card of the emulated library.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>

#include "engine/device/device.hpp"
#include "engine/device/hip/table.hpp"

namespace kiln::device {

inline const std::string library = KILN_BIN_DIR "/../lib/kiln/emulated/libamdhip64.so.6";
inline constexpr std::uint32_t n = 1000;
inline constexpr std::uint64_t bytes = n * 4;

// HIP as this process uses it.
inline const hip::Table& own_hip() {
  static const hip::Table table = [] {
    ::setenv("KILN_EMULATOR_TARGETS", "gfx942", 1);
    auto loaded = hip::load_table(library);
    EXPECT_TRUE(loaded) << to_text(loaded.error());
    return *loaded;
  }();
  return table;
}

inline void check(hip::Code code) { ASSERT_EQ(code, hip::success) << own_hip().hipGetErrorName(code); }

inline IpcHandle handle_of(void* pointer) {
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

inline Bytes corpus() {
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

inline std::vector<pid_t> children() {
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
    metadata_.target = "gfx942";
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
    metadata_.tensors = {out, in, scalar, scalar};
    compile::LaunchInfo launch;
    launch.symbol = "scale_add";
    launch.grid = {(n + 255) / 256, 1, 1};
    launch.threads = 256;
    launch.arguments = {{"global_buffer", 0, 8}, {"global_buffer", 8, 8}, {"by_value", 16, 4}, {"by_value", 20, 4}};
    metadata_.launches = {launch};
    load();
  }
  void load() {
    const auto kernel = device_->load(metadata_, corpus());
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
    last_ = device_->launch(kernel_, {{out, out_offset, bytes, {}}, {in, 0, bytes, {}}, scalar(7), scalar(n)},
                            std::move(settings), [promise](Result<LaunchReport> report) { promise->set_value(std::move(report)); });
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
  compile::Metadata metadata_;   // out[i] = a * i + in[i], for i below the second scalar
  KernelId kernel_ = 0;
  LaunchId last_ = 0;
};

inline std::vector<std::uint32_t> expected(std::uint32_t first) {  // of scale_add with 7
  std::vector<std::uint32_t> words(n);
  for (std::uint32_t i = 0; i < n; ++i) words[i] = 7 * i + first + i;
  return words;
}

}  // namespace kiln::device
