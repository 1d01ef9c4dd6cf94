// Quantiles and the chance of so many heads.
#include <gtest/gtest.h>

#include "engine/base/statistics.hpp"

namespace kiln::test {
namespace {

TEST(Statistics, QuantilesLieBetweenValues) {
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0), 1);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 1), 4);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.75), 7);
}

TEST(Statistics, HeadsOfManyRounds) {
  EXPECT_EQ(chance_of_heads(6, 6), 1.0 / 64);  // exactly: it is compared with that
  EXPECT_DOUBLE_EQ(chance_of_heads(11, 10), 12.0 / 2048);
  EXPECT_NEAR(chance_of_heads(10000, 5000), 0.504, 0.001);
  EXPECT_LT(chance_of_heads(10000, 6000), 1e-80);
}

}  // namespace
}  // namespace kiln::test
