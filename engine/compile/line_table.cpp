#include "engine/compile/line_table.hpp"

#include <algorithm>
#include <cstring>

namespace kiln::compile {
namespace {

// Little-endian values; after the end everything is 0 and `good` false.
class Cursor {
 public:
  explicit Cursor(ByteView bytes) : rest_(bytes) {}
  template <class T> T fixed() {
    T value{};
    if (rest_.size() < sizeof value) good_ = false;
    else std::memcpy(&value, rest_.data(), sizeof value);
    skip(sizeof value);
    return value;
  }
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (int shift = 0; good_ && shift < 64; shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      value |= std::uint64_t(byte & 127) << shift;
      if ((byte & 128) == 0) break;
    }
    return value;
  }
  std::int64_t sleb() {
    std::uint64_t value = 0;
    int shift = 0;
    std::uint8_t byte = 128;
    while (good_ && shift < 64 && (byte & 128) != 0) {
      byte = fixed<std::uint8_t>();
      value |= std::uint64_t(byte & 127) << shift;
      shift += 7;
    }
    if (shift < 64 && (byte & 64) != 0) value |= ~std::uint64_t(0) << shift;
    return static_cast<std::int64_t>(value);
  }
  void skip(std::uint64_t bytes) {
    good_ = good_ && bytes <= rest_.size();
    rest_ = good_ ? rest_.subspan(bytes) : ByteView();
  }
  Cursor part(std::uint64_t bytes) {
    Cursor inner(bytes <= rest_.size() ? rest_.first(bytes) : ByteView());
    skip(bytes);
    return inner;
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  ByteView rest_;
  bool good_ = true;
};

struct Prologue {
  std::uint8_t minimum_length = 1, line_range = 1, opcode_base = 1;
  std::int8_t line_base = 0;
  std::vector<std::uint8_t> operands;   // of standard opcodes, from 1
};

Prologue read_prologue(Cursor& header) {
  Prologue p;
  p.minimum_length = header.fixed<std::uint8_t>();
  header.skip(2);   // operations an instruction, default_is_stmt
  p.line_base = header.fixed<std::int8_t>();
  p.line_range = header.fixed<std::uint8_t>();
  p.opcode_base = header.fixed<std::uint8_t>();
  for (int i = 1; i < p.opcode_base; ++i) p.operands.push_back(header.fixed<std::uint8_t>());
  return p;
}

struct State {
  std::uint64_t address = 0, file = 1, line = 1;
};

}  // namespace

// One unit's program. Opcodes by number: DWARF 5, 6.2.5.
LineTable LineTable::read(ByteView section) {
  LineTable table;
  for (Cursor all(section); all.good() && !all.at_end();) {
    Cursor unit = all.part(all.fixed<std::uint32_t>());
    const auto version = unit.fixed<std::uint16_t>();
    if (version < 4 || version > 5) break;
    if (version == 5) unit.skip(2);   // sizes of addresses and of segment selectors
    Cursor header = unit.part(unit.fixed<std::uint32_t>());
    const Prologue p = read_prologue(header);
    if (!header.good() || p.line_range == 0) break;
    State state;
    const auto row = [&](bool end) {
      table.rows_.push_back({state.address, end || state.file > 1 ? 0 : static_cast<std::uint32_t>(state.line)});
    };
    const auto advance = [&](std::uint64_t operations) { state.address += operations * p.minimum_length; };
    while (unit.good() && !unit.at_end()) {
      const auto opcode = unit.fixed<std::uint8_t>();
      if (opcode >= p.opcode_base) {
        const int adjusted = opcode - p.opcode_base;
        advance(static_cast<std::uint64_t>(adjusted / p.line_range));
        state.line += static_cast<std::uint64_t>(p.line_base + adjusted % p.line_range);
        row(false);
      } else if (opcode == 0) {         // extended: its length, its number
        Cursor extended = unit.part(unit.uleb());
        const auto number = extended.fixed<std::uint8_t>();
        if (number == 1) row(true), state = {};
        else if (number == 2) state.address = extended.fixed<std::uint64_t>();
      } else if (opcode == 1) {
        row(false);
      } else if (opcode == 2) {
        advance(unit.uleb());
      } else if (opcode == 3) {
        state.line += static_cast<std::uint64_t>(unit.sleb());
      } else if (opcode == 4) {
        state.file = unit.uleb();
      } else if (opcode == 8) {
        advance(static_cast<std::uint64_t>((255 - p.opcode_base) / p.line_range));
      } else if (opcode == 9) {
        state.address += unit.fixed<std::uint16_t>();
      } else {
        for (int i = 0; i < p.operands[opcode - 1u]; ++i) (void)unit.uleb();
      }
    }
  }
  std::stable_sort(table.rows_.begin(), table.rows_.end(),
                   [](const Row& a, const Row& b) { return a.address < b.address; });
  return table;
}

std::uint32_t LineTable::at(std::uint64_t address) const {
  const auto behind = std::upper_bound(rows_.begin(), rows_.end(), address,
                                       [](std::uint64_t wanted, const Row& row) { return wanted < row.address; });
  return behind == rows_.begin() ? 0 : std::prev(behind)->line;
}

}  // namespace kiln::compile
