// Streams: what is put in order on each, and what takes its turn behind all.
#include "tests/unit/service/service_fixture.hpp"

namespace kiln::service {
namespace {

class StreamsTest : public ServiceTest {
 protected:
  std::uint64_t stream() {
    const auto answer = ask("stream.create").get();
    EXPECT_TRUE(answer.contains("stream")) << answer;
    return answer.value("stream", std::uint64_t(0));
  }
  Asked launch(std::int64_t count, std::uint64_t stream, std::uint64_t x, std::uint64_t y, const std::string& id = "") {
    auto params = counting(count, x, y);
    if (stream != 0) params["stream"] = stream;
    More more;
    if (!id.empty()) more.id = id;
    return ask("kernel.launch", std::move(params), more);
  }
};

TEST_F(StreamsTest, LaunchesOfDifferentStreamsDoNotWaitForEachOther) {
  const auto x = alloc(), y = alloc(), z = alloc();
  const auto other = stream();
  auto slow = launch(endless, other, x, y, "slow");
  wait_for_launches(1);
  EXPECT_TRUE(launch(8, 0, x, z).get().contains("duration_ms"));
  auto behind = launch(8, other, x, y);
  auto synchronize = ask("stream.synchronize", {{"stream", other}});
  EXPECT_TRUE(ask("stream.synchronize").get().empty());
  EXPECT_FALSE(slow.answered());
  EXPECT_FALSE(behind.answered());
  EXPECT_FALSE(synchronize.answered());
  service_->cancel(1, "slow");
  EXPECT_EQ(slow.error(), "cancelled");
  EXPECT_TRUE(behind.get().contains("duration_ms"));
  EXPECT_TRUE(synchronize.get().empty());
}

TEST_F(StreamsTest, UnregisteringTakesItsTurnBehindEveryStream) {
  const auto x = alloc(), y = alloc(), z = alloc();
  const auto other = stream();
  auto slow = launch(endless, other, x, y, "slow");
  wait_for_launches(1);
  auto unregistered = ask("buffer.unregister", {{"buffer", z}});
  auto after = launch(8, 0, x, z);   // asked for later: finds no buffer
  EXPECT_FALSE(unregistered.answered());
  EXPECT_FALSE(after.answered());
  service_->cancel(1, "slow");
  EXPECT_EQ(slow.error(), "cancelled");
  EXPECT_TRUE(unregistered.get().empty());
  EXPECT_EQ(after.error(), "invalid_argument");
}

TEST_F(StreamsTest, AStoppedRequestGivesItsTurnsBack) {
  const auto x = alloc(), y = alloc(), z = alloc();
  const auto other = stream();
  auto slow = launch(endless, other, x, y, "slow");
  wait_for_launches(1);
  More more;
  more.id = "unregister";
  auto unregistered = ask("buffer.unregister", {{"buffer", z}}, more);
  more = {};
  more.deadline_ms = 20;
  auto late = ask("buffer.unregister", {{"buffer", z}}, more);
  auto after = launch(8, 0, x, z);
  EXPECT_EQ(late.error(), "deadline_exceeded");
  service_->cancel(1, "unregister");
  EXPECT_EQ(unregistered.error(), "cancelled");
  EXPECT_TRUE(after.get().contains("duration_ms"));   // the buffer is still there
  EXPECT_FALSE(slow.answered());
  service_->cancel(1, "slow");
  EXPECT_EQ(slow.error(), "cancelled");
}

TEST_F(StreamsTest, AReleasedStreamIsGoneForLaterRequests) {
  const auto x = alloc(), y = alloc();
  const auto other = stream();
  auto slow = launch(endless, other, x, y, "slow");
  wait_for_launches(1);
  auto released = ask("stream.release", {{"stream", other}});
  EXPECT_EQ(launch(8, other, x, y).error(), "not_found");
  EXPECT_EQ(ask("stream.release", {{"stream", other}}).error(), "not_found");
  EXPECT_FALSE(released.answered());
  service_->cancel(1, "slow");
  EXPECT_EQ(slow.error(), "cancelled");
  EXPECT_TRUE(released.get().empty());
  EXPECT_EQ(ask("stream.synchronize", {{"stream", other}}).error(), "not_found");
  EXPECT_EQ(ask("stream.release", {{"stream", 0}}).error(), "invalid_argument");
  EXPECT_EQ(ask("stream.cancel", {{"stream", 99}}).error(), "not_found");
}

TEST_F(StreamsTest, TheirNumberIsLimitedAndReleasedOnesCountNoMore) {
  protocol::Limits limits;
  limits.streams_max = 3;
  open(limits);
  for (int round = 0; round < 3; ++round) stream();
  EXPECT_EQ(ask("stream.create").error(), "resource_limit");
  EXPECT_TRUE(ask("stream.release", {{"stream", 2}}).get().empty());
  EXPECT_EQ(stream(), 4u);
}

TEST_F(StreamsTest, AConnectionThatGoesTakesAllOfThemAlong) {
  const auto x = alloc(), y = alloc(), z = alloc();
  const auto other = stream();
  auto first = launch(endless, other, x, y);
  auto second = launch(endless, 0, x, z);
  auto behind = ask("buffer.unregister", {{"buffer", x}});
  auto last = launch(8, other, x, y);
  wait_for_launches(2);
  service_->disconnected(1);
  for (auto* asked : {&first, &second, &behind, &last}) EXPECT_EQ(asked->error(), "cancelled");
  connect(1);
  while (stats()["buffer_bytes"] != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_F(StreamsTest, TheHostHasNoEventsAndNoMemoryOfItsOwn) {
  EXPECT_EQ(ask("event.export", {{"device", "host"}}).error(), "unsupported");
  EXPECT_EQ(ask("event.import", {{"device", "host"}, {"ipc", std::string(128, '0')}}).error(), "unsupported");
  EXPECT_EQ(ask("event.import", {{"device", "host"}, {"ipc", std::string(126, '0')}}).error(), "invalid_argument");
  EXPECT_EQ(ask("buffer.alloc", {{"device", "host"}, {"size", 64}}).error(), "unsupported");
  EXPECT_EQ(stats()["buffer_bytes"], 0);
  const auto x = alloc(), y = alloc();
  auto params = counting(8, x, y);
  params["wait"] = Json::array({1});
  EXPECT_EQ(ask("kernel.launch", params).error(), "invalid_argument");
  params["wait"] = Json::array();
  EXPECT_TRUE(ask("kernel.launch", params).get().contains("duration_ms"));
}

}  // namespace
}  // namespace kiln::service
