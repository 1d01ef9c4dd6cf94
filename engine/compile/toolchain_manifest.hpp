// The manifest of a toolchain prefix: one fact a line, written last, so that a prefix without it is no prefix.
#pragma once

#include "engine/compile/toolchain.hpp"

namespace kiln::compile {

inline constexpr const char* manifest_name = "kiln-toolchain";

std::string manifest_text(const Toolchain& toolchain);
// Errors: not_found, corrupt.
Result<Toolchain> read_toolchain(const std::string& path);
// Sets loader and library_folder from `path`; false when the prefix has no loader.
bool find_loader(Toolchain& toolchain);
// Whether the prefix at `path` has HIP's headers.
bool has_headers(const std::string& path);

}  // namespace kiln::compile
