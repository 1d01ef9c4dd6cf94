#include "engine/jit/build_identity.hpp"

#include "kiln_source_identity.hpp"

namespace kiln::jit {
std::string_view source_identity() { return KILN_SOURCE_IDENTITY; }
}  // namespace kiln::jit
