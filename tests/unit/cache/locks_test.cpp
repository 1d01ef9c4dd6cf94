#include "cache/locks.hpp"

#include <signal.h>

#include <cerrno>
#include <thread>

#include "tests/unit/cache/cache_test.hpp"

namespace kiln::cache {
namespace {

class LocksTest : public CacheTest {
 protected:
  // A child that runs `body`, tells over a pipe that it is ready, and waits to be told to go.
  struct Child {
    pid_t pid = -1;
    UniqueFd ready, go;
    bool wait_ready() { char c; return ::read(ready.get(), &c, 1) == 1; }
    int end() {
      go.reset();
      int status = 0;
      ::waitpid(pid, &status, 0);
      return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }
  };
  Child start(const std::function<int(std::function<void()> ready, int go)>& body) {
    int ready[2], go[2];
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(go, O_CLOEXEC), 0);
    Child child;
    child.pid = ::fork();
    if (child.pid == 0) {
      ::close(ready[0]);
      ::close(go[1]);
      ::_exit(body([&] { (void)!::write(ready[1], "r", 1); ::close(ready[1]); }, go[0]));
    }
    ::close(ready[1]);
    ::close(go[0]);
    child.ready.reset(ready[0]);
    child.go.reset(go[1]);
    return child;
  }
  static void wait(int go) { char c; (void)!::read(go, &c, 1); }
  // A child that holds the lock of key 1 until it is told to go.
  Child holder() {
    return start([this](auto ready, int go) {
      auto store = DiskStore::open(options);
      auto lock = (*store)->try_lock(key_of(1));
      if (!lock || !*lock) return 1;
      ready();
      wait(go);
      return 0;
    });
  }
};

TEST_F(LocksTest, one_holder_a_key) {
  auto first = open(), second = open();
  auto lock = first->try_lock(key_of(1));
  ASSERT_TRUE(lock && *lock);
  EXPECT_EQ(first->try_lock(key_of(1)).value(), nullptr);
  EXPECT_EQ(second->try_lock(key_of(1)).value(), nullptr);
  EXPECT_NE(second->try_lock(key_of(2)).value(), nullptr);
  EXPECT_EQ(first->stats().why_no_locks, "");
  lock->reset();
  EXPECT_NE(second->try_lock(key_of(1)).value(), nullptr);
}

TEST_F(LocksTest, a_lock_may_outlive_its_store) {
  auto store = open();
  auto lock = store->try_lock(key_of(1));
  store.reset();
  EXPECT_EQ(open()->try_lock(key_of(1)).value(), nullptr);
  lock->reset();
  EXPECT_NE(open()->try_lock(key_of(1)).value(), nullptr);
}

TEST_F(LocksTest, other_processes_are_kept_out_and_named) {
  auto store = open();
  EXPECT_FALSE(store->lock_holder(key_of(1)));
  auto child = holder();
  ASSERT_TRUE(child.wait_ready());
  EXPECT_EQ(store->try_lock(key_of(1)).value(), nullptr);
  const auto who = store->lock_holder(key_of(1));
  ASSERT_TRUE(who);
  EXPECT_EQ(who->pid, child.pid);
  EXPECT_GE(who->age_ms, 0);
  EXPECT_EQ(who->key_hex, key_of(1).hex());
  EXPECT_EQ(child.end(), 0);
  EXPECT_FALSE(store->lock_holder(key_of(1)));
  EXPECT_NE(store->try_lock(key_of(1)).value(), nullptr);
}

TEST_F(LocksTest, a_killed_holder_frees_it) {
  auto store = open();
  auto child = holder();
  ASSERT_TRUE(child.wait_ready());
  ::kill(child.pid, SIGKILL);
  EXPECT_EQ(child.end(), 1000 + SIGKILL);
  EXPECT_FALSE(store->lock_holder(key_of(1)));
  EXPECT_NE(store->try_lock(key_of(1)).value(), nullptr);
}

TEST_F(LocksTest, a_forked_child_does_not_keep_its_parents_lock) {
  auto store = open();
  auto lock = store->try_lock(key_of(1));
  ASSERT_TRUE(lock && *lock);
  auto child = start([&](auto ready, int go) {
    if ((*store).try_lock(key_of(1)).value() != nullptr) return 1;  // still the parent's
    lock->reset();                                                  // the child's copy owns nothing
    if ((*store).try_lock(key_of(1)).value() != nullptr) return 2;
    ready();
    wait(go);
    return 0;
  });
  ASSERT_TRUE(child.wait_ready());
  EXPECT_EQ(store->try_lock(key_of(1)).value(), nullptr) << "the child's copy freed it";
  lock->reset();
  EXPECT_NE(store->try_lock(key_of(1)).value(), nullptr) << "the living child keeps it";
  EXPECT_EQ(child.end(), 0);
}

TEST_F(LocksTest, a_grandchild_does_not_keep_a_dead_holders_lock) {
  int report[2];
  ASSERT_EQ(::pipe2(report, O_CLOEXEC), 0);
  auto middle = start([&](auto ready, int go) {
    auto store = DiskStore::open(options);
    auto lock = (*store)->try_lock(key_of(1));
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      const pid_t self = ::getpid();
      (void)!::write(report[1], &self, sizeof self);
      ready();   // it has run: its copies are closed
      wait(go);  // and lives on after its parent
      ::_exit(0);
    }
    ::pause();
    return 0;
  });
  ASSERT_TRUE(middle.wait_ready());
  pid_t grandchild = 0;
  ASSERT_EQ(::read(report[0], &grandchild, sizeof grandchild), ssize_t(sizeof grandchild));
  ::kill(middle.pid, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(middle.pid, &status, 0), middle.pid);
  EXPECT_EQ(::kill(grandchild, 0), 0) << "it lives";
  EXPECT_NE(open()->try_lock(key_of(1)).value(), nullptr);
  middle.go.reset();  // and ends
  ::close(report[0]);
  ::close(report[1]);
}

TEST_F(LocksTest, many_processes_one_holder_at_a_time) {
  // Each child takes the lock 20 times and appends one byte twice while it holds it: never mixed with another's.
  ASSERT_NE(open(), nullptr);
  const auto log = base + "/log";
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      auto store = DiskStore::open(options);
      UniqueFd file(::open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600));
      const char letter = char('a' + c);
      for (int done = 0; done < 20;) {
        auto lock = (*store)->try_lock(key_of(1));
        if (!lock) ::_exit(1);
        if (!*lock) { ::sched_yield(); continue; }
        for (int i = 0; i < 2; ++i) { if (::write(file.get(), &letter, 1) != 1) ::_exit(2); ::sched_yield(); }
        ++done;
      }
      ::_exit(0);
    }
    children.push_back(pid);
  }
  for (const auto pid : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  const auto bytes = read_file(log);
  ASSERT_TRUE(bytes);
  ASSERT_EQ(bytes->size(), 160u);
  for (std::size_t i = 0; i < bytes->size(); i += 2) EXPECT_EQ((*bytes)[i], (*bytes)[i + 1]) << i;
}

TEST_F(LocksTest, a_file_system_without_locks_lets_everybody_compile_and_says_so) {
  auto store = open();
  {
    os::Failpoint fail("set_ofd_lock", 1, ENOLCK, true);
    auto one = store->try_lock(key_of(1)), two = store->try_lock(key_of(1));
    EXPECT_TRUE(one && *one && two && *two);
    EXPECT_NE(store->stats().why_no_locks.find("has no locks"), std::string::npos);
    ASSERT_TRUE(put(*store, 1)) << "storing needs no locks";
    EXPECT_TRUE(store->evict(0, 0)) << "nor does evicting";
  }
  EXPECT_EQ(warnings.size(), 1u);
  EXPECT_NE(store->try_lock(key_of(1)).value(), nullptr);
  EXPECT_EQ(store->stats().why_no_locks, "");
}

TEST_F(LocksTest, offsets_stay_in_the_file_and_above_the_reserved_bytes) {
  jit::Key low{}, high{};
  high.digest.fill(255);
  EXPECT_EQ(lock_offset(low), key_lock_offset_min);
  EXPECT_GT(std::int64_t(lock_offset(high)), 0);
  EXPECT_LT(lock_offset(high), std::uint64_t(1) << 63);
}

TEST_F(LocksTest, a_damaged_record_names_nobody) {
  auto store = open();
  auto lock = store->try_lock(key_of(1));
  UniqueFd file(::open((options.folder + "/holders").c_str(), O_RDWR));
  const auto size = std::filesystem::file_size(options.folder + "/holders");
  const Bytes garbage = content_of(1, size);
  ASSERT_EQ(::pwrite(file.get(), garbage.data(), size, 0), ssize_t(size));
  const auto who = store->lock_holder(key_of(1));
  ASSERT_TRUE(who) << "it is held all the same";
  EXPECT_EQ(who->pid, 0);
}

}  // namespace
}  // namespace kiln::cache
