#include "engine/jit/poller.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <utility>

namespace kiln::jit {
namespace {

using std::chrono::milliseconds;

TEST(PollerTest, RepeatsAStepUntilItGivesTrue) {
  Poller poller;
  std::promise<int> done;
  int calls = 0;
  poller.until([&] {
    if (++calls < 5) return false;
    done.set_value(calls);
    return true;
  }, milliseconds(2));
  EXPECT_EQ(done.get_future().get(), 5);
  std::promise<void> later;  // the finished step is not called beside or after this one
  poller.until([&] { later.set_value(); return true; }, milliseconds(2));
  later.get_future().get();
  poller.stop();
  EXPECT_EQ(calls, 5);
}

// A step that comes rarely by now holds up none that was added later.
TEST(PollerTest, IntervalsOfStepsAreTheirOwn) {
  Poller poller;
  std::atomic<int> slow = 0;
  poller.until([&] { ++slow; return false; }, std::chrono::hours(1));
  std::promise<int> done;
  int calls = 0;
  poller.until([&] {
    if (++calls < 200) return false;
    done.set_value(slow);
    return true;
  }, milliseconds(1));
  const int seen = done.get_future().get();
  EXPECT_GE(seen, 1);
  EXPECT_LE(seen, 20);  // 1, 2, 4 … ms: 200 calls of the other one take far less than 2^20 ms
}

TEST(PollerTest, StopDropsWhatIsNotDone) {
  Poller poller;
  std::promise<void> called;
  bool told = false;
  const auto alive = std::make_shared<int>(0);
  poller.until([&, alive] {
    if (!std::exchange(told, true)) called.set_value();
    return false;
  }, milliseconds(1));
  called.get_future().get();
  poller.stop();
  EXPECT_EQ(alive.use_count(), 1);
  poller.until([&, alive] { return true; }, milliseconds(1));
  EXPECT_EQ(alive.use_count(), 1);
}

}  // namespace
}  // namespace kiln::jit
