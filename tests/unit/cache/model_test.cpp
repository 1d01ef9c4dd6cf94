// Random operations on two stores of one folder against a map; and many threads and processes at once.
#include <map>
#include <thread>

#include "tests/unit/cache/cache_test.hpp"

namespace kiln::cache {
namespace {

using ModelTest = CacheTest;

TEST_F(ModelTest, random_operations_on_two_stores) {
  const std::uint64_t seed = 20240611;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::shared_ptr<DiskStore> stores[2] = {open(), open()};
  struct Value { Bytes metadata, object; };
  std::map<std::uint64_t, Value> model;
  std::uint64_t quarantined = 0;
  constexpr std::uint64_t keys = 40;
  for (int step = 0; step < 3000; ++step) {
    auto& store = *stores[random() % 2];
    const auto number = random() % keys;
    const auto key = key_of(number);
    switch (random() % 12) {
      case 0: case 1: case 2: {
        const Value value{content_of(random(), random() % 50), content_of(random(), random() % 5000)};
        ASSERT_TRUE(store.store(key, value.metadata, value.object)) << step;
        model[number] = value;
        break;
      }
      case 3: ASSERT_EQ(store.remove(key).value(), model.erase(number) > 0) << step; break;
      case 4: {  // damage
        if (!model.count(number)) break;
        UniqueFd file(::open(file_of(number).c_str(), O_RDWR));
        const auto size = std::filesystem::file_size(file_of(number));
        const auto at = off_t(16 + random() % (size - 16));  // after the version
        char byte;
        ASSERT_EQ(::pread(file.get(), &byte, 1, at), 1);
        byte ^= char(1 + random() % 255);
        ASSERT_EQ(::pwrite(file.get(), &byte, 1, at), 1);
        ASSERT_EQ(store.lookup(key), nullptr) << step;
        model.erase(number);
        ++quarantined;
        break;
      }
      case 5: {  // eviction by count: the oldest times go; all are equal or ordered by the store's calls
        if (random() % 10) break;
        const auto limit = random() % keys;
        const auto removed = store.evict(std::nullopt, limit).value();
        ASSERT_EQ(removed, model.size() > limit ? model.size() - limit : 0) << step;
        std::erase_if(model, [&](const auto& item) { return !std::filesystem::exists(file_of(item.first)); });
        ASSERT_LE(model.size(), limit);
        break;
      }
      case 6: ASSERT_EQ(store.list().size(), model.size()) << step; break;
      case 7: {
        std::uint64_t bytes = 0;
        for (const auto& [n, value] : model) bytes += entry_bytes(value.metadata.size(), value.object.size());
        const auto stats = store.stats();
        ASSERT_EQ(stats.entries, model.size()) << step;
        ASSERT_EQ(stats.bytes, bytes) << step;
        break;
      }
      case 8: if (random() % 10 == 0) stores[random() % 2] = open(); break;
      default: {
        const auto found = store.lookup(key);
        const auto expected = model.find(number);
        ASSERT_EQ(found != nullptr, expected != model.end()) << step;
        if (!found) break;
        ASSERT_TRUE(found->metadata == expected->second.metadata && found->object == expected->second.object) << step;
      }
    }
  }
  EXPECT_GT(quarantined, 10u);
  EXPECT_EQ(stores[0]->verify().bad, 0u);
  EXPECT_LE(files_in(options.folder + "/quarantine"), 16u);
}

TEST_F(ModelTest, threads_and_processes_at_once_see_whole_entries_only) {
  options.entries_max = 30;
  const auto work = [this](std::uint64_t seed) {
    auto store = DiskStore::open(options);
    if (!store) return 1;
    int wrong = 0;
    std::vector<std::thread> threads;
    std::atomic<int> bad{0};
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&, t] {
        std::mt19937_64 random(seed * 10 + std::uint64_t(t));
        for (int i = 0; i < 100; ++i) {
          const auto number = random() % 40;
          const std::size_t size = 500 + number;
          if (random() % 3 == 0) {
            if (!(*store)->store(key_of(number), view("m"), content_of(number, size))) ++bad;
          } else if (random() % 20 == 0) {
            (void)(*store)->remove(key_of(number));
          } else if (const auto found = (*store)->lookup(key_of(number))) {
            if (found->object != content_of(number, size)) ++bad;
          }
        }
      });
    for (auto& thread : threads) thread.join();
    wrong = bad + int((*store)->stats().quarantined);
    return wrong == 0 ? 0 : 2;
  };
  std::vector<pid_t> children;
  for (std::uint64_t c = 1; c <= 3; ++c) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(work(c));
    children.push_back(pid);
  }
  for (const auto pid : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  auto store = open();
  EXPECT_EQ(store->verify().bad, 0u);
  expect_true_totals(*store);
  EXPECT_EQ(files_in(options.folder + "/tmp"), 0u);
}

}  // namespace
}  // namespace kiln::cache
