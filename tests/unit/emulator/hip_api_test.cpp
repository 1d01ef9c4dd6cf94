// The emulated card's library as a program sees it that loads it in place of libamdhip64.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "engine/base/fd.hpp"
#include "engine/device/hip/table.hpp"

extern char** environ;

namespace kiln::device::hip {
namespace {

const std::string folder = KILN_BIN_DIR "/../lib/kiln/emulated/";
constexpr const char* ipc_variable = "KILN_TEST_HANDLES";   // hexadecimal, for the test's own child
constexpr const char* cards = "gfx942:sramecc+:xnack-,gfx90a,gfx950";

Table* loaded() {
  static Table* const table = [] {
    ::setenv("KILN_EMULATOR_TARGETS", cards, 1);
    auto made = load_table(folder + "libamdhip64.so.6");
    if (!made) std::fprintf(stderr, "%s\n", to_text(made.error()).c_str());
    return made ? new Table(std::move(*made)) : nullptr;
  }();
  return table;
}

#define EXPECT_HIP(call) EXPECT_EQ(call, success) << #call << ": " << words()
#define ASSERT_HIP(call) ASSERT_EQ(call, success) << #call << ": " << words()

class HipApi : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(loaded(), nullptr);
    ASSERT_HIP(hip.hipSetDevice(0));
  }
  void TearDown() override {
    auto clear = reinterpret_cast<void (*)()>(symbol("kiln_emulator_clear"));
    clear();
    set("budget", "100000000000");
    set("check", "none");
    set("profile", "0");
  }
  static void* symbol(const char* name) {
    void* library = dlopen((folder + "libamdhip64.so.6").c_str(), RTLD_NOW | RTLD_NOLOAD);
    return dlsym(library, name);
  }
  static int set(const char* name, const char* value) {
    return reinterpret_cast<int (*)(const char*, const char*)>(symbol("kiln_emulator_set_option"))(name, value);
  }
  static std::string words() {
    char text[512] = {};
    loaded()->message(text, sizeof text);
    return text;
  }
  static std::string report() {
    char text[4096] = {};
    loaded()->report(text, sizeof text);
    return text;
  }
  Function kernel(const char* name, const char* card = "gfx942") {
    const auto bytes = read_file(std::string(KILN_SOURCE_DIR) + "/tests/unit/emulator/corpus/launch_" + card + ".co");
    EXPECT_TRUE(bytes);
    Module module = nullptr;
    Function function = nullptr;
    EXPECT_HIP(hip.hipModuleLoadData(&module, bytes->data()));
    EXPECT_HIP(hip.hipModuleGetFunction(&function, module, name));
    return function;
  }
  std::uint32_t* allocate(std::size_t count) {
    void* pointer = nullptr;
    EXPECT_HIP(hip.hipMalloc(&pointer, count * 4));
    return static_cast<std::uint32_t*>(pointer);
  }
  template <class... Arguments> Code launch(Function function, unsigned blocks, unsigned threads, Stream stream,
                                            Arguments... arguments) {
    void* pointers[] = {&arguments...};
    return hip.hipModuleLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, pointers, nullptr);
  }
  const Table& hip = *loaded();
};

TEST_F(HipApi, HasTheRealLibrarysNamesAndVersions) {
  void* library = dlopen((folder + "libamdhip64.so.6").c_str(), RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  EXPECT_NE(dlvsym(library, "hipMalloc", "hip_4.2"), nullptr);
  EXPECT_NE(dlvsym(library, "hipGetDevicePropertiesR0600", "hip_6.0"), nullptr);
  EXPECT_EQ(dlvsym(library, "hipMalloc", "hip_6.0"), nullptr);
  for (const char* name : {"libamdhip64.so", "libamdhip64.so.5", "libamdhip64.so.7"})
    EXPECT_EQ(dlopen((folder + name).c_str(), RTLD_NOW | RTLD_NOLOAD), library) << name;
  EXPECT_EQ(dlsym(library, "_ZN4kiln8emulator10run_launchERKNS0_11LaunchOrderE"), nullptr);
}

TEST_F(HipApi, ReportsItsCards) {
  int count = 0, value = 0;
  ASSERT_HIP(hip.hipGetDeviceCount(&count));
  ASSERT_EQ(count, 3);
  char facts[2048] = {};
  ASSERT_HIP(hip.hipGetDevicePropertiesR0600(facts, 0));
  EXPECT_STREQ(facts + 1160, "gfx942:sramecc+:xnack-");
  std::memset(facts, 0x55, sizeof facts);
  ASSERT_HIP(hip.hipGetDeviceProperties(facts, 1));
  EXPECT_STREQ(facts + 396, "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(facts[792], 0x55);   // nothing behind the old struct is touched
  ASSERT_HIP(hip.hipDeviceGetAttribute(&value, attribute::compute_units, 0));
  EXPECT_EQ(value, 304);
  ASSERT_HIP(hip.hipDeviceGetAttribute(&value, attribute::lds_per_block, 2));
  EXPECT_EQ(value, 160 << 10);
  ASSERT_HIP(hip.hipDeviceGetAttribute(&value, attribute::wave, 0));
  EXPECT_EQ(value, 64);
  Uuid first{}, again{}, second{};
  ASSERT_HIP(hip.hipDeviceGetUuid(&first, 0));
  ASSERT_HIP(hip.hipDeviceGetUuid(&again, 0));
  ASSERT_HIP(hip.hipDeviceGetUuid(&second, 1));
  EXPECT_EQ(std::memcmp(&first, &again, 16), 0);
  EXPECT_NE(std::memcmp(&first, &second, 16), 0);
  char text[8] = {};
  EXPECT_HIP(hip.hipDeviceGetPCIBusId(text, sizeof text, 0));
  EXPECT_STREQ(text, "0000:01");   // cut short
  EXPECT_EQ(hip.hipDeviceGetAttribute(&value, 999, 0), invalid_value);
  EXPECT_EQ(hip.hipSetDevice(3), invalid_device);
  EXPECT_EQ(hip.hipSetDevice(-1), invalid_device);
  EXPECT_EQ(hip.hipGetLastError(), invalid_device);
  EXPECT_EQ(hip.hipGetLastError(), success);
  EXPECT_STREQ(hip.hipGetErrorName(invalid_device), "hipErrorInvalidDevice");
}

TEST_F(HipApi, LaunchesWithPointersAndWithABuffer) {
  constexpr std::uint32_t n = 1000;
  const auto function = kernel("scale_add");
  auto *in = allocate(n), *out = allocate(n);
  std::vector<std::uint32_t> values(n), results(n);
  for (std::uint32_t i = 0; i < n; ++i) values[i] = 7 * i;
  ASSERT_HIP(hip.hipMemcpyHtoD(in, values.data(), n * 4));
  ASSERT_HIP(hip.hipMemsetD32(out, 5, n));
  ASSERT_HIP(launch(function, 4, 256, nullptr, out, in, 2u, n - 1));
  ASSERT_HIP(hip.hipMemcpyDtoH(results.data(), out, n * 4));
  for (std::uint32_t i = 0; i < n; ++i) ASSERT_EQ(results[i], i == n - 1 ? 5 : 9 * i);
  struct { void *out, *in; std::uint32_t a, n; } arguments{out, in, 1, n};
  std::size_t bytes = sizeof arguments;
  void* extra[] = {launch_buffer, &arguments, launch_buffer_size, &bytes, launch_end};
  ASSERT_HIP(hip.hipModuleLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra));
  ASSERT_HIP(hip.hipMemcpy(results.data(), out, n * 4, copy_device_to_host));
  for (std::uint32_t i = 0; i < n; ++i) ASSERT_EQ(results[i], 8 * i);
  bytes = 8;
  EXPECT_EQ(hip.hipModuleLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra), invalid_value);
  EXPECT_HIP(hip.hipFree(in));
  EXPECT_HIP(hip.hipFree(out));
  EXPECT_EQ(hip.hipFree(out), invalid_value);
  EXPECT_EQ(hip.hipMemcpyHtoD(out, values.data(), 4), invalid_value);
}

TEST_F(HipApi, OneCardsCodeDoesNotRunOnAnother) {
  for (int device = 0; device < 3; ++device) {
    ASSERT_HIP(hip.hipSetDevice(device));
    for (int object = 0; object < 3; ++object) {
      const char* names[] = {"gfx942", "gfx90a", "gfx950"};
      const auto bytes = read_file(std::string(KILN_SOURCE_DIR) + "/tests/unit/emulator/corpus/launch_" +
                                   names[object] + ".co");
      ASSERT_TRUE(bytes);
      Module module = nullptr;
      EXPECT_EQ(hip.hipModuleLoadData(&module, bytes->data()), device == object ? success : no_binary_for_gpu)
          << words();
      if (module != nullptr) {
        EXPECT_HIP(hip.hipModuleUnload(module));
      }
    }
  }
  Module module = nullptr;
  const Bytes nonsense(4096, 0x7f);
  EXPECT_EQ(hip.hipModuleLoadData(&module, nonsense.data()), invalid_image);
  EXPECT_EQ(hip.hipModuleLoadData(&module, reinterpret_cast<void*>(16)), invalid_image);
  EXPECT_EQ(hip.hipModuleUnload(reinterpret_cast<Module>(0x1234)), invalid_handle);
  EXPECT_EQ(hip.hipStreamSynchronize(reinterpret_cast<Stream>(0x1234)), invalid_handle);
  EXPECT_EQ(hip.hipEventQuery(reinterpret_cast<Event>(0x1234)), invalid_handle);
  EXPECT_EQ(launch(reinterpret_cast<Function>(0x1234), 1, 64, nullptr, 0), invalid_handle);
}

TEST_F(HipApi, TheOtherCardsRunTheirs) {
  int device = 0;
  for (const char* card : {"gfx942", "gfx90a", "gfx950"}) {
    ASSERT_HIP(hip.hipSetDevice(device++));
    const auto function = kernel("reverse", card);
    auto* data = allocate(256);
    std::vector<std::uint32_t> values(256);
    for (std::uint32_t i = 0; i < 256; ++i) values[i] = i;
    ASSERT_HIP(hip.hipMemcpyHtoD(data, values.data(), 1024));
    ASSERT_HIP(launch(function, 1, 256, nullptr, data));
    ASSERT_HIP(hip.hipMemcpyDtoH(values.data(), data, 1024));
    for (std::uint32_t i = 0; i < 256; ++i) ASSERT_EQ(values[i], 255 - i) << card;
  }
}

TEST_F(HipApi, StreamsAndEventsKeepOrder) {
  const auto function = kernel("scale_add");
  Stream streams[2] = {};
  Event begin = nullptr, end = nullptr;
  for (auto& stream : streams) ASSERT_HIP(hip.hipStreamCreateWithFlags(&stream, stream_non_blocking));
  ASSERT_HIP(hip.hipEventCreate(&begin));
  ASSERT_HIP(hip.hipEventCreate(&end));
  auto *a = allocate(256), *b = allocate(256);
  ASSERT_HIP(hip.hipMemset(a, 0, 1024));
  ASSERT_HIP(hip.hipEventRecord(begin, streams[0]));
  // a and b in turns, each from the other: any two out of order give another sum.
  for (int round = 0; round < 20; ++round) {
    ASSERT_HIP(launch(function, 1, 256, streams[0], b, a, 1u, 256u));
    ASSERT_HIP(hip.hipEventRecord(end, streams[0]));
    ASSERT_HIP(hip.hipStreamWaitEvent(streams[1], end, 0));
    ASSERT_HIP(launch(function, 1, 256, streams[1], a, b, 2u, 256u));
    ASSERT_HIP(hip.hipEventRecord(end, streams[1]));
    ASSERT_HIP(hip.hipStreamWaitEvent(streams[0], end, 0));
  }
  ASSERT_HIP(hip.hipEventRecord(end, streams[0]));
  ASSERT_HIP(hip.hipEventSynchronize(end));
  float milliseconds = -1;
  ASSERT_HIP(hip.hipEventElapsedTime(&milliseconds, begin, end));
  EXPECT_GT(milliseconds, 0.0f);
  std::vector<std::uint32_t> values(256);
  ASSERT_HIP(hip.hipMemcpyDtoH(values.data(), a, 1024));
  for (std::uint32_t i = 0; i < 256; ++i) ASSERT_EQ(values[i], 60 * i);
  for (const auto stream : streams) EXPECT_HIP(hip.hipStreamDestroy(stream));
  EXPECT_HIP(hip.hipEventDestroy(begin));
  EXPECT_HIP(hip.hipEventDestroy(end));
}

TEST_F(HipApi, AFaultSticksToItsStreamAndSaysWhere) {
  const auto function = kernel("scale_add");
  Stream bad = nullptr, good = nullptr;
  ASSERT_HIP(hip.hipStreamCreate(&bad));
  ASSERT_HIP(hip.hipStreamCreate(&good));
  auto *in = allocate(2048), *out = allocate(1024);
  ASSERT_HIP(launch(function, 8, 256, bad, out, in, 1u, 2048u));
  EXPECT_EQ(hip.hipStreamSynchronize(bad), launch_failure);
  EXPECT_NE(report().find("of a 4096-byte allocation"), std::string::npos) << report();
  EXPECT_NE(report().find("kernel scale_add, block ("), std::string::npos) << report();
  EXPECT_EQ(hip.hipStreamSynchronize(bad), launch_failure);
  EXPECT_EQ(hip.hipDeviceSynchronize(), launch_failure);
  EXPECT_EQ(hip.hipGetLastError(), launch_failure);
  ASSERT_HIP(launch(function, 4, 256, good, out, in, 1u, 1024u));
  EXPECT_HIP(hip.hipStreamSynchronize(good));
  EXPECT_HIP(hip.hipStreamDestroy(bad));
  EXPECT_HIP(hip.hipDeviceSynchronize());
  EXPECT_HIP(hip.hipStreamDestroy(good));
}

TEST_F(HipApi, EndlessKernelsAreStopped) {
  const auto function = kernel("endless");
  auto* flag = allocate(1);
  Stream stream = nullptr;
  ASSERT_HIP(hip.hipStreamCreateWithFlags(&stream, stream_non_blocking));
  ASSERT_EQ(set("budget", "1000000"), 0);
  ASSERT_HIP(launch(function, 1, 64, stream, flag));
  EXPECT_EQ(hip.hipStreamSynchronize(stream), launch_failure);
  EXPECT_NE(report().find("budget"), std::string::npos) << report();
  EXPECT_HIP(hip.hipStreamDestroy(stream));
  ASSERT_EQ(set("budget", "100000000000"), 0);
  ASSERT_HIP(hip.hipStreamCreateWithFlags(&stream, stream_non_blocking));
  ASSERT_HIP(launch(function, 1, 64, stream, flag));
  EXPECT_EQ(hip.hipStreamQuery(stream), not_ready);
  hip.cancel(stream);
  EXPECT_EQ(hip.hipStreamSynchronize(stream), launch_failure);
  EXPECT_HIP(hip.hipStreamDestroy(stream));
}

TEST_F(HipApi, TheHostsMemoryIsTheKernelsOnceRegistered) {
  const auto function = kernel("scale_add");
  alignas(4096) static std::uint32_t in[256], out[256];
  for (std::uint32_t i = 0; i < 256; ++i) in[i] = 1;
  ASSERT_HIP(hip.hipHostRegister(in, sizeof in, host_register_mapped | host_register_read_only));
  ASSERT_HIP(hip.hipHostRegister(out, sizeof out, host_register_mapped));
  EXPECT_EQ(hip.hipHostRegister(out, 16, host_register_mapped), already_registered);
  void* device = nullptr;
  ASSERT_HIP(hip.hipHostGetDevicePointer(&device, out, 0));
  EXPECT_EQ(device, out);
  ASSERT_HIP(launch(function, 1, 256, nullptr, out, in, 1u, 256u));
  ASSERT_HIP(hip.hipDeviceSynchronize());
  for (std::uint32_t i = 0; i < 256; ++i) ASSERT_EQ(out[i], i + 1);
  ASSERT_HIP(launch(function, 1, 256, nullptr, in, out, 1u, 256u));
  EXPECT_EQ(hip.hipDeviceSynchronize(), launch_failure);
  EXPECT_NE(report().find("read-only"), std::string::npos) << report();
  EXPECT_HIP(hip.hipHostUnregister(in));
  EXPECT_HIP(hip.hipHostUnregister(out));
  EXPECT_EQ(hip.hipHostUnregister(out), not_registered);
}

TEST_F(HipApi, VariablesAttributesAndPointers) {
  const auto bytes = read_file(std::string(KILN_SOURCE_DIR) + "/tests/unit/emulator/corpus/launch_gfx942.co");
  ASSERT_TRUE(bytes);
  Module module = nullptr;
  Function function = nullptr;
  ASSERT_HIP(hip.hipModuleLoadData(&module, bytes->data()));
  void* address = nullptr;
  std::size_t size = 0;
  ASSERT_HIP(hip.hipModuleGetGlobal(&address, &size, module, "counter"));
  EXPECT_EQ(size, 4u);
  std::uint32_t value = 41;
  ASSERT_HIP(hip.hipMemcpyHtoD(address, &value, 4));
  ASSERT_HIP(hip.hipModuleGetFunction(&function, module, "globals"));
  auto* out = allocate(1);
  ASSERT_HIP(launch(function, 1, 64, nullptr, out));
  ASSERT_HIP(hip.hipMemcpyDtoH(&value, address, 4));
  EXPECT_EQ(value, 42u);
  EXPECT_EQ(hip.hipModuleGetGlobal(&address, &size, module, "nothing"), not_found);
  EXPECT_EQ(hip.hipModuleGetFunction(&function, module, "nothing"), not_found);
  ASSERT_HIP(hip.hipModuleGetFunction(&function, module, "reverse"));
  int fact = 0;
  ASSERT_HIP(hip.hipFuncGetAttribute(&fact, function_attribute::lds_bytes, function));
  EXPECT_EQ(fact, 1024);
  ASSERT_HIP(hip.hipFuncGetAttribute(&fact, function_attribute::threads_max, function));
  EXPECT_EQ(fact, 256);
  void* base = nullptr;
  ASSERT_HIP(hip.hipMemGetAddressRange(&base, &size, reinterpret_cast<char*>(out) + 3));
  EXPECT_EQ(base, out);
  EXPECT_EQ(size, 4u);
  PointerAttributes attributes{};
  ASSERT_HIP(hip.hipPointerGetAttributes(&attributes, out));
  EXPECT_EQ(attributes.type, 2);
  EXPECT_EQ(hip.hipPointerGetAttributes(&attributes, &value), invalid_value);
  EXPECT_EQ(launch(function, 1, 512, nullptr, out), invalid_configuration);
  EXPECT_EQ(launch(function, 0, 64, nullptr, out), invalid_value);
}

TEST_F(HipApi, CountsWhenAsked) {
  const auto function = kernel("reverse");
  auto* data = allocate(256);
  ASSERT_EQ(set("profile", "1"), 0);
  EXPECT_EQ(set("profile", "maybe"), invalid_value);
  ASSERT_HIP(launch(function, 1, 256, nullptr, data));
  ASSERT_HIP(hip.hipDeviceSynchronize());
  const auto profiles = reinterpret_cast<std::size_t (*)(char*, std::size_t)>(symbol("kiln_emulator_profiles"));
  std::string json(profiles(nullptr, 0), '\0');
  profiles(json.data(), json.size() + 1);
  EXPECT_TRUE(json.starts_with("[{\"kernel\":\"reverse\",\"target\":\"gfx942:sramecc+:xnack-\"")) << json;
  EXPECT_NE(json.find("\"SQ_LDS_BANK_CONFLICT\":0"), std::string::npos) << json;
}

// ---- between processes ---------------------------------------------------------------------------------------------
struct Handles {
  IpcBytes memory, event;
};

// Runs this very test as a child, with the handles in its environment.
int run_child(const std::string& test, const Handles& handles) {
  const std::string hex = to_hex(ByteView(reinterpret_cast<const std::uint8_t*>(&handles), sizeof handles));
  std::vector<std::string> variables = {std::string(ipc_variable) + "=" + hex};
  for (char** one = environ; *one != nullptr; ++one) variables.emplace_back(*one);
  std::vector<char*> environment;
  for (auto& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::string program = "/proc/self/exe", filter = "--gtest_filter=" + test;
  char* arguments[] = {program.data(), filter.data(), nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environment.data()) != 0) return -1;
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

TEST_F(HipApi, MemoryAndEventsOfAnotherProcess) {
  if (const char* hex = std::getenv(ipc_variable)) {   // the child
    const auto bytes = from_hex(hex);
    ASSERT_TRUE(bytes && bytes->size() == sizeof(Handles));
    Handles handles;
    std::memcpy(&handles, bytes->data(), sizeof handles);
    void *pointer = nullptr, *again = nullptr;
    Event event = nullptr;
    ASSERT_HIP(hip.hipIpcOpenMemHandle(&pointer, handles.memory, ipc_lazy_peer_access));
    ASSERT_HIP(hip.hipIpcOpenMemHandle(&again, handles.memory, ipc_lazy_peer_access));
    EXPECT_EQ(pointer, again);
    ASSERT_HIP(hip.hipIpcOpenEventHandle(&event, handles.event));
    EXPECT_EQ(hip.hipIpcOpenMemHandle(&again, handles.event, 0), invalid_value);
    Stream stream = nullptr;
    ASSERT_HIP(hip.hipStreamCreateWithFlags(&stream, stream_non_blocking));
    ASSERT_HIP(hip.hipStreamWaitEvent(stream, event, 0));
    ASSERT_HIP(launch(kernel("reverse"), 1, 256, stream, pointer));
    ASSERT_HIP(hip.hipStreamSynchronize(stream));
    EXPECT_HIP(hip.hipIpcCloseMemHandle(pointer));
    EXPECT_HIP(hip.hipIpcCloseMemHandle(pointer));
    EXPECT_EQ(hip.hipIpcCloseMemHandle(pointer), invalid_value);
    return;
  }
  auto *data = allocate(512), *in = allocate(256);
  Handles handles;
  Event event = nullptr;
  ASSERT_HIP(hip.hipEventCreateWithFlags(&event, event_interprocess | event_disable_timing));
  ASSERT_HIP(hip.hipMemset(in, 0, 1024));
  ASSERT_HIP(hip.hipIpcGetMemHandle(&handles.memory, data + 256));
  ASSERT_HIP(hip.hipIpcGetEventHandle(&handles.event, event));
  void* own = nullptr;
  EXPECT_EQ(hip.hipIpcOpenMemHandle(&own, handles.memory, 0), invalid_value);
  EXPECT_NE(words().find("this very process"), std::string::npos) << words();
  ASSERT_HIP(launch(kernel("scale_add"), 1, 256, nullptr, data + 256, in, 3u, 256u));
  ASSERT_HIP(hip.hipEventRecord(event, nullptr));
  ASSERT_EQ(run_child("HipApi.MemoryAndEventsOfAnotherProcess", handles), 0);
  std::vector<std::uint32_t> values(256);
  ASSERT_HIP(hip.hipMemcpyDtoH(values.data(), data + 256, 1024));
  for (std::uint32_t i = 0; i < 256; ++i) ASSERT_EQ(values[i], 3 * (255 - i));
}

TEST_F(HipApi, FreedMemorysHandleOpensNothing) {
  if (const char* hex = std::getenv(ipc_variable)) {   // the child
    const auto bytes = from_hex(hex);
    ASSERT_TRUE(bytes && bytes->size() == sizeof(Handles));
    Handles handles;
    std::memcpy(&handles, bytes->data(), sizeof handles);
    void* pointer = nullptr;
    EXPECT_EQ(hip.hipIpcOpenMemHandle(&pointer, handles.memory, 0), invalid_handle) << words();
    EXPECT_EQ(hip.hipIpcOpenMemHandle(&pointer, handles.event, 0), invalid_handle) << words();
    return;
  }
  Handles handles;
  auto *first = allocate(64), *second = allocate(64);
  ASSERT_HIP(hip.hipIpcGetMemHandle(&handles.memory, first));
  ASSERT_HIP(hip.hipIpcGetMemHandle(&handles.event, second));
  EXPECT_HIP(hip.hipFree(first));
  EXPECT_HIP(hip.hipFree(second));
  auto* third = allocate(64);   // takes a descriptor's number over
  EXPECT_EQ(run_child("HipApi.FreedMemorysHandleOpensNothing", handles), 0);
  EXPECT_HIP(hip.hipFree(third));
}

TEST_F(HipApi, DescriptorsOfMemory) {
  auto* data = allocate(256);
  ASSERT_HIP(hip.hipMemsetD32(data, 17, 256));
  int fd = -1;
  ASSERT_HIP(hip.hipMemGetHandleForAddressRange(&fd, data, 1024, dma_buf_handle, 0));
  ExternalMemoryDescription description{};
  description.type = external_opaque_descriptor;
  description.handle.fd = fd;
  description.size = 1024;
  ExternalMemory memory = nullptr;
  ASSERT_HIP(hip.hipImportExternalMemory(&memory, &description));
  ExternalBufferDescription range{};
  range.size = 512;
  void* pointer = nullptr;
  ASSERT_HIP(hip.hipExternalMemoryGetMappedBuffer(&pointer, memory, &range));
  EXPECT_NE(pointer, data);
  EXPECT_EQ(static_cast<std::uint32_t*>(pointer)[127], 17u);
  EXPECT_HIP(hip.hipDestroyExternalMemory(memory));
  EXPECT_EQ(hip.hipDestroyExternalMemory(memory), invalid_handle);
}

}  // namespace
}  // namespace kiln::device::hip
