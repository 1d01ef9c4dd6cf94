// The line table of a code object that hipRTC made of Kiln's text: which line each instruction comes from. The compile
// worker runs among hipRTC's own libraries, of which none that is exported reads it; the form is read as far as clang
// writes it (DWARF 5, "Line Number Information"). Bytes may be hostile.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/bytes.hpp"

namespace kiln::compile {

class LineTable {
 public:
  // `section`: .debug_line. What cannot be read ends the table there; an empty one answers 0.
  static LineTable read(ByteView section);
  // The line of the main file's text, from 1, of the instruction at a virtual address; 0 where it is not known.
  [[nodiscard]] std::uint32_t at(std::uint64_t address) const;
  [[nodiscard]] bool empty() const { return rows_.empty(); }

 private:
  struct Row {
    std::uint64_t address = 0;
    std::uint32_t line = 0;   // 0: another file's, or behind the end of a sequence
  };
  std::vector<Row> rows_;     // by address
};

}  // namespace kiln::compile
