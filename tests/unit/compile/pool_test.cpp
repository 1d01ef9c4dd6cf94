#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <set>
#include <thread>

#include "engine/base/fd.hpp"
#include "engine/compile/worker.hpp"
#include "engine/compile/worker_pool.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kiln::compile {
namespace {

using test::lines_of;
using test::TemporaryFolder;
const std::string worker = KILN_TEST_DIR "/fault_worker";

bound::Program program(const std::string& name, const std::string& target = "gfx942") {
  bound::Program p;
  p.name = name;
  p.target = target;
  return p;
}

class Pool : public ::testing::Test {
 protected:
  PoolOptions options(std::vector<std::string> command = {}) {
    if (command.empty()) command = {worker, "--compile-log", log(), "--gate", gate()};
    PoolOptions options;
    options.commands = {{"hip", std::move(command), ""}};
    options.workers_max = 1;
    options.temporary_folder = folder_.path();
    options.log_path = folder_ / "log";
    return options;
  }
  std::string log() { return folder_ / "compiles"; }
  std::string gate() { return folder_ / "gate"; }
  void make_gate() { ASSERT_EQ(::mkfifo(gate().c_str(), 0600), 0); }
  // Lets one "gate" program go on; returns when a worker has taken it.
  void open_gate() { UniqueFd fd(::open(gate().c_str(), O_WRONLY | O_CLOEXEC)); ASSERT_TRUE(fd); }
  void wait_for_compiles(std::size_t count) {
    while (lines_of(log()).size() < count) std::this_thread::yield();
  }
  TemporaryFolder folder_;
};

std::future<Result<Compiled>> start(WorkerPool& pool, const bound::Program& program, std::uint64_t owner = 0,
                                    Deadline deadline = {}, CancelToken cancel = {}) {
  auto promise = std::make_shared<std::promise<Result<Compiled>>>();
  auto future = promise->get_future();
  pool.compile(program, program.name + "-key", owner, deadline, std::move(cancel),
               [promise](Result<Compiled> result) { promise->set_value(std::move(result)); });
  return future;
}
Result<Compiled> compile(WorkerPool& pool, const std::string& name) { return start(pool, program(name)).get(); }

TEST_F(Pool, CompilesAndLogs) {
  const auto pool = WorkerPool::create(options());
  const auto first = compile(*pool, "a"), second = compile(*pool, "b");
  ASSERT_TRUE(first) << to_text(first.error());
  ASSERT_TRUE(second);
  EXPECT_EQ(first->metadata.program, "a");
  EXPECT_EQ(first->metadata.target, "gfx942");
  EXPECT_EQ(first->metadata.source, second->metadata.source) << "one worker serves both";
  const auto pids = pool->worker_pids();
  ASSERT_EQ(pids.size(), 1u);
  EXPECT_EQ(lines_of(log()),
            (std::vector<std::string>{"a-key " + std::to_string(pids[0]), "b-key " + std::to_string(pids[0])}));
  const auto stats = pool->stats();
  EXPECT_EQ(stats.compiles, 2u);
  EXPECT_EQ(stats.started, 1u);
  EXPECT_EQ(stats.failures, 0u);
  EXPECT_EQ(stats.running, 0u);
}

TEST_F(Pool, IdentityIsTheWorkersAndNoCompile) {
  const auto pool = WorkerPool::create(options());
  std::promise<Result<Identity>> promise;
  pool->identity(*target::parse_target("gfx942"),
                 [&](Result<Identity> identity) { promise.set_value(std::move(identity)); });
  const auto identity = promise.get_future().get();
  ASSERT_TRUE(identity) << to_text(identity.error());
  EXPECT_EQ(identity->description, "fault compiler");
  EXPECT_TRUE(std::any_of(identity->files.begin(), identity->files.end(),
                          [](const CompilerFile& f) { return f.path.ends_with("/fault_worker"); }));
  EXPECT_EQ(pool->stats().compiles, 0u);
  EXPECT_TRUE(lines_of(log()).empty());
}

TEST_F(Pool, ErrorsOfTheCompilerComeWhole) {
  const auto pool = WorkerPool::create(options());
  const auto result = compile(*pool, "refuse");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::compile_failed);
  EXPECT_EQ(result.error().context, std::vector<std::string>{"log: line 1"});
  EXPECT_EQ(pool->stats().failures, 1u);
  EXPECT_EQ(pool->stats().deaths, 0u);
  EXPECT_TRUE(compile(*pool, "a"));
  EXPECT_EQ(pool->stats().started, 1u) << "a refusal costs no worker";
}

TEST_F(Pool, DeathIsAnsweredWithItsCause) {
  const auto pool = WorkerPool::create(options());
  const auto crashed = compile(*pool, "crash"), ended = compile(*pool, "exit");
  ASSERT_FALSE(crashed);
  EXPECT_EQ(crashed.error().code, ErrorCode::worker_died);
  EXPECT_NE(crashed.error().message.find("signal 6"), std::string::npos) << crashed.error().message;
  ASSERT_FALSE(ended);
  EXPECT_NE(ended.error().message.find("exit status 3"), std::string::npos) << ended.error().message;
  EXPECT_TRUE(compile(*pool, "a")) << "others are unaffected";
  EXPECT_EQ(pool->stats().deaths, 2u);
}

TEST_F(Pool, AnInputThatKilledTwoIsRefused) {
  const auto pool = WorkerPool::create(options());
  EXPECT_FALSE(compile(*pool, "crash"));
  EXPECT_FALSE(compile(*pool, "crash"));
  const auto third = compile(*pool, "crash");
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::worker_died);
  EXPECT_NE(third.error().message.find("refused"), std::string::npos);
  ASSERT_EQ(third.error().context.size(), 1u);
  EXPECT_NE(third.error().context[0].find("signal 6"), std::string::npos);
  EXPECT_EQ(lines_of(log()).size(), 2u) << "the third never reached a worker";
  EXPECT_TRUE(compile(*pool, "a"));
}

TEST_F(Pool, KilledFromOutsideInMidCompile) {
  make_gate();
  const auto pool = WorkerPool::create(options());
  auto result = start(*pool, program("gate"));
  wait_for_compiles(1);
  ::kill(pool->worker_pids().at(0), SIGKILL);
  const auto answer = result.get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::worker_died);
  EXPECT_TRUE(answer.error().retryable);
  EXPECT_NE(answer.error().message.find("signal 9"), std::string::npos);
  auto again = start(*pool, program("gate"));
  open_gate();
  EXPECT_TRUE(again.get());
}

TEST_F(Pool, AWorkerThatDiedIdleCostsNobodyAnything) {
  const auto pool = WorkerPool::create(options());
  ASSERT_TRUE(compile(*pool, "a"));
  const int pid = pool->worker_pids().at(0);
  ::kill(pid, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(compile(*pool, "b"));
  EXPECT_EQ(pool->stats().deaths, 0u);
}

TEST_F(Pool, HangEndsAtTheDeadline) {
  auto limited = options();
  limited.compile_deadline = std::chrono::milliseconds(100);
  const auto pool = WorkerPool::create(limited);
  const auto result = compile(*pool, "hang");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::worker_died);
  EXPECT_NE(result.error().message.find("over 100 ms"), std::string::npos) << result.error().message;
  EXPECT_TRUE(compile(*pool, "a"));
}

TEST_F(Pool, ARequestsDeadlineIsNoStrike) {
  const auto pool = WorkerPool::create(options());
  for (int i = 0; i < 3; ++i) {
    const auto result = start(*pool, program("hang"), 0, Deadline::after(std::chrono::milliseconds(50))).get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::deadline_exceeded);
  }
}

TEST_F(Pool, MemoryOverTheCapKills) {
  auto limited = options();
  limited.resident_bytes_max = std::size_t(256) << 20;
  const auto pool = WorkerPool::create(limited);
  const auto result = compile(*pool, "allocate");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::worker_died);
  EXPECT_NE(result.error().message.find("over the limit of 256 MiB"), std::string::npos) << result.error().message;
}

#ifndef KILN_SANITIZED
TEST_F(Pool, AddressSpaceIsLimited) {
  auto limited = options();
  limited.address_space_bytes_max = std::size_t(512) << 20;
  const auto pool = WorkerPool::create(limited);
  const auto result = compile(*pool, "allocate");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::out_of_memory) << to_text(result.error());
  EXPECT_TRUE(compile(*pool, "a"));
  EXPECT_EQ(pool->stats().started, 2u) << "a worker that ran out of memory is not used again";
}
#endif

TEST_F(Pool, CancelKillsARunningCompile) {
  const auto pool = WorkerPool::create(options());
  CancelToken cancel;
  auto result = start(*pool, program("hang"), 0, {}, cancel);
  wait_for_compiles(1);
  const int pid = pool->worker_pids().at(0);
  cancel.cancel();
  const auto answer = result.get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::cancelled);
  EXPECT_NE(::kill(pid, 0), 0);
  EXPECT_TRUE(compile(*pool, "a"));
}

TEST_F(Pool, QueuedWorkIsCancelledAndExpiresWhileAnotherRuns) {
  const auto pool = WorkerPool::create(options());
  CancelToken cancel, first_cancel;
  auto first = start(*pool, program("hang"), 0, {}, first_cancel);
  wait_for_compiles(1);
  auto cancelled = start(*pool, program("a"), 0, {}, cancel);
  auto expired = start(*pool, program("b"), 0, Deadline::after(std::chrono::milliseconds(1)));
  EXPECT_EQ(expired.get().error().code, ErrorCode::deadline_exceeded);
  cancel.cancel();
  EXPECT_EQ(cancelled.get().error().code, ErrorCode::cancelled);
  first_cancel.cancel();
  EXPECT_EQ(first.get().error().code, ErrorCode::cancelled);
  EXPECT_EQ(lines_of(log()).size(), 1u);
}

TEST_F(Pool, TheQueueHasTheLimitThatIsSet) {
  make_gate();
  auto limited = options();
  limited.queue_max = 2;
  const auto pool = WorkerPool::create(limited);
  auto blocking = start(*pool, program("gate"));
  wait_for_compiles(1);
  auto first = start(*pool, program("a")), second = start(*pool, program("b"));
  const auto refused = start(*pool, program("c")).get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::busy);
  EXPECT_TRUE(refused.error().retryable);
  EXPECT_EQ(refused.error().message, "2 compiles are queued already");
  open_gate();
  for (auto* result : {&blocking, &first, &second}) EXPECT_TRUE(result->get());
}

TEST_F(Pool, OwnersTakeTurns) {
  make_gate();
  const auto pool = WorkerPool::create(options());
  auto blocking = start(*pool, program("gate"), 9);
  wait_for_compiles(1);
  std::vector<std::future<Result<Compiled>>> queued;
  for (const auto* name : {"a1", "a2", "a3"}) queued.push_back(start(*pool, program(name), 1));
  for (const auto* name : {"b1", "b2"}) queued.push_back(start(*pool, program(name), 2));
  open_gate();
  EXPECT_TRUE(blocking.get());
  for (auto& result : queued) EXPECT_TRUE(result.get());
  std::vector<std::string> order;
  for (const auto& line : lines_of(log())) order.push_back(line.substr(0, line.find('-')));
  EXPECT_EQ(order, (std::vector<std::string>{"gate", "a1", "b1", "a2", "b2", "a3"}));
}

TEST_F(Pool, RecyclesAndRetires) {
  auto limited = options();
  limited.compiles_per_worker = 2;
  const auto pool = WorkerPool::create(limited);
  for (const auto* name : {"a", "b", "c"}) ASSERT_TRUE(compile(*pool, name));
  EXPECT_EQ(pool->stats().started, 2u);
  EXPECT_EQ(pool->stats().recycled, 1u);
  pool->retire("hip");
  ASSERT_TRUE(compile(*pool, "d"));
  EXPECT_EQ(pool->stats().started, 3u);
}

TEST_F(Pool, IdleWorkersEnd) {
  auto limited = options();
  limited.idle_worker_life = std::chrono::milliseconds(1);
  const auto pool = WorkerPool::create(limited);
  ASSERT_TRUE(compile(*pool, "a"));
  while (!pool->worker_pids().empty()) std::this_thread::yield();
  EXPECT_TRUE(compile(*pool, "b"));
}

TEST_F(Pool, StartsThatFailSayWhy) {
  const auto ends = WorkerPool::create(options({"/bin/false"}));
  const auto ended = compile(*ends, "a");
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::no_compiler);
  EXPECT_NE(ended.error().message.find("exit status 1"), std::string::npos) << ended.error().message;
  EXPECT_FALSE(ended.error().retryable);
  const auto missing = compile(*WorkerPool::create(options({"/no/such/worker"})), "a");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::no_compiler);
  EXPECT_FALSE(missing.error().retryable);
  const auto refuses = compile(*WorkerPool::create(options({worker, "--refuse-to-start"})), "a");
  ASSERT_FALSE(refuses);
  EXPECT_EQ(refuses.error().code, ErrorCode::no_compiler);
  EXPECT_NE(refuses.error().message.find("told to refuse"), std::string::npos) << refuses.error().message;
  EXPECT_FALSE(refuses.error().retryable);
  PoolOptions none = options();
  none.commands = {{"hip", {}, "install it"}};
  const auto absent = compile(*WorkerPool::create(none), "a");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().message, "install it");
  const auto unknown = start(*ends, program("a", "gfx1")).get();
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::unknown_target);
}

TEST_F(Pool, TheEndOfThePoolKillsAndAnswers) {
  auto pool = WorkerPool::create(options());
  auto running = start(*pool, program("hang"));
  wait_for_compiles(1);
  auto queued = start(*pool, program("a"));
  const int pid = pool->worker_pids().at(0);
  pool.reset();
  EXPECT_EQ(running.get().error().code, ErrorCode::cancelled);
  EXPECT_EQ(queued.get().error().code, ErrorCode::cancelled);
  EXPECT_NE(::kill(pid, 0), 0);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_EQ(entry.path().filename().string().find("kiln-worker-"), std::string::npos)
        << "a private folder was left behind";
}

TEST_F(Pool, SharedSlotsAreWaitedForAndGivenBack) {
  auto limited = options();
  limited.workers_max = 3;
  std::mutex mutex;
  int taken = 0, taken_max = 0, asked = 0;
  limited.take_shared_slot = [&]() -> std::shared_ptr<void> {
    const std::lock_guard lock(mutex);
    if (++asked < 3 || taken == 1) return nullptr;
    taken_max = std::max(taken_max, ++taken);
    return std::shared_ptr<void>(&taken, [&](void*) { const std::lock_guard again(mutex); --taken; });
  };
  const auto pool = WorkerPool::create(limited);
  std::vector<std::future<Result<Compiled>>> results;
  for (const auto* name : {"a", "b", "c", "d"}) results.push_back(start(*pool, program(name)));
  for (auto& result : results) EXPECT_TRUE(result.get());
  EXPECT_EQ(taken_max, 1);
}

TEST(ScrubbedEnvironment, IsAnAllowList) {
  const auto kept = scrubbed_environment({"PATH=/bin", "AMD_COMGR_SAVE_TEMPS=1", "HIPRTC_COMPILE_OPTIONS_APPEND=-g",
                                          "SECRET=1", "LD_LIBRARY_PATH=/opt", "TMPDIR=/x", "AMD_COMGR_CACHE=1"});
  EXPECT_EQ(kept, (std::vector<std::string>{"AMD_COMGR_CACHE=0", "LD_LIBRARY_PATH=/opt", "PATH=/bin"}));
}

// A folder of a few KiB; needs the right to mount.
TEST_F(Pool, AFullTemporaryFolderIsSaid) {
  const std::string small = folder_ / "small";
  ASSERT_EQ(::mkdir(small.c_str(), 0700), 0);
  if (::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0) GTEST_SKIP() << "may not mount";
  auto wanted = options();
  wanted.temporary_folder = small;
  auto pool = WorkerPool::create(wanted);
  const auto refused = compile(*pool, "a");
  pool.reset();
  EXPECT_EQ(::umount2(small.c_str(), MNT_DETACH), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::disk_full) << to_text(refused.error());
  EXPECT_TRUE(refused.error().retryable);
  EXPECT_NE(refused.error().message.find(small), std::string::npos) << refused.error().message;
}

TEST(TemporaryRoom, IsMeasured) {
  TemporaryFolder folder;
  EXPECT_FALSE(lacks_room(folder.path(), 0));
  const auto lacking = lacks_room(folder.path(), std::uint64_t(1) << 60);
  ASSERT_TRUE(lacking);
  EXPECT_EQ(lacking->code, ErrorCode::disk_full);
  EXPECT_NE(lacking->message.find(folder.path()), std::string::npos);
  EXPECT_FALSE(lacks_room(folder / "absent", 1)) << "what cannot be asked is not called full";
}

}  // namespace
}  // namespace kiln::compile
