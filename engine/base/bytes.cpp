#include "engine/base/bytes.hpp"

namespace kiln {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Bytes of the character that starts at `at`, and whether it is well formed; of an ill-formed one, the bytes of its
// maximal well-formed beginning, at least 1 (Unicode 15, table 3-7 and section 3.9, "U+FFFD substitution of maximal
// subparts").
struct Character { std::size_t bytes; bool sound; };
Character measure(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned lead = byte(at);
  if (lead < 0x80) return {1, true};
  if (lead < 0xc2 || lead > 0xf4) return {1, false};
  const std::size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  unsigned low = 0x80, high = 0xbf;  // of the second byte: no overlong forms, no surrogates, nothing over U+10FFFF
  if (lead == 0xe0) low = 0xa0;
  if (lead == 0xed) high = 0x9f;
  if (lead == 0xf0) low = 0x90;
  if (lead == 0xf4) high = 0x8f;
  for (std::size_t i = 1; i < size; ++i, low = 0x80, high = 0xbf)
    if (byte(at + i) < low || byte(at + i) > high) return {i, false};
  return {size, true};
}

}  // namespace

std::string to_hex(ByteView bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const auto b : bytes) {
    hex += digits[b >> 4];
    hex += digits[b & 15];
  }
  return hex;
}

Result<Bytes> from_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) return Error(ErrorCode::invalid_argument, "hex text of odd length");
  Bytes bytes;
  bytes.reserve(hex.size() / 2);
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int high = hex_value(hex[i]), low = hex_value(hex[i + 1]);
    if (high < 0 || low < 0)
      return Error(ErrorCode::invalid_argument, "no hex digit at byte " + std::to_string(high < 0 ? i : i + 1));
    bytes.push_back(static_cast<std::uint8_t>(high * 16 + low));
  }
  return bytes;
}

std::string make_valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto [bytes, sound] = measure(text, at);
    if (sound) valid += text.substr(at, bytes);
    else valid += "\xef\xbf\xbd";
    at += bytes;
  }
  return valid;
}

}  // namespace kiln
