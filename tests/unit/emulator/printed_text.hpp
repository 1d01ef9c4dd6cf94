// What printf of this machine makes of a format.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>

namespace kiln::emulator {

[[gnu::format(printf, 1, 2)]] inline std::string printed(const char* format, ...) {
  char text[8192];
  std::va_list list;
  va_start(list, format);
  std::vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return text;
}

}  // namespace kiln::emulator
