#include "engine/jit/tuning.hpp"

#include <algorithm>
#include <charconv>

#include "engine/base/statistics.hpp"

namespace kiln::jit {
namespace {

template <class List> bool named(const List& list, const std::string& name) {
  return std::any_of(list.begin(), list.end(), [&](const auto& item) { return item.name == name; });
}

bool is_integer(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

bool printable(std::string_view text) {
  // C1 controls; U+2028 to U+202E; U+2066 to U+2069: by the bytes before the last one, which lies in a range.
  struct Range {
    std::string_view lead;
    unsigned char first, last;
  };
  static constexpr Range refused[] = {
      {"\xc2", 0x80, 0x9f}, {"\xe2\x80", 0xa8, 0xae}, {"\xe2\x81", 0xa6, 0xa9}};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) return false;
    for (const auto& range : refused) {
      const auto last = i + range.lead.size();
      if (!text.substr(i).starts_with(range.lead) || last >= text.size()) continue;
      const auto end = static_cast<unsigned char>(text[last]);
      if (end >= range.first && end <= range.last) return false;
    }
  }
  return true;
}

std::optional<std::string> not_tunables(const tile::Program& program, const Words& set) {
  for (const auto& [name, value] : set) {
    if (named(program.tunables, name)) {
      if (!is_integer(value)) return name + " is set to " + value + ": a tunable takes an integer";
      continue;
    }
    const char* what = named(program.symbols, name)   ? " is a symbol of "
                       : named(program.options, name) ? " is an option of "
                                                      : " is no tunable of ";
    return name + what + program.name;
  }
  return std::nullopt;
}

Quartiles quartiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());  // once for all three
  return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

const char* tune_verdict_name(TuneVerdict verdict) {
  static constexpr const char* names[] = {"open",   "best",   "equal", "slower", "invalid", "failed",
                                          "pruned", "same",   "wrong", "hung",   "crashed"};
  return names[static_cast<std::size_t>(verdict)];
}

}  // namespace kiln::jit
