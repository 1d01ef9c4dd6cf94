// The HIP device and its process, on the emulated card.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <future>

#include "engine/base/half.hpp"
#include "engine/base/paths.hpp"
#include "engine/compile/toolchain.hpp"
#include "engine/compile/worker_pool.hpp"
#include "engine/device/device.hpp"
#include "engine/device/hip/hip_device.hpp"
#include "engine/device/hip/table.hpp"
#include "engine/ir/tile/program.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln::device {
namespace {

const std::string library = KILN_BIN_DIR "/../lib/kiln/emulated/libamdhip64.so.6";

TEST(HipTable, NamesWhatIsMissing) {
  const auto none = hip::load_table("/nowhere/libamdhip64.so.6");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  const auto other = hip::load_table("libc.so.6");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::unsupported);
  EXPECT_NE(other.error().message.find("hipModuleLaunchKernel"), std::string::npos) << other.error().message;
}

TEST(HipTable, NamesWhatWasTriedAndWhatToInstall) {
  const auto none = hip::load_table("");
  if (none) GTEST_SKIP() << "AMD's library is installed: " << none->path;
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  for (const char* part : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "install it", "emu:gfx942"})
    EXPECT_NE(none.error().message.find(part), std::string::npos) << none.error().message;
}

TEST(HipTable, FailuresNameCallErrorAndCause) {
  hip::Table table;
  table.hipGetErrorName = [](hip::Code) -> const char* { return "hipErrorInvalidValue"; };
  table.hipGetErrorString = [](hip::Code) -> const char* { return "invalid argument"; };
  EXPECT_TRUE(table.check(hip::success, "hipMalloc"));
  const auto status = table.check(hip::invalid_value, "hipIpcGetMemHandle");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "hipIpcGetMemHandle: hipErrorInvalidValue (invalid argument)");
  ASSERT_EQ(status.error().context.size(), 1u);
  EXPECT_NE(status.error().context[0].find("HSA_ENABLE_IPC_MODE_LEGACY"), std::string::npos);
  EXPECT_NE(hip::cause_of("hipIpcOpenMemHandle", hip::invalid_value).find("namespaces"), std::string::npos);
}

struct SharedBuffer {
  UniqueFd fd;
  Mapping mapping;
  BufferId id = 0;
  template <class T> T* data() const { return reinterpret_cast<T*>(mapping.data()); }
};

class HipDeviceTest : public testing::Test {
 protected:
  HipDeviceTest() { start("gfx942:sramecc+:xnack-"); }
  void start(const std::string& targets) {
    DeviceProcessOptions options;
    options.command = {std::string(KILN_BIN_DIR) + "/kiln-device-hip", library, "0"};
    options.environment = {"KILN_EMULATOR_TARGETS=" + targets, "HOME=/", "PATH=/usr/bin:/bin"};
    if (const char* core = std::getenv("KILN_EMULATOR_CORE"))
      options.environment.push_back(std::string("KILN_EMULATOR_CORE=") + core);
    device_ = start_device_process(std::move(options));
  }
  SharedBuffer buffer(std::size_t bytes, bool writable = true) {
    SharedBuffer made;
    auto fd = create_memfd("test", bytes);
    EXPECT_TRUE(fd);
    made.fd = std::move(*fd);
    made.mapping = std::move(*Mapping::map(made.fd.get(), bytes, true));
    const auto id = device_->map(made.fd.get(), 0, bytes, writable);
    EXPECT_TRUE(id) << to_text(id.error());
    made.id = id.value_or(0);
    return made;
  }
  // A kernel of the emulator's corpus under a program of ours: out (written), in (read), two scalars.
  compile::Metadata metadata(const std::string& symbol, std::int64_t n, const std::string& target = "gfx942") {
    compile::Metadata made;
    made.target = target;
    compile::LaunchInfo launch;
    launch.symbol = symbol;
    launch.grid = {(n + 255) / 256, 1, 1};
    launch.threads = 256;
    launch.arguments = {{"global_buffer", 0, 8}};
    compile::TensorInfo out;
    out.name = "out";
    out.access = Access::write;
    out.bytes = n * 4;
    out.align_bytes = 4;
    made.tensors = {out};
    if (symbol == "scale_add") {
      compile::TensorInfo in = out, scalar;
      in.name = "in";
      in.access = Access::read;
      scalar.name = "a";
      scalar.scalar = true;
      scalar.bytes = 4;
      made.tensors.insert(made.tensors.end(), {in, scalar, scalar});
      launch.arguments.insert(launch.arguments.end(), {{"global_buffer", 8, 8}, {"by_value", 16, 4},
                                                       {"by_value", 20, 4}});
    }
    made.launches = {launch};
    return made;
  }
  static Bytes object(const std::string& card = "gfx942") {
    const auto bytes = read_file(std::string(KILN_SOURCE_DIR) + "/tests/unit/emulator/corpus/launch_" + card + ".co");
    EXPECT_TRUE(bytes);
    return bytes.value_or(Bytes());
  }
  static LaunchArgument range(const SharedBuffer& buffer, std::uint64_t bytes) { return {buffer.id, 0, bytes, {}}; }
  static LaunchArgument scalar(std::uint32_t value) {
    Bytes bytes(4);
    std::memcpy(bytes.data(), &value, 4);
    return {0, 0, 0, bytes};
  }
  std::future<Result<LaunchReport>> launch(KernelId kernel, std::vector<LaunchArgument> arguments,
                                           std::uint64_t stream = 1) {
    auto promise = std::make_shared<std::promise<Result<LaunchReport>>>();
    last_ = device_->launch(kernel, std::move(arguments), stream,
                            [promise](Result<LaunchReport> r) { promise->set_value(std::move(r)); });
    return promise->get_future();
  }
  std::unique_ptr<Device> device_;
  LaunchId last_ = 0;
};

TEST_F(HipDeviceTest, SaysWhatCardItIs) {
  const auto info = device_->info();
  ASSERT_TRUE(info) << to_text(info.error());
  EXPECT_EQ(info->name, "emu:gfx942");
  EXPECT_EQ(info->target, "gfx942:sramecc+:xnack-");
  EXPECT_EQ(info->compute_units, 304);
  EXPECT_EQ(info->uuid.size(), 20u);
  EXPECT_NE(info->description.find("MI300X"), std::string::npos) << info->description;
}

TEST_F(HipDeviceTest, RunsOnAClientsMemory) {
  constexpr std::uint32_t n = 10000;
  const auto kernel = device_->load(metadata("scale_add", n), object());
  ASSERT_TRUE(kernel) << to_text(kernel.error());
  const auto out = buffer(n * 4);
  const auto in = buffer(n * 4, false);
  for (std::uint32_t i = 0; i < n; ++i) in.data<std::uint32_t>()[i] = i + 1;
  std::vector<std::future<Result<LaunchReport>>> launches;
  for (std::uint32_t round = 0; round < 10; ++round)
    launches.push_back(launch(*kernel, {range(out, n * 4), range(in, n * 4), scalar(round), scalar(n)}));
  for (auto& one : launches) {
    const auto report = one.get();
    ASSERT_TRUE(report) << to_text(report.error());
    EXPECT_GT(report->duration_ms, 0);
  }
  for (std::uint32_t i = 0; i < n; ++i) ASSERT_EQ(out.data<std::uint32_t>()[i], 9 * i + i + 1) << i;
  EXPECT_TRUE(device_->unmap(out.id));
  EXPECT_TRUE(device_->unload(*kernel));
}

TEST_F(HipDeviceTest, AFaultFailsItsLaunchAlone) {
  constexpr std::uint32_t n = 1000;
  const auto kernel = device_->load(metadata("scale_add", n), object());
  ASSERT_TRUE(kernel) << to_text(kernel.error());
  const auto out = buffer(n * 4), in = buffer(n * 4);
  const auto wrong = launch(*kernel, {range(out, n * 4), range(in, n * 4), scalar(1), scalar(1024)}).get();
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::launch_failed);
  EXPECT_NE(wrong.error().message.find("a 4000-byte range"), std::string::npos) << to_text(wrong.error());
  ASSERT_FALSE(wrong.error().context.empty());
  EXPECT_NE(wrong.error().context[0].find("kernel scale_add, block (3, 0, 0)"), std::string::npos);
  const auto right = launch(*kernel, {range(out, n * 4), range(in, n * 4), scalar(1), scalar(n)}).get();
  EXPECT_TRUE(right) << to_text(right.error());
}

TEST_F(HipDeviceTest, FaultsOfTwoStreamsAreEachToldInTheirOwnWords) {
  constexpr std::uint32_t n = 1000;
  const auto kernel = device_->load(metadata("scale_add", n), object());
  ASSERT_TRUE(kernel) << to_text(kernel.error());
  const auto small = device_->load(metadata("scale_add", n / 2), object());
  ASSERT_TRUE(small) << to_text(small.error());
  const auto out = buffer(n * 4), in = buffer(n * 4), half_out = buffer(n * 2), half_in = buffer(n * 2);
  for (int round = 0; round < 30; ++round) {
    auto one = launch(*kernel, {range(out, n * 4), range(in, n * 4), scalar(1), scalar(1024)}, 1);
    auto two = launch(*small, {range(half_out, n * 2), range(half_in, n * 2), scalar(1), scalar(512)}, 2);
    const auto first = one.get(), second = two.get();
    ASSERT_FALSE(first);
    ASSERT_FALSE(second);
    ASSERT_NE(first.error().message.find("a 4000-byte range"), std::string::npos) << to_text(first.error());
    ASSERT_NE(second.error().message.find("a 2000-byte range"), std::string::npos) << to_text(second.error());
  }
}

// The library's own word: of the stream, whatever failed since on others.
TEST(EmulatedLibrary, KeepsAReportForEachStream) {
  ::setenv("KILN_EMULATOR_TARGETS", "gfx942", 1);
  const auto loaded = hip::load_table(library);
  ASSERT_TRUE(loaded) << to_text(loaded.error());
  const auto& hip = *loaded;
  const auto image = read_file(std::string(KILN_SOURCE_DIR) + "/tests/unit/emulator/corpus/launch_gfx942.co");
  ASSERT_TRUE(image);
  hip::Module module = nullptr;
  hip::Function function = nullptr;
  ASSERT_EQ(hip.hipModuleLoadData(&module, image->data()), hip::success);
  ASSERT_EQ(hip.hipModuleGetFunction(&function, module, "scale_add"), hip::success);
  const auto said = [&](hip::Stream stream) {
    std::string text(hip.stream_report(stream, nullptr, 0), '\0');
    hip.stream_report(stream, text.data(), text.size() + 1);
    return text;
  };
  std::vector<hip::Stream> streams(3);
  for (auto& stream : streams)
    ASSERT_EQ(hip.hipStreamCreateWithFlags(&stream, hip::stream_non_blocking), hip::success);
  // A kernel that writes over the end of memory of its own size.
  const auto fail = [&](hip::Stream stream, std::uint32_t count) {
    void* memory = nullptr;
    ASSERT_EQ(hip.hipMalloc(&memory, count * 4), hip::success);
    std::uint32_t one = 1, more = count + 256;
    void* parameters[] = {&memory, &memory, &one, &more};
    ASSERT_EQ(hip.hipModuleLaunchKernel(function, (more + 255) / 256, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr),
              hip::success);
    EXPECT_EQ(hip.hipStreamSynchronize(stream), hip::launch_failure);
    EXPECT_EQ(hip.hipFree(memory), hip::success);
  };
  fail(streams[0], 1000);
  fail(streams[1], 500);
  EXPECT_NE(said(streams[0]).find("a 4000-byte allocation"), std::string::npos) << said(streams[0]);
  EXPECT_NE(said(streams[1]).find("a 2000-byte allocation"), std::string::npos) << said(streams[1]);
  EXPECT_EQ(said(streams[2]), "");
  for (const auto stream : streams) ASSERT_EQ(hip.hipStreamDestroy(stream), hip::success);
  EXPECT_EQ(said(streams[0]), "");
  ASSERT_EQ(hip.hipModuleUnload(module), hip::success);
}

TEST_F(HipDeviceTest, EndlessKernelsAreCancelled) {
  const auto kernel = device_->load(metadata("endless", 1), object());
  ASSERT_TRUE(kernel) << to_text(kernel.error());
  const auto flag = buffer(4);
  auto running = launch(*kernel, {range(flag, 4)});
  const auto first = last_;
  auto waiting = launch(*kernel, {range(flag, 4)});
  device_->cancel(last_);
  EXPECT_EQ(waiting.get().error().code, ErrorCode::cancelled);
  device_->cancel(first);
  ASSERT_EQ(running.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(running.get().error().code, ErrorCode::cancelled);
}

// The device itself, in this process.
TEST_F(HipDeviceTest, ItsEndAnswersWhatRunsAndWhatWaits) {
  ::setenv("KILN_EMULATOR_TARGETS", "gfx942", 1);
  auto own = hip::make_hip_device({library, 0});
  ASSERT_TRUE(own) << to_text(own.error());
  device_ = std::move(*own);
  const auto kernel = device_->load(metadata("endless", 1), object());
  ASSERT_TRUE(kernel) << to_text(kernel.error());
  const auto flag = buffer(4);
  std::vector<std::future<Result<LaunchReport>>> launches;
  for (int i = 0; i < 3; ++i) launches.push_back(launch(*kernel, {range(flag, 4)}));
  device_.reset();
  for (auto& one : launches) {
    ASSERT_EQ(one.wait_for(std::chrono::seconds(0)), std::future_status::ready);
    EXPECT_EQ(one.get().error().code, ErrorCode::cancelled);
  }
}

TEST_F(HipDeviceTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(device_->load(metadata("scale_add", 10, "gfx90a"), object("gfx90a")).error().code, ErrorCode::unsupported);
  EXPECT_EQ(device_->load(metadata("scale_add", 10), object("gfx90a")).error().code, ErrorCode::corrupt);
  EXPECT_EQ(device_->load(metadata("scale_add", 10), Bytes(100)).error().code, ErrorCode::corrupt);
  auto fewer = metadata("scale_add", 10);
  fewer.tensors.pop_back();
  EXPECT_EQ(device_->load(fewer, object()).error().code, ErrorCode::corrupt);
  EXPECT_EQ(device_->load(metadata("nothing", 10), object()).error().code, ErrorCode::invalid_argument);
  const auto kernel = device_->load(metadata("scale_add", 10), object());
  ASSERT_TRUE(kernel);
  const auto small = buffer(36), in = buffer(40), constant = buffer(40, false);
  const auto code = [&](std::vector<LaunchArgument> arguments) {
    return launch(*kernel, std::move(arguments)).get().error().code;
  };
  EXPECT_EQ(code({range(small, 36), range(in, 40), scalar(1), scalar(1)}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({range(in, 44), range(in, 40), scalar(1), scalar(1)}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({range(constant, 40), range(in, 40), scalar(1), scalar(1)}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({range(in, 40), range(in, 40), scalar(1)}), ErrorCode::invalid_argument);
}

TEST_F(HipDeviceTest, TargetsThatNobodyKnowsAreNamed) {
  start("gfx000");
  const auto info = device_->info();
  ASSERT_FALSE(info);
  EXPECT_NE(to_text(info.error()).find("gfx000"), std::string::npos) << to_text(info.error());
}

// ---- a built-in, through hipRTC where it is installed --------------------------------------------------------------
Result<compile::Compiled> compile_builtin(const std::string& name, const std::map<std::string, std::string>& set,
                                          const std::string& target_text) {
  KILN_TRY(const auto environment, process_environment());
  KILN_TRY(const auto folder, toolchains_folder(environment));
  std::vector<std::string> command = {std::string(KILN_BIN_DIR) + "/kiln-compile-hip"};
  const auto toolchains = compile::list_toolchains(folder.path);
  if (toolchains.empty()) return Error(ErrorCode::no_compiler, "no hipRTC");
  command = compile::through_toolchain(toolchains[0], command[0]);
  command.insert(command.end(), {"--include", std::string(KILN_SOURCE_DIR) + "/kernels/include"});
  compile::PoolOptions options;
  options.commands = {{"hip", command, ""}};
  options.environment = environment.all;
  const auto pool = compile::WorkerPool::create(options);
  KILN_TRY(const auto bytes, read_file(std::string(KILN_SOURCE_DIR) + "/kernels/programs/" + name + ".json"));
  KILN_TRY(const auto program, tile::read_program(text(bytes)));
  KILN_TRY(const auto target, target::parse_target(target_text));
  Budget budget(10000000);
  KILN_TRY(const auto bound, specialize::specialize(program, {set, {}, {}}, target, budget));
  std::promise<Result<compile::Compiled>> promise;
  pool->compile(bound, "key", 0, {}, {},
                [&](Result<compile::Compiled> result) { promise.set_value(std::move(result)); });
  return promise.get_future().get();
}

TEST_F(HipDeviceTest, RunsTheBuiltInGemm) {
  constexpr int size = 256;
  const auto text = std::to_string(size);
  const auto compiled =
      compile_builtin("gemm", {{"M", text}, {"N", text}, {"K", text}, {"dtype", "f16"}}, "gfx942:sramecc+:xnack-");
  if (!compiled) GTEST_SKIP() << to_text(compiled.error());
  const auto kernel = device_->load(compiled->metadata, compiled->object);
  ASSERT_TRUE(kernel) << to_text(kernel.error());
  std::vector<SharedBuffer> buffers;
  std::vector<LaunchArgument> arguments;
  for (const auto& tensor : compiled->metadata.tensors) {
    buffers.push_back(buffer(static_cast<std::size_t>(tensor.bytes.value())));
    arguments.push_back(range(buffers.back(), static_cast<std::uint64_t>(tensor.bytes.value())));
    // Small integers: every sum is exact, whatever the order.
    auto* values = buffers.back().data<std::uint16_t>();
    for (int i = 0; i < size * size; ++i)
      values[i] = f64_to_f16((i * 7 + i / size * 3 + static_cast<int>(buffers.size())) % 5 - 2);
  }
  const auto report = launch(*kernel, arguments).get();
  ASSERT_TRUE(report) << to_text(report.error());
  std::cout << "gemm " << size << ": " << report->duration_ms << " ms\n";
  ASSERT_EQ(buffers.size(), 3u);
  ASSERT_EQ(compiled->metadata.tensors[2].dtype, DType::f16);
  const auto at = [&](std::size_t tensor, int row, int column) {
    const auto strides = bound::values(compiled->metadata.tensors[tensor].strides);
    return f16_to_f32(buffers[tensor].data<std::uint16_t>()[row * strides[0] + column * strides[1]]);
  };
  for (int row = 0; row < size; row += 13) {
    for (int column = 0; column < size; column += 11) {
      float sum = 0;
      for (int k = 0; k < size; ++k) sum += at(0, row, k) * at(1, k, column);
      ASSERT_EQ(at(2, row, column), sum) << row << " " << column;
    }
  }
}

}  // namespace
}  // namespace kiln::device
