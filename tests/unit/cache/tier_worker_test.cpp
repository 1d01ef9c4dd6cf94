// The thread of a remote tier, over a server in this process that fails when it is told to.
#include <atomic>
#include <future>
#include <map>

#include "cache/tiers/sealed_entry.hpp"
#include "cache/tiers/worker.hpp"
#include "tests/unit/cache/cache_test.hpp"

namespace kiln::cache {
namespace {

using Object = std::shared_ptr<const jit::StoredObject>;

// What all transports of a test ask.
struct Server {
  std::mutex mutex;
  std::map<std::string, Bytes> values;
  std::optional<Error> failure;      // of every operation
  std::atomic<int> opened{0}, gets{0};
  std::atomic<bool> hangs{false};    // gets, until they are interrupted
  std::promise<void> put_begun, go_on;
  bool holds_first_put = false;
};

class ServerTransport final : public Transport {
 public:
  explicit ServerTransport(std::shared_ptr<Server> server) : server_(std::move(server)) {}
  Result<std::optional<Bytes>> get(const std::string& name, Deadline, int interrupt) override {
    ++server_->gets;
    if (server_->hangs) {
      pollfd entry{interrupt, POLLIN, 0};
      EXPECT_GE(os::poll(&entry, 1, -1), 1);
      return Error(ErrorCode::cancelled, "interrupted");
    }
    const std::lock_guard lock(server_->mutex);
    if (server_->failure) return *server_->failure;
    const auto there = server_->values.find(name);
    return there == server_->values.end() ? std::optional<Bytes>() : std::optional(there->second);
  }
  Status put(const std::string& name, ByteView value, Deadline) override {
    if (std::exchange(server_->holds_first_put, false)) {
      server_->put_begun.set_value();
      server_->go_on.get_future().wait();
    }
    const std::lock_guard lock(server_->mutex);
    if (server_->failure) return *server_->failure;
    server_->values[name] = Bytes(value.begin(), value.end());
    return {};
  }

 private:
  const std::shared_ptr<Server> server_;
};

class TierWorkerTest : public testing::Test {
 protected:
  TierWorkerTest() { options.timeout = std::chrono::minutes(5); }
  TierWorker& open() {
    worker = std::make_unique<TierWorker>(
        options, "test://server",
        [server = server]() -> Result<std::unique_ptr<Transport>> {
          ++server->opened;
          return std::unique_ptr<Transport>(new ServerTransport(server));
        },
        [this] { return now.load(); });
    return *worker;
  }
  static Object object(std::uint64_t number) {
    return std::make_shared<const jit::StoredObject>(
        jit::StoredObject{key_of(number), content_of(1, 4), content_of(number, 50)});
  }
  void holds(std::uint64_t number) {
    server->values[tier_name(key_of(number))] = seal_entry(*object(number), options.key);
  }
  std::future<Object> start(std::uint64_t number, jit::RemoteTier::Sound sound = {}) {
    auto promise = std::make_shared<std::promise<Object>>();
    worker->fetch(key_of(number), std::move(sound), [promise](Object found) { promise->set_value(std::move(found)); });
    return promise->get_future();
  }
  Object fetch(std::uint64_t number, jit::RemoteTier::Sound sound = {}) {
    return start(number, std::move(sound)).get();
  }
  static bool ready(std::future<Object>& future) {
    return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  void fails(ErrorCode code) {
    const std::lock_guard lock(server->mutex);
    server->failure = code == ErrorCode::internal ? std::nullopt : std::optional(Error(code, "it fails"));
  }

  TierOptions options;
  std::atomic<Breaker::Clock::time_point> now{Breaker::Clock::time_point()};
  std::shared_ptr<Server> server = std::make_shared<Server>();
  std::unique_ptr<TierWorker> worker;
};

TEST_F(TierWorkerTest, gives_sound_entries_and_counts) {
  open();
  EXPECT_EQ(worker->stats().state, "unused");
  EXPECT_EQ(server->opened, 0) << "nothing is opened before it is needed";
  holds(1);
  server->values[tier_name(key_of(2))] = seal_entry(*object(1), options.key);
  const auto found = fetch(1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->object, object(1)->object);
  EXPECT_FALSE(fetch(2)) << "another key's entry";
  EXPECT_FALSE(fetch(3));
  EXPECT_FALSE(fetch(1, [](const jit::StoredObject&) { return false; }));
  const auto stats = worker->stats();
  EXPECT_EQ(std::tuple(stats.hits, stats.misses, stats.refused), std::tuple(1u, 1u, 2u));
  EXPECT_EQ(std::tuple(stats.errors, stats.timeouts), std::tuple(0u, 0u));
  EXPECT_EQ(std::pair(stats.state, stats.url), std::pair(std::string("up"), std::string("test://server")));
  EXPECT_NE(stats.last_error.find(key_of(1).hex()), std::string::npos) << stats.last_error;
  EXPECT_EQ(server->opened, 2) << "anew after a lie";
}

TEST_F(TierWorkerTest, who_takes_an_answer_does_not_hold_up_those_who_wait_for_theirs) {
  open();
  holds(1);
  std::promise<void> go_on, taken;
  worker->fetch(key_of(1), {}, [&](Object) {
    go_on.get_future().wait();
    taken.set_value();
  });
  auto next = start(2);
  while (server->gets < 2) std::this_thread::yield();
  EXPECT_FALSE(ready(next)) << "they are handed over one after the other";
  go_on.set_value();
  EXPECT_FALSE(next.get());
  EXPECT_TRUE(taken.get_future().wait_for(std::chrono::seconds(0)) == std::future_status::ready);
}

TEST_F(TierWorkerTest, puts_behind_within_bounds_and_drops_the_rest) {
  options.queue_entries_max = 16;
  server->holds_first_put = true;
  open();
  worker->put(object(0));
  server->put_begun.get_future().wait();
  for (std::uint64_t i = 1; i < 200; ++i) worker->put(object(i));
  EXPECT_EQ(std::tuple(worker->stats().queued, worker->stats().dropped), std::tuple(16u, 183u));
  server->go_on.set_value();
  worker->stop();
  EXPECT_EQ(std::tuple(worker->stats().queued, worker->stats().stored), std::tuple(0u, 17u));
  EXPECT_EQ(server->values.size(), 17u);
  worker->put(object(200));
  EXPECT_EQ(worker->stats().dropped, 184u) << "it is stopped";
}

TEST_F(TierWorkerTest, bytes_that_wait_are_bounded) {
  options.queue_bytes_max = 2 * (entry_bytes(4, 50) + 32);
  server->holds_first_put = true;
  open();
  worker->put(object(0));
  server->put_begun.get_future().wait();
  for (std::uint64_t i = 1; i < 5; ++i) worker->put(object(i));
  EXPECT_EQ(std::tuple(worker->stats().queued, worker->stats().dropped), std::tuple(2u, 2u));
  server->go_on.set_value();
}

TEST_F(TierWorkerTest, what_is_too_large_or_not_to_be_written_is_not_put) {
  options.queue_bytes_max = std::uint64_t(1) << 40;
  open();
  worker->put(std::make_shared<const jit::StoredObject>(jit::StoredObject{key_of(1), {}, Bytes(tier_value_bytes_max)}));
  EXPECT_EQ(worker->stats().dropped, 1u);
  options.write = false;
  open();
  worker->put(object(1));
  EXPECT_EQ(worker->stats().dropped, 0u);
  EXPECT_EQ(server->opened, 0);
}

TEST_F(TierWorkerTest, a_server_that_fails_is_left_alone_and_tried_again) {
  std::vector<std::string> said;
  options.warn = [&](const std::string& text) { said.push_back(text); };
  open();
  holds(1);
  fails(ErrorCode::io_error);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(fetch(1));
  EXPECT_EQ(worker->stats().state, "down");
  auto skipped = start(1);
  EXPECT_TRUE(ready(skipped)) << "answered at once";
  worker->put(object(2));
  EXPECT_EQ(std::tuple(server->gets.load(), worker->stats().skipped, worker->stats().dropped), std::tuple(3, 1u, 1u));
  now = now.load() + Breaker::off_min;
  EXPECT_FALSE(fetch(1)) << "tried, and off for twice as long";
  now = now.load() + Breaker::off_min;
  EXPECT_FALSE(fetch(1));
  EXPECT_EQ(server->gets, 4);
  now = now.load() + Breaker::off_min;
  fails(ErrorCode::internal);
  EXPECT_TRUE(fetch(1));
  EXPECT_TRUE(fetch(1));
  worker->stop();
  EXPECT_EQ(std::tuple(worker->stats().errors, worker->stats().hits), std::tuple(4u, 2u));
  ASSERT_EQ(said.size(), 2u);
  EXPECT_NE(said[0].find("it fails"), std::string::npos) << said[0];
  EXPECT_NE(said[1].find("answers again"), std::string::npos) << said[1];
}

TEST_F(TierWorkerTest, a_server_that_refuses_is_not_one_that_fails) {
  open();
  holds(1);
  fails(ErrorCode::permission_denied);
  for (std::uint64_t i = 0; i < 10; ++i) worker->put(object(i));
  EXPECT_FALSE(fetch(1));
  fails(ErrorCode::internal);
  EXPECT_TRUE(fetch(1));
  worker->stop();
  const auto stats = worker->stats();
  EXPECT_EQ(stats.skipped, 0u);
  EXPECT_EQ(stats.stored + stats.dropped, 10u);
  EXPECT_GE(stats.errors, 1u);
}

TEST_F(TierWorkerTest, kinds_of_failures_have_counters_of_their_own) {
  open();
  for (const auto code : {ErrorCode::deadline_exceeded, ErrorCode::corrupt, ErrorCode::permission_denied}) {
    fails(code);
    EXPECT_FALSE(fetch(1));
  }
  const auto stats = worker->stats();
  EXPECT_EQ(std::tuple(stats.timeouts, stats.refused, stats.errors), std::tuple(1u, 1u, 1u));
}

TEST_F(TierWorkerTest, who_waited_too_long_in_the_queue_is_answered_and_the_server_not_blamed) {
  options.timeout = std::chrono::milliseconds(0);
  open();
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(fetch(1));
  EXPECT_EQ(std::tuple(worker->stats().timeouts, worker->stats().state, server->gets.load()),
            std::tuple(10u, std::string("up"), 0));
}

TEST_F(TierWorkerTest, stopping_answers_everybody) {
  options.fetches_max = 4;
  server->hangs = true;
  open();
  std::vector<std::future<Object>> waiting;
  waiting.push_back(start(0));
  while (server->gets == 0) std::this_thread::yield();
  for (std::uint64_t i = 1; i < 7; ++i) waiting.push_back(start(i));
  for (std::size_t i = 0; i < waiting.size(); ++i) EXPECT_EQ(ready(waiting[i]), i > 4) << i << ": four may wait";
  worker->stop();
  for (auto& one : waiting) {
    ASSERT_TRUE(ready(one));
    EXPECT_FALSE(one.get());
  }
  EXPECT_EQ(server->gets, 1);
  auto late = start(9);
  EXPECT_TRUE(ready(late));
  EXPECT_EQ(worker->stats().state, "stopped");
}

TEST_F(TierWorkerTest, without_descriptors_nothing_is_asked) {
  open();
  {
    const os::Failpoint none("pipe2", 1, EMFILE);
    auto skipped = start(1);
    ASSERT_TRUE(ready(skipped));
    EXPECT_FALSE(skipped.get());
  }
  holds(1);
  EXPECT_TRUE(fetch(1)) << "and is when there are some";
}

}  // namespace
}  // namespace kiln::cache
