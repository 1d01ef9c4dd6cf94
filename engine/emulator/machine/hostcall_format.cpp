#include "engine/emulator/machine/hostcall_format.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

namespace kiln::emulator {
namespace {

constexpr int extent_max = 65535;   // of a width or precision: what is wider is a mistake, or malice
constexpr std::string_view flag_letters = "-+ #0'", length_letters = "hlLqjzt";

std::size_t padded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

template <class T> T value_of(ByteView bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

void drop(ByteView& bytes, std::size_t count) { bytes = bytes.subspan(std::min(count, bytes.size())); }

// A width or precision: written, or an argument's (`from_argument`).
struct Extent {
  int value = -1;                       // -1: not given
  bool from_argument = false;
};

// One conversion as the format has it.
struct Conversion {
  std::string flags;
  Extent width, precision;
  std::string_view length;
  char kind = 0;                        // 0: none that exists
  std::size_t end = 0;                  // in the format, behind it
};

Extent read_extent(std::string_view format, std::size_t& at) {
  Extent extent;
  if (at < format.size() && format[at] == '*') {
    extent.from_argument = true;
    ++at;
    return extent;
  }
  for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at)
    extent.value = std::min(std::max(extent.value, 0) * 10 + (format[at] - '0'), extent_max);
  return extent;
}

// `at`: behind the percent sign.
Conversion read_conversion(std::string_view format, std::size_t at) {
  Conversion conversion;
  for (; at < format.size() && flag_letters.find(format[at]) != std::string_view::npos; ++at)
    if (format[at] != '\'' && conversion.flags.find(format[at]) == std::string::npos) conversion.flags += format[at];
  conversion.width = read_extent(format, at);
  if (at < format.size() && format[at] == '.') {
    conversion.precision = read_extent(format, ++at);
    if (!conversion.precision.from_argument) conversion.precision.value = std::max(conversion.precision.value, 0);
  }
  const std::size_t length = at;
  while (at < format.size() && at - length < 2 && length_letters.find(format[at]) != std::string_view::npos) ++at;
  conversion.length = format.substr(length, at - length);
  constexpr std::string_view kinds = "diouxXfFeEgGaAcspn";
  if (at < format.size() && kinds.find(format[at]) != std::string_view::npos) conversion.kind = format[at++];
  conversion.end = at;
  return conversion;
}

// The C library's conversion of one value.
template <class T> std::string converted(const Conversion& conversion, const char* length, T value) {
  const std::string pattern = "%" + conversion.flags + "*.*" + length + conversion.kind;
  const int width = std::max(conversion.width.value, 0), precision = conversion.precision.value;
  char small[128];
  const int bytes = std::snprintf(small, sizeof small, pattern.c_str(), width, precision, value);
  if (bytes < 0) return {};
  if (static_cast<std::size_t>(bytes) < sizeof small) return {small, static_cast<std::size_t>(bytes)};
  std::string text(static_cast<std::size_t>(bytes) + 1, '\0');
  std::snprintf(text.data(), text.size(), pattern.c_str(), width, precision, value);
  text.pop_back();
  return text;
}

std::string filled(const Conversion& conversion, std::string_view text) {
  std::string all(text);
  const auto width = static_cast<std::size_t>(std::max(conversion.width.value, 0));
  if (all.size() >= width) return all;
  all.insert(conversion.flags.find('-') == std::string::npos ? 0 : all.size(), width - all.size(), ' ');
  return all;
}

std::string integer_text(const Conversion& conversion, std::uint64_t word) {
  const bool is_signed = conversion.kind == 'd' || conversion.kind == 'i';
  const auto narrowed = [&](auto as_signed, auto as_unsigned) {
    return is_signed ? converted(conversion, "ll", static_cast<long long>(static_cast<decltype(as_signed)>(word)))
                     : converted(conversion, "ll", static_cast<long long>(static_cast<decltype(as_unsigned)>(word)));
  };
  if (conversion.length == "hh") return narrowed(std::int8_t{}, std::uint8_t{});
  if (conversion.length == "h") return narrowed(std::int16_t{}, std::uint16_t{});
  if (conversion.length.empty()) return narrowed(std::int32_t{}, std::uint32_t{});
  return narrowed(std::int64_t{}, std::uint64_t{});
}

std::string pointer_text(const Conversion& conversion, std::uint64_t address) {
  char digits[24] = "(nil)";
  if (address != 0) std::snprintf(digits, sizeof digits, "%#llx", static_cast<unsigned long long>(address));
  return filled(conversion, digits);
}

// Fills in what `*` stands for. False: the argument is not there.
bool take_extents(Conversion& conversion, PrintArguments& arguments) {
  for (Extent* const extent : {&conversion.width, &conversion.precision}) {
    if (!extent->from_argument) continue;
    const auto word = arguments.integer();
    if (!word) return false;
    const auto value = static_cast<std::int32_t>(*word);
    extent->value = std::clamp(value, -extent_max, extent_max);
    if (value >= 0) continue;
    if (extent == &conversion.precision) {
      extent->value = -1;
      continue;
    }
    extent->value = -extent->value;
    if (conversion.flags.find('-') == std::string::npos) conversion.flags += '-';
  }
  return true;
}

// Nothing: the argument is not there.
std::optional<std::string> text_of(Conversion conversion, PrintArguments& arguments) {
  if (!take_extents(conversion, arguments)) return std::nullopt;
  if (conversion.kind == 's') {
    const auto text = arguments.string();
    if (!text) return std::nullopt;
    const int precision = conversion.precision.value;
    return filled(conversion, precision < 0 ? *text : text->substr(0, static_cast<std::size_t>(precision)));
  }
  if (std::string_view("fFeEgGaA").find(conversion.kind) != std::string_view::npos) {
    const auto value = arguments.real();
    if (!value) return std::nullopt;
    return converted(conversion, "", *value);
  }
  const auto word = arguments.integer();
  if (!word) return std::nullopt;
  if (conversion.kind == 'n') return std::string();
  if (conversion.kind == 'p') return pointer_text(conversion, *word);
  if (conversion.kind == 'c') {
    const char letter = static_cast<char>(*word);
    return filled(conversion, {&letter, 1});
  }
  return integer_text(conversion, *word);
}

}  // namespace

std::string_view terminated(ByteView bytes) {
  const auto all = kiln::text(bytes);
  return all.substr(0, all.find('\0'));
}

std::optional<std::uint64_t> WordArguments::integer() {
  if (left_.size() < 8) return std::nullopt;
  const auto value = value_of<std::uint64_t>(left_);
  drop(left_, 8);
  return value;
}

std::optional<double> WordArguments::real() {
  if (left_.size() < 8) return std::nullopt;
  const auto value = value_of<double>(left_);
  drop(left_, 8);
  return value;
}

std::optional<std::string_view> WordArguments::string() {
  if (left_.empty()) return std::nullopt;
  const auto text = terminated(left_);
  drop(left_, padded(text.size() + 1, 8));
  return text;
}

std::optional<ByteView> SizedArguments::next() {
  if (count_ == 0 || left_.size() < *sizes_) return std::nullopt;
  const auto bytes = left_.subspan(0, *sizes_);
  drop(left_, padded(*sizes_, 4));
  ++sizes_;
  --count_;
  if (bytes.empty()) return std::nullopt;   // no conversion is for nothing
  return bytes;
}

std::optional<std::uint64_t> SizedArguments::integer() {
  const auto bytes = next();
  if (!bytes) return std::nullopt;
  return value_of<std::uint64_t>(*bytes);
}

std::optional<double> SizedArguments::real() {
  const auto bytes = next();
  if (!bytes) return std::nullopt;
  if (bytes->size() == 4) return double{value_of<float>(*bytes)};
  return value_of<double>(*bytes);
}

std::optional<std::string_view> SizedArguments::string() {
  const auto bytes = next();
  if (!bytes) return std::nullopt;
  return terminated(*bytes);
}

std::string format_print(std::string_view format, PrintArguments& arguments, std::size_t bytes_max) {
  std::string text;
  for (std::size_t at = 0; at < format.size() && text.size() <= bytes_max;) {
    const std::size_t percent = std::min(format.find('%', at), format.size());
    text += format.substr(at, percent - at);
    at = percent;
    if (percent == format.size()) break;
    if (format.substr(percent + 1, 1) == "%") {
      text += '%';
      at = percent + 2;
      continue;
    }
    const auto conversion = read_conversion(format, percent + 1);
    at = conversion.end;
    const auto converted = conversion.kind == 0 ? std::nullopt : text_of(conversion, arguments);
    text += converted ? *converted : std::string(format.substr(percent, at - percent));
  }
  return text;
}

}  // namespace kiln::emulator
