// A bound program's HIP text, executed on the CPU, against the interpreter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/ir/bound/program.hpp"
#include "engine/ir/target/target.hpp"
#include "tests/support/random_arguments.hpp"

namespace kiln::test {

Result<bound::Program> bind_text(const std::string& json, const std::map<std::string, std::string>& set,
                                 const target::Target& target);
// "" when all outputs are within PROGRAM.md's tolerance, for each of the first `attempts` lowering candidates.
// "unsupported: …" when lowering or the emitter says so. `symbols`: the values of the program's dynamic symbols that
// `arguments` are for.
std::string hip_differences(const bound::Program& program, const target::Target& target,
                            const std::vector<Bytes>& arguments, std::uint64_t seed, int attempts = 1,
                            const bound::SymbolValues& symbols = {});

}  // namespace kiln::test
