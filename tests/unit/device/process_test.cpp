#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <random>
#include <thread>

#include "engine/base/channel.hpp"
#include "engine/device/device.hpp"
#include "engine/device/device_protocol.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kiln::device {
namespace {

using namespace std::chrono_literals;

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
  std::future<Result<LaunchReport>> launch(KernelId kernel, std::vector<LaunchArgument> arguments = {},
                                           LaunchSettings settings = 1) {
    auto promise = std::make_shared<std::promise<Result<LaunchReport>>>();
    last_ = device_->launch(kernel, std::move(arguments), std::move(settings),
                            [promise](Result<LaunchReport> r) { promise->set_value(std::move(r)); });
    return promise->get_future();
  }
  std::future<Result<LaunchReport>> run(PlanId plan) {
    auto promise = std::make_shared<std::promise<Result<LaunchReport>>>();
    last_ = device_->run_plan(plan, 1, [promise](Result<LaunchReport> r) { promise->set_value(std::move(r)); });
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

TEST_F(Process, WhatCouldNotBeRestoredIsTriedAgain) {
  const test::TemporaryFolder folder;
  const std::string refusal = folder / "refuse";
  device_ = start_device_process({{program, "--refuse-while", refusal}, "", {}});
  const auto memory = create_memfd("test", 4096);
  const auto mapping = Mapping::map(memory->get(), 4096, true);
  const auto buffer = device_->map(memory->get(), 0, 4096, true);
  ASSERT_TRUE(buffer) << to_text(buffer.error());
  const auto fills = load("fill"), crashes = load("crash");
  std::ofstream(refusal).put('x');
  EXPECT_EQ(launch(crashes).get().error().code, ErrorCode::device_lost);
  for (int i = 0; i < 2; ++i) {
    const auto refused = launch(fills, fill(*buffer, 0, 1, 9)).get();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory) << "the reason, not just a missing kernel";
    EXPECT_NE(to_text(refused.error()).find("not restored"), std::string::npos) << to_text(refused.error());
  }
  std::filesystem::remove(refusal);
  const auto again = launch(fills, fill(*buffer, 0, 1, 9)).get();
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(mapping->data()[0], 9);
  EXPECT_TRUE(device_->unmap(*buffer));
  EXPECT_TRUE(device_->unload(fills));
  EXPECT_TRUE(device_->unload(crashes)) << "never used again, so not restored";
}

TEST_F(Process, APlanIsOneLaunchThatOutlivesTheProcess) {
  const test::TemporaryFolder folder;
  const std::string refusal = folder / "refuse";
  device_ = start_device_process({{program, "--refuse-while", refusal}, "", {}});
  const auto memory = create_memfd("test", 4096);
  const auto mapping = Mapping::map(memory->get(), 4096, true);
  const auto buffer = device_->map(memory->get(), 0, 4096, true);
  const auto fills = load("fill");
  const auto plan = device_->make_plan({{fills, fill(*buffer, 0, 4, 7)}, {fills, fill(*buffer, 1, 2, 8)}, {fills, fill(*buffer, 2, 1, 9)}});
  ASSERT_TRUE(plan) << to_text(plan.error());
  for (int i = 0; i < 4; ++i) {
    std::ranges::fill(std::span(mapping->data(), 5), 0);
    if (i == 2) {  // a process that could not be given it is given it at the next run
      std::ofstream(refusal).put('x');
      ASSERT_EQ(::kill(device_pid(), SIGKILL), 0);
      const auto refused = run(*plan).get();
      ASSERT_FALSE(refused);
      std::filesystem::remove(refusal);
    }
    if (i == 3) {
      ASSERT_EQ(::kill(device_pid(), SIGKILL), 0);
    }
    auto report = run(*plan).get();
    if (!report) report = run(*plan).get();  // the first may meet the death
    ASSERT_TRUE(report) << to_text(report.error());
    EXPECT_EQ(Bytes(mapping->data(), mapping->data() + 5), (Bytes{7, 8, 9, 7, 0}));
  }
  EXPECT_TRUE(device_->drop_plan(*plan));
  EXPECT_EQ(run(*plan).get().error().code, ErrorCode::not_found);
  EXPECT_EQ(device_->drop_plan(*plan).error().code, ErrorCode::not_found);
  EXPECT_TRUE(device_->unload(fills));
  EXPECT_TRUE(device_->unmap(*buffer));
}

TEST_F(Process, APlanEndsWhereALaunchOfItFailsOrIsCancelled) {
  const auto memory = create_memfd("test", 4096);
  const auto mapping = Mapping::map(memory->get(), 4096, true);
  const auto buffer = device_->map(memory->get(), 0, 4096, true);
  const auto fills = load("fill");
  const auto with = [&](const std::string& what) {
    return device_->make_plan({{fills, fill(*buffer, 0, 1, 1)}, {load(what), {}}, {fills, fill(*buffer, 0, 1, 2)}}).value_or(0);
  };
  const auto failed = run(with("fail")).get();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::launch_failed);
  EXPECT_NE(to_text(failed.error()).find("launch 1 of the plan"), std::string::npos) << to_text(failed.error());
  EXPECT_EQ(mapping->data()[0], 1);
  const auto waits = with("wait");
  for (int i = 0; i < 50; ++i) {  // wherever the cancellation finds it
    mapping->data()[0] = 0;
    auto running = run(waits);
    while (i % 2 == 0 && mapping->data()[0] == 0) std::this_thread::yield();
    device_->cancel(last_);
    EXPECT_EQ(running.get().error().code, ErrorCode::cancelled);
    EXPECT_NE(mapping->data()[0], 2);
  }
  EXPECT_EQ(device_->make_plan({{KernelId(77), {}}}).error().code, ErrorCode::not_found);
  EXPECT_EQ(device_->make_plan({{fills, fill(77, 0, 1, 1)}}).error().code, ErrorCode::not_found);
}

TEST_F(Process, ACallbackMayUseTheDevice) {
  const auto kernel = load("fill");
  std::promise<Result<KernelId>> promise;
  device_->launch(kernel, {}, 1, [&](Result<LaunchReport>) { promise.set_value(device_->load({}, view("fill"))); });
  EXPECT_TRUE(promise.get_future().get());
}

TEST_F(Process, ALaunchThatIgnoresItsCancellationIsEnded) {
  const test::TemporaryFolder folder;
  const std::string log = folder / "log";
  device_ = start_device_process({{program}, log, {}, 50ms});
  compile::Metadata metadata;
  metadata.program = "stubborn";
  const auto ignores = device_->load(metadata, view("ignore"));
  ASSERT_TRUE(ignores);
  auto bystander = launch(load("wait"));
  auto result = launch(*ignores);
  const auto id = last_;
  device_->cancel(id);
  EXPECT_EQ(result.get().error().code, ErrorCode::cancelled) << "it is, whatever that took";
  const auto lost = bystander.get();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::device_lost);
  EXPECT_TRUE(lost.error().retryable);
  EXPECT_NE(lost.error().message.find("cancelled launch"), std::string::npos) << lost.error().message;
  EXPECT_TRUE(launch(load("fill")).get());
  std::ifstream file(log);
  const std::string said{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(said.find("launch " + std::to_string(id) + " of stream 1"), std::string::npos) << said;
  EXPECT_NE(said.find("(stubborn)"), std::string::npos) << said;
}

// All of them together take longer than the limit, each alone much less.
TEST_F(Process, EnqueuedLaunchesThatAreCancelledEachHaveTheirOwnTimeToEnd) {
  device_ = start_device_process({{program}, "", {}, 1000ms});
  const auto lingers = load("linger");
  const int pid = device_pid();
  LaunchSettings settings(1);
  const auto made = device_->make_event();
  ASSERT_TRUE(made) << to_text(made.error());
  settings.record = made->event;
  std::vector<std::future<Result<LaunchReport>>> results;
  std::vector<LaunchId> ids;
  for (int i = 0; i < 15; ++i) {
    results.push_back(launch(lingers, {}, settings));
    ids.push_back(last_);
  }
  for (const auto id : ids) device_->cancel(id);
  for (auto& result : results) EXPECT_EQ(result.get().error().code, ErrorCode::cancelled);
  EXPECT_TRUE(launch(load("fill")).get());
  EXPECT_EQ(device_pid(), pid) << "it was not ended";
}

TEST_F(Process, MemoryThatIsGivenBackWhileTheProcessStartsIsHeldUntilItIsThere) {
  const test::TemporaryFolder folder;
  const std::string stall = folder / "stall";
  device_ = start_device_process({{program, "--stall-while", stall}, "", {}});
  const auto fills = load("fill");
  const auto memory = create_memfd("test", 4096);
  const auto buffer = device_->map(memory->get(), 0, 4096, true);
  const int before = device_pid();
  auto lost = launch(load("wait"));
  std::ofstream(stall).put('x');
  ::kill(before, SIGKILL);
  EXPECT_EQ(lost.get().error().code, ErrorCode::device_lost);
  auto again = std::async(std::launch::async, [&] { return launch(fills).get().has_value(); });
  while (device_pid() == before || device_pid() == 0) std::this_thread::yield();
  std::promise<void> freed;
  auto free = freed.get_future();
  auto unmapped = std::async(std::launch::async, [&] {
    return device_->unmap(*buffer, std::shared_ptr<const void>(nullptr, [&](const void*) { freed.set_value(); }));
  });
  EXPECT_EQ(free.wait_for(200ms), std::future_status::timeout);
  std::filesystem::remove(stall);
  EXPECT_TRUE(again.get());
  EXPECT_TRUE(unmapped.get());
  free.get();
}

// A process that is stopped stands for one that hangs.
TEST_F(Process, WhoCancelsDoesNotWaitForAProcessThatDoesNotAnswer) {
  const auto memory = create_memfd("test", 4096);
  const auto mapping = Mapping::map(memory->get(), 4096, true);
  const auto buffer = device_->map(memory->get(), 0, 4096, true);
  const auto other = device_->map(memory->get(), 0, 4096, true);
  ASSERT_TRUE(buffer && other);
  const auto fills = load("fill"), waits = load("wait");
  auto running = launch(waits);
  const auto running_id = last_;
  ASSERT_TRUE(launch(fills, fill(*buffer, 0, 1, 1)).get());
  const int pid = device_pid();
  ::kill(pid, SIGSTOP);
  auto never_begun = launch(fills, fill(*buffer, 0, 1, 2));
  device_->cancel(last_);
  device_->cancel(running_id);
  device_->cancel(running_id);
  EXPECT_EQ(never_begun.get().error().code, ErrorCode::cancelled);
  EXPECT_EQ(running.get().error().code, ErrorCode::cancelled);
  EXPECT_TRUE(device_->unmap(*other)) << "done when the process is there again";
  EXPECT_TRUE(device_->unload(waits));
  ::kill(pid, SIGCONT);
  ASSERT_TRUE(launch(fills, fill(*buffer, 1, 1, 3)).get());
  EXPECT_EQ(mapping->data()[1], 3);
  EXPECT_EQ(device_pid(), pid) << "nothing was lost";
}

TEST_F(Process, AnOrderThatWasNotSentIsTakenBack) {
  const auto fills = load("fill");
  const auto pid = device_pid();
  ::kill(pid, SIGSTOP);
  // More than the socket holds, so that what comes behind it stays here.
  auto blocking = std::async(std::launch::async, [&] { return device_->load({}, Bytes(4 << 20, 'x')).has_value(); });
  std::vector<std::future<Result<LaunchReport>>> launches;
  for (int i = 0; i < 4; ++i) {
    launches.push_back(launch(fills));
    device_->cancel(last_);
  }
  for (auto& result : launches) EXPECT_EQ(result.get().error().code, ErrorCode::cancelled);
  ::kill(pid, SIGCONT);
  EXPECT_TRUE(blocking.get());
  EXPECT_TRUE(launch(fills).get());
  EXPECT_EQ(device_pid(), pid);
}

TEST_F(Process, AProcessThatDoesNotAnswerIsEnded) {
  const test::TemporaryFolder folder;
  const std::string log = folder / "log";
  device_ = start_device_process({{program}, log, {}, 5000ms, 250ms, 300ms});
  const auto fills = load("fill");
  for (const bool has_run : {false, true}) {
    ASSERT_TRUE(launch(fills).get());
    auto running = has_run ? launch(load("wait")) : std::future<Result<LaunchReport>>();
    ::kill(device_pid(), SIGSTOP);
    const auto lost = has_run ? running.get() : launch(fills).get();
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, ErrorCode::device_lost);
    EXPECT_TRUE(lost.error().retryable);
    EXPECT_NE(lost.error().message.find("did not answer"), std::string::npos) << lost.error().message;
  }
  ASSERT_TRUE(launch(fills).get());
  ::kill(device_pid(), SIGSTOP);
  const auto loaded = device_->load({}, view("fill"));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::device_lost);
  std::ifstream file(log);
  const std::string said{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(said.find("did not answer"), std::string::npos) << said;
  EXPECT_NE(said.find("of stream 1, kernel " + std::to_string(fills)), std::string::npos) << said;
}

// Longer than the limits on silence: a launch that runs is no reason to end a process that answers.
TEST_F(Process, ALongLaunchIsNotTakenForAHungProcess) {
  device_ = start_device_process({{program}, "", {}, 5000ms, 250ms, 200ms});
  auto result = launch(load("wait"));
  EXPECT_EQ(result.wait_for(600ms), std::future_status::timeout);
  device_->cancel(last_);
  EXPECT_EQ(result.get().error().code, ErrorCode::cancelled);
}

TEST_F(Process, AnObjectThatNoFrameHoldsIsRefused) {
  ASSERT_TRUE(device_->info());
  const int pid = device_pid();
  const auto refused = device_->load({}, Bytes(frame_bytes_max + 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::resource_limit);
  EXPECT_EQ(device_pid(), pid);
}

TEST_F(Process, AnAnswerThatIsTooLargeIsAnErrorOfItsLaunch) {
  const auto report = launch(load("talk")).get();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::resource_limit);
  EXPECT_NE(report.error().message.find("too large"), std::string::npos);
  const auto pid = device_pid();
  EXPECT_EQ(launch(load("talk")).get().error().code, ErrorCode::resource_limit);
  EXPECT_EQ(device_pid(), pid);   // it goes on
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

// Everything that can be sent, with its decoder as bytes -> whether it is whole and gives the same bytes again.
struct Sent {
  const char* name;
  Bytes bytes;
  std::function<bool(ByteView)> same;
};
template <class T> Sent sent(const char* name, const T& value, Result<T> (*decode)(ByteView)) {
  return {name, encode(value), [decode](ByteView bytes) {
    const auto back = decode(bytes);
    return back && std::ranges::equal(encode(*back), bytes);
  }};
}

std::vector<Sent> everything() {
  LaunchOrder launch{1, 2, {{4, 5, 6, {7}}, {}}, LaunchSettings(3), true};
  launch.settings.profile = true;
  launch.settings.switches = {{"check", "races"}};
  launch.settings.wait = {8, 9};
  launch.settings.record = 10;
  IpcHandle handle;
  handle.fill(11);
  LaunchReport report;
  report.profiles = "[]";
  report.steps = {{1, {2, 3}}, {4, {}}};
  const PlanOrder plan{1, 2, {{3, {{4, 5, 6, {7}}, {}}}, {8, {}}}};
  return {sent("plan", plan, decode_plan), sent("run", RunOrder{1, 2, 3}, decode_run),
          sent("ring", RingOrder{1, 2, 3, 4}, decode_ring), sent("attach", AttachOrder{1, 2, 3, 4}, decode_attach),
          sent("launch", launch, decode_launch), sent("load", LoadOrder{1, 2, {3}, {4, 5}}, decode_load),
          sent("map", MapOrder{1, 2, 3, 4, true, true}, decode_map), sent("memory", MemoryOrder{1, 2, 3, 4, handle}, decode_memory),
          sent("read", ReadOrder{1, 2, 3, 4}, decode_read), sent("event", EventOrder{1, 2, handle}, decode_event),
          sent("remove", RemoveOrder{1, 2}, decode_remove), sent("done", DoneReport{1, Error(ErrorCode::busy, "text"), {1, 2}}, decode_done),
          sent("launched", LaunchedReport{1, report}, decode_launched), sent("info", DeviceInfo{"a", "b", "c", "d", 5, 6}, decode_info)};
}

TEST(DeviceProtocol, WhatIsSentComesBackAndNothingShorterOrLonger) {
  for (const auto& one : everything()) {
    EXPECT_TRUE(one.same(one.bytes)) << one.name;
    for (std::size_t n = 0; n < one.bytes.size(); ++n) EXPECT_FALSE(one.same(ByteView(one.bytes).first(n))) << one.name << " " << n;
    auto longer = one.bytes;
    longer.push_back(0);
    EXPECT_FALSE(one.same(longer)) << one.name;
  }
}

TEST(DeviceProtocol, DamagedFramesNeverCrash) {
  const auto all = everything();
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    auto damaged = all[random() % all.size()].bytes;
    damaged[random() % damaged.size()] = static_cast<std::uint8_t>(random());
    for (const auto& one : all) (void)one.same(damaged);
  }
}

}  // namespace
}  // namespace kiln::device
