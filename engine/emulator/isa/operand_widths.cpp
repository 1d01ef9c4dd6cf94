#include "engine/emulator/isa/operand_widths.hpp"

#include <cstddef>

namespace kiln::emulator {
namespace {

constexpr std::size_t operands_max = 12;

// Registers named in the text, in its order.
struct Operands {
  struct Range {
    Source::Kind kind = Source::Kind::none;
    unsigned first = 0, count = 1;
  };
  Range list[operands_max];
  std::size_t count = 0;

  void add(Source::Kind kind, unsigned first, unsigned registers) {
    if (count < operands_max && registers >= 1 && registers <= 64) list[count++] = {kind, first, registers};
  }
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

unsigned number(std::string_view text, std::size_t& at) {
  unsigned value = 0;
  while (at < text.size() && is_digit(text[at]) && value < 100000) value = value * 10 + unsigned(text[at++] - '0');
  return value;
}

// "v7", "v[2:5]", "a[0:15]", "s[4:5]" at `at`; false: something else.
bool read_register(std::string_view text, std::size_t at, Operands& operands) {
  const char letter = text[at++];
  if (letter != 'v' && letter != 'a' && letter != 's') return false;
  const bool many = at < text.size() && text[at] == '[';
  if (many) ++at;
  if (at >= text.size() || !is_digit(text[at])) return false;
  const unsigned first = number(text, at);
  unsigned last = first;
  if (many && at < text.size() && text[at] == ':') last = number(text, ++at);
  if (last < first) return false;
  const bool scalar = letter == 's';
  operands.add(scalar ? Source::Kind::scalar : Source::Kind::vector, first + (letter == 'a' ? 256 : 0),
               last - first + 1);
  return true;
}

struct Pair {
  std::string_view name;
  unsigned code;
};
constexpr Pair pairs[] = {{"vcc", code::vcc}, {"exec", code::exec}, {"flat_scratch", code::flat_scratch},
                          {"xnack_mask", code::xnack_mask}};

void read_operands(std::string_view text, Operands& operands) {
  std::size_t at = text.find(' ');
  while (at < text.size()) {
    if (!is_word(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    if (!read_register(text, at, operands)) {
      const std::string_view word = text.substr(at, end - at);
      for (const Pair& pair : pairs)
        if (word == pair.name) operands.add(Source::Kind::scalar, pair.code, 2);
    }
    if (end < text.size() && text[end] == '[') end = text.find(']', end);
    at = end;
  }
}

}  // namespace

void set_operand_widths(Instruction& instruction, std::string_view text) {
  Operands operands;
  read_operands(text, operands);
  // The text's order is the operands' but for stores of buffers, whose data comes before the address.
  std::size_t next = 0, results = 0;
  const auto set = [&](Source& operand, std::size_t from) {
    if (operand.kind != Source::Kind::vector && operand.kind != Source::Kind::scalar) return false;
    for (std::size_t i = from; i < operands.count; ++i) {
      const auto& range = operands.list[i];
      if (range.kind != operand.kind || range.first != operand.index) continue;
      operand.registers = static_cast<std::uint8_t>(range.count);
      next = i + 1;
      return true;
    }
    return false;
  };
  if (set(instruction.dst, 0)) results = next;
  if (set(instruction.scalar_dst, next)) results = next;
  const auto set_source = [&](Source& source) {
    const std::size_t before = next;
    if (set(source, next)) return;
    if (!set(source, results)) set(source, 0);
    next = before;
  };
  for (Source& source : instruction.src) set_source(source);
  for (Source& source : instruction.scale) set_source(source);
}

}  // namespace kiln::emulator
