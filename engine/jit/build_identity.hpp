// The build's identity: a hash that the build computes over the sources of ir, specialize, lower, emit and compile.
#pragma once

#include <string_view>

namespace kiln::jit {
std::string_view source_identity();  // 64 hex digits
}
