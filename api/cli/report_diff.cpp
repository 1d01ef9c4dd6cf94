#include "api/cli/report_diff.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kiln::cli {
namespace {

constexpr std::size_t lines_max = 4000;
constexpr std::size_t context_lines = 3;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

struct Line {
  char mark = ' ';
  std::string text;
};

// A longest common subsequence keeps its lines; what is left of `a` goes, what is left of `b` comes.
std::vector<Line> edits(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto columns = b.size() + 1;
  std::vector<std::uint16_t> common((a.size() + 1) * columns, 0);  // of the rests from i and j
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      common[i * columns + j] = a[i] == b[j] ? std::uint16_t(common[(i + 1) * columns + j + 1] + 1)
                                             : std::max(common[(i + 1) * columns + j], common[i * columns + j + 1]);
  std::vector<Line> lines;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      lines.push_back({' ', a[i++]});
      ++j;
    } else if (j == b.size() || (i < a.size() && common[(i + 1) * columns + j] >= common[i * columns + j + 1])) {
      lines.push_back({'-', a[i++]});
    } else {
      lines.push_back({'+', b[j++]});
    }
  }
  return lines;
}

// Which lines are shown: changed ones and their context.
std::vector<bool> shown_lines(const std::vector<Line>& lines) {
  std::vector<bool> shown(lines.size(), false);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].mark == ' ') continue;
    const auto end = std::min(lines.size(), i + context_lines + 1);
    for (auto near = i - std::min(i, context_lines); near < end; ++near) shown[near] = true;
  }
  return shown;
}

std::string range(std::size_t first, std::size_t count) {
  return std::to_string(count == 0 ? first : first + 1) + "," + std::to_string(count);
}

bool begins_statement(const std::string& line) {
  return !line.empty() && line[0] != ' ' && line[0] != '\t' && line[0] != '#' && line[0] != ')' && line[0] != ']';
}

}  // namespace

std::string unified_diff(const std::string& before, const std::string& after, const std::string& name_before,
                         const std::string& name_after) {
  if (before == after) return "";
  const auto a = lines_of(before), b = lines_of(after);
  std::vector<Line> lines;
  if (a.size() > lines_max || b.size() > lines_max) {
    for (const auto& line : a) lines.push_back({'-', line});
    for (const auto& line : b) lines.push_back({'+', line});
  } else {
    lines = edits(a, b);
  }
  const auto shown = shown_lines(lines);
  std::string text = "--- " + name_before + "\n+++ " + name_after + "\n";
  std::size_t at_a = 0, at_b = 0;
  for (std::size_t i = 0; i < lines.size();) {
    if (!shown[i]) {
      ++i, ++at_a, ++at_b;
      continue;
    }
    std::size_t of_a = 0, of_b = 0;
    std::string hunk;
    for (; i < lines.size() && shown[i]; ++i) {
      of_a += lines[i].mark != '+';
      of_b += lines[i].mark != '-';
      hunk += lines[i].mark + lines[i].text + "\n";
    }
    text += "@@ -" + range(at_a, of_a) + " +" + range(at_b, of_b) + " @@\n" + hunk;
    at_a += of_a;
    at_b += of_b;
  }
  return text;
}

std::string python_function(const std::string& text, const std::string& name) {
  const auto lines = lines_of(text);
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (!lines[at].starts_with("def " + name + "(")) continue;
    auto begin = at;
    // Decorators, also those that take several lines: back to the line behind a blank one.
    while (begin > 0 && !lines[begin - 1].empty()) --begin;
    while (begin < at && lines[begin][0] != '@') ++begin;
    auto end = at + 1;
    while (end < lines.size() && !begins_statement(lines[end])) ++end;
    while (end > at + 1 && (lines[end - 1].empty() || lines[end - 1][0] == '#')) --end;
    std::string found;
    for (auto i = begin; i < end; ++i) found += lines[i] + "\n";
    return found;
  }
  return "";
}

}  // namespace kiln::cli
