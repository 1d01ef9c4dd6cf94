// The model of the card's L2: hits and misses worked out by hand, and one result whatever the order in which work
// groups end and the number of host threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>

#include "engine/emulator/machine/cache_model.hpp"
#include "tests/unit/emulator/launching.hpp"

namespace kiln::emulator {
namespace {

using Lines = std::vector<std::uint64_t>;

std::uint64_t misses_of(Cache& cache, std::uint64_t first, std::uint64_t count, std::uint64_t step = 1) {
  std::uint64_t misses = 0;
  for (std::uint64_t i = 0; i < count; ++i) misses += !cache.touch(first + i * step);
  return misses;
}

TEST(CacheModel, ShapesOfTheCards) {
  for (const auto& [name, sets, caches] : {std::tuple("gfx90a", 4096u, 1u), std::tuple("gfx942", 2048u, 8u),
                                           std::tuple("gfx950", 2048u, 8u), std::tuple("gfx1100", 3072u, 1u)}) {
    const auto card = parse_card(name);
    ASSERT_TRUE(card);
    const auto shape = CacheShape::of(static_cast<std::uint64_t>(card->l2_bytes), card->xccs);
    EXPECT_EQ(shape.sets, sets) << name;
    EXPECT_EQ(shape.caches, caches) << name;
    EXPECT_EQ(shape.ways, 16u);
    EXPECT_NE(describe(shape).find(caches == 1 ? "model" : "8 XCDs with 4 MiB"), std::string::npos) << describe(shape);
  }
}

TEST(CacheModel, StreamsMissAndTilesThatFitHit) {
  Cache cache(64, 16);                                 // 1024 lines
  EXPECT_EQ(misses_of(cache, 0, 1024), 1024u);         // the first time
  EXPECT_EQ(misses_of(cache, 0, 1024), 0u);            // all of it fits
  EXPECT_EQ(misses_of(cache, 5000, 1025), 1025u);      // a stream throws it out
  EXPECT_EQ(misses_of(cache, 0, 1024), 1024u);
}

TEST(CacheModel, OneLineTooManyInASetMissesAlways) {
  Cache cache(64, 16);
  EXPECT_EQ(misses_of(cache, 7, 16, 64), 16u);         // all of set 7
  for (int i = 0; i < 3; ++i) EXPECT_EQ(misses_of(cache, 7, 16, 64), 0u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(misses_of(cache, 7, 17, 64), i == 0 ? 1u : 17u);
}

TEST(CacheModel, TheLeastRecentlyUsedGoes) {
  Cache cache(1, 4);
  for (const std::uint64_t line : {1, 2, 3, 4}) EXPECT_FALSE(cache.touch(line));
  EXPECT_TRUE(cache.touch(1));                         // 2 is the oldest now
  EXPECT_FALSE(cache.touch(5));
  EXPECT_TRUE(cache.touch(1));
  EXPECT_TRUE(cache.touch(3));
  EXPECT_FALSE(cache.touch(2));
}

// Appends as the core does.
void record(LineLog& log, const Lines& lines) {
  for (const std::uint64_t line : lines) {
    if (log.capacity - log.count < lanes * 2 && !log.make_room(log)) return;
    log.lines[log.count++] = line;
  }
}
Lines stream(std::uint64_t first, std::uint64_t count) {
  Lines lines(count);
  for (std::uint64_t i = 0; i < count; ++i) lines[i] = first + i;
  return lines;
}

CacheModel::Counts counts_of(std::uint64_t address, const std::vector<std::size_t>& ends) {
  CacheShape shape{2, 4, 2};   // two caches of 8 lines
  CacheModel model(shape, {{address, address + 65536, true}, {address + 131072, address + 139264, true}},
                   {address + 131072, address + 139264, true});
  const std::uint64_t line = address / line_bytes;
  const std::vector<Lines> touched = {stream(line, 8), stream(line, 8), stream(line, 4), stream(line + 8, 8)};
  std::vector<LineLog*> logs;
  for (std::size_t turn = 0; turn < touched.size(); ++turn) logs.push_back(model.begin(turn));
  for (const std::size_t turn : ends) {
    record(*logs[turn], touched[turn]);
    record(*logs[turn], {(address + 131072) / line_bytes, (address + (1 << 20)) / line_bytes});  // private; nobody's
    model.finish(turn);
  }
  return model.counts();
}

TEST(CacheModel, GroupsAreDealtInTurnWhateverEndsFirst) {
  // Cache 0: 8 misses of group 0, 4 hits of group 2. Cache 1: 8 misses of group 1, 8 of group 3.
  std::vector<std::size_t> ends = {0, 1, 2, 3};
  do {
    for (const std::uint64_t address : {std::uint64_t(1) << 20, (std::uint64_t(1) << 40) + 4096 * 77}) {
      const auto counts = counts_of(address, ends);
      EXPECT_EQ(counts.hits, 4u);
      EXPECT_EQ(counts.misses, 24u);
    }
  } while (std::next_permutation(ends.begin(), ends.end()));
}

TEST(CacheModel, ALongGroupNeedsNoMemory) {
  constexpr std::uint64_t rounds = 40, lines = 8192;
  CacheModel model({16, 2048, 1}, {{1 << 20, (1 << 20) + lines * line_bytes, true}}, {});
  LineLog* const log = model.begin(0);
  for (std::uint64_t i = 0; i < rounds; ++i) record(*log, stream((1 << 20) / line_bytes, lines));
  EXPECT_LE(log->capacity, 4096u);
  model.finish(0);
  const auto counts = model.counts();
  EXPECT_EQ(counts.misses, lines);
  EXPECT_EQ(counts.hits, lines * (rounds - 1));
  EXPECT_FALSE(model.gave_up());
}

TEST(CacheModel, FromManyThreads) {
  constexpr std::uint64_t groups = 512, lines = 700;
  const auto run = [&](int threads) {
    CacheModel model({16, 64, 8}, {{1 << 20, 1 << 28, true}}, {});
    std::atomic<std::uint64_t> next{0};
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; ++t)
      pool.emplace_back([&] {
        for (std::uint64_t turn; (turn = next++) < groups;) {
          LineLog* const log = model.begin(turn);
          record(*log, stream((1 << 20) / line_bytes + turn * 37 % 1000, lines));
          model.finish(turn);
        }
      });
    for (auto& thread : pool) thread.join();
    return model.counts();
  };
  const auto one = run(1);
  EXPECT_EQ(one.hits + one.misses, groups * lines);
  EXPECT_GT(one.hits, 0u);
  for (int i = 0; i < 3; ++i) {
    const auto many = run(4);
    EXPECT_EQ(many.hits, one.hits);
    EXPECT_EQ(many.misses, one.misses);
  }
}

class CachedLaunch : public LaunchingObject {
  std::string stem() const override { return "launch"; }

 protected:
  std::map<std::string, std::uint64_t> profiled(const std::string& name, Geometry geometry, std::uint32_t* out,
                                                std::uint32_t* in, std::uint32_t n) {
    options_.profile = true;
    const auto result = name == "reverse" ? run(name, geometry, out) : run(name, geometry, out, in, 3u, n);
    std::map<std::string, std::uint64_t> counters;
    if (!result.profile) return counters;
    for (const auto& counter : result.profile->counters) counters[counter.name] = counter.value;
    for (const auto& modelled : result.profile->modelled) EXPECT_TRUE(counters.contains(modelled)) << modelled;
    EXPECT_FALSE(result.profile->modelled.empty());
    EXPECT_TRUE(result.profile->cache && result.profile->cache->complete);
    EXPECT_NE(to_json(*result.profile).find("\"modelled\":["), std::string::npos);
    return counters;
  }
};
INSTANTIATE_TEST_SUITE_P(Cards, CachedLaunch, testing::Values("gfx90a", "gfx942", "gfx950", "gfx1100"));

TEST_P(CachedLaunch, WhatIsReadIsThereWhenItIsWritten) {
  auto* data = allocate(512);
  auto counters = profiled("reverse", {{2, 1, 1}, {256, 1, 1}}, data, nullptr, 0);
  // 2048 bytes are 16 lines, read and written back by the same work group; beside them the waves' scalar loads.
  const std::uint64_t scalar = counters["TCC_REQ"] - 32;
  EXPECT_EQ(counters["TCC_REQ"], counters["TCC_HIT"] + counters["TCC_MISS"]);
  EXPECT_GE(scalar, counters["SQ_INSTS_SMEM"]);
  EXPECT_LE(scalar, 2 * counters["SQ_INSTS_SMEM"]);
  EXPECT_GE(counters["TCC_MISS"], 16u);
  EXPECT_LE(counters["TCC_MISS"], 16u + 2 * 2);    // the arguments' line or two, once an XCD
  EXPECT_GE(counters["TCC_HIT"], 16u);
  EXPECT_EQ(counters["TCC_HIT_sum"], counters["TCC_HIT"]);
  EXPECT_EQ(counters.contains("GL2C_HIT"), card_.family == Family::gfx11);
}

TEST_P(CachedLaunch, TheNumberOfHostThreadsDoesNotMatter) {
  constexpr std::uint32_t n = 64 * 1024;
  std::map<std::string, std::uint64_t> first;
  for (int i = 0; i < 4; ++i) {
    options_.order = i == 0 ? Options::Order::serial : Options::Order::parallel;
    auto *in = allocate(n), *out = allocate(n);
    const auto counters = profiled("scale_add", {{n / 256, 1, 1}, {256, 1, 1}}, out, in, n);
    if (i == 0) first = counters;
    EXPECT_EQ(counters, first);
  }
  EXPECT_GE(first["TCC_MISS"], 2 * n * 4 / line_bytes);
}

TEST_P(CachedLaunch, IsOffWithoutAProfile) {
  auto* data = allocate(512);
  EXPECT_EQ(run("reverse", {{2, 1, 1}, {256, 1, 1}}, data).profile, nullptr);
}

}  // namespace
}  // namespace kiln::emulator
