// Printers of kernel programs. Deterministic text, at most 1 MiB; no string of a user's reaches it but the program's name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/ir/kernel/program.hpp"

namespace kiln::emit {

inline constexpr std::size_t text_bytes_max = 1 << 20;

// In emit_hip's text a line that begins so, after its indentation, says which statement the lines behind it are of, up
// to the next such line: the kernel program's by its path, and behind a space the tile program's by what Stmt::pointer says
// (in objects: its number among bound::statement_texts of the launch).
inline constexpr std::string_view statement_mark = "// @";
struct LineOwner {
  std::string path;      // "body/4/for/2"; "" for what belongs to no statement
  std::string pointer;   // Stmt::pointer; "" where lowering added the statement
};
// By line number (from 1; [0] is no line).
std::vector<LineOwner> owners_of_lines(std::string_view text);

// HIP C++ for CDNA and RDNA targets. Includes only Kiln's device headers (<kiln/…>). One extern "C" kernel a launch, arguments:
// one pointer a tensor, one value a scalar, in order, and an i32 for each dynamic symbol behind them. Errors: unsupported, resource_limit (text too long).
Result<std::string> emit_hip(const kernel::Program& program, const target::Target& target);

// LLVM IR (text, opaque pointers, LLVM 22) for host targets. One function a launch:
//   i32 @<symbol>(ptr %args, ptr %arena, i64 %bx, i64 %by, i64 %bz, ptr %cancel)
// args: an array of pointers, one a tensor (a scalar: pointer to its value), then one to the i32 of each dynamic symbol; arena: scratch of the launch's lds_bytes, 64-byte
// aligned, private to the calling thread; cancel: a byte that turns non-zero when the launch is to end. One call does one block;
// it returns 0, or 1 when it stopped because of *cancel. Long loops poll it. Imports nothing beyond memcpy and memset.
Result<std::string> emit_llvm(const kernel::Program& program, const target::Target& target);

}  // namespace kiln::emit
