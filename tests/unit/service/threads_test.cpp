// The service's own threads: none is called after it ended, no job is lost.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "api/service/state.hpp"

namespace kiln::service {
namespace {

TEST(ThreadPool, RunsWhatItsJobsAddWhileItEnds) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> ran{0};
    std::promise<void> started;
    const std::function<void(ThreadPool&, int)> add = [&](ThreadPool& pool, int left) {
      pool.run([&, left] {
        if (left == 20) started.set_value();
        std::this_thread::yield();
        ++ran;
        if (left > 0) add(pool, left - 1);
      });
    };
    {
      ThreadPool pool(4);
      add(pool, 20);
      started.get_future().wait();
    }  // three threads are idle and end at once, the fourth goes on adding
    ASSERT_EQ(ran, 21) << round;
  }
}

TEST(ThreadPool, ForgetsAJobThatIsWithdrawnBeforeItBegins) {
  std::promise<void> go;
  std::atomic<int> ran{0};
  const auto held = std::make_shared<int>(0);
  {
    ThreadPool pool(1);
    std::promise<void> begun;
    const auto first = pool.run([&] {
      begun.set_value();
      go.get_future().wait();
    });
    begun.get_future().wait();
    const auto second = pool.run([&, held] { ran += 2; });
    pool.run([&] { ran += 4; });
    EXPECT_FALSE(pool.withdraw(first));
    EXPECT_TRUE(pool.withdraw(second));
    EXPECT_FALSE(pool.withdraw(second));
    EXPECT_EQ(held.use_count(), 1);
    go.set_value();
  }
  EXPECT_EQ(ran, 4);
}

TEST(DeadlineWatch, RunsThemInTheOrderOfTheirTimes) {
  DeadlineWatch watch;
  std::vector<int> order;   // of the watch's thread
  std::promise<void> last;
  const auto at = [](int ms) { return Deadline::after(std::chrono::milliseconds(ms)); };
  const auto removed = watch.add(at(20), [&] { order.push_back(0); });
  watch.add(at(60), [&] {
    order.push_back(3);
    last.set_value();
  });
  watch.add(at(40), [&] { order.push_back(2); });
  watch.add(at(5), [&] { order.push_back(1); });
  watch.remove(removed);
  last.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(watch.waiting(), 0u);
}

TEST(DeadlineWatch, RunsWhatIsDueAndForgetsWhatIsRemoved) {
  DeadlineWatch watch;
  std::promise<void> due;
  std::atomic<bool> wrong{false};
  const auto removed = watch.add(Deadline::after(std::chrono::hours(1)), [&] { wrong = true; });
  EXPECT_EQ(watch.add(Deadline(), [&] { wrong = true; }), 0u);
  watch.add(Deadline::after(std::chrono::milliseconds(1)), [&] { due.set_value(); });
  due.get_future().wait();
  EXPECT_EQ(watch.waiting(), 1u);
  watch.remove(removed);
  watch.remove(removed);
  EXPECT_EQ(watch.waiting(), 0u);
  EXPECT_FALSE(wrong);
}

TEST(MemoryBudget, GivesBackWhatEndsAndNeverMoreThanThereIs) {
  const auto budget = std::make_shared<MemoryBudget>(100);
  auto first = budget->take(60);
  ASSERT_TRUE(first);
  const auto refused = budget->take(41);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::resource_limit);
  EXPECT_TRUE(refused.error().retryable);
  EXPECT_FALSE(budget->take(101).error().retryable) << "more than there ever is";
  EXPECT_FALSE(budget->take(~std::uint64_t(0)));
  auto moved = std::move(*first);
  *first = MemoryShare();
  EXPECT_EQ(budget->used(), 60u);
  moved = MemoryShare();
  EXPECT_EQ(budget->used(), 0u);
}

}  // namespace
}  // namespace kiln::service
