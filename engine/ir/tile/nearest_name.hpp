// The known name that a misspelt one most likely meant, for hints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln::tile {

// The candidate with the least edit distance to `name`, letter case not counted, when it is close enough to be meant
// (at most a third of the length, and at least one letter kept); "" otherwise. Names over 64 bytes are never close.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// "did you mean 'acc'?", or "" when nothing is near.
std::string nearest_hint(std::string_view name, const std::vector<std::string>& candidates);

// "a, b, c" — with "…" after 16 names.
std::string name_list(const std::vector<std::string>& names);

}  // namespace kiln::tile
