#include "engine/tune/ranking.hpp"

#include <cmath>
#include <random>

#include "engine/base/statistics.hpp"
#include "engine/jit/tuning.hpp"

namespace kiln::tune {
namespace {

using Times = std::vector<double>;

TEST(Quartiles, LieBetweenValues) {
  const auto q = jit::quartiles({4, 1, 3, 2, 5});
  EXPECT_EQ(q.lower, 2);
  EXPECT_EQ(q.median, 3);
  EXPECT_EQ(q.upper, 4);
  EXPECT_EQ(jit::quartiles({1, 2}).median, 1.5);
  EXPECT_EQ(jit::quartiles({7}).upper, 7);
}

TEST(Ranking, ChanceIsTheBinomialTail) {
  EXPECT_DOUBLE_EQ(chance_of_heads(6, 6), 1.0 / 64);
  EXPECT_DOUBLE_EQ(chance_of_heads(4, 3), 5.0 / 16);
  EXPECT_DOUBLE_EQ(chance_of_heads(10, 0), 1);
}

TEST(Ranking, NothingIsCertainBeforeThreeRounds) {
  EXPECT_FALSE(certainly_slower({100, 100}, {1, 1}));
  EXPECT_TRUE(certainly_slower({100, 100, 100}, {1, 1, 1}));
  EXPECT_FALSE(certainly_slower({1.49, 1.49, 1.49}, {1, 1, 1})) << "within one and a half";
}

TEST(Ranking, SixRoundsOfOneOrderAndQuartilesApartDecide) {
  const Times fast{1, 1.1, 1, 1.1, 1, 1.1}, slow{1.2, 1.3, 1.2, 1.3, 1.2, 1.3};
  EXPECT_TRUE(certainly_slower(slow, fast));
  EXPECT_FALSE(certainly_slower(fast, slow));
  EXPECT_FALSE(certainly_slower({slow.begin(), slow.begin() + 5}, {fast.begin(), fast.begin() + 5}));
  Times once_faster = slow;
  once_faster[3] = 0.9;
  EXPECT_FALSE(certainly_slower(once_faster, fast)) << "5 of 6 rounds is chance in 7 of 64";
  EXPECT_FALSE(certainly_slower({1.05, 1.15, 1.05, 1.15, 1.05, 1.15}, fast)) << "quartiles overlap";
}

TEST(Ranking, TenRoundsOfOneOrderDecideWhereverTheQuartilesLie) {
  Times fast, slow;
  for (int round = 0; round < 10; ++round) {
    fast.push_back(round % 2 == 0 ? 1 : 4);   // a machine that is busy every other round
    slow.push_back(fast.back() * 1.05);
  }
  EXPECT_TRUE(certainly_slower(slow, fast));
  EXPECT_FALSE(certainly_slower({slow.begin(), slow.begin() + 9}, {fast.begin(), fast.begin() + 9}));
  slow[4] = 0.5;
  EXPECT_FALSE(certainly_slower(slow, fast)) << "9 of 10 rounds is chance in 11 of 1024";
}

TEST(Ranking, EqualRoundsCountForTheOther) {
  EXPECT_FALSE(certainly_slower({1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1}));
}

TEST(Ranking, RemainingAreOrderedByMedianWithoutTheCertainlySlower) {
  const std::vector<Times> times{{3, 3, 3}, {1, 1, 1}, {1.2, 1.2, 1.2}, {0.1, 0.1, 0.1}};
  EXPECT_EQ(remaining(times, {false, false, false, true}), (std::vector<std::size_t>{1, 2}));
  EXPECT_TRUE(remaining(times, {true, true, true, true}).empty());
}

// Of two equal distributions, each the other's rival for 30 rounds, one is seldom thrown out; of two that differ by a
// fifth under noise of a tenth the slower one is.
TEST(Ranking, KeepsEqualsAndDropsTheSlower) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> noise(0, 0.1);
  int equals_dropped = 0, slower_dropped = 0;
  for (int trial = 0; trial < 200; ++trial) {
    Times a, b, slow;
    bool dropped = false, found = false;
    for (int round = 0; round < 30; ++round) {
      a.push_back(noise(random));
      b.push_back(noise(random));
      slow.push_back(1.2 * noise(random));
      dropped = dropped || certainly_slower(a, b) || certainly_slower(b, a);
      found = found || certainly_slower(slow, a);
    }
    equals_dropped += dropped ? 1 : 0;
    slower_dropped += found ? 1 : 0;
  }
  EXPECT_LT(equals_dropped, 10);
  EXPECT_GT(slower_dropped, 190);
}

}  // namespace
}  // namespace kiln::tune
