#include "engine/base/diagnostics.hpp"

#include <algorithm>

#include "engine/base/bytes.hpp"

namespace kiln {
namespace {

constexpr std::size_t found_bytes_max = 200;

const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::error: return "error";
    case Severity::warning: return "warning";
    case Severity::note: return "note";
  }
  return "error";
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::size_t characters(std::string_view text) {
  const auto starts = [](char c) { return !continues_character(c); };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts));
}

// The line of `source` that holds `offset`, and below it a caret under the bytes offset .. offset + length.
std::string quote(const std::string& source, std::size_t offset, std::size_t length) {
  offset = std::min(offset, source.size());
  const auto before = offset == 0 ? std::string::npos : source.rfind('\n', offset - 1);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  const std::size_t end = std::min(source.find('\n', offset), source.size());
  std::string line = source.substr(begin, end - begin);
  std::replace_if(line.begin(), line.end(), [](char c) { return c == '\t' || c == '\r'; }, ' ');
  const std::string_view marked = std::string_view(line).substr(offset - begin, std::max<std::size_t>(length, 1));
  return "\n  " + line + "\n  " + std::string(characters(std::string_view(line).substr(0, offset - begin)), ' ') +
         std::string(std::max<std::size_t>(characters(marked), 1), '^');
}

}  // namespace

std::string to_text(const Diagnostic& d) {
  std::string text = name_of(d.severity);
  if (!d.pointer.empty() || d.offset) text += " at " + d.pointer;
  if (d.offset) text += ":" + std::to_string(*d.offset);
  text += ": " + d.message;
  if (!d.expected.empty() || !d.found.empty()) {
    text += " (";
    if (!d.expected.empty()) text += "expected " + d.expected;
    if (!d.found.empty()) text += (d.expected.empty() ? "found " : ", found ") + d.found;
    text += ")";
  }
  if (!d.hint.empty()) text += "; hint: " + d.hint;
  if (!d.source.empty()) text += quote(d.source, d.offset.value_or(0), d.length);
  return text;
}

void Diagnostics::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::error) ++errors_;
  if (list_.size() >= limit_) return;
  if (diagnostic.found.size() > found_bytes_max) {
    std::size_t end = found_bytes_max - 3;  // the mark takes three bytes
    while (end > 0 && continues_character(diagnostic.found[end])) --end;
    diagnostic.found.resize(end);
    diagnostic.found += "…";
  }
  list_.push_back(std::move(diagnostic));
}

}  // namespace kiln
