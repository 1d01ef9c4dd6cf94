// Which line of its source an instruction comes from, by the object's own debug information (DWARF).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/base/bytes.hpp"

namespace kiln::emulator {

struct SourceLine {
  std::string file;         // its last component; "": unknown
  std::uint32_t line = 0;
};

// Reads with LLVM's DWARF reader, which was not made for hostile files: only launches that are profiled use it. One
// thread at a time.
class SourceLines {
 public:
  virtual ~SourceLines() = default;
  // Null where the object has no line table.
  static std::unique_ptr<SourceLines> read(ByteView object);
  // Of the instruction at a virtual address of the object. What was inlined counts for the line of the function that is
  // not inlined itself: the kernel's.
  virtual SourceLine at(std::uint64_t address) = 0;
};

}  // namespace kiln::emulator
