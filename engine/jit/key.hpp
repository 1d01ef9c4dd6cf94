// The key of a kernel: SHA-256 over a typed, canonical encoding of everything that its code object depends on.
#pragma once

#include <string>
#include <vector>

#include "engine/compile/compiler.hpp"
#include "engine/ir/bound/program.hpp"
#include "engine/jit/object_store.hpp"
#include "engine/jit/session.hpp"

namespace kiln::jit {

// Parts, in order: format, program (bound, names replaced by indices), target (all feature bits), compiler (identity
// digest), headers (content of every device header; empty for the host), flags, sources (the build's identity).
struct KeyInputs {
  const bound::Program& program;
  std::string target_full;
  Digest compiler{}, headers{};
  std::string flags;
};
struct ComputedKey { Key key; std::vector<KeyPart> parts; };
ComputedKey compute_key(const KeyInputs& inputs);
// Hash over name and content of every file below `folder`, sorted by name.
Result<Digest> hash_folder(const std::string& folder);

}  // namespace kiln::jit
