#include "api/cli/source_text.hpp"

#include <algorithm>

#include "api/cli/terminal.hpp"

namespace kiln::cli {
namespace {

// A scanner of well-formed JSON that only looks for one value.
class Locator {
 public:
  Locator(std::string_view text, std::string_view pointer) : text_(text), pointer_(pointer) {}

  std::optional<TextRange> run() {
    if (!value(0, true)) return std::nullopt;
    return found_;
  }

 private:
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }
  bool take(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::optional<std::string> string() {
    if (!take('"')) return std::nullopt;
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') ++at_;
      if (at_ < text_.size()) out += text_[at_++];
    }
    if (at_ >= text_.size()) return std::nullopt;
    ++at_;
    return out;
  }
  // The pointer's token that starts at `from` (behind its slash), unescaped.
  [[nodiscard]] std::string token(std::size_t from) const {
    std::string out;
    for (auto rest = pointer_.substr(from, pointer_.find('/', from) - from); !rest.empty(); rest.remove_prefix(1)) {
      if (rest[0] == '~' && rest.size() > 1) {
        out += rest[1] == '1' ? '/' : '~';
        rest.remove_prefix(1);
      } else {
        out += rest[0];
      }
    }
    return out;
  }
  [[nodiscard]] std::size_t after(std::size_t from) const { return std::min(pointer_.find('/', from), pointer_.size()); }

  // Reads a value; `on_path`: the pointer up to `consumed` led here.
  bool value(std::size_t consumed, bool on_path) {
    if (++depth_ > 200) return false;
    blanks();
    const auto begin = at_;
    const bool inner = on_path && consumed < pointer_.size();
    const auto name = inner ? token(consumed + 1) : std::string();
    const auto next = inner ? after(consumed + 1) : 0;
    bool good = false;
    if (at_ < text_.size() && text_[at_] == '{') good = object(name, next, inner);
    else if (at_ < text_.size() && text_[at_] == '[') good = array(name, next, inner);
    else good = scalar();
    --depth_;
    if (good && on_path && !found_) found_ = TextRange{begin, at_};
    return good;
  }
  bool object(const std::string& name, std::size_t next, bool inner) {
    take('{');
    if (take('}')) return true;
    do {
      auto key = string();
      if (!key || !take(':')) return false;
      if (!value(next, inner && *key == name)) return false;
    } while (take(','));
    return take('}');
  }
  bool array(const std::string& name, std::size_t next, bool inner) {
    take('[');
    if (take(']')) return true;
    std::size_t index = 0;
    do {
      if (!value(next, inner && std::to_string(index) == name)) return false;
      ++index;
    } while (take(','));
    return take(']');
  }
  bool scalar() {
    if (at_ < text_.size() && text_[at_] == '"') return string().has_value();
    const auto begin = at_;
    while (at_ < text_.size() && std::string_view(",]} \t\r\n").find(text_[at_]) == std::string_view::npos) ++at_;
    return at_ > begin;
  }

  std::string_view text_, pointer_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::optional<TextRange> found_;
};

struct Place { std::size_t line = 1, column = 1; std::string_view text; };

Place place_of(std::string_view text, std::size_t offset) {
  Place place;
  offset = std::min(offset, text.size());
  std::size_t begin = 0;
  for (std::size_t i = 0; i < offset; ++i)
    if (text[i] == '\n') { ++place.line; begin = i + 1; }
  place.column = offset - begin + 1;
  place.text = text.substr(begin, text.find('\n', begin) - begin);
  return place;
}

bool inside_character(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

// At most `at`, and not inside a character of UTF-8.
std::size_t boundary(std::string_view text, std::size_t at) {
  at = std::min(at, text.size());
  while (at > 0 && inside_character(text, at)) --at;
  return at;
}

// A part of a line as it is shown: a tab takes one column, control characters are seen.
std::string shown(std::string_view part) {
  auto text = printable(part);
  std::replace(text.begin(), text.end(), '\t', ' ');
  return text;
}

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) count += inside_character(text, i) ? 0 : 1;
  return count;
}

std::string quote(const Place& place, std::size_t length) {
  const std::string number = std::to_string(place.line);
  auto line = place.text;
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::size_t at = boundary(line, place.column - 1);
  if (line.size() > 160 && at >= 80) {  // a long line: the part around the place
    const auto cut = boundary(line, at - 60);
    line.remove_prefix(cut);
    at -= cut;
  }
  line = line.substr(0, boundary(line, 160));
  auto end = at + std::min(std::max<std::size_t>(length, 1), line.size() - at);
  while (inside_character(line, end)) ++end;
  const auto before = shown(line.substr(0, at)), marked = shown(line.substr(at, end - at));
  const auto marks = std::max<std::size_t>(columns(marked), 1);
  return "  " + number + " | " + before + marked + shown(line.substr(end)) + "\n  " + std::string(number.size(), ' ') + " | " +
         std::string(columns(before), ' ') + "^" + std::string(marks - 1, '~') + "\n";
}

}  // namespace

std::optional<TextRange> locate(std::string_view json, std::string_view pointer) { return Locator(json, pointer).run(); }

std::string place_text(const std::string& file, std::string_view json, std::string_view pointer) {
  const auto range = json.empty() ? std::nullopt : locate(json, pointer);
  if (!range) return "";
  const auto place = place_of(json, range->begin);
  return file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

std::string render(const Diagnostic& d, const std::string& file, std::string_view json) {
  const std::string severity = d.severity == Severity::error ? "error" : d.severity == Severity::warning ? "warning" : "note";
  std::string head, quoted;
  auto range = json.empty() ? std::nullopt : locate(json, d.pointer);
  if (range || (!json.empty() && d.pointer.empty() && d.offset)) {
    std::size_t begin = range && !d.pointer.empty() ? range->begin : 0, length = range ? range->end - range->begin : 1;
    if (d.offset) {  // inside the string (behind its quote), or in the text itself
      begin += *d.offset + (d.pointer.empty() ? 0 : 1);
      length = d.length;
    }
    const auto place = place_of(json, begin);
    head = file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": ";
    quoted = quote(place, length);
  } else {
    head = (file.empty() ? "" : file + ": ") + (d.pointer.empty() ? "" : d.pointer + ": ");
    if (!d.source.empty() && d.offset) {
      Place place{1, *d.offset + 1, d.source};
      quoted = quote(place, d.length);
    }
  }
  std::string out = head + severity + ": " + d.message + "\n" + quoted;
  if (!d.expected.empty() || !d.found.empty())
    out += "  " + (d.expected.empty() ? "" : "expected " + d.expected) + (d.found.empty() ? "" : (d.expected.empty() ? "found " : ", found ") + d.found) + "\n";
  if (!d.hint.empty()) out += "  hint: " + d.hint + "\n";
  return out;
}

}  // namespace kiln::cli
