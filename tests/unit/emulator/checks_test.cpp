// The checking switches on whole kernels: every planted fault gives a located report and the process lives; kernels
// that are right stay without one.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "engine/emulator/machine/global_order.hpp"
#include "tests/unit/emulator/launching.hpp"

namespace kiln::emulator {
namespace {

class Checking : public LaunchingObject {
 protected:
  std::string stem() const override { return "faults"; }
  void check(const char* list) { ASSERT_TRUE(set_option(options_, "check", list)); }

  // The report of a launch that must have one.
  template <class... Arguments> FaultReport report(const std::string& name, Geometry geometry, Arguments... arguments) {
    auto result = launch(name, geometry, arguments...);
    EXPECT_TRUE(result) << name << ": " << to_text(result.error());
    EXPECT_TRUE(result && result->fault) << name << ": no fault was found";
    return result && result->fault ? std::move(*result->fault) : FaultReport{};
  }
  // Races are found whatever the order of waves is.
  template <class... Arguments> void races(const std::string& name, Geometry geometry, Arguments... arguments) {
    for (const std::uint64_t seed : {0, 1, 2, 3}) {
      options_.seed = seed;
      const auto found = report(name, geometry, arguments...);
      EXPECT_EQ(found.fault.kind, FaultKind::global_race) << name << ", seed " << seed << ": " << found.text;
    }
    options_.seed = 0;
  }
  template <class... Arguments> void is_clean(const std::string& name, Geometry geometry, Arguments... arguments) {
    for (const std::uint64_t seed : {0, 1, 2, 3}) {
      SCOPED_TRACE(name + ", seed " + std::to_string(seed));
      options_.seed = seed;
      run(name, geometry, arguments...);
    }
    options_.seed = 0;
  }
};
INSTANTIATE_TEST_SUITE_P(Cards, Checking, testing::Values("gfx90a", "gfx942", "gfx950"));

TEST_P(Checking, BarriersOrderGlobalMemory) {
  check("global");
  auto *out = allocate(512), *between = allocate(512);
  is_clean("exchange", {{2, 1, 1}, {256, 1, 1}}, out, between);
  EXPECT_EQ(out[256], 255u * 3);
  races("exchange_racing", {{2, 1, 1}, {256, 1, 1}}, out, between);
  races("shift_racing", {{1, 1, 1}, {256, 1, 1}}, out);
}

TEST_P(Checking, NothingOrdersWorkGroups) {
  check("global");
  auto* data = allocate(1024);
  is_clean("halo_racing", {{1, 1, 1}, {256, 1, 1}}, data);   // one block: its barrier orders all
  races("halo_racing", {{2, 1, 1}, {256, 1, 1}}, data);
  races("other_value", {{3, 1, 1}, {64, 1, 1}}, data);
  is_clean("other_value", {{1, 1, 1}, {64, 1, 1}}, data);
  is_clean("same_value", {{3, 1, 1}, {64, 1, 1}}, data);
}

TEST_P(Checking, RacesAreOfBytes) {
  check("races");
  auto* data = reinterpret_cast<unsigned char*>(allocate(128));
  is_clean("bytes", {{1, 1, 1}, {256, 1, 1}}, data);
  races("bytes_racing", {{1, 1, 1}, {256, 1, 1}}, data);
}

TEST_P(Checking, ARaceOfLanesIsOneToo) {
  check("global");
  auto* data = allocate(128);
  const auto found = report("lanes_collide", {{2, 1, 1}, {64, 1, 1}}, data);
  EXPECT_EQ(found.fault.kind, FaultKind::global_race);
  EXPECT_EQ(found.fault.lane, 1);
  EXPECT_EQ(found.fault.other_lane, 0);
  EXPECT_NE(found.text.find("where another lane stores another value"), std::string::npos) << found.text;
  EXPECT_NE(found.text.find("wave 0, lane 0"), std::string::npos) << found.text;
}

TEST_P(Checking, AtomicsAreNoRaces) {
  check("global");
  auto* word = allocate(1);
  is_clean("counts", {{5, 1, 1}, {64, 1, 1}}, word);
  EXPECT_EQ(*word, 4u * 5 * 64);
  *word = 1;
  is_clean("multiplies", {{2, 1, 1}, {64, 1, 1}}, word);
  races("counts_plainly", {{5, 1, 1}, {64, 1, 1}}, word);
}

TEST_P(Checking, AtomicsOrderWhatIsAroundThem) {
  check("races");
  constexpr std::uint32_t blocks = 20;
  auto *out = allocate(256), *partial = allocate(256 * blocks), *words = allocate(64);
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    options_.seed = seed;
    words[0] = 0;
    run("last_block_sums", {{blocks, 1, 1}, {256, 1, 1}}, out, partial, words, blocks, 1u);
    EXPECT_EQ(out[3], blocks * (blocks - 1) / 2 + blocks * 252);
    words[0] = words[1] = 0;
    run("under_lock", {{blocks, 1, 1}, {64, 1, 1}}, words, words + 1, 1u);
    EXPECT_EQ(words[0], blocks);
    std::fill(words, words + 64, 0);
    run("chain", {{blocks, 1, 1}, {64, 1, 1}}, words, words + blocks, 1u);
    EXPECT_EQ(words[blocks - 1], blocks);
  }
}

// The same kernels without what orders them. The first block to count does not wait for the others: what it reads of
// them is stored later.
TEST_P(Checking, AtomicsElsewhereOrderNothing) {
  check("races");
  constexpr std::uint32_t blocks = 20;
  auto *out = allocate(256), *partial = allocate(256 * blocks), *words = allocate(64);
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    options_.seed = seed;
    words[0] = 0;
    EXPECT_EQ(report("last_block_sums", {{blocks, 1, 1}, {256, 1, 1}}, out, partial, words, blocks, 0u).fault.kind,
              FaultKind::global_race);
  }
  races("under_lock", {{blocks, 1, 1}, {64, 1, 1}}, words, words + 1, 0u);
  // Without marks on stores (gfx90a) the flag's store cannot be told from the others', but nobody reads it there.
  races("chain", {{blocks, 1, 1}, {64, 1, 1}}, words, words + blocks, 0u);
}

// One block reads what all have stored, behind as many atomics on one word: eight times the blocks are eight times the
// work, not 64 times.
TEST_P(Checking, ManyAtomicsAreSearchedOnce) {
  check("races");
  const auto steps = [&](std::uint32_t blocks) {
    auto *out = allocate(256), *partial = allocate(256 * blocks), *counter = allocate(1);
    const auto result = run("last_block_sums", {{blocks, 1, 1}, {256, 1, 1}}, out, partial, counter, blocks, 1u);
    EXPECT_EQ(*counter, blocks);
    return result.order_steps;
  };
  const std::uint64_t few = steps(100), many = steps(800);
  EXPECT_GT(few, 0u);
  EXPECT_LE(many, 12 * few);
}

// A wave that neither waits nor ends stops some hundred instructions after the request.
TEST_P(Checking, CheckedLaunchesStopWhenTheyAreCancelled) {
  for (const char* list : {"races", "none"}) {
    check(list);
    auto *counter = allocate(1), *end = allocate(1);
    const std::atomic_ref<std::uint32_t> count(*counter);
    std::uint32_t at_request = 0;
    cancelled_ = false;
    std::thread other([&] {
      while (count.load() < 64 * 100) std::this_thread::yield();
      cancelled_ = true;
      at_request = count.load();
    });
    const auto result = launch("counts_on", {{1, 1, 1}, {64, 1, 1}}, counter, end);
    other.join();
    ASSERT_TRUE(result) << to_text(result.error());
    EXPECT_TRUE(result->cancelled);
    EXPECT_LE(count.load() - at_request, 64u * 4096) << list;
  }
  cancelled_ = false;
}

TEST_P(Checking, AGlobalRaceIsLocated) {
  check("global");
  auto *out = allocate(512), *between = allocate(500);
  const auto within = report("exchange_racing", {{1, 1, 1}, {256, 1, 1}}, out, between);
  EXPECT_EQ(within.kernel, "exchange_racing");
  EXPECT_NE(within.text.find("byte "), std::string::npos);
  EXPECT_NE(within.text.find(" of a 2000-byte allocation"), std::string::npos) << within.text;
  EXPECT_NE(within.text.find("block (0, 0, 0), wave "), std::string::npos) << within.text;
  EXPECT_NE(within.text.find("the other access: wave "), std::string::npos) << within.text;
  EXPECT_NE(within.other_instruction.find("exchange_racing+0x"), std::string::npos) << within.text;
  EXPECT_NE(within.fault.other_wave, static_cast<std::int32_t>(within.wave));
  const auto between_blocks = report("other_value", {{2, 3, 1}, {64, 1, 1}}, out);
  EXPECT_EQ(between_blocks.block[0], 1u);
  EXPECT_EQ(between_blocks.fault.other_group, 0u);
  EXPECT_NE(between_blocks.text.find("the other access: block (0, 0, 0), wave 0, global_store_dword"),
            std::string::npos)
      << between_blocks.text;
}

TEST_P(Checking, DivergentBarriers) {
  auto* out = allocate(128);
  run("barrier_in_a_branch", {{1, 1, 1}, {128, 1, 1}}, out);   // as cards do: who has ended is not waited for
  check("barriers");
  const auto found = report("barrier_in_a_branch", {{1, 1, 1}, {128, 1, 1}}, out);
  EXPECT_EQ(found.fault.kind, FaultKind::divergent_barrier);
  EXPECT_EQ(found.wave, 0u);
  EXPECT_EQ(found.fault.other_wave, 1);
  EXPECT_NE(found.instruction.find("s_barrier"), std::string::npos) << found.text;
  EXPECT_NE(found.other_instruction.find("s_endpgm"), std::string::npos) << found.text;
}

TEST_P(Checking, LdsRaces) {
  auto *out = allocate(4), *in = allocate(1024);
  for (std::uint32_t i = 0; i < 1024; ++i) in[i] = 1;
  check("shared");
  is_clean("totals", {{4, 1, 1}, {256, 1, 1}}, out, in);
  EXPECT_EQ(out[3], 256u);
  const auto found = report("totals_racing", {{4, 1, 1}, {256, 1, 1}}, out, in);
  EXPECT_EQ(found.fault.kind, FaultKind::lds_race) << found.text;
}

TEST_P(Checking, AllOfThemFindNothingInWhatIsRight) {
  check("all");
  auto *out = allocate(1024), *in = allocate(1024);
  is_clean("exchange", {{4, 1, 1}, {256, 1, 1}}, out, in);
  is_clean("totals", {{4, 1, 1}, {256, 1, 1}}, out, in);
  is_clean("bytes", {{1, 1, 1}, {256, 1, 1}}, out);
}

// One seed, one schedule: the same result, the same counters, the same finding. Among seeds the missing barrier shows.
TEST_P(Checking, ASeedIsASchedule) {
  options_.profile = true;
  auto *out = allocate(40), *in = allocate(40 * 256);
  for (std::uint32_t i = 0; i < 40 * 256; ++i) in[i] = i;
  using Outcome = std::pair<std::vector<std::uint32_t>, std::map<std::string, std::uint64_t>>;
  const auto outcome = [&](std::uint64_t seed) {
    options_.seed = seed;
    std::fill(out, out + 40, 0);
    const auto result = run("totals_racing", {{40, 1, 1}, {256, 1, 1}}, out, in);
    Outcome one{{out, out + 40}, {}};
    for (const auto& counter : result.profile->counters) one.second[counter.name] = counter.value;
    return one;
  };
  std::set<std::vector<std::uint32_t>> results;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Outcome first = outcome(seed), second = outcome(seed);
    EXPECT_EQ(first, second) << "seed " << seed;
    results.insert(first.first);
  }
  EXPECT_GT(results.size(), 1u) << "no two schedules differ";
}

TEST_P(Checking, ASeedIsAFinding) {
  check("races");
  auto *out = allocate(40), *in = allocate(40 * 256);
  const auto finding = [&](std::uint64_t seed) {
    options_.seed = seed;
    return report("totals_racing", {{40, 1, 1}, {256, 1, 1}}, out, in).text;
  };
  for (std::uint64_t seed = 0; seed < 4; ++seed) EXPECT_EQ(finding(seed), finding(seed)) << "seed " << seed;
}

// Two work groups of four waves: 0 to 3, 4 to 7.
TEST(GlobalOrder, FollowsProgramsBarriersAndLinks) {
  GlobalOrder order(4);
  const std::uint32_t first = order.now();
  EXPECT_TRUE(order.ordered(0, first, 0));
  EXPECT_FALSE(order.ordered(0, first, 1));
  EXPECT_FALSE(order.ordered(0, first, 4));
  order.link(0, first, 4);                       // 4 has read what 0 wrote
  EXPECT_TRUE(order.ordered(0, first, 4));
  EXPECT_FALSE(order.ordered(1, first, 4));      // that says nothing about 0's neighbours
  EXPECT_FALSE(order.ordered(0, first, 5));      // nor to 4's
  EXPECT_FALSE(order.ordered(4, first, 0));      // nor back
  order.barrier(1);
  EXPECT_TRUE(order.ordered(0, first, 5));
  EXPECT_FALSE(order.ordered(0, order.now(), 5));  // what 0 does later is open again
}

TEST(GlobalOrder, GoesOnThroughOthers) {
  GlobalOrder order(4);
  const std::uint32_t first = order.now();
  order.barrier(0);                              // all of the first group come after what its waves did
  const std::uint32_t second = order.now();
  order.link(3, second, 6);
  order.barrier(1);
  const std::uint32_t third = order.now();
  order.link(7, third, 8);
  EXPECT_TRUE(order.ordered(0, first, 8));       // 0, barrier, 3, 6, barrier, 7, 8
  EXPECT_TRUE(order.ordered(3, second, 8));
  EXPECT_FALSE(order.ordered(0, second, 8));     // after the barrier nobody has heard of 0
  EXPECT_FALSE(order.ordered(3, third, 8));
  // A link from before the writer had heard hands nothing on.
  GlobalOrder early(1);
  const std::uint32_t start = early.now();
  early.tick();
  early.link(0, early.now(), 1);
  early.link(1, start, 2);
  EXPECT_TRUE(early.ordered(0, start, 1));
  EXPECT_FALSE(early.ordered(0, start, 2));
}

// Thousands of waves that read what one has written, each after an atomic on the same word.
TEST(GlobalOrder, GoesForwardOnce) {
  const auto steps = [](std::uint32_t waves) {
    GlobalOrder order(1);
    const std::uint32_t start = order.now();
    std::uint32_t last = start;
    for (std::uint32_t wave = 1; wave < waves; ++wave) {
      order.link(wave - 1, last, wave);
      last = order.now();
      order.tick();
      EXPECT_TRUE(order.ordered(0, start, wave)) << wave;
    }
    EXPECT_FALSE(order.ordered(1, order.now(), 0));
    return order.steps();
  };
  EXPECT_LE(steps(8000), 12 * steps(1000));
}

// And one that reads what thousands have written.
TEST(GlobalOrder, GoesBackOnce) {
  const auto steps = [](std::uint32_t waves) {
    GlobalOrder order(1);
    std::vector<std::uint32_t> wrote;
    for (std::uint32_t wave = 0; wave + 1 < waves; ++wave) {
      wrote.push_back(order.now());
      order.link(wave, order.now(), wave + 1);
      order.tick();
    }
    for (std::uint32_t wave = 0; wave + 1 < waves; ++wave) EXPECT_TRUE(order.ordered(wave, wrote[wave], waves - 1));
    return order.steps();
  };
  EXPECT_LE(steps(8000), 12 * steps(1000));
}

// The same answers as the definition, whatever was asked before: a search from the beginning each time.
TEST(GlobalOrder, AnswersDoNotDependOnQuestionsBefore) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    constexpr std::uint32_t waves = 6, per_group = 2;
    GlobalOrder asked(per_group);
    struct Event {
      bool barrier;
      std::uint32_t a, time, b;
    };
    std::vector<Event> events;
    const auto play = [](GlobalOrder& order, const Event& event) {
      if (event.barrier) order.barrier(event.a);
      else order.link(event.a, event.time, event.b);
      order.tick();
    };
    for (int step = 0; step < 30; ++step) {
      Event event{random() % 4 == 0, static_cast<std::uint32_t>(random() % waves), 0,
                  static_cast<std::uint32_t>(random() % waves)};
      if (event.barrier) event.a %= waves / per_group;
      event.time = asked.now() - static_cast<std::uint32_t>(random() % std::min(asked.now(), 9u));
      events.push_back(event);
      play(asked, event);
      for (int question = 0; question < 4; ++question) {
        const auto from = static_cast<std::uint32_t>(random() % waves);
        const auto to = static_cast<std::uint32_t>(random() % waves);
        const std::uint32_t time = static_cast<std::uint32_t>(random() % asked.now());
        GlobalOrder fresh(per_group);
        for (const Event& one : events) play(fresh, one);
        ASSERT_EQ(asked.ordered(from, time, to), fresh.ordered(from, time, to))
            << "round " << round << ", step " << step << ": " << from << " at " << time << " before " << to;
      }
    }
  }
}

TEST(GlobalOrder, StopsWhenItIsCancelled) {
  std::atomic<bool> cancelled{false};
  GlobalOrder order(1, &cancelled);
  const std::uint32_t start = order.now();
  for (std::uint32_t wave = 2; wave < 100000; ++wave) order.link(wave, order.now(), wave + 1);
  EXPECT_FALSE(order.ordered(0, start, 1));
  EXPECT_GT(order.steps(), 50000u);
  const std::uint64_t before = order.steps();
  cancelled = true;
  EXPECT_TRUE(order.ordered(0, start + 1, 200000));
  EXPECT_LE(order.steps() - before, 1024u);
}

TEST(CheckOptions, AreLists) {
  Options options;
  ASSERT_TRUE(set_option(options, "check", "races"));
  EXPECT_TRUE(options.check_races && options.check_global_races);
  ASSERT_TRUE(set_option(options, "check", "global,bounds"));
  EXPECT_TRUE(!options.check_races && options.check_global_races && options.check_bounds);
  ASSERT_TRUE(set_option(options, "check", "all"));
  EXPECT_TRUE(options.check_races && options.check_global_races && options.check_uninitialised_lds &&
              options.check_uninitialised_registers && options.check_barriers && options.check_bounds);
  ASSERT_TRUE(set_option(options, "check", "none"));
  EXPECT_FALSE(options.check_races || options.check_global_races || options.check_bounds);
  const auto wrong = set_option(options, "check", "races,global,typo");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("shared, global, uninitialised"), std::string::npos) << wrong.error().message;
}

}  // namespace
}  // namespace kiln::emulator
