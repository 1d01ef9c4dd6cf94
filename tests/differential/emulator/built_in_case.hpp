// Random settings, tunables and inputs of the built-in programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/ir/bound/program.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln::test {

// How the inputs are made, and with that how results are compared.
enum class Inputs : std::uint8_t {
  // Normally distributed; within the program's tolerance.
  normal,
  // Such that no operation rounds but the last, or that each element's operations have one order; bit for bit.
  //   gemm: small whole numbers, every sum of products of which is exact in the accumulator, so that its order cannot
  //     matter and only the result's conversion rounds.
  //   softmax, attention without scores: all scores of a row are equal, each exponential is 1, their sums and those of
  //     whole numbers are exact, and one division rounds.
  //   softmax, attention that selects: one score of a row is larger than all others by so much that their exponentials
  //     are 0: the result is one input.
  //   rmsnorm: all elements of a row have one size, a power of two; eps is 0. The mean of squares is exact, as is its
  //     root.
  //   layernorm: the mean of a row is 0 and its variance 1, or all of a row is one number; eps makes the root exact.
  //   elementwise without exponentials, transpose: each element's operations have one order.
  //   reduce: whole numbers, whose sums are exact.
  exact,
};

struct BuiltInCase {
  std::string program;
  specialize::Bindings bindings;
  Inputs inputs = Inputs::normal;
  std::uint64_t seed = 0;              // of the inputs

  // "gemm M=3 N=5 dtype=f16", as `kiln run` takes it, and what that does not.
  [[nodiscard]] std::string words() const;
};

// Case `index` of a seed; sizes and tunables may be ones that the program does not take.
BuiltInCase random_case(std::uint64_t seed, int index);

// One a tensor; what is written holds ones in all bits.
std::vector<Bytes> make_inputs(const BuiltInCase& one, const bound::Program& program);

}  // namespace kiln::test
