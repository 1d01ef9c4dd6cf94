// The bytes that a normative page shows in hex.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "engine/base/fd.hpp"

namespace kiln::test {

// The first block ```hex behind `heading` (a whole line; "": the page's first) of the page at `path`; nothing when there
// is none, or no hex digits in it.
inline std::optional<Bytes> page_example(const std::string& path, const std::string& heading) {
  const auto page = read_file(path);
  if (!page) return std::nullopt;
  const std::string all(text(*page));
  const std::string open = "```hex\n";
  const auto chapter = heading.empty() ? 0 : all.find(heading + "\n");
  if (chapter == std::string::npos) return std::nullopt;
  const auto begin = all.find(open, chapter);
  if (begin == std::string::npos) return std::nullopt;
  const auto digits_begin = begin + open.size();
  auto digits = all.substr(digits_begin, all.find("```", digits_begin) - digits_begin);
  std::erase_if(digits, [](char c) { return c == ' ' || c == '\n'; });
  const auto bytes = from_hex(digits);
  return bytes ? std::optional(*bytes) : std::nullopt;
}

}  // namespace kiln::test
