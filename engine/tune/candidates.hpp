// What a program's tunables offer to try.
#pragma once

#include <string>
#include <vector>

#include "engine/jit/tuning.hpp"
#include "engine/specialize/specialize.hpp"

namespace kiln::tune {

// Every combination of the tunables' candidates, each also with its default's value, for the tunables that `bindings`
// leave open; those without candidates stay what their default's expression says. The default's own is first, with
// nothing set; then by distance from it (the sum over tunables of |log2(value / default)|), the nearest first.
// Constraints are not looked at. Errors: program_invalid (bindings that the program cannot take), resource_limit (over
// 100 000).
Result<std::vector<jit::TuneCandidate>> offered_candidates(const tile::Program& program,
                                                           const specialize::Bindings& bindings,
                                                           const target::Target& target);

// "BM=12 BN=64 As=pad:16"; "default" where nothing is set.
std::string name_of(const jit::Words& set, const jit::Words& layouts);

}  // namespace kiln::tune
