#include "cache/disk_store.hpp"

#include <sys/mount.h>

#include <cerrno>
#include <thread>

#include "tests/unit/cache/cache_test.hpp"

namespace kiln::cache {
namespace {

using DiskStoreTest = CacheTest;

TEST_F(DiskStoreTest, what_is_stored_is_found_by_every_store_of_the_folder) {
  auto first = open(), second = open();
  EXPECT_FALSE(has(*first, 1));
  ASSERT_TRUE(put(*first, 1, 200000));
  EXPECT_TRUE(has(*first, 1, 200000));
  EXPECT_TRUE(has(*second, 1, 200000));
  first.reset();
  EXPECT_TRUE(has(*open(), 1, 200000));
  const auto stats = second->stats();
  EXPECT_EQ(stats.entries, 1u);
  EXPECT_EQ(stats.bytes, entry_bytes(2, 200000));
  EXPECT_EQ(stats.hits, 1u);
  EXPECT_EQ(stats.path, options.folder);
  EXPECT_TRUE(stats.writable);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(DiskStoreTest, an_entry_outlives_its_file) {
  auto store = open();
  ASSERT_TRUE(put(*store, 1));
  const auto held = store->lookup(key_of(1));
  EXPECT_TRUE(store->remove(key_of(1)).value());
  EXPECT_FALSE(store->remove(key_of(1)).value());
  EXPECT_FALSE(has(*store, 1));
  EXPECT_TRUE(held->object == content_of(1, 100));
  expect_true_totals(*store);
}

TEST_F(DiskStoreTest, storing_again_replaces) {
  auto store = open();
  ASSERT_TRUE(put(*store, 1));
  ASSERT_TRUE(store->store(key_of(1), view("m1"), content_of(1, 500)));
  EXPECT_TRUE(has(*store, 1, 500));
  expect_true_totals(*store);
  EXPECT_EQ(files_in(options.folder + "/tmp"), 0u);
}

TEST_F(DiskStoreTest, damaged_files_are_misses_and_go_to_quarantine) {
  auto store = open();
  const auto size = entry_bytes(2, 100);
  // One byte of every region: magic, version, flags, key, lengths, metadata, object, checksum.
  const std::uint64_t offsets[] = {0, 20, 47, 48, 55, 56, 63, 64, 66, 120, size - 8, size - 1};
  std::uint64_t bad = 0;
  for (const auto offset : offsets) {
    ASSERT_TRUE(put(*store, 1));
    UniqueFd file(::open(file_of(1).c_str(), O_RDWR));
    char byte;
    ASSERT_EQ(::pread(file.get(), &byte, 1, off_t(offset)), 1);
    byte ^= 0x10;
    ASSERT_EQ(::pwrite(file.get(), &byte, 1, off_t(offset)), 1);
    EXPECT_FALSE(has(*store, 1)) << offset;
    EXPECT_EQ(store->stats().quarantined, ++bad);
    EXPECT_FALSE(std::filesystem::exists(file_of(1)));
  }
  for (const std::uint64_t length : {std::uint64_t(0), std::uint64_t(63), size - 1, size + 1}) {
    ASSERT_TRUE(put(*store, 1));
    std::filesystem::resize_file(file_of(1), length);
    EXPECT_FALSE(has(*store, 1)) << length;
    EXPECT_EQ(store->stats().quarantined, ++bad);
  }
  EXPECT_EQ(store->stats().entries, 0u);
  EXPECT_EQ(store->verify().checked, 0u);  // counts again: files that changed their size by hand put the bytes off
  expect_true_totals(*store);
  EXPECT_EQ(files_in(options.folder + "/quarantine"), std::min<std::uint64_t>(bad, 16));
}

TEST_F(DiskStoreTest, quarantine_keeps_the_newest_sixteen) {
  auto store = open();
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(put(*store, i));
    std::filesystem::resize_file(file_of(i), 10);
    EXPECT_FALSE(has(*store, i));
  }
  EXPECT_EQ(files_in(options.folder + "/quarantine"), 16u);
  const auto kept = [&](std::uint64_t i) {
    for (const auto& file : std::filesystem::directory_iterator(options.folder + "/quarantine"))
      if (file.path().filename().string().ends_with(key_of(i).hex())) return true;
    return false;
  };
  EXPECT_FALSE(kept(3));
  EXPECT_TRUE(kept(4));
  EXPECT_TRUE(kept(19));
}

TEST_F(DiskStoreTest, another_keys_file_is_a_defect) {
  auto store = open();
  ASSERT_TRUE(put(*store, 1));
  std::filesystem::create_directories(std::filesystem::path(file_of(2)).parent_path());
  ::chmod(std::filesystem::path(file_of(2)).parent_path().c_str(), 0700);
  std::filesystem::copy_file(file_of(1), file_of(2));
  EXPECT_FALSE(has(*store, 2));
  EXPECT_EQ(store->stats().quarantined, 1u);
  EXPECT_TRUE(has(*store, 1));
}

TEST_F(DiskStoreTest, another_versions_file_is_a_miss_that_is_left_and_replaced) {
  auto store = open();
  ASSERT_TRUE(put(*store, 1));
  UniqueFd file(::open(file_of(1).c_str(), O_RDWR));
  ASSERT_EQ(::pwrite(file.get(), "\2", 1, 8), 1);
  EXPECT_FALSE(has(*store, 1));
  EXPECT_EQ(store->stats().quarantined, 0u);
  EXPECT_TRUE(std::filesystem::exists(file_of(1)));
  ASSERT_TRUE(put(*store, 1));
  EXPECT_TRUE(has(*store, 1));
  expect_true_totals(*store);
}

TEST_F(DiskStoreTest, the_caller_may_refuse_an_entry) {
  auto store = open();
  ASSERT_TRUE(put(*store, 1));
  EXPECT_FALSE(store->lookup(key_of(1), [](const jit::StoredObject& entry) { return entry.object.empty(); }));
  EXPECT_EQ(store->stats().quarantined, 1u);
  EXPECT_FALSE(has(*store, 1));
}

TEST_F(DiskStoreTest, a_file_that_others_may_write_is_not_used) {
  auto store = open();
  ASSERT_TRUE(put(*store, 1));
  ASSERT_EQ(::chmod(file_of(1).c_str(), 0666), 0);
  EXPECT_FALSE(has(*store, 1));
}

TEST_F(DiskStoreTest, links_below_the_root_are_not_followed) {
  auto store = open();
  ASSERT_TRUE(put(*store, 1));
  std::filesystem::rename(file_of(1), base + "/elsewhere");
  std::filesystem::create_symlink(base + "/elsewhere", file_of(1));
  EXPECT_FALSE(has(*store, 1));
  std::filesystem::remove(file_of(1));
  const auto shard = std::filesystem::path(file_of(1)).parent_path();
  std::filesystem::remove(shard);
  std::filesystem::create_directory(base + "/shard");
  std::filesystem::rename(base + "/elsewhere", base + "/shard/" + key_of(1).hex());
  std::filesystem::create_directory_symlink(base + "/shard", shard);
  EXPECT_FALSE(has(*open(), 1));
  EXPECT_FALSE(put(*open(), 1));
}

TEST_F(DiskStoreTest, times_of_use_are_renewed_at_most_once_a_minute) {
  auto store = open();
  ASSERT_TRUE(put(*store, 1));
  age(1, 50);
  EXPECT_TRUE(has(*store, 1));
  EXPECT_GE(age_of(1), 50);
  age(1, 70);
  EXPECT_TRUE(has(*store, 1));
  EXPECT_LT(age_of(1), 50);
  age(1, -100000);  // a clock was wrong
  EXPECT_TRUE(has(*store, 1));
  EXPECT_GT(age_of(1), -50);
  age(1, 70);
  os::Failpoint fail("futimens", 1, EPERM);  // ignored
  EXPECT_TRUE(has(*store, 1));
}

TEST_F(DiskStoreTest, list_is_newest_first) {
  auto store = open();
  for (std::uint64_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(put(*store, i, 10 * i));
    age(i, std::int64_t(1000 + 100 * (i * 3 % 5)));
  }
  std::ofstream(options.folder + "/entries/readme") << "no entry";
  const auto list = store->list();
  ASSERT_EQ(list.size(), 5u);
  const std::uint64_t order[] = {0, 2, 4, 1, 3};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(list[i].key, key_of(order[i])) << i;
    EXPECT_EQ(list[i].bytes, entry_bytes(2, 10 * order[i]));
    EXPECT_NEAR(double(list[i].used_unix_s), double(::time(nullptr) - 1000 - 100 * std::int64_t(i)), 100.0);
  }
}

TEST_F(DiskStoreTest, verify_reads_all_and_names_the_bad) {
  auto store = open();
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(put(*store, i));
  std::filesystem::resize_file(file_of(3), 30);
  UniqueFd file(::open(file_of(7).c_str(), O_RDWR));
  ASSERT_EQ(::pwrite(file.get(), "xx", 2, 80), 2);
  const auto report = store->verify();
  EXPECT_EQ(report.checked, 10u);
  EXPECT_EQ(report.bad, 2u);
  auto problems = report.problems;
  std::vector<std::string> expected = {key_of(3).hex() + ": the entry is cut short",
                                       key_of(7).hex() + ": the checksum is wrong"};
  std::sort(problems.begin(), problems.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(problems, expected);
  EXPECT_EQ(store->verify().bad, 0u);
  EXPECT_EQ(store->stats().entries, 8u);
  EXPECT_EQ(store->stats().hits, 0u);
}

TEST_F(DiskStoreTest, notes) {
  auto store = open();
  EXPECT_FALSE(store->read_note("hip"));
  ASSERT_TRUE(store->write_note("hip", view("identity")));
  EXPECT_EQ(text(store->read_note("hip").value()), "identity");
  ASSERT_TRUE(store->write_note("hip", view("another")));
  EXPECT_EQ(text(open()->read_note("hip").value()), "another");
  for (const char* name : {"", "..", "a/b", "A", "ä"}) {
    EXPECT_EQ(store->write_note(name, {}).error().code, ErrorCode::invalid_argument) << name;
    EXPECT_FALSE(store->read_note(name));
  }
  std::filesystem::resize_file(options.folder + "/notes/hip", 70);
  EXPECT_FALSE(store->read_note("hip"));
  EXPECT_EQ(store->stats().entries, 0u);
}

TEST_F(DiskStoreTest, a_removed_folder_is_made_again) {
  auto store = open();
  ASSERT_TRUE(put(*store, 1));
  std::filesystem::remove_all(options.folder);
  EXPECT_FALSE(has(*store, 1));
  ASSERT_TRUE(put(*store, 2));
  EXPECT_TRUE(has(*store, 2));
  EXPECT_TRUE(store->stats().writable);
  std::filesystem::remove_all(options.folder);
  EXPECT_NE(store->try_lock(key_of(1)).value(), nullptr);
  EXPECT_EQ(store->stats().why_no_locks, "");
  // And when something else takes its place: uncached, and said once.
  std::filesystem::remove_all(options.folder);
  std::ofstream(options.folder) << "in the way";
  EXPECT_FALSE(put(*store, 3));
  EXPECT_FALSE(put(*store, 3));
  EXPECT_FALSE(store->stats().writable);
  EXPECT_EQ(warnings.size(), 1u);
  std::filesystem::remove(options.folder);
  EXPECT_TRUE(put(*store, 3));
  EXPECT_TRUE(store->stats().writable);
}

TEST_F(DiskStoreTest, entries_over_the_limit_are_refused) {
  options.bytes_max = 1000;
  auto store = open();
  EXPECT_EQ(put(*store, 1, 1000).error().code, ErrorCode::resource_limit);
  EXPECT_TRUE(store->stats().writable);
  EXPECT_EQ(store->stats().store_failures, 1u);
}

// ---- folders --------------------------------------------------------------------------------------------------------

TEST_F(DiskStoreTest, missing_folders_are_made_private) {
  options.folder = base + "/a/b/kiln";
  const auto old = ::umask(0);
  auto store = open();
  ASSERT_TRUE(put(*store, 1));
  ::umask(old);
  for (const auto& file : std::filesystem::recursive_directory_iterator(base + "/a")) {
    struct stat status {};
    ASSERT_EQ(::lstat(file.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 077, 0u) << file.path();
  }
}

TEST_F(DiskStoreTest, links_above_the_root_are_followed_but_not_in_folders_for_everybody) {
  std::filesystem::create_directory(base + "/real");
  std::filesystem::create_directory_symlink("real", base + "/link");
  options.folder = base + "/link/kiln";
  ASSERT_TRUE(put(*open(), 1));
  EXPECT_TRUE(std::filesystem::exists(base + "/real/kiln/entries"));
  std::filesystem::create_directory(base + "/public");
  ASSERT_EQ(::chmod((base + "/public").c_str(), 01777), 0);
  std::filesystem::create_directory_symlink(base + "/real", base + "/public/link");
  options.folder = base + "/public/link/kiln";
  const auto refused = DiskStore::open(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::permission_denied);
  EXPECT_NE(refused.error().message.find("'link' is a symbolic link"), std::string::npos) << refused.error().message;
  std::filesystem::create_directory_symlink("circle", base + "/circle");
  options.folder = base + "/circle";
  EXPECT_FALSE(DiskStore::open(options));
}

TEST_F(DiskStoreTest, folders_that_others_may_write_are_refused) {
  std::filesystem::create_directory(options.folder);
  ASSERT_EQ(::chmod(options.folder.c_str(), 0770), 0);
  EXPECT_EQ(DiskStore::open(options).error().code, ErrorCode::permission_denied);
  ASSERT_EQ(::chmod(options.folder.c_str(), 0755), 0);
  EXPECT_TRUE(DiskStore::open(options));
  ASSERT_EQ(::chmod((options.folder + "/entries").c_str(), 0777), 0);
  EXPECT_EQ(DiskStore::open(options).error().code, ErrorCode::permission_denied);
}

TEST_F(DiskStoreTest, other_users_folders) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving files away needs root";
  ASSERT_TRUE(put(*open(), 1));
  for (const auto& file : std::filesystem::recursive_directory_iterator(options.folder))
    ASSERT_EQ(::lchown(file.path().c_str(), 12345, 12345), 0);
  ASSERT_EQ(::chown(options.folder.c_str(), 12345, 12345), 0);
  EXPECT_NE(DiskStore::open(options).error().message.find("belongs to user 12345"), std::string::npos);
  options.trust_other_owner = true;
  auto store = open();
  EXPECT_TRUE(has(*store, 1));
  EXPECT_EQ(put(*store, 2).error().code, ErrorCode::permission_denied);
  EXPECT_FALSE(store->stats().writable);
  EXPECT_EQ(store->stats().entries, 1u);
}

TEST_F(DiskStoreTest, roots_folder_is_read_only_for_others) {
  if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  ASSERT_TRUE(put(*open(), 1));
  ASSERT_EQ(::chmod(base.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(options.folder.c_str(), 0755), 0);
  for (const auto& file : std::filesystem::recursive_directory_iterator(options.folder))
    ASSERT_EQ(::chmod(file.path().c_str(), file.is_directory() ? 0755 : 0644), 0);
  const int result = in_child([&] {
    if (::setresuid(12345, 12345, 12345) != 0) return 10;
    auto store = DiskStore::open(options);
    if (!store) return 11;
    if (!(*store)->lookup(key_of(1))) return 12;
    if ((*store)->store(key_of(2), {}, {})) return 13;
    if ((*store)->stats().writable || (*store)->stats().entries != 1) return 14;
    const auto lock = (*store)->try_lock(key_of(1));
    return lock && *lock && !(*store)->stats().why_no_locks.empty() ? 0 : 15;
  });
  EXPECT_EQ(result, 0);
}

// ---- without a folder -----------------------------------------------------------------------------------------------

TEST_F(DiskStoreTest, an_unusable_folder_gives_a_temporary_one) {
  std::ofstream(options.folder) << "a file";
  auto store = open_store(options);
  ASSERT_TRUE(put(*store, 1));
  EXPECT_TRUE(has(*store, 1));
  const auto stats = store->stats();
  EXPECT_FALSE(stats.writable);
  EXPECT_NE(stats.why_not_writable.find("is no folder"), std::string::npos) << stats.why_not_writable;
  EXPECT_TRUE(stats.path.starts_with(base + "/kiln-private-cache-")) << stats.path;
  EXPECT_EQ(warnings.size(), 1u);
  const auto path = stats.path;
  EXPECT_EQ(in_child([&] { store.reset(); return 0; }), 0);
  EXPECT_TRUE(has(*store, 1)) << "a child that drops its copy leaves the folder";
  store.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(DiskStoreTest, no_folder_at_all_gives_memory) {
  for (const auto& root : {std::string(), base + "/nowhere"}) {
    options.folder = "";
    options.temporary_root = root;
    auto store = open_store(options);
    ASSERT_TRUE(put(*store, 1));
    EXPECT_TRUE(has(*store, 1));
    EXPECT_FALSE(has(*store, 2));
    EXPECT_FALSE(store->stats().writable);
    EXPECT_EQ(store->stats().why_not_writable, "no cache folder is set");
    EXPECT_EQ(store->list().size(), 1u);
    auto lock = store->try_lock(key_of(1));
    ASSERT_TRUE(lock && *lock);
    EXPECT_EQ(store->try_lock(key_of(1)).value(), nullptr);
    EXPECT_EQ(store->lock_holder(key_of(1))->pid, ::getpid());
    lock->reset();
    EXPECT_NE(store->try_lock(key_of(1)).value(), nullptr);
    ASSERT_TRUE(store->write_note("a", view("b")));
    EXPECT_EQ(text(store->read_note("a").value()), "b");
    EXPECT_EQ(store->evict(std::nullopt, 0).value(), 1u);
    EXPECT_EQ(store->stats().bytes, 0u);
    EXPECT_EQ(store->verify().checked, 0u);
    EXPECT_FALSE(store->remove(key_of(1)).value());
  }
}

// ---- file systems that do not take anything -------------------------------------------------------------------------

class MountedTest : public CacheTest {
 protected:
  void SetUp() override {
    CacheTest::SetUp();
    std::filesystem::create_directory(base + "/disk");
    if (::mount("kiln-test", (base + "/disk").c_str(), "tmpfs", 0, "size=400k,mode=0700") != 0)
      GTEST_SKIP() << "mounting is not permitted here";
    mounted = true;
    options.folder = base + "/disk/kiln";
  }
  void TearDown() override {
    if (mounted) ::umount2((base + "/disk").c_str(), MNT_DETACH);
    CacheTest::TearDown();
  }
  bool mounted = false;
};

TEST_F(MountedTest, a_full_disk_serves_what_it_has_and_recovers) {
  auto store = open();
  std::uint64_t stored = 0;
  while (stored < 1000 && put(*store, stored, 20000)) ++stored;
  ASSERT_GT(stored, 5u);
  ASSERT_LT(stored, 30u);
  EXPECT_EQ(put(*store, stored, 20000).error().code, ErrorCode::disk_full);
  EXPECT_FALSE(put(*store, stored, 20000));
  auto stats = store->stats();
  EXPECT_FALSE(stats.writable);
  EXPECT_NE(stats.why_not_writable.find("No space left"), std::string::npos) << stats.why_not_writable;
  EXPECT_EQ(warnings.size(), 1u) << "said once";
  EXPECT_EQ(stats.store_failures, 3u);
  EXPECT_EQ(files_in(options.folder + "/tmp"), 0u);
  for (std::uint64_t i = 0; i < stored; ++i) EXPECT_TRUE(has(*store, i, 20000)) << i;
  EXPECT_TRUE(has(*open(), 0, 20000)) << "a store that starts on a full disk";
  EXPECT_EQ(store->verify().bad, 0u);
  expect_true_totals(*store);
  EXPECT_TRUE(store->remove(key_of(0)).value());
  EXPECT_TRUE(put(*store, stored, 20000));
  EXPECT_TRUE(store->stats().writable);
}

TEST_F(MountedTest, a_read_only_disk_serves_what_it_has) {
  ASSERT_TRUE(put(*open(), 1));
  const auto remount = [&](unsigned long flags) {
    return ::mount("kiln-test", (base + "/disk").c_str(), "tmpfs", MS_REMOUNT | flags, "");
  };
  ASSERT_EQ(remount(MS_RDONLY), 0);
  auto store = open_store(options);
  EXPECT_TRUE(has(*store, 1));
  EXPECT_EQ(put(*store, 2).error().code, ErrorCode::permission_denied);
  EXPECT_FALSE(has(*store, 2));
  const auto stats = store->stats();
  EXPECT_FALSE(stats.writable);
  EXPECT_NE(stats.why_not_writable.find("Read-only file system"), std::string::npos) << stats.why_not_writable;
  EXPECT_EQ(stats.entries, 1u);
  EXPECT_TRUE(store->try_lock(key_of(2)).value());
  EXPECT_EQ(store->verify().bad, 0u);
  EXPECT_FALSE(store->evict(0, 0));
  EXPECT_FALSE(store->write_note("a", {}));
  ASSERT_EQ(remount(0), 0);
}

TEST_F(MountedTest, a_disk_that_becomes_read_only_while_in_use) {
  auto store = open();
  ASSERT_TRUE(put(*store, 1));
  ASSERT_EQ(::mount("kiln-test", (base + "/disk").c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, ""), 0);
  EXPECT_FALSE(put(*store, 2));
  EXPECT_TRUE(has(*store, 1));
  EXPECT_FALSE(store->stats().writable);
}

}  // namespace
}  // namespace kiln::cache
