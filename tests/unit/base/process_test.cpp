#include "engine/base/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <sstream>
#include <thread>

#include "engine/base/channel.hpp"
#include "engine/base/os.hpp"

namespace kiln {
namespace {

// What the child writes to descriptor 3 until it ends.
std::string run(SpawnOptions options, std::string* ending = nullptr) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return "no pipe";
  UniqueFd in(fds[0]), out(fds[1]);
  options.descriptors.emplace_back(out.get(), 3);
  auto child = ChildProcess::spawn(options);
  if (!child) return to_text(child.error());
  out.reset();
  std::string text;
  char chunk[4096];
  for (ssize_t n; (n = ::read(in.get(), chunk, sizeof chunk)) > 0;) text.append(chunk, std::size_t(n));
  const auto how = child->ended(true);
  if (ending) *ending = how.value_or("still running");
  return text;
}

SpawnOptions shell(const std::string& script) {
  SpawnOptions options;
  options.command = {"sh", "-c", script};
  return options;
}

TEST(ChildProcess, environment_folder_and_ending) {
  auto options = shell("echo $ONE-$HOME-$(pwd) >&3; exit 3");
  options.environment = {"ONE=1", "PATH=/usr/bin:/bin"};
  options.directory = "/tmp";
  std::string ending;
  EXPECT_EQ(run(options, &ending), "1--/tmp\n");
  EXPECT_EQ(ending, "exit status 3");
}

TEST(ChildProcess, signals_are_named) {
  std::string ending;
  run(shell("kill -SEGV $$"), &ending);
  EXPECT_EQ(ending, "signal 11 (Segmentation fault)");
}

TEST(ChildProcess, a_failing_start_is_an_error_here) {
  SpawnOptions options;
  options.command = {"/nowhere/program"};
  auto child = ChildProcess::spawn(options);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().message, "cannot start /nowhere/program: cannot execute: No such file or directory");
  options.command = {"no-such-program-at-all"};
  EXPECT_EQ(ChildProcess::spawn(options).error().code, ErrorCode::not_found);
  options.command = {"/etc/passwd"};
  EXPECT_EQ(ChildProcess::spawn(options).error().code, ErrorCode::permission_denied);
  options.command = {"true"};
  options.directory = "/nowhere";
  EXPECT_NE(ChildProcess::spawn(options).error().message.find("cannot enter the folder"), std::string::npos);
  EXPECT_EQ(ChildProcess::spawn({}).error().code, ErrorCode::invalid_argument);
  options.directory = "/";
  for (const auto& descriptors : {std::vector<std::pair<int, int>>{{0, 3}, {1, 3}}, {{0, 2}}, {{-1, 3}}}) {
    options.descriptors = descriptors;
    EXPECT_EQ(ChildProcess::spawn(options).error().code, ErrorCode::invalid_argument);
  }
}

TEST(ChildProcess, only_the_given_descriptors_arrive) {
  UniqueFd inherited(::open("/dev/null", O_RDONLY));  // not close-on-exec
  auto memory = create_memfd("seven", 3);
  ASSERT_TRUE(inherited && memory);
  auto options = shell("exec ls /proc/self/fd >&3");
  options.descriptors = {{memory->get(), 7}};
  EXPECT_EQ(run(options), "0\n1\n2\n3\n4\n7\n");  // 4 is the folder that ls reads
}

TEST(ChildProcess, descriptors_that_swap_places_do_not_overwrite_each_other) {
  auto first = create_memfd("one", 0), second = create_memfd("two", 0);
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(write_all(first->get(), view("one")) && write_all(second->get(), view("two")));
  UniqueFd one(os::duplicate(first->get(), 20)), two(os::duplicate(second->get(), 20));
  const auto path_of = [](const UniqueFd& fd) { return " /proc/self/fd/" + std::to_string(fd.get()); };
  auto options = shell("cat" + path_of(two) + path_of(one) + " >&3");
  options.descriptors = {{one.get(), two.get()}, {two.get(), one.get()}};
  EXPECT_EQ(run(options), "onetwo");
}

TEST(ChildProcess, output_goes_to_the_log) {
  char path[] = "/tmp/kiln-process-test-XXXXXX";
  UniqueFd file(::mkstemp(path));
  auto options = shell("echo out; echo err >&2");
  options.log_path = path;
  run(options);
  run(options);  // appended
  EXPECT_EQ(text(read_file(path).value()), "out\nerr\nout\nerr\n");
  ::unlink(path);
}

TEST(ChildProcess, signals_and_masks_are_reset) {
  sigset_t blocked, old;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &old);
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  const auto status = run(shell("exec grep -E 'SigBlk|SigIgn' /proc/self/status >&3"));
  ::signal(SIGPIPE, before);
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  EXPECT_EQ(status, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

#ifndef KILN_SANITIZED
TEST(ChildProcess, address_space_limit) {
  auto options = shell("ulimit -v >&3");
  options.address_space_bytes_max = std::size_t(1) << 30;
  EXPECT_EQ(run(options), "1048576\n");
}
#endif

TEST(ChildProcess, destruction_kills_and_reaps) {
  pid_t pid;
  {
    auto child = ChildProcess::spawn(shell("exec sleep 1000"));
    ASSERT_TRUE(child);
    EXPECT_TRUE(child->running());
    EXPECT_FALSE(child->ended(false));
    EXPECT_GT(resident_bytes(child->pid()), 0u);
    pid = child->pid();
  }
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_EQ(resident_bytes(pid), 0u);
}

TEST(ChildProcess, new_session) {
  auto options = shell("echo $$ $(ps -o sid= -p $$ 2>/dev/null || cut -d' ' -f6 /proc/$$/stat) >&3");
  options.new_session = true;
  std::istringstream ids(run(options));
  int pid = 0, session = -1;
  ids >> pid >> session;
  EXPECT_EQ(pid, session);
}

TEST(ChildProcess, dies_with_its_parent) {
  // A middle process spawns a child that holds the write end of a pipe and dies; the pipe ends when the child is gone.
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  UniqueFd in(fds[0]), out(fds[1]);
  const pid_t middle = ::fork();
  if (middle == 0) {
    auto options = shell("echo started >&3; exec sleep 1000");
    options.descriptors = {{out.get(), 3}};
    auto child = ChildProcess::spawn(options);
    char first;
    if (!child || ::read(in.get(), &first, 1) != 1) ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  out.reset();
  int status = 0;
  ASSERT_EQ(::waitpid(middle, &status, 0), middle);
  EXPECT_TRUE(WIFSIGNALED(status));
  char chunk[64];
  ssize_t n;
  while ((n = ::read(in.get(), chunk, sizeof chunk)) > 0) {}
  EXPECT_EQ(n, 0);
}

TEST(ChildProcess, spawning_from_a_busy_process) {
  // Threads that allocate all the time: a child that touched the heap between fork and exec would hang now and then.
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] { while (!stop) { std::vector<std::string> junk(100, std::string(100, 'x')); } });
  for (int i = 0; i < 30; ++i) {
    SpawnOptions options;
    options.command = {"true"};
    auto child = ChildProcess::spawn(options);
    EXPECT_TRUE(child);
    if (child) {
      EXPECT_EQ(child->ended(true), "exit status 0");
    }
  }
  stop = true;
  for (auto& thread : threads) thread.join();
}

TEST(Process, executable_folder_holds_this_test) {
  EXPECT_EQ(::access((executable_folder() + "/unit_base").c_str(), X_OK), 0);
}

}  // namespace
}  // namespace kiln
