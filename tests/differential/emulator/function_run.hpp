// Random functions run on an emulated card and on the host, and what they disagree about.
#pragma once

#include <string>
#include <vector>

#include "tests/differential/emulator/compilers.hpp"
#include "tests/differential/emulator/emulated_card.hpp"
#include "tests/differential/emulator/random_function.hpp"

namespace kiln::test {

// One function's arguments: inputs made of a seed, and what it writes.
struct FunctionMemory {
  std::vector<Bytes> inputs;          // in_i, in_f, in_d, in_h
  Bytes memory, counts, out;
  Bytes scalars[8];                   // q0 … q7
};
FunctionMemory make_memory(const RandomFunction& function, std::uint64_t seed);

// What the function leaves there.
void run_on_host(HostLibrary::Function function, FunctionMemory& memory);

// The same on a card that has the function's object.
Status run_on_card(EmulatedCard& card, const RandomFunction& function, FunctionMemory& memory);

// "" where both are the same.
std::string difference(const RandomFunction& function, const FunctionMemory& card, const FunctionMemory& host);

}  // namespace kiln::test
