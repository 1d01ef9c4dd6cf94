// The language's programs (tests/differential/language) on the host against the interpreter.
#include <gtest/gtest.h>

#include "tests/differential/language/language_cases.hpp"
#include "tests/support/host_runner.hpp"

namespace kiln::test {
namespace {

TEST(LanguagePrograms, HostEqualsTheInterpreter) {
  const auto cases = language_cases();
  ASSERT_FALSE(cases.empty());
  HostRunner runner(2);
  for (const auto& one : cases) {
    for (const char* target : {"host", "host:avx2"}) {
      const auto program = bind_text(one.text, one.set, target);
      ASSERT_TRUE(program) << one.line << "\n" << to_text(program.error());
      for (std::uint64_t seed = 1; seed <= 2; ++seed)
        EXPECT_EQ(differences(runner, *program, random_tensors(*program, seed), true), "")
            << one.line << " on " << target << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace kiln::test
