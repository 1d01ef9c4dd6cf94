// Single flight, within a process and between processes.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <set>
#include <sstream>

#include "engine/base/process.hpp"
#include "tests/unit/jit/session_fixture.hpp"

namespace kiln::jit {
namespace {

TEST_F(SessionTest, ConcurrentRequestsShareOneCompile) {
  make_gate();
  const auto session = open();
  std::vector<std::future<Result<CompileOutcome>>> results;
  for (int i = 0; i < 8; ++i) results.push_back(start(*session, small_request("gate")));
  wait_for_compiles(1);
  results.push_back(start(*session, small_request("gate")));
  open_gate();
  std::map<std::string, int> origins;
  for (auto& result : results) {
    const auto outcome = result.get();
    ASSERT_TRUE(outcome) << to_text(outcome.error());
    ++origins[outcome->origin];
  }
  EXPECT_EQ(origins, (std::map<std::string, int>{{"compiled", 1}, {"joined", 8}}));
  EXPECT_EQ(session->stats().joined, 8u);
  EXPECT_EQ(session->stats().pool.compiles, 1u);
}

TEST_F(SessionTest, LeavingDetachesAndTheLastOneEndsTheCompile) {
  const auto session = open();
  auto first = small_request("hang"), second = small_request("hang"), third = small_request("hang");
  third.deadline = Deadline::after(std::chrono::milliseconds(300));
  auto one = start(*session, first), two = start(*session, second), three = start(*session, third);
  wait_for_compiles(1);
  first.cancel.cancel();
  EXPECT_EQ(one.get().error().code, ErrorCode::cancelled);
  EXPECT_EQ(three.get().error().code, ErrorCode::deadline_exceeded);
  EXPECT_EQ(session->stats().pool.running, 1u) << "somebody still waits";
  second.cancel.cancel();
  EXPECT_EQ(two.get().error().code, ErrorCode::cancelled);
  while (session->stats().pool.running > 0) std::this_thread::yield();
  auto again = small_request("hang");
  auto later = start(*session, again);
  wait_for_compiles(2);
  again.cancel.cancel();
  EXPECT_EQ(later.get().error().code, ErrorCode::cancelled);
}

TEST_F(SessionTest, AWorkerKilledInMidCompileFailsOnlyThatRequest) {
  make_gate();
  const auto session = open();
  auto result = start(*session, small_request("gate"));
  wait_for_compiles(1);
  const auto line = lines_of(log())[0];
  ::kill(std::stoi(line.substr(line.find(' '))), SIGKILL);
  const auto answer = result.get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::worker_died);
  auto again = start(*session, small_request("gate"));
  open_gate();
  EXPECT_TRUE(again.get());
}

// Another store object on the same folder is another holder of locks, as another process is.
TEST_F(SessionTest, WaitsForWhoHoldsTheKeyAndSaysSo) {
  const auto key = open()->compile_now(small_request("a"))->kernel->key;
  ASSERT_TRUE(*open_store()->remove(key));
  const auto other = open_store();
  auto held = other->try_lock(key);
  ASSERT_TRUE(held && *held);
  const auto session = open();
  auto late = small_request("a");
  late.deadline = Deadline::after(std::chrono::milliseconds(500));
  const auto expired = session->compile_now(late);
  ASSERT_FALSE(expired);
  EXPECT_EQ(expired.error().code, ErrorCode::deadline_exceeded);
  EXPECT_NE(expired.error().message.find(key.hex()), std::string::npos) << expired.error().message;
  auto request = small_request("a");
  std::promise<std::string> waiting;
  std::atomic<bool> told = false;
  request.progress = [&](const std::string& stage, double) {
    if (stage.starts_with("waiting for") && !told.exchange(true)) waiting.set_value(stage);
  };
  auto result = start(*session, request);
  const auto said = waiting.get_future().get();
  const auto who = "waiting for an earlier compile of this process, which has held the compile of " + key.hex() + " for ";
  EXPECT_TRUE(said.starts_with(who) && said.ends_with(" ms")) << said;
  EXPECT_EQ(session->stats().pool.compiles, 0u);
  held->reset();
  EXPECT_EQ(result.get()->origin, "compiled");
  EXPECT_EQ(session->stats().pool.compiles, 1u);
}

TEST_F(SessionTest, TakesWhatTheHolderStored) {
  const auto kernel = open()->compile_now(small_request("a"))->kernel;
  const auto other = open_store();
  ASSERT_TRUE(*other->remove(kernel->key));
  auto held = other->try_lock(kernel->key);
  const auto session = open();
  auto request = small_request("a");
  std::promise<void> waiting;
  std::atomic<bool> told = false;
  request.progress = [&](const std::string& stage, double) {
    if (stage.starts_with("waiting for") && !told.exchange(true)) waiting.set_value();
  };
  auto result = start(*session, request);
  waiting.get_future().get();
  ASSERT_TRUE(other->store(kernel->key, kernel->stored->metadata, kernel->stored->object));
  held->reset();
  EXPECT_EQ(result.get()->origin, "joined");
  EXPECT_EQ(session->stats().pool.compiles, 0u);
}

TEST_F(SessionTest, TheEndOfASessionAnswersEveryone) {
  const auto key = open()->compile_now(small_request("a"))->kernel->key;
  ASSERT_TRUE(*open_store()->remove(key));
  const auto other = open_store();
  const auto held = other->try_lock(key);
  auto session = open();
  auto waits = start(*session, small_request("a")), runs = start(*session, small_request("hang"));
  wait_for_compiles(2);
  session.reset();
  EXPECT_EQ(waits.get().error().code, ErrorCode::cancelled);
  EXPECT_EQ(runs.get().error().code, ErrorCode::cancelled);
}

// 16 processes started at once against a cold cache: each kernel is compiled exactly once, as the workers count.
TEST_F(SessionTest, SixteenProcessesCompileEachKernelOnce) {
  constexpr int processes = 16, kernels = 32;
  int start_pipe[2], answer_pipe[2];
  ASSERT_EQ(::pipe2(start_pipe, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(answer_pipe, O_CLOEXEC), 0);
  UniqueFd go(start_pipe[1]), begin(start_pipe[0]), answers(answer_pipe[0]), answer(answer_pipe[1]);
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    std::vector<std::string> words = {KILN_TEST_DIR "/session_client", folder_ / "cache", log(), std::to_string(i * 5),
                                      std::to_string(kernels), worker()};
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(begin.get(), 0);
      ::dup2(answer.get(), 1);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    children.push_back(child);
  }
  begin.reset();
  answer.reset();
  go.reset();
  std::string text;
  for (char chunk[4096]; const auto n = ::read(answers.get(), chunk, sizeof chunk);)
    text.append(chunk, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  for (const auto child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  int compiled = 0, hit = 0, failed = 0;
  std::istringstream lines(text);
  for (int a, b, c; lines >> a >> b >> c;) compiled += a, hit += b, failed += c;
  EXPECT_EQ(compiled, kernels);
  EXPECT_EQ(hit, (processes - 1) * kernels);
  EXPECT_EQ(failed, 0);
  std::set<std::string> keys;
  for (const auto& line : lines_of(log())) keys.insert(line.substr(0, 64));
  EXPECT_EQ(lines_of(log()).size(), static_cast<std::size_t>(kernels));
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(kernels));
}

}  // namespace
}  // namespace kiln::jit
