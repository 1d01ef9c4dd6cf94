// What the text of a print or an assert may be. It is shown in terminals and logs, whoever wrote the program.
#pragma once

#include <string>
#include <string_view>

namespace kiln::tile {

// What keeps `text`, valid UTF-8, from being a message of one printable line, in words: "the character U+000A at byte
// 3", "1048576 bytes". "" when nothing does: at most message_text_bytes_max bytes, no control characters, no separators
// of lines, nothing that changes the direction of what follows.
std::string what_is_not_printable(std::string_view text);

}  // namespace kiln::tile
