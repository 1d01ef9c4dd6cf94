#include "engine/compile/strikes.hpp"

#include <gtest/gtest.h>

#include "engine/base/bytes.hpp"

namespace kiln::compile {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

Digest input(int number) { return sha256(view("input " + std::to_string(number))); }
const Strikes::Time start = Strikes::Time(hours(1000));

TEST(Strikes, TheSecondDeathRefusesForTenMinutes) {
  Strikes strikes;
  strikes.add(input(1), "signal 6", start);
  EXPECT_FALSE(strikes.refusal(input(1), start));
  strikes.add(input(1), "signal 9", start + minutes(9));
  const auto refusal = strikes.refusal(input(1), start + minutes(19));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->context, std::vector<std::string>{"the last time: signal 9"});
  EXPECT_FALSE(strikes.refusal(input(2), start + minutes(19)));
  EXPECT_FALSE(strikes.refusal(input(1), start + minutes(19) + seconds(1)));
}

TEST(Strikes, DeathsFarApartAreNotTwoInARow) {
  Strikes strikes;
  strikes.add(input(1), "signal 6", start);
  strikes.add(input(1), "signal 6", start + hours(48));
  EXPECT_FALSE(strikes.refusal(input(1), start + hours(48)));
  strikes.add(input(1), "signal 6", start + hours(48) + minutes(1));
  EXPECT_TRUE(strikes.refusal(input(1), start + hours(48) + minutes(1)));
}

TEST(Strikes, TheOldestIsForgottenWhenThereAreTooMany) {
  Strikes strikes;
  const auto count = static_cast<int>(Strikes::inputs_max);
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < count; ++i) strikes.add(input(i), "signal 6", start + seconds(i % 100));
  strikes.add(input(0), "signal 6", start + seconds(200));  // known already: nothing has to go
  EXPECT_TRUE(strikes.refusal(input(100), start + seconds(200)));
  strikes.add(input(count), "signal 6", start + seconds(200));
  int forgotten = 0;
  for (int i = 0; i < count; ++i) {
    if (strikes.refusal(input(i), start + seconds(200))) continue;
    ++forgotten;
    EXPECT_EQ(i % 100, 0) << "not one of the oldest";
  }
  EXPECT_EQ(forgotten, 1);
}

}  // namespace
}  // namespace kiln::compile
