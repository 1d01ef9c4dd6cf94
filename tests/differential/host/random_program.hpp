// Seeded random tile programs that make no mistake the interpreter would report.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace kiln::test {

struct RandomProgram {
  std::string text;
  std::map<std::string, std::string> set;
  bool extremes = false;  // infinities, NaN, type limits are allowed as inputs: the program has no sums of floats
};
RandomProgram random_program(std::uint64_t seed);
// The same with dynamic symbols: one object for all sizes.
RandomProgram with_dynamic_sizes(RandomProgram program);

}  // namespace kiln::test
