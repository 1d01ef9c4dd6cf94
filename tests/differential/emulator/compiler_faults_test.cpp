#include "tests/differential/emulator/compiler_faults.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/differential/emulator/compilers.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kiln::test {
namespace {

const std::string before = "# *** IR Dump Before SI Fold Operands (si-fold-operands) ***:\n",
                  after = "# *** IR Dump After SI Fold Operands (si-fold-operands) ***:\n";

TEST(CompilerFaults, AnOrThatBecomesAMoveOfItsOtherOperand) {
  const std::string vector = "  %9:vgpr_32 = V_OR_B32_e64 killed %7:vgpr_32, killed %8:vgpr_32, implicit $exec\n",
                    scalar = "  %9:sreg_32 = disjoint S_OR_B32 %7:sreg_32, %8:sreg_32, implicit-def dead $scc\n";
  for (const std::string source : {"%4.sub1:vreg_64", "killed %4:vgpr_32", "undef %4:sreg_32"}) {
    const std::string move = "  %9:vgpr_32 = V_MOV_B32_e32 " + source + ", implicit $exec\n";
    EXPECT_TRUE(makes_or_a_move(before + vector + after + move)) << source;
  }
  EXPECT_TRUE(makes_or_a_move(before + scalar + after + "  %9:sreg_32 = S_MOV_B32 killed %7:sreg_32\n"));
}

TEST(CompilerFaults, AnOrThatIsFoldedRightly) {
  const std::string vector = "  %9:vgpr_32 = V_OR_B32_e64 %7:vgpr_32, %8:vgpr_32, implicit $exec\n";
  EXPECT_FALSE(makes_or_a_move(before + vector + after + vector));
  EXPECT_FALSE(makes_or_a_move(before + vector + after + "  %9:vgpr_32 = COPY %7:vgpr_32\n"));
  EXPECT_FALSE(makes_or_a_move(before + vector + after + "  %9:vgpr_32 = V_MOV_B32_e32 -1, implicit $exec\n"));
}

TEST(CompilerFaults, MovesThatWereNoOr) {
  const std::string vector = "  %9:vgpr_32 = V_OR_B32_e64 %7:vgpr_32, %8:vgpr_32, implicit $exec\n",
                    move = "  %9:vgpr_32 = V_MOV_B32_e32 %7:vgpr_32, implicit $exec\n",
                    other = "  %91:vgpr_32 = V_MOV_B32_e32 %7:vgpr_32, implicit $exec\n";
  EXPECT_FALSE(makes_or_a_move(before + move + after + move));
  EXPECT_FALSE(makes_or_a_move(before + vector + other + after + vector + other));
  // Register 9 of one function is not that of the next.
  EXPECT_FALSE(makes_or_a_move(before + vector + after + vector + before + move + after + move));
  EXPECT_FALSE(makes_or_a_move(""));
}

// Both compilers print what the rule reads, in the form in which it reads it.
TEST(CompilerFaults, CompilersPrintTheirPass) {
  const TemporaryFolder folder;
  auto compilers = Compilers::create(folder.path(), KILN_SOURCE_DIR, KILN_TEST_DIR "/hiprtc_files");
  if (!compilers && compilers.error().code == ErrorCode::no_compiler) GTEST_SKIP() << to_text(compilers.error());
  ASSERT_TRUE(compilers) << to_text(compilers.error());
  const FunctionTarget target{.name = "gfx90a"};
  const auto function = random_function(1, 0, target);
  for (const auto producer : {Production::Producer::hiprtc, Production::Producer::clang}) {
    const Production way{producer, 1};
    const auto listing = (*compilers)->around_pass(function, target, way, "si-fold-operands");
    ASSERT_TRUE(listing) << to_text(listing.error());
    for (const char* part : {"*** IR Dump Before SI Fold", "*** IR Dump After SI Fold", " = V_OR_B32_e"})
      EXPECT_NE(listing->find(part), std::string::npos) << way.name() << ": " << part;
  }
}

}  // namespace
}  // namespace kiln::test
