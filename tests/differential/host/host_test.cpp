// Random tile programs: the host against the interpreter, extreme values included. A failure prints the seed, the
// program and one command that repeats it: KILN_SEED=<seed> KILN_PROGRAMS=1 test_differential_host.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <limits>
#include <random>

#include "engine/ir/bound/arithmetic.hpp"
#include "engine/ir/bound/symbols.hpp"
#include "tests/differential/host/random_program.hpp"
#include "tests/support/host_runner.hpp"

namespace kiln::test {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Normal values, with zeros, infinities, NaN, subnormals, largest values and type limits strewn in.
std::vector<Bytes> extreme_tensors(const bound::Program& program, std::uint64_t seed, bool extremes) {
  auto tensors = random_tensors(program, seed);
  if (!extremes) return tensors;
  std::mt19937_64 random(seed ^ 0x9e3779b97f4a7c15u);
  const double infinity = std::numeric_limits<double>::infinity();
  const double reals[] = {0.0,     -0.0,   infinity, -infinity, std::numeric_limits<double>::quiet_NaN(),
                          1e-40,   -1e-44, 6e-8,     65504,     3.3e38,
                          -3.3e38, 1,      -1};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& tensor = program.tensors[i];
    if (tensor.access == Access::write) continue;
    const auto width = static_cast<std::size_t>(dtype_bytes(tensor.dtype));
    for (std::size_t at = 0; at + width <= tensors[i].size(); at += width) {
      if (random() % 8 != 0) continue;
      if (is_float(tensor.dtype)) {
        const double value = bound::round_real(tensor.dtype, reals[random() % std::size(reals)]);
        bound::store_function(tensor.dtype)(tensors[i].data() + at, bound::real_value(value));
      } else {
        const std::int64_t wholes[] = {0,
                                       -1,
                                       1,
                                       std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max(),
                                       127,
                                       -128,
                                       32767,
                                       -32768,
                                       2147483647,
                                       -2147483648LL};
        const std::int64_t value = bound::wrap_integer(tensor.dtype, wholes[random() % std::size(wholes)]);
        bound::store_function(tensor.dtype)(tensors[i].data() + at, bound::integer_value(value));
      }
    }
  }
  return tensors;
}

TEST(RandomPrograms, HostEqualsTheInterpreter) {
  const std::uint64_t first = from_environment("KILN_SEED", 1), count = from_environment("KILN_PROGRAMS", 60);
  HostRunner runner(2);
  int refused = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const RandomProgram made = random_program(seed);
    const auto program = bind_text(made.text, made.set, seed % 3 == 0 ? "host:avx2" : "host");
    const std::string repeat = "seed " + std::to_string(seed) + ", repeat with KILN_SEED=" + std::to_string(seed) +
                               " KILN_PROGRAMS=1 test_differential_host\n" + made.text;
    if (!program) {  // at these sizes an access lies outside for all values, which is a mistake that is found earlier
      ASSERT_NE(to_text(program.error()).find("index out of range: "), std::string::npos)
          << to_text(program.error()) << "\n"
          << repeat;
      ++refused;
      continue;
    }
    const std::string result = differences(runner, *program, extreme_tensors(*program, seed, made.extremes), true);
    if (result.starts_with("host: unsupported"))
      ++refused;
    else
      ASSERT_EQ(result, "") << repeat;
  }
  EXPECT_LT(refused, static_cast<int>(count) / 4 + 1) << "too many programs are not built for the host";
}

// The same programs with sizes that the launch gives, each at its own sizes, at others and at none.
TEST(RandomPrograms, DynamicSizesOnTheHostEqualTheInterpreter) {
  const std::uint64_t first = from_environment("KILN_SEED", 1), count = from_environment("KILN_PROGRAMS", 16);
  HostRunner runner(2);
  int refused = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const RandomProgram made = with_dynamic_sizes(random_program(seed));
    const std::string repeat = "seed " + std::to_string(seed) + ", repeat with KILN_SEED=" + std::to_string(seed) +
                               " KILN_PROGRAMS=1 test_differential_host\n" + made.text;
    const auto program = bind_text(made.text, {}, seed % 3 == 0 ? "host:avx2" : "host");
    ASSERT_TRUE(program) << to_text(program.error()) << "\n" << repeat;
    const auto compiled = compile_for_host(*program);
    if (!compiled && compiled.error().code == ErrorCode::unsupported) {
      ++refused;
      continue;
    }
    ASSERT_TRUE(compiled) << to_text(compiled.error()) << "\n" << repeat;
    const auto kernel = runner.load(*compiled);
    ASSERT_TRUE(kernel) << to_text(kernel.error());
    std::mt19937_64 random(seed);
    const std::int64_t m = std::stoll(made.set.at("M")), n = std::stoll(made.set.at("N"));
    const auto other = [&] { return static_cast<std::int64_t>(random() % 100); };
    for (const auto& sizes : {bound::SymbolValues{m, n}, {other(), other()}, {0, other()}, {other(), 0}}) {
      const auto known = bound::with_values(*program, sizes);
      ASSERT_TRUE(known) << to_text(known.error());
      const std::string result =
          differences(runner, *program, extreme_tensors(*known, seed, made.extremes), true, sizes, *kernel);
      const std::string where = "M = " + std::to_string(sizes[0]) + ", N = " + std::to_string(sizes[1]) + ": ";
      if (result.find(" is out of range in block") != std::string::npos)  // a mistake at these sizes alone
        ++refused;
      else
        ASSERT_EQ(result, "") << where << repeat;
    }
    EXPECT_TRUE(runner.device().unload(*kernel));
  }
  EXPECT_LT(refused, static_cast<int>(count)) << "of four sizes each: too many are not built for the host";
}

}  // namespace
}  // namespace kiln::test
