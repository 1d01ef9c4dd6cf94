#include "engine/base/printable.hpp"

#include <cstdio>

#include "engine/base/bytes.hpp"

namespace kiln {
namespace {

constexpr unsigned char c1_lead = 0xc2;  // of U+0080 to U+00BF in UTF-8

void escaped(unsigned char c, const char* format, std::string& out) {
  char text[8];
  std::snprintf(text, sizeof text, format, unsigned(c));
  out += text;
}

std::string escape(std::string_view text, Escaper escaper) {
  std::string out;
  escaper.add(text, out);
  escaper.end(out);
  return out;
}

}  // namespace

void Escaper::add(std::string_view text, std::string& out) {
  for (const char c : text) byte(static_cast<unsigned char>(c), out);
}

void Escaper::end(std::string& out) {
  if (held_) out += char(c1_lead);
  held_ = false;
}

void Escaper::byte(unsigned char c, std::string& out) {
  if (held_) {
    held_ = false;
    if (c >= 0x80 && c <= 0x9f) return escaped(c, "\\u%04x", out);
    out += char(c1_lead);
    continuing_ = c <= 0xbf ? 1 : 0;
  }
  if (c >= 0x80 && c <= 0xbf && continuing_ > 0) {
    --continuing_;
    out += char(c);
    return;
  }
  const bool kept = keeps_ == Keeps::lines && (c == '\n' || c == '\t');
  continuing_ = c >= 0xf0 && c <= 0xf4 ? 3 : c >= 0xe0 && c <= 0xef ? 2 : c > c1_lead && c <= 0xdf ? 1 : 0;
  if (c == c1_lead) held_ = true;
  else if ((c < 0x20 && !kept) || c == 0x7f) escaped(c, "\\u%04x", out);
  else if (c >= 0x80 && c <= 0x9f) escaped(c, "\\x%02x", out);
  else out += char(c);
}

std::string printable(std::string_view text) { return escape(text, Escaper()); }
std::string one_line(std::string_view text) { return escape(make_valid_utf8(text), Escaper(Escaper::Keeps::nothing)); }

}  // namespace kiln
