// Where a JSON pointer stands in the text that the user wrote, so that an error can quote the line and point at it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/diagnostics.hpp"

namespace kiln::cli {

struct TextRange { std::size_t begin = 0, end = 0; };  // bytes

// The value at `pointer` (RFC 6901) in a JSON text, quotes included. A pointer that leads nowhere gives its longest prefix
// that exists; nothing for text that is no JSON.
std::optional<TextRange> locate(std::string_view json, std::string_view pointer);

// "file:12:7: error: message\n   12 | …\n      |       ^~~~\n  expected …, found …\n  hint: …" with the place looked up in `json`
// (empty: the diagnostic's own source is quoted).
// "FILE:LINE:COLUMN" of the value at `pointer`; empty when the text has none.
std::string place_text(const std::string& file, std::string_view json, std::string_view pointer);
std::string render(const Diagnostic& diagnostic, const std::string& file, std::string_view json);

}  // namespace kiln::cli
