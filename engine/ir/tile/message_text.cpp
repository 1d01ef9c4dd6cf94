#include "engine/ir/tile/message_text.hpp"

#include <cstdio>

#include "engine/ir/tile/program.hpp"

namespace kiln::tile {
namespace {

// The code point whose first byte is text[at], and its length. Requires valid UTF-8.
std::uint32_t code_point(std::string_view text, std::size_t at, std::size_t& length) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i])); };
  const std::uint32_t first = byte(0);
  length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (length == 1 || at + length > text.size()) {
    length = 1;
    return first;
  }
  std::uint32_t point = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) point = point << 6 | (byte(i) & 0x3f);
  return point;
}

bool is_printable(std::uint32_t point) {
  if (point < 0x20 || (point >= 0x7f && point < 0xa0)) return false;      // C0, delete, C1
  if (point == 0x2028 || point == 0x2029) return false;                   // separators of lines and paragraphs
  if (point == 0x200e || point == 0x200f || point == 0x061c) return false;  // marks of direction
  return !((point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069));  // embeddings, isolates
}

}  // namespace

std::string what_is_not_printable(std::string_view text) {
  if (text.size() > message_text_bytes_max) return std::to_string(text.size()) + " bytes";
  std::size_t length = 1;
  for (std::size_t at = 0; at < text.size(); at += length) {
    const std::uint32_t point = code_point(text, at, length);
    if (is_printable(point)) continue;
    char name[16];
    std::snprintf(name, sizeof name, "U+%04X", point);
    return std::string("the character ") + name + " at byte " + std::to_string(at);
  }
  return "";
}

}  // namespace kiln::tile
