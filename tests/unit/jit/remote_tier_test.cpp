// A session with a remote tier: when it is asked, what is taken from it, what it is told, and that nobody fails by it.
#include <algorithm>
#include <map>

#include "tests/unit/jit/session_fixture.hpp"

namespace kiln::jit {
namespace {

// Entries in memory that sessions share. While it `holds`, fetches wait until they are released or it is stopped.
class SharedTier final : public RemoteTier {
 public:
  explicit SharedTier(std::shared_ptr<std::map<Key, std::shared_ptr<const StoredObject>>> entries)
      : entries_(std::move(entries)) {}
  void fetch(const Key& key, Sound sound, Fetched done) override {
    {
      const std::lock_guard lock(mutex_);
      ++asked;
      if (holds && !stopped_) return void(held_.push_back([=, this] { answer(key, sound, done); }));
    }
    answer(key, sound, done);
  }
  void put(std::shared_ptr<const StoredObject> stored) override {
    const std::lock_guard lock(mutex_);
    entries_->emplace(stored->key, std::move(stored));
  }
  TierStats stats() override { return {.url = "test", .hits = std::uint64_t(hits.load())}; }
  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    release();
  }
  void release() {
    std::vector<std::function<void()>> held;
    {
      const std::lock_guard lock(mutex_);
      held.swap(held_);
    }
    for (auto& one : held) one();
  }

  std::atomic<int> asked{0}, hits{0}, refused{0};
  std::atomic<bool> holds{false};

 private:
  void answer(const Key& key, const Sound& sound, const Fetched& done) {
    const auto there = entries_->find(key);
    if (stopped_ || there == entries_->end()) return done(nullptr);
    if (!sound(*there->second)) {
      ++refused;
      return done(nullptr);
    }
    ++hits;
    done(there->second);
  }
  const std::shared_ptr<std::map<Key, std::shared_ptr<const StoredObject>>> entries_;
  std::mutex mutex_;
  std::vector<std::function<void()>> held_;
  bool stopped_ = false;
};

class RemoteTierTest : public SessionTest {
 protected:
  // A session with a cache of its own and a new end of the one tier.
  std::unique_ptr<Session> machine(const std::string& name, const std::vector<std::string>& command = {}) {
    auto own = options(command);
    own.store = cache::open_store({.folder = folder_ / name, .temporary_root = folder_.path(), .warn = {}});
    own.tier = tier = std::make_shared<SharedTier>(entries);
    return open(std::move(own));
  }
  // What a machine without a compiler has to know: by which compiler kernels were made elsewhere.
  void copy_note(const std::string& from, const std::string& to) {
    const auto source = cache::open_store({.folder = folder_ / from, .temporary_root = folder_.path(), .warn = {}});
    const auto target = cache::open_store({.folder = folder_ / to, .temporary_root = folder_.path(), .warn = {}});
    const auto note = source->read_note("compiler-hip");
    ASSERT_TRUE(note);
    ASSERT_TRUE(target->write_note("compiler-hip", *note));
  }

  std::shared_ptr<std::map<Key, std::shared_ptr<const StoredObject>>> entries =
      std::make_shared<std::map<Key, std::shared_ptr<const StoredObject>>>();
  std::shared_ptr<SharedTier> tier;
};

TEST_F(RemoteTierTest, TheSecondMachineCompilesNothing) {
  const auto first = machine("one")->compile_now(small_request("a"));
  ASSERT_TRUE(first) << to_text(first.error());
  EXPECT_EQ(first->origin, "compiled");
  ASSERT_EQ(entries->size(), 1u);
  {
    const auto session = machine("two");
    const auto second = session->compile_now(small_request("a"));
    ASSERT_TRUE(second) << to_text(second.error());
    EXPECT_EQ(second->origin, "tier");
    EXPECT_TRUE(second->cached);
    EXPECT_TRUE(second->stored) << second->why_not_stored;
    EXPECT_EQ(second->kernel->stored->object, first->kernel->stored->object);
    EXPECT_EQ(second->program->tensors[0].name, "X");
    EXPECT_EQ(session->compile_now(small_request("a"))->origin, "memory");
    EXPECT_EQ(session->stats().pool.compiles, 0u);
    EXPECT_EQ(session->stats().store.stores, 1u);
    ASSERT_TRUE(session->stats().tier);
    EXPECT_EQ(session->stats().tier->hits, 1u);
    EXPECT_EQ(tier->asked, 1);
  }
  const auto session = machine("two");
  EXPECT_EQ(session->compile_now(small_request("a"))->origin, "disk");
  EXPECT_EQ(tier->asked, 0) << "what is on disk is not asked for";
}

TEST_F(RemoteTierTest, MustHitAsksToo) {
  ASSERT_TRUE(machine("one")->compile_now(small_request("a")));
  const auto session = machine("two");
  const auto hit = session->compile_now(must_hit("a"));
  ASSERT_TRUE(hit) << to_text(hit.error());
  EXPECT_EQ(hit->origin, "tier");
  EXPECT_EQ(session->compile_now(must_hit("a"))->origin, "memory");
  const auto missed = session->compile_now(must_hit("other"));
  ASSERT_FALSE(missed);
  EXPECT_EQ(missed.error().code, ErrorCode::must_hit);
  EXPECT_EQ(missed.error().context.at(0).substr(0, 5), "key: ");
  EXPECT_EQ(session->stats().pool.compiles, 0u);
}

TEST_F(RemoteTierTest, WithoutACompilerTheTierServes) {
  ASSERT_TRUE(machine("one")->compile_now(small_request("a")));
  copy_note("one", "two");
  const auto session = machine("two", {"/bin/false"});
  const auto hit = session->compile_now(small_request("a"));
  ASSERT_TRUE(hit) << to_text(hit.error());
  EXPECT_EQ(hit->origin, "tier");
  EXPECT_EQ(session->compile_now(small_request("other")).error().code, ErrorCode::no_compiler);
}

TEST_F(RemoteTierTest, AnEntryForAnotherTargetIsNotTaken) {
  const auto session = machine("one");
  const auto other = session->compile_now(small_request("a", "gfx90a"));
  ASSERT_TRUE(other) << to_text(other.error());
  const auto key = session->compile_now(small_request("a"))->kernel->key;
  auto lie = std::make_shared<StoredObject>(*other->kernel->stored);
  lie->key = key;
  (*entries)[key] = lie;
  const auto second = machine("two");
  const auto outcome = second->compile_now(small_request("a"));
  ASSERT_TRUE(outcome) << to_text(outcome.error());
  EXPECT_EQ(outcome->origin, "compiled");
  EXPECT_EQ(outcome->kernel->metadata.target.substr(0, 6), "gfx942");
  EXPECT_EQ(tier->refused, 1);
}

TEST_F(RemoteTierTest, RequestsAtOnceShareOneFetch) {
  ASSERT_TRUE(machine("one")->compile_now(small_request("a")));
  const auto session = machine("two");
  EXPECT_FALSE(session->compile_now(must_hit("other"))) << "from here on the compiler is known";
  tier->asked = 0;
  tier->holds = true;
  std::vector<std::future<Result<CompileOutcome>>> results;
  for (int i = 0; i < 8; ++i) results.push_back(start(*session, small_request("a")));
  tier->release();
  std::map<std::string, int> origins;
  for (auto& result : results) ++origins[result.get()->origin];
  EXPECT_EQ(origins, (std::map<std::string, int>{{"tier", 1}, {"joined", 7}}));
  EXPECT_EQ(tier->asked, 1);
}

TEST_F(RemoteTierTest, WhoWaitsForItCanLeaveAndTheKeyIsFreedAfterIt) {
  const auto session = machine("one");
  tier->holds = true;
  auto leaving = small_request("a"), missing = must_hit("b");
  auto one = start(*session, leaving), two = start(*session, missing);
  while (tier->asked < 2) std::this_thread::yield();
  leaving.cancel.cancel();
  missing.cancel.cancel();
  EXPECT_EQ(one.get().error().code, ErrorCode::cancelled);
  EXPECT_EQ(two.get().error().code, ErrorCode::cancelled);
  auto late = small_request("a");
  late.deadline = Deadline::after(std::chrono::milliseconds(100));
  const auto expired = session->compile_now(late);
  ASSERT_FALSE(expired);
  const auto& told = expired.error().message;
  EXPECT_NE(told.find("an earlier compile of this process"), std::string::npos) << told;
  tier->release();
  tier->holds = false;
  EXPECT_EQ(session->compile_now(small_request("a"))->origin, "compiled");
  EXPECT_EQ(session->stats().pool.compiles, 1u) << "nothing was compiled for who had left";
}

TEST_F(RemoteTierTest, ASessionThatEndsAnswersWhoWaitsForTheTier) {
  auto session = machine("one");
  tier->holds = true;
  auto one = start(*session, small_request("a")), two = start(*session, must_hit("b"));
  while (tier->asked < 2) std::this_thread::yield();
  session.reset();
  const auto first = one.get(), second = two.get();
  ASSERT_FALSE(first) << "nothing is compiled any more";
  EXPECT_EQ(first.error().code, ErrorCode::cancelled);
  EXPECT_FALSE(second);
}

}  // namespace
}  // namespace kiln::jit
