// Every system call that the store makes fails once, is cut short once, or is its process's last.
#include <signal.h>
#include <sys/file.h>

#include <cerrno>

#include "tests/unit/cache/cache_test.hpp"

namespace kiln::cache {
namespace {

using FaultTest = CacheTest;

TEST_F(FaultTest, a_store_with_a_failing_call_fails_or_succeeds_and_nothing_else_suffers) {
  auto store = open();
  ASSERT_TRUE(put(*store, 1, 3000));
  for (const int error_number : {EIO, ENOSPC, EMFILE, ENOENT}) {
    std::uint64_t failures = 0;
    for (std::uint64_t n = 1;; ++n) {
      ASSERT_TRUE(os::arm_failpoint("any", n, error_number));
      const auto status = put(*store, 2, 3000);
      const auto calls = os::counted_calls("any");
      os::disarm_failpoints();
      if (!status) {
        ++failures;
        EXPECT_FALSE(store->stats().writable);
        EXPECT_FALSE(store->stats().why_not_writable.empty());
      }
      EXPECT_TRUE(has(*store, 1, 3000)) << n;
      EXPECT_EQ(has(*store, 2, 3000), status.has_value()) << n;
      EXPECT_TRUE(store->remove(key_of(2)));
      if (calls < n) break;
      ASSERT_LT(n, 200u);
    }
    EXPECT_GT(failures, 3u);
    EXPECT_EQ(store->stats().quarantined, 0u);
    EXPECT_TRUE(put(*store, 3, 10));
    EXPECT_TRUE(store->stats().writable);
    (void)store->remove(key_of(3));
  }
  EXPECT_EQ(store->verify().bad, 0u);
  expect_true_totals(*store);
}

TEST_F(FaultTest, named_calls) {
  auto store = open();
  ASSERT_TRUE(put(*store, 1));
  for (const char* call : {"write", "fsync", "renameat"}) {
    for (const int error_number : {EIO, ENOSPC, EDQUOT, EROFS}) {
      {
        os::Failpoint fail(call, 1, error_number);
        const auto status = put(*store, 2);
        ASSERT_FALSE(status) << call;
        EXPECT_EQ(status.error().code, errno_error(error_number, "").code);
      }
      EXPECT_TRUE(has(*store, 1));
      EXPECT_FALSE(has(*store, 2));
      EXPECT_EQ(files_in(options.folder + "/tmp"), 0u) << "after " << call;
      expect_true_totals(*store);
    }
  }
  os::Failpoint fail("write", 1, 0, false, os::FailAction::cut_short);
  EXPECT_TRUE(put(*store, 2)) << "a short write is continued";
  EXPECT_TRUE(has(*store, 2));
}

TEST_F(FaultTest, a_lookup_with_a_failing_call_is_a_hit_or_a_miss_and_loses_nothing) {
  auto store = open();
  ASSERT_TRUE(put(*store, 1, 3000));
  for (std::uint64_t n = 1;; ++n) {
    age(1, 100);
    ASSERT_TRUE(os::arm_failpoint("any", n, EIO));
    (void)has(*store, 1, 3000);  // a wrong content would be a failure
    const auto calls = os::counted_calls("any");
    os::disarm_failpoints();
    EXPECT_TRUE(has(*store, 1, 3000)) << n;
    if (calls < n) break;
    ASSERT_LT(n, 50u);
  }
  EXPECT_EQ(store->stats().quarantined, 0u);
}

TEST_F(FaultTest, a_hit_takes_no_lock_and_removes_nothing) {
  ASSERT_TRUE(put(*open(), 1, 3000));
  auto store = open();
  ASSERT_TRUE(os::arm_failpoint("any", 0, 0));  // counts
  EXPECT_TRUE(has(*store, 1, 3000));
  for (const char* call : {"flock", "set_ofd_lock", "unlinkat", "renameat", "mmap", "write", "pwrite", "fsync"})
    EXPECT_EQ(os::counted_calls(call), 0U) << call;
  EXPECT_GT(os::counted_calls("openat"), 0U);
}

TEST_F(FaultTest, opening_with_a_failing_call_is_an_error_or_a_store) {
  ASSERT_TRUE(put(*open(), 1));
  for (const bool fresh : {false, true})
    for (std::uint64_t n = 1;; ++n) {
      if (fresh) options.folder = base + "/fresh" + std::to_string(n);
      ASSERT_TRUE(os::arm_failpoint("any", n, EIO));
      auto store = open_store(options);  // never null
      const auto calls = os::counted_calls("any");
      os::disarm_failpoints();
      ASSERT_NE(store, nullptr);
      const auto stats = store->stats();
      EXPECT_EQ(stats.writable, stats.why_not_writable.empty());
      const auto stored = put(*store, 2);
      EXPECT_EQ(has(*store, 2), stored.has_value());
      if (stored) {
        EXPECT_TRUE(store->remove(key_of(2)));
      }
      if (calls < n) break;
      ASSERT_LT(n, 500u);
    }
}

TEST_F(FaultTest, every_other_method_survives_every_failing_call) {
  auto store = open();
  for (std::uint64_t n = 1; n < 60; ++n) {
    for (int i = 0; i < 6; ++i) {
      os::disarm_failpoints();
      ASSERT_TRUE(put(*store, 1));
      ASSERT_TRUE(os::arm_failpoint("any", n, EIO));
      switch (i) {
        case 0: (void)store->stats(); break;
        case 1: (void)store->list(); break;
        case 2: (void)store->verify(); break;
        case 3: (void)store->evict(0, 0); break;
        case 4: { auto lock = store->try_lock(key_of(1)); (void)store->lock_holder(key_of(1)); break; }
        case 5: (void)store->write_note("n", view("x")); (void)store->read_note("n"); break;
      }
    }
  }
  os::disarm_failpoints();
  EXPECT_EQ(store->stats().quarantined, 0u);
  EXPECT_EQ(store->verify().bad, 0u);
  expect_true_totals(*store);
}

TEST_F(FaultTest, a_writer_killed_at_any_call_leaves_no_bad_entry_and_right_totals) {
  auto store = open();
  ASSERT_TRUE(put(*store, 1, 3000));
  std::uint64_t killed = 0;
  for (std::uint64_t n = 1;; ++n) {
    const int result = in_child([&] {
      auto own = DiskStore::open(options);
      if (!own || !os::arm_failpoint("any", n, 0, false, os::FailAction::kill)) return 1;
      return put(**own, 2, 3000) ? 0 : 2;
    });
    if (result == 0) break;
    ASSERT_EQ(result, 1000 + SIGKILL) << n;
    ++killed;
    auto next = open();  // removes left-overs
    EXPECT_EQ(files_in(options.folder + "/tmp"), 0u) << n;
    expect_true_totals(*next);
    EXPECT_EQ(next->verify().bad, 0u) << n;
    EXPECT_TRUE(has(*next, 1, 3000)) << n;
    (void)has(*next, 2, 3000);  // whole or not there
    (void)next->remove(key_of(2));
    ASSERT_LT(n, 200u);
  }
  EXPECT_GT(killed, 8u);
}

TEST_F(FaultTest, a_living_writers_file_is_no_left_over) {
  auto store = open();
  int ready[2], go[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC) | ::pipe2(go, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // As a writer does: a new file in tmp, locked.
    UniqueFd file(::open((options.folder + "/tmp/writing").c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600));
    if (os::flock(file.get(), LOCK_EX | LOCK_NB) != 0) ::_exit(1);
    (void)!::write(ready[1], "r", 1);
    ::close(go[1]);
    char c;
    (void)!::read(go[0], &c, 1);
    ::_exit(0);
  }
  ::close(go[0]);
  char c;
  ASSERT_EQ(::read(ready[0], &c, 1), 1);
  ASSERT_NE(open(), nullptr);
  EXPECT_TRUE(std::filesystem::exists(options.folder + "/tmp/writing"));
  ::close(go[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_NE(open(), nullptr);
  EXPECT_FALSE(std::filesystem::exists(options.folder + "/tmp/writing"));
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace kiln::cache
