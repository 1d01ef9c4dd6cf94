#include <algorithm>

#include "cache/eviction.hpp"
#include "cache/locks.hpp"
#include "tests/unit/cache/cache_test.hpp"

namespace kiln::cache {
namespace {

using EvictionTest = CacheTest;

TEST_F(EvictionTest, least_recently_used_go_first_by_count) {
  auto store = open();
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(put(*store, i));
    age(i, std::int64_t(1000 + i));
  }
  EXPECT_TRUE(has(*store, 9));  // the oldest is used
  EXPECT_EQ(store->evict(std::nullopt, 4).value(), 6u);
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(std::filesystem::exists(file_of(i)), i < 3 || i == 9) << i;
  EXPECT_EQ(store->stats().evictions, 6u);
  expect_true_totals(*store);
}

TEST_F(EvictionTest, and_by_bytes) {
  auto store = open();
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(put(*store, i, 1000));
    age(i, std::int64_t(1000 - i));
  }
  EXPECT_EQ(store->evict(3 * entry_bytes(2, 1000) + 5, std::nullopt).value(), 7u);
  EXPECT_TRUE(has(*store, 7, 1000) && has(*store, 8, 1000) && has(*store, 9, 1000));
  EXPECT_EQ(store->evict(0, 0).value(), 3u) << "by command also what was just used";
  EXPECT_EQ(store->stats().entries, 0u);
}

TEST_F(EvictionTest, a_store_over_the_limits_evicts_down_to_nine_tenths) {
  options.entries_max = 20;
  auto store = open();
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(put(*store, i));
    age(i, std::int64_t(1000 - i));
  }
  EXPECT_EQ(store->stats().evictions, 0u);
  ASSERT_TRUE(put(*store, 20));
  EXPECT_EQ(store->stats().entries, 18u);
  for (std::uint64_t i = 0; i < 21; ++i) EXPECT_EQ(has(*store, i), i >= 3) << i;
}

TEST_F(EvictionTest, by_bytes_too) {
  options.bytes_max = 10 * entry_bytes(2, 1000);
  auto store = open();
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(put(*store, i, 1000));
    age(i, std::int64_t(1000 - i));
  }
  EXPECT_EQ(store->stats().evictions, 0u);
  ASSERT_TRUE(store->store(key_of(99), {}, {}));
  EXPECT_LE(store->stats().bytes, 9 * entry_bytes(2, 1000));
  EXPECT_FALSE(has(*store, 0, 1000));
}

TEST_F(EvictionTest, what_may_have_been_handed_out_in_the_last_minute_stays) {
  options.entries_max = 4;
  auto store = open();
  for (std::uint64_t i = 0; i < 6; ++i) ASSERT_TRUE(put(*store, i));
  EXPECT_EQ(store->stats().entries, 6u) << "all are new";
  age(0, 100);  // may have been served 40 s ago without its time being renewed
  age(1, 200);
  EXPECT_EQ(store->evict(std::nullopt, std::nullopt).value(), 1u) << "the configured limits spare recent ones";
  EXPECT_FALSE(has(*store, 1));
  EXPECT_TRUE(has(*store, 0));
  age(2, -5000);  // of a clock that was set back: nobody's use
  EXPECT_EQ(store->evict(std::nullopt, std::nullopt).value(), 1u);
  EXPECT_FALSE(has(*store, 2));
}

TEST_F(EvictionTest, one_evictor_at_a_time) {
  auto store = open();
  ASSERT_TRUE(put(*store, 1));
  UniqueFd folder(::open(options.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  {
    auto lock = RangeLock::try_take(folder.get(), lock_file_name, eviction_lock_offset);
    ASSERT_TRUE(lock && *lock);
    const auto evicted = store->evict(0, 0);
    ASSERT_FALSE(evicted);
    EXPECT_EQ(evicted.error().code, ErrorCode::busy);
  }
  EXPECT_EQ(store->evict(0, 0).value(), 1u);
}

TEST_F(EvictionTest, stores_of_other_processes_count) {
  options.entries_max = 10;
  auto store = open();
  EXPECT_EQ(in_child([&] {
    auto own = DiskStore::open(options);
    for (std::uint64_t i = 0; i < 10; ++i)
      if (!put(**own, i)) return 1;
    return 0;
  }), 0);
  EXPECT_EQ(store->stats().entries, 10u);
  for (std::uint64_t i = 0; i < 10; ++i) age(i, 500);
  ASSERT_TRUE(put(*store, 10));
  EXPECT_EQ(store->stats().entries, 9u);
  expect_true_totals(*store);
}

TEST_F(EvictionTest, files_removed_by_hand_are_noticed_by_verify_and_eviction) {
  auto store = open();
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(put(*store, i));
  std::filesystem::remove(file_of(1));
  EXPECT_EQ(store->verify().checked, 3u);
  expect_true_totals(*store);
  std::filesystem::remove(file_of(2));
  EXPECT_TRUE(store->evict(std::nullopt, std::nullopt));
  expect_true_totals(*store);
}

TEST_F(EvictionTest, damaged_totals_are_counted_again) {
  auto store = open();
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(put(*store, i));
  expect_true_totals(*store);
  UniqueFd file(::open((options.folder + "/totals").c_str(), O_RDWR));
  ASSERT_EQ(::pwrite(file.get(), "garbage", 7, 9), 7);
  expect_true_totals(*store);
  std::filesystem::remove(options.folder + "/totals");
  ASSERT_TRUE(put(*store, 7));
  expect_true_totals(*store);
}

}  // namespace
}  // namespace kiln::cache
