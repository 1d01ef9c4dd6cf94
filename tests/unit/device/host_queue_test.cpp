// Launches that wait for one of the host device's threads: their cancellation does not wait for what runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <random>
#include <thread>

#include "engine/device/host/host_device.hpp"

namespace kiln::device::host {
namespace {

std::atomic<int> blocks_begun{0};

// Runs until it is cancelled.
std::int32_t endless(void* const*, void*, std::int64_t, std::int64_t, std::int64_t,
                     const volatile std::uint8_t* cancel) {
  ++blocks_begun;
  blocks_begun.notify_all();
  while (__atomic_load_n(cancel, __ATOMIC_RELAXED) == 0) std::this_thread::yield();
  return 1;
}

std::int32_t quick(void* const*, void*, std::int64_t, std::int64_t, std::int64_t, const volatile std::uint8_t* cancel) {
  ++blocks_begun;
  return __atomic_load_n(cancel, __ATOMIC_RELAXED) == 0 ? 0 : 1;
}

struct Native final : LoadedObject {
  explicit Native(BlockFunction code) : code(code) {}
  [[nodiscard]] BlockFunction function(std::size_t) const override { return code; }
  BlockFunction code;
};

// Takes the names of this file's functions for objects.
struct NativeLoader final : ObjectLoader {
  Result<std::unique_ptr<LoadedObject>> load(ByteView object, const std::vector<std::string>&) override {
    return std::unique_ptr<LoadedObject>(std::make_unique<Native>(text(object) == "endless" ? endless : quick));
  }
};

class HostQueue : public ::testing::Test {
 protected:
  HostQueue() { blocks_begun = 0; }
  KernelId load(const std::string& name, std::int64_t blocks, std::size_t grids = 1) {
    compile::Metadata metadata;
    metadata.target = "host";
    for (std::size_t i = 0; i < grids; ++i) metadata.launches.push_back({name, {blocks, 1, 1}, 1, 1, 64, {}, {}});
    const auto kernel = device_->load(metadata, view(name));
    EXPECT_TRUE(kernel) << to_text(kernel.error());
    return kernel.value_or(0);
  }
  std::future<ErrorCode> launch(KernelId kernel, std::uint64_t stream) {  // internal: it succeeded
    auto promise = std::make_shared<std::promise<ErrorCode>>();
    last_ = device_->launch(kernel, {}, stream, [promise](const Result<LaunchReport>& report) {
      promise->set_value(report ? ErrorCode::internal : report.error().code);
    });
    return promise->get_future();
  }
  PlanId plan(const std::vector<KernelId>& kernels) {
    std::vector<PlanStep> steps;
    for (const auto kernel : kernels) steps.push_back({kernel, {}});
    const auto made = device_->make_plan(steps);
    EXPECT_TRUE(made) << to_text(made.error());
    return made.value_or(0);
  }
  std::future<ErrorCode> run(PlanId plan, std::uint64_t stream) {
    auto promise = std::make_shared<std::promise<ErrorCode>>();
    last_ = device_->run_plan(plan, stream, [promise](const Result<LaunchReport>& report) {
      promise->set_value(report ? ErrorCode::internal : report.error().code);
    });
    return promise->get_future();
  }
  static void wait_for_blocks(int count) {
    for (int seen = blocks_begun; seen < count; seen = blocks_begun) blocks_begun.wait(seen);
  }
  static bool ready(const std::future<ErrorCode>& future) {
    return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  static constexpr int threads = 2;
  std::unique_ptr<Device> device_ = make_host_device(std::make_unique<NativeLoader>(), {threads});
  LaunchId last_ = 0;
};

TEST_F(HostQueue, ALaunchThatNoThreadHasBegunIsCancelledAtOnce) {
  const auto runs = load("endless", 1), waits = load("quick", 1000);
  auto first = launch(runs, 1);
  const auto first_id = last_;
  auto second = launch(runs, 2);
  const auto second_id = last_;
  wait_for_blocks(threads);
  for (std::uint64_t stream = 3; stream < 10; ++stream) {
    auto waiting = launch(waits, stream);
    const auto waiting_id = last_;
    auto behind = launch(waits, stream);
    device_->cancel(waiting_id);
    EXPECT_TRUE(ready(waiting)) << "done when cancel returns";
    EXPECT_FALSE(ready(behind));
    device_->cancel(last_);  // it has moved up, and waits for a thread in its turn
    EXPECT_TRUE(ready(behind));
    EXPECT_EQ(waiting.get(), ErrorCode::cancelled);
    EXPECT_EQ(behind.get(), ErrorCode::cancelled);
  }
  EXPECT_EQ(blocks_begun, threads) << "nothing of what was cancelled ran";
  EXPECT_FALSE(ready(first));
  EXPECT_FALSE(ready(second));
  device_->cancel(first_id);
  EXPECT_EQ(first.get(), ErrorCode::cancelled);
  EXPECT_EQ(launch(waits, 3).get(), ErrorCode::internal) << "the freed thread works";
  EXPECT_FALSE(ready(second));
  device_->cancel(second_id);
  EXPECT_EQ(second.get(), ErrorCode::cancelled);
}

// Grids of one block, which follow each other on one thread, and others, in every neighbourhood; empty ones too.
TEST_F(HostQueue, APlanRunsEveryBlockOfItsLaunchesOnce) {
  const KernelId kernels[] = {load("quick", 1), load("quick", 7), load("quick", 0), load("quick", 1, 5), load("quick", 3, 2)};
  const int blocks[] = {1, 7, 0, 5, 6};
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<KernelId> steps;
    int count = 0;
    for (auto left = random() % 40; left > 0; --left) {
      const auto which = random() % 5;
      steps.push_back(kernels[which]);
      count += blocks[which];
    }
    const auto made = plan(steps);
    for (int again = 0; again < 2; ++again) {
      blocks_begun = 0;
      EXPECT_EQ(run(made, 1 + random() % 3).get(), ErrorCode::internal);
      EXPECT_EQ(blocks_begun, count);
    }
    EXPECT_TRUE(device_->drop_plan(made));
    EXPECT_EQ(run(made, 1).get(), ErrorCode::not_found);
  }
}

// Not even one whose launches all follow each other on one thread keeps the others from theirs.
TEST_F(HostQueue, LongPlansLeaveThreadsToOthers) {
  const auto small = load("quick", 1);
  std::vector<std::future<ErrorCode>> plans;
  const auto made = plan(std::vector<KernelId>(4096, small));
  std::vector<LaunchId> ids;
  for (std::uint64_t stream = 1; stream <= 8; ++stream)
    for (int i = 0; i < 50; ++i) {
      plans.push_back(run(made, stream));
      ids.push_back(last_);
    }
  EXPECT_EQ(launch(small, 99).get(), ErrorCode::internal);
  EXPECT_FALSE(std::ranges::all_of(plans, [](const auto& one) { return ready(one); }));
  for (const auto id : ids) device_->cancel(id);
  for (auto& one : plans) (void)one.get();
}

// Cancellations that race with launches moving up and being begun: each is answered, once.
TEST_F(HostQueue, EveryLaunchIsAnsweredWhereverItsCancellationFindsIt) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const KernelId kernels[] = {load("endless", 1), load("quick", 3), load("quick", 2, 3), load("endless", 3, 2)};
  const PlanId plans[] = {plan({kernels[1], kernels[0], kernels[2]}), plan(std::vector<KernelId>(30, load("quick", 1)))};
  for (int round = 0; round < 200; ++round) {
    std::vector<std::future<ErrorCode>> results;
    std::vector<LaunchId> ids;
    for (int i = 0; i < 12; ++i) {
      results.push_back(random() % 3 == 0 ? run(plans[random() % 2], random() % 4)
                                          : launch(kernels[random() % 4], random() % 4));
      ids.push_back(last_);
    }
    std::shuffle(ids.begin(), ids.end(), random);
    auto other = std::async(std::launch::async, [&] {
      for (std::size_t i = 0; i < ids.size(); i += 2) device_->cancel(ids[i]);
    });
    for (std::size_t i = 1; i < ids.size(); i += 2) device_->cancel(ids[i]);
    for (auto& result : results) {
      const auto code = result.get();
      ASSERT_TRUE(code == ErrorCode::cancelled || code == ErrorCode::internal) << error_name(code);
    }
    other.get();
  }
}

}  // namespace
}  // namespace kiln::device::host
