#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <random>
#include <thread>

#include "engine/device/device.hpp"
#include "engine/device/device_protocol.hpp"

namespace kiln::device {
namespace {

const std::string program = KILN_TEST_DIR "/fault_device";

// The process that this one started with `program`, found by its parent.
int device_pid() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(task.path() / "children");
    for (int pid; children >> pid;) {
      std::error_code error;
      if (std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error).string() == program) return pid;
    }
  }
  return 0;
}

class Process : public ::testing::Test {
 protected:
  KernelId load(const std::string& what) {
    const auto kernel = device_->load({}, view(what));
    EXPECT_TRUE(kernel) << to_text(kernel.error());
    return kernel.value_or(0);
  }
  std::future<Result<LaunchReport>> launch(KernelId kernel, std::vector<LaunchArgument> arguments = {}) {
    auto promise = std::make_shared<std::promise<Result<LaunchReport>>>();
    last_ = device_->launch(kernel, std::move(arguments), 1,
                            [promise](Result<LaunchReport> r) { promise->set_value(std::move(r)); });
    return promise->get_future();
  }
  std::vector<LaunchArgument> fill(BufferId buffer, std::uint64_t offset, std::uint64_t bytes, std::uint8_t value) {
    return {{buffer, offset, bytes, {}}, {0, 0, 0, {value}}};
  }
  std::unique_ptr<Device> device_ = start_device_process({{program}, "", {}});
  LaunchId last_ = 0;
};

TEST_F(Process, RunsOnAClientsMemory) {
  const auto info = device_->info();
  ASSERT_TRUE(info) << to_text(info.error());
  EXPECT_EQ(info->description, "fault device");
  auto memory = create_memfd("test", 8192);
  ASSERT_TRUE(memory);
  const auto mapping = Mapping::map(memory->get(), 8192, true);
  const auto buffer = device_->map(memory->get(), 4096, 4096, true);
  ASSERT_TRUE(buffer) << to_text(buffer.error());
  const auto report = launch(load("fill"), fill(*buffer, 2, 3, 7)).get();
  ASSERT_TRUE(report) << to_text(report.error());
  EXPECT_EQ(report->duration_ms, 0.5);
  EXPECT_EQ(mapping->data()[4097], 0);
  EXPECT_EQ(mapping->data()[4098], 7);
  EXPECT_EQ(mapping->data()[4100], 7);
  EXPECT_EQ(mapping->data()[4101], 0);
  EXPECT_TRUE(device_->unmap(*buffer));
  EXPECT_EQ(device_->unmap(*buffer).error().code, ErrorCode::not_found);
}

TEST_F(Process, ErrorsOfTheDeviceComeThrough) {
  const auto bad = device_->load({}, view("bad"));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::launch_failed);
  EXPECT_EQ(launch(999).get().error().code, ErrorCode::not_found);
  EXPECT_EQ(launch(load("fill"), fill(998, 0, 1, 1)).get().error().code, ErrorCode::not_found);
  EXPECT_EQ(device_->unload(999).error().code, ErrorCode::not_found);
}

TEST_F(Process, CancelsALaunchWhileItRunsAndAnotherCallWaits) {
  const auto kernel = load("wait");
  auto memory = create_memfd("test", 4096);
  const auto buffer = device_->map(memory->get(), 0, 4096, true);
  auto result = launch(kernel, {{*buffer, 0, 4096, {}}});
  const auto running = last_;
  auto unmapped = std::async(std::launch::async, [&] { return device_->unmap(*buffer); });  // waits for the launch
  EXPECT_TRUE(launch(load("fill")).get()) << "others go on";
  device_->cancel(running);
  EXPECT_EQ(result.get().error().code, ErrorCode::cancelled);
  EXPECT_TRUE(unmapped.get());
  device_->cancel(running);  // done already: nothing happens
}

TEST_F(Process, DeathFailsWhatRunsAndTheNextUseWorks) {
  auto memory = create_memfd("test", 4096);
  const auto mapping = Mapping::map(memory->get(), 4096, true);
  const auto buffer = device_->map(memory->get(), 0, 4096, true);
  memory->reset();  // the device process client keeps its own
  const auto fills = load("fill"), waits = load("wait");
  auto first = launch(waits), second = launch(waits);
  ::kill(device_pid(), SIGKILL);
  for (auto* result : {&first, &second}) {
    const auto answer = result->get();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::device_lost);
    EXPECT_TRUE(answer.error().retryable);
    EXPECT_NE(answer.error().message.find("signal 9"), std::string::npos) << answer.error().message;
  }
  const auto again = launch(fills, fill(*buffer, 0, 1, 9)).get();
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(mapping->data()[0], 9);
}

TEST_F(Process, AKernelThatKillsTheDevice) {
  const auto crashes = load("crash");
  const auto fills = load("fill");
  for (int i = 0; i < 3; ++i) {
    const auto answer = launch(crashes).get();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::device_lost);
    EXPECT_NE(answer.error().message.find("signal 6"), std::string::npos) << answer.error().message;
    EXPECT_TRUE(launch(fills).get());
  }
}

TEST_F(Process, UnloadedKernelsAreNotRestored) {
  const auto kernel = load("fill");
  ASSERT_TRUE(device_->unload(kernel));
  const auto crashes = load("crash");
  EXPECT_FALSE(launch(crashes).get());
  EXPECT_EQ(launch(kernel).get().error().code, ErrorCode::not_found);
}

TEST_F(Process, ACallbackMayUseTheDevice) {
  const auto kernel = load("fill");
  std::promise<Result<KernelId>> promise;
  device_->launch(kernel, {}, 1, [&](Result<LaunchReport>) { promise.set_value(device_->load({}, view("fill"))); });
  EXPECT_TRUE(promise.get_future().get());
}

TEST_F(Process, ALaunchThatIgnoresItsCancellationIsEnded) {
  device_ = start_device_process({{program}, "", {}, std::chrono::milliseconds(50)});
  auto result = launch(load("ignore"));
  device_->cancel(last_);
  const auto answer = result.get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::device_lost);
  EXPECT_NE(answer.error().message.find("cancelled launch"), std::string::npos) << answer.error().message;
  EXPECT_TRUE(launch(load("fill")).get());
}

TEST_F(Process, ItsEndAnswersEverything) {
  auto result = launch(load("wait"));
  const int pid = device_pid();
  device_.reset();
  EXPECT_EQ(result.get().error().code, ErrorCode::device_lost);
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST(ProcessStart, FailuresSayWhy) {
  const auto missing = start_device_process({{"/no/such/device"}, "", {}})->info();
  ASSERT_FALSE(missing);
  const auto ends = start_device_process({{"/bin/false"}, "", {}})->info();
  ASSERT_FALSE(ends);
  EXPECT_NE(ends.error().message.find("exit status 1"), std::string::npos) << ends.error().message;
  const auto refuses = start_device_process({{program, "--refuse"}, "", {}})->info();
  ASSERT_FALSE(refuses);
  EXPECT_EQ(refuses.error().message, "told to refuse");
}

TEST(DeviceProtocol, DamagedFramesNeverCrash) {
  const auto launch = encode(LaunchOrder{1, 2, 3, {{4, 5, 6, {7}}, {}}});
  const auto load = encode(LoadOrder{1, 2, {3}, {4, 5}});
  const auto back = decode_launch(launch);
  ASSERT_TRUE(back);
  EXPECT_EQ(encode(*back), launch);
  const unsigned seed = 5;
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    auto damaged = launch;
    damaged[random() % damaged.size()] = static_cast<std::uint8_t>(random());
    (void)decode_launch(damaged);
    (void)decode_load(damaged);
    (void)decode_map(damaged);
    (void)decode_done(damaged);
    (void)decode_launched(damaged);
    (void)decode_info(damaged);
  }
  for (std::size_t n = 0; n < load.size(); ++n) EXPECT_FALSE(decode_load(ByteView(load).first(n)));
}

}  // namespace
}  // namespace kiln::device
