// Calls from their arrival to their answer: ids, cancellation, deadlines, order, and the service's end.
#include "tests/unit/service/service_fixture.hpp"

namespace kiln::service {
namespace {

class ServiceCalls : public ServiceTest {
 protected:
  // A launch that does not end by itself, once it is on the device.
  Asked start_endless(const More& more) {
    const auto launches = stats()["launches"].get<std::uint64_t>();
    auto launch = ask("kernel.launch", counting(endless, x_, y_), more);
    wait_for_launches(launches + 1);
    return launch;
  }
  void allocate() { x_ = alloc(), y_ = alloc(); }
  std::uint64_t x_ = 0, y_ = 0;
};

TEST_F(ServiceCalls, AnIdInFlightIsRefusedAndStaysThatOfTheFirst) {
  allocate();
  auto launch = start_endless({.id = "a"});
  EXPECT_EQ(ask("ping", Json::object(), {.id = "a"}).error(), "protocol_error");
  EXPECT_FALSE(launch.answered());
  service_->cancel(1, "a");
  EXPECT_EQ(launch.error(), "cancelled");
  EXPECT_EQ(ask("ping", Json::object(), {.id = "a"}).error(), "none");
  EXPECT_EQ(ask("ping", Json::object(), {.id = 1}).error(), "none");
}

TEST_F(ServiceCalls, ANotificationEndsWithItsConnection) {
  allocate();
  auto launch = start_endless({.notification = true});
  service_->disconnected(1);
  EXPECT_EQ(launch.error(), "cancelled");
}

TEST_F(ServiceCalls, CancelAllReachesNotificationsToo) {
  allocate();
  auto launch = start_endless({.notification = true});
  service_->drain();
  EXPECT_EQ(ask("ping").error(), "busy");
  service_->cancel_all();
  EXPECT_EQ(launch.error(), "cancelled");
}

TEST_F(ServiceCalls, CancelAndDeadlineEndWhatWaitsBehindALaunch) {
  allocate();
  auto first = start_endless({.id = "first"});
  auto late = ask("kernel.launch", counting(3, x_, y_), {.deadline_ms = 20});
  auto at_once = ask("kernel.launch", counting(3, x_, y_), {.deadline_ms = 0});
  auto cancelled = ask("kernel.launch", counting(3, x_, y_), {.id = "cancelled"});
  auto kept = ask("buffer.unregister", {{"buffer", x_}}, {.deadline_ms = 20});
  auto last = ask("kernel.launch", counting(3, x_, y_), {});
  service_->cancel(1, "cancelled");
  EXPECT_EQ(cancelled.error(), "cancelled");
  EXPECT_EQ(late.error(), "deadline_exceeded");
  EXPECT_EQ(at_once.error(), "deadline_exceeded");
  EXPECT_EQ(kept.error(), "deadline_exceeded");
  EXPECT_FALSE(first.answered());
  EXPECT_FALSE(last.answered());
  service_->cancel(1, "first");
  EXPECT_EQ(first.error(), "cancelled");
  EXPECT_EQ(last.error(), "none") << "the buffer is still there, and the turn came";
}

TEST_F(ServiceCalls, ADeadlineEndsARunningLaunch) {
  allocate();
  ASSERT_EQ(ask("kernel.compile", {{"program", counting_program()}, {"set", {{"N", endless}}}}).error(), "none");
  EXPECT_EQ(ask("kernel.launch", counting(endless, x_, y_), {.deadline_ms = 300}).error(), "deadline_exceeded");
  EXPECT_EQ(ask("kernel.launch", counting(3, x_, y_)).error(), "none");
}

TEST_F(ServiceCalls, AnsweredCallsLeaveNoDeadlineBehind) {
  allocate();
  for (int i = 0; i < 200; ++i) ASSERT_EQ(ask("kernel.launch", counting(3, x_, y_), {.deadline_ms = 100000000}).error(), "none");
  EXPECT_EQ(stats()["deadlines"], 0);
}

TEST_F(ServiceCalls, MaySeeItsEndRightBehindTheLastAnswer) {
  for (int i = 0; i < 60; ++i) {
    open();
    allocate();
    std::vector<Asked> asked;
    const auto wrong = std::string(64, '0');
    asked.push_back(ask("kernel.launch", counting(3, x_, y_)));
    if (i % 3 == 1) asked.push_back(ask("kernel.launch", {{"key", wrong}, {"args", Json::object()}}));
    if (i % 3 == 2) asked.push_back(ask("kernel.launch", counting(3, x_, 77)));
    asked.push_back(ask("buffer.unregister", {{"buffer", x_}}));
    if (i % 2) service_->disconnected(1);
    for (auto& a : asked) (void)a.get();
    service_.reset();
  }
}

TEST_F(ServiceCalls, EndsWithWorkInFlight) {
  allocate();
  auto running = start_endless({});
  std::vector<Asked> waiting;
  for (int i = 0; i < 20; ++i) waiting.push_back(ask("kernel.launch", counting(3, x_, y_), {.notification = i % 2 == 0}));
  service_.reset();
  EXPECT_EQ(running.error(), "cancelled");
  for (auto& w : waiting) EXPECT_EQ(w.error(), "cancelled");
}

TEST_F(ServiceCalls, SlowVerifiesDoNotHoldUpLaunches) {
  allocate();
  std::vector<Asked> verifies;
  for (ConnectionId id = 2; id < 14; ++id) {
    connect(id);
    const auto x = alloc(page, id), y = alloc(page, id);
    verifies.push_back(ask("kernel.verify", counting(1 << 24, x, y), {.connection = id}));
  }
  auto waiting = ask("kernel.verify", counting(1 << 24, x_, y_), {.deadline_ms = 20});
  wait_for_launches(4);
  EXPECT_EQ(waiting.error(), "deadline_exceeded") << "also of one that waits for a thread";
  EXPECT_EQ(ask("kernel.launch", counting(3, x_, y_)).error(), "none") << "its turn was given back";
  connect(50);
  const auto x = alloc(page, 50), y = alloc(page, 50);
  EXPECT_EQ(ask("kernel.launch", counting(3, x, y), {.connection = 50}).error(), "none");
  EXPECT_EQ(ask("program.check", {{"program", "gemm"}}, {.connection = 50}).error(), "none");
  EXPECT_EQ(ask("cache.verify", Json::object(), {.connection = 50}).error(), "none");
  for (const auto& v : verifies) EXPECT_FALSE(v.answered());
  for (ConnectionId id = 2; id < 14; ++id) service_->disconnected(id);
  for (auto& v : verifies) EXPECT_EQ(v.error(), "cancelled");
}

TEST_F(ServiceCalls, PreparesTheLongestFirst) {
  const auto log = folder_ / "compiles";
  session_ = open_session({KILN_TEST_DIR "/fault_worker", "--compile-log", log}, 1);
  open();
  Json kernels = Json::array();
  for (const int copies : {1, 4, 2, 3}) {
    auto program = counting_program();
    auto& body = program["launches"][0]["body"];
    for (int i = 1; i < copies; ++i) body.insert(body.end() - 1, body[2]);
    kernels.push_back({{"program", std::move(program)}, {"set", {{"N", 3}}}});
  }
  const auto answer = ask("kernel.prepare", {{"kernels", std::move(kernels)}}).get();
  ASSERT_EQ(answer.value("compiled", 0), 4) << answer;
  std::vector<std::string> made;
  for (const auto& line : test::lines_of(log)) made.push_back(line.substr(0, line.find(' ')));
  const auto key = [&](std::size_t index) { return answer["kernels"][index]["key"].get<std::string>(); };
  EXPECT_EQ(made, (std::vector<std::string>{key(1), key(3), key(2), key(0)}));
}

}  // namespace
}  // namespace kiln::service
