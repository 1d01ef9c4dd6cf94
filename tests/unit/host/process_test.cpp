// The real worker and the real device process: a program compiled by kiln-compile-host and run by kiln-device-host.
#include <gtest/gtest.h>

#include <cstring>
#include <future>

#include "engine/compile/worker_pool.hpp"
#include "tests/support/host_runner.hpp"

namespace kiln::test {
namespace {

struct HostProcesses : testing::Test {
  std::unique_ptr<compile::WorkerPool> pool = [] {
    compile::WorkerCommand command;
    command.family = "host";
    command.command.emplace_back(KILN_BIN_DIR "/kiln-compile-host");
    compile::PoolOptions options;
    options.commands.push_back(command);
    options.workers_max = 1;
    return compile::WorkerPool::create(options);
  }();
  std::unique_ptr<device::Device> device = [] {
    device::DeviceProcessOptions options;
    for (const char* word : {KILN_BIN_DIR "/kiln-device-host", "--threads", "2"}) options.command.emplace_back(word);
    return device::start_device_process(options);
  }();

  Result<compile::Compiled> compile(const bound::Program& program) {
    std::promise<Result<compile::Compiled>> promise;
    pool->compile(program, std::string(64, 'a'), 1, {}, {},
                  [&](Result<compile::Compiled> done) { promise.set_value(std::move(done)); });
    return promise.get_future().get();
  }
  std::future<Result<device::LaunchReport>> launch(device::KernelId kernel,
                                                   std::vector<device::LaunchArgument> arguments,
                                                   device::LaunchId* id = nullptr) {
    auto promise = std::make_shared<std::promise<Result<device::LaunchReport>>>();
    auto future = promise->get_future();
    const auto number = device->launch(kernel, std::move(arguments), 1, [promise](Result<device::LaunchReport> done) {
      promise->set_value(std::move(done));
    });
    if (id != nullptr) *id = number;
    return future;
  }
};

TEST_F(HostProcesses, CompileAndRunAGemm) {
  const auto program = bind_builtin("gemm", {{"M", "70"}, {"N", "50"}, {"K", "30"}, {"dtype", "f32"}});
  ASSERT_TRUE(program) << to_text(program.error());
  const auto compiled = compile(*program);
  ASSERT_TRUE(compiled) << to_text(compiled.error());
  EXPECT_FALSE(compiled->metadata.kernel_program.empty());
  EXPECT_GT(compiled->metadata.launches.at(0).resources.code_bytes, 0);
  const auto info = device->info();
  ASSERT_TRUE(info) << to_text(info.error());
  EXPECT_EQ(info->target, program->target);
  EXPECT_EQ(info->compute_units, 2);
  const auto kernel = device->load(compiled->metadata, compiled->object);
  ASSERT_TRUE(kernel) << to_text(kernel.error());
  const auto tensors = random_tensors(*program, 3);
  HostRunner here(1);
  const auto want = here.run_once(*program, tensors);
  ASSERT_TRUE(want) << to_text(want.error());
  std::vector<device::LaunchArgument> arguments;
  std::vector<Mapping> mappings;
  for (const auto& bytes : tensors) {
    auto fd = create_memfd("tensor", bytes.size());
    ASSERT_TRUE(fd);
    auto mapping = Mapping::map(fd->get(), bytes.size(), true);
    ASSERT_TRUE(mapping);
    std::memcpy(mapping->data(), bytes.data(), bytes.size());
    const auto buffer = device->map(fd->get(), 0, bytes.size(), true);
    ASSERT_TRUE(buffer) << to_text(buffer.error());
    arguments.push_back({*buffer, 0, bytes.size(), {}});
    mappings.push_back(std::move(*mapping));
  }
  const auto report = launch(*kernel, arguments).get();
  ASSERT_TRUE(report) << to_text(report.error());
  EXPECT_EQ(Bytes(mappings[2].data(), mappings[2].data() + mappings[2].size()), (*want)[2])
      << "the same object, the same result";
}

TEST_F(HostProcesses, BrokenObjectsAndEndlessLaunchesLeaveTheProcessAlive) {
  const auto endless = bind_text(R"json({"kiln": "tile/1", "name": "endless", "symbols": ["N"],
    "params": [{"name": "Y", "dtype": "f32", "shape": ["16"], "access": "write"}],
    "launches": [{"grid": ["1"], "threads": "1", "body": [
      {"op": "alloc", "name": "t", "space": "fragment", "dtype": "f32", "shape": ["16"]},
      {"op": "fill", "tile": "t", "value": "0"},
      {"op": "for", "var": "a", "to": "N", "body": [{"op": "for", "var": "b", "to": "N", "body": [
        {"op": "map", "index": ["i"], "extent": ["16"], "body": [{"set": "t[i]", "value": "t[i] * 0.5 + 1.0"}]}]}]},
      {"op": "copy", "from": "t", "to": "Y[0:]"}]}]})json",
                                 {{"N", "1000000000"}});
  ASSERT_TRUE(endless) << to_text(endless.error());
  const auto compiled = compile(*endless);
  ASSERT_TRUE(compiled) << to_text(compiled.error());
  Bytes broken = compiled->object;
  broken.resize(broken.size() / 2);
  const auto refused = device->load(compiled->metadata, broken);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
  const auto kernel = device->load(compiled->metadata, compiled->object);
  ASSERT_TRUE(kernel) << to_text(kernel.error());
  auto fd = create_memfd("y", 64);
  ASSERT_TRUE(fd);
  const auto buffer = device->map(fd->get(), 0, 64, true);
  ASSERT_TRUE(buffer);
  device::LaunchId id = 0;
  auto running = launch(*kernel, {{*buffer, 0, 64, {}}}, &id);
  device->cancel(id);
  const auto report = running.get();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace kiln::test
