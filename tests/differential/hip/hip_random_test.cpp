// Random tile programs: their HIP text, executed on the CPU, against the interpreter, extreme values included. A
// failure prints the seed, the program and one command that repeats it: KILN_SEED=<seed> KILN_PROGRAMS=1 test_hip_text.
#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/ir/bound/symbols.hpp"
#include "tests/differential/hip/hip_differences.hpp"
#include "tests/differential/host/random_program.hpp"

namespace kiln::test {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Blocks of several waves, and tiles that lanes can share out: odd ones would be held whole by every lane.
RandomProgram shared_out(RandomProgram made, std::uint64_t seed) {
  const char* const extents[] = {"16", "32", "48", "64"};
  made.set["BM"] = extents[seed / 4 % 4];
  made.set["BN"] = extents[seed / 16 % 4];
  made.set["BK"] = extents[seed / 8 % 2];
  if (const auto at = made.text.find("\"threads\": \"1\""); at != std::string::npos)
    made.text.replace(at, 14, seed % 3 == 0 ? "\"threads\": \"256\"" : "\"threads\": \"128\"");
  return made;
}

constexpr const char* targets[] = {"gfx942", "gfx1100", "gfx950", "gfx90a"};

TEST(RandomPrograms, HipTextEqualsTheInterpreter) {
  const std::uint64_t first = from_environment("KILN_SEED", 1), count = from_environment("KILN_PROGRAMS", 24);
  int refused = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const RandomProgram made = shared_out(random_program(seed), seed);
    const auto target = target::parse_target(targets[seed % 4]);
    ASSERT_TRUE(target);
    const std::string repeat = "seed " + std::to_string(seed) + ", target " + target->full +
                               ", repeat with KILN_SEED=" + std::to_string(seed) + " KILN_PROGRAMS=1 test_hip_text\n" +
                               made.text;
    const auto program = bind_text(made.text, made.set, *target);
    ASSERT_TRUE(program) << to_text(program.error()) << "\n" << repeat;
    const std::string result =
        hip_differences(*program, *target, random_arguments(*program, seed, made.extremes), seed);
    if (result.starts_with("unsupported")) ++refused;
    else EXPECT_EQ(result, "") << repeat;
  }
  EXPECT_LT(refused, static_cast<int>(count) / 4 + 1) << "too many programs are not built for AMD targets";
}

// The same programs with sizes that the launch gives: at their own sizes, at others and at none.
TEST(RandomPrograms, DynamicSizesInHipTextEqualTheInterpreter) {
  const std::uint64_t first = from_environment("KILN_SEED", 1), count = from_environment("KILN_PROGRAMS", 6);
  int refused = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const RandomProgram made = with_dynamic_sizes(shared_out(random_program(seed), seed));
    const auto target = target::parse_target(targets[seed % 4]);
    ASSERT_TRUE(target);
    const std::string repeat = "seed " + std::to_string(seed) + ", target " + target->full +
                               ", repeat with KILN_SEED=" + std::to_string(seed) + " KILN_PROGRAMS=1 test_hip_text\n" +
                               made.text;
    const auto program = bind_text(made.text, made.set, *target);
    ASSERT_TRUE(program) << to_text(program.error()) << "\n" << repeat;
    const std::int64_t m = std::stoll(made.set.at("M")), n = std::stoll(made.set.at("N"));
    for (const auto& sizes : {bound::SymbolValues{m, n}, {n, m + 1}, {0, n}, {m, 0}}) {
      const auto known = bound::with_values(*program, sizes);
      ASSERT_TRUE(known) << to_text(known.error());
      const std::string result = hip_differences(*program, *target, random_arguments(*known, seed, made.extremes), seed,
                                                 1, sizes);
      const std::string where = "M = " + std::to_string(sizes[0]) + ", N = " + std::to_string(sizes[1]) + ": ";
      if (result.starts_with("unsupported") || result.find(" is out of range in block") != std::string::npos) ++refused;
      else EXPECT_EQ(result, "") << where << repeat;
    }
  }
  EXPECT_LT(refused, static_cast<int>(count)) << "of four sizes each: too many are not built for AMD targets";
}

}  // namespace
}  // namespace kiln::test
