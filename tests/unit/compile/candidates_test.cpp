#include "engine/compile/candidates.hpp"

#include <gtest/gtest.h>

namespace kiln::compile {
namespace {

Compiled spilling(std::int64_t spills) {
  Compiled compiled;
  compiled.metadata.launches.resize(1);
  compiled.metadata.launches[0].resources.vgpr_spills = spills;
  return compiled;
}

// What candidates with these spills give; -1: the compiler fails, -2: there is none.
Result<Compiled> best_of(const std::vector<std::int64_t>& spills, int* asked = nullptr) {
  return best_candidate([&](int attempt) -> Result<Compiled> {
    if (asked) *asked = attempt + 1;
    const auto number = spills.at(static_cast<std::size_t>(attempt));
    if (number == -1) return Error(ErrorCode::compile_failed, "the compiler refused");
    if (number == -2) return Error(ErrorCode::not_found, "no further lowering");
    return spilling(number);
  });
}

TEST(Candidates, TheFirstThatSpillsNothingIsTaken) {
  int asked = 0;
  const auto best = best_of({5, 0, 0}, &asked);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->metadata.attempt, 1);
  EXPECT_EQ(best->metadata.decisions, std::vector<std::string>{"retry: candidate 0: registers spilled"});
  EXPECT_EQ(asked, 2);
}

TEST(Candidates, TheLeastBadIsTakenWhenAllSpill) {
  const auto best = best_of({5, 9, 2, 3, -2});
  ASSERT_TRUE(best);
  EXPECT_EQ(best->metadata.attempt, 2);
  EXPECT_EQ(best_of({6, 5, 4, 3, 2, 1}).value().metadata.attempt, 5) << "six are tried";
}

TEST(Candidates, AFailingRetryKeepsTheKernelThatThereIs) {
  int asked = 0;
  const auto best = best_of({5, -1, 0}, &asked);
  ASSERT_TRUE(best) << to_text(best.error());
  EXPECT_EQ(best->metadata.attempt, 0);
  EXPECT_EQ(best->metadata.decisions, std::vector<std::string>{"retry: candidate 1 failed: the compiler refused"});
  EXPECT_EQ(asked, 2);
}

TEST(Candidates, TheFirstOnesFailureIsTheAnswer) {
  EXPECT_EQ(best_of({-1, 0}).error().code, ErrorCode::compile_failed);
  EXPECT_EQ(best_of({-2}).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace kiln::compile
