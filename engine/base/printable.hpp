// Text of others on its way to a terminal or a log: what it holds cannot steer the one, nor begin a line of the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kiln {

// Escapes a stream of bytes piece by piece: a character of UTF-8 may lie in two pieces. Control characters (C0, DEL, C1)
// become "\u001b", the escape of JSON: inside a string of a JSON text they mean the same. A lone byte 0x80 to 0x9f, a
// control character to terminals without UTF-8, becomes "\x9b".
class Escaper {
 public:
  // lines: newlines and tabs stay.
  enum class Keeps : std::uint8_t { lines, nothing };
  explicit Escaper(Keeps keeps = Keeps::lines) : keeps_(keeps) {}
  void add(std::string_view text, std::string& out);
  void end(std::string& out);

 private:
  void byte(unsigned char c, std::string& out);
  Keeps keeps_;
  int continuing_ = 0;  // bytes of the character that are still to come
  bool held_ = false;   // the lead of C1 characters, whose next byte decides
};

std::string printable(std::string_view text);  // lines stay
std::string one_line(std::string_view text);   // made valid UTF-8, and nothing stays

}  // namespace kiln
