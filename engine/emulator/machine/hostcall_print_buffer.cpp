#include "engine/emulator/machine/hostcall_print_buffer.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "engine/emulator/machine/hostcall_format.hpp"

namespace kiln::emulator {
namespace {

constexpr std::uint32_t header_bytes = 8, data_bytes = 64 << 20;
constexpr std::uint32_t nearly_full = 4096;             // with so little left pieces may have found no room
constexpr std::size_t arguments_max = 1024, argument_bytes_max = 1 << 20;

Error malformed(const std::string& what) { return Error(ErrorCode::corrupt, "the buffer of its printf: " + what); }

// The number before the next `end`, which is taken off. False: there is none.
bool take_number(std::string_view& text, char end, int base, std::uint64_t& value) {
  const auto at = text.find(end);
  if (at == std::string_view::npos) return false;
  const auto parsed = std::from_chars(text.data(), text.data() + at, value, base);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + at) return false;
  text.remove_prefix(at + 1);
  return true;
}

// OpenCL's formats are written with C's escapes: the metadata gives colons a meaning.
std::string unescaped(std::string_view text) {
  constexpr std::string_view letters = "abfnrtv\\", meant = "\a\b\f\n\r\t\v\\";
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      plain += text[at];
      continue;
    }
    const auto letter = letters.find(text[at + 1]);
    if (letter != std::string_view::npos) {
      plain += meant[letter];
      ++at;
      continue;
    }
    unsigned value = 0;
    std::size_t digits = 0;
    while (digits < 3 && at + 1 + digits < text.size() && text[at + 1 + digits] >= '0' && text[at + 1 + digits] <= '7')
      value = value * 8 + static_cast<unsigned>(text[at + 1 + digits++] - '0');
    plain += digits == 0 ? '\\' : static_cast<char>(value);
    at += digits;
  }
  return plain;
}

std::uint32_t dword(ByteView bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// The least that a piece takes of what a launch may print: conversions may come to nothing, however long their format.
// Far less than what formats of right kernels come to.
std::size_t least_price(std::string_view format) { return 1 + format.size() / 8; }

std::size_t padded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

// One piece at the front of `bytes`; how long it is.
Result<std::size_t> print_sized(ByteView bytes, const PrintFormats& formats, PrintedOutput& output) {
  const auto* const format = formats.by_number(dword(bytes, 0));
  if (format == nullptr) return malformed("no format has the number " + std::to_string(dword(bytes, 0)));
  std::size_t size = 4;
  for (const auto one : format->sizes) size += padded(one, 4);
  if (size > bytes.size()) return malformed("a piece ends behind it");
  SizedArguments arguments(bytes.subspan(4, size - 4), format->sizes.data(), format->sizes.size());
  output.write(false, format_print(format->text, arguments, output.room()), least_price(format->text));
  return size;
}

Result<std::size_t> print_hashed(ByteView bytes, const PrintFormats& formats, PrintedOutput& output) {
  const std::uint32_t control = dword(bytes, 0);
  const std::size_t size = control >> 2;
  const bool constant = (control & 2) != 0;
  if (size < (constant ? 12u : 4u) || size % 4 != 0 || size > bytes.size())
    return malformed("a piece of " + std::to_string(size) + " bytes, " + std::to_string(bytes.size()) + " are left");
  auto rest = bytes.subspan(4, size - 4);
  std::string_view format = terminated(rest);
  if (constant) {
    std::uint64_t hash = 0;
    std::memcpy(&hash, rest.data(), sizeof hash);
    const auto* const known = formats.by_hash(hash);
    if (known == nullptr) return malformed("a format that the object's metadata does not have");
    format = *known;
    rest = rest.subspan(8);
  } else {
    rest = rest.subspan(std::min(rest.size(), padded(format.size() + 1, 8)));
  }
  WordArguments arguments(rest);
  output.write((control & 1) != 0, format_print(format, arguments, output.room()), least_price(format));
  return size;
}

}  // namespace

PrintFormats::PrintFormats(const std::vector<std::string>& entries) {
  for (const auto& entry : entries) {
    std::string_view rest = entry;
    std::uint64_t number = 0, count = 0, hash = 0;
    if (!take_number(rest, ':', 10, number) || !take_number(rest, ':', 10, count) || count > arguments_max) continue;
    if (number == 0) {
      if (take_number(rest, ',', 16, hash)) by_hash_[hash] = rest;
      continue;
    }
    Sized format;
    bool right = number <= 0xffffffffu;
    // Arguments that no conversion takes are counted, but have no size. (There is no colon in a format.)
    for (std::uint64_t size = 0; right && format.sizes.size() < count && take_number(rest, ':', 10, size);) {
      right = size <= argument_bytes_max;
      format.sizes.push_back(static_cast<std::uint32_t>(size));
    }
    format.text = unescaped(rest);
    if (right) by_number_[static_cast<std::uint32_t>(number)] = std::move(format);
  }
}

const PrintFormats::Sized* PrintFormats::by_number(std::uint32_t number) const {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : &found->second;
}

const std::string* PrintFormats::by_hash(std::uint64_t hash) const {
  const auto found = by_hash_.find(hash);
  return found == by_hash_.end() ? nullptr : &found->second;
}

Status PrintBuffer::open() {
  KILN_CHECK(memory_.map(header_bytes + std::uint64_t(data_bytes), "what a launch prints"));
  std::memcpy(memory_.at(4), &data_bytes, sizeof data_bytes);
  return ok();
}

Status PrintBuffer::print(const PrintFormats& formats, PrintedOutput& output) const {
  std::uint32_t used = 0;
  std::memcpy(&used, memory_.at(0), sizeof used);
  if (used > data_bytes) return malformed("it says that " + std::to_string(used) + " bytes are used");
  ByteView bytes(memory_.at(header_bytes), used);
  while (!bytes.empty() && !output.dropping()) {
    if (bytes.size() < 4) return malformed("a piece of less than 4 bytes");
    KILN_TRY(const auto size, formats.sized() ? print_sized(bytes, formats, output)
                                              : print_hashed(bytes, formats, output));
    bytes = bytes.subspan(size);
  }
  if (used > data_bytes - nearly_full && !output.dropping())
    output.remark("the buffer of printf is full: what found no room in it is missing");
  return ok();
}

}  // namespace kiln::emulator
