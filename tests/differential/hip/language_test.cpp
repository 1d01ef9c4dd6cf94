// The language's programs (tests/differential/language): their HIP text, executed on the CPU, against the interpreter.
#include <gtest/gtest.h>

#include "tests/differential/hip/hip_differences.hpp"
#include "tests/differential/language/language_cases.hpp"

namespace kiln::test {
namespace {

TEST(LanguagePrograms, HipTextEqualsTheInterpreter) {
  const auto cases = language_cases();
  ASSERT_FALSE(cases.empty());
  const char* const targets[] = {"gfx942", "gfx1100", "gfx950", "gfx90a"};
  std::size_t number = 0;
  for (const auto& one : cases) {
    for (int i = 0; i < 2; ++i) {  // two targets each, in turn
      const auto target = target::parse_target(targets[number++ % 4]);
      ASSERT_TRUE(target);
      const auto program = bind_text(one.text, one.set, *target);
      ASSERT_TRUE(program) << one.line << "\n" << to_text(program.error());
      EXPECT_EQ(hip_differences(*program, *target, random_arguments(*program, 7), 7), "")
          << one.line << " on " << target->full;
    }
    ++number;
  }
}

}  // namespace
}  // namespace kiln::test
