#include <algorithm>

#include "engine/emit/emit.hpp"

namespace kiln::emit {

std::vector<LineOwner> owners_of_lines(std::string_view text) {
  std::vector<LineOwner> lines(1);
  LineOwner current;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line == "}") current = {};   // a kernel's end
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.starts_with(statement_mark)) {
      line.remove_prefix(statement_mark.size());
      const auto space = std::min(line.find(' '), line.size());
      current = {std::string(line.substr(0, space)), std::string(line.substr(std::min(space + 1, line.size())))};
    }
    lines.push_back(current);
  }
  return lines;
}

}  // namespace kiln::emit
