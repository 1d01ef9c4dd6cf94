// One side of a comparison: its source, and its program with everything that it is set to at one size.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/cli/compare_arguments.hpp"
#include "engine/ir/tile/program.hpp"

namespace kiln::cli {

// A side at one size.
struct SideProgram {
  std::string label;       // "A", "B"
  std::string known_as;    // "a.py:padded", "gemm"
  std::string file, text;  // that pointers of errors lead into: of a tile/1 file, else ""
  protocol::Json params;   // of kernel.compile, but for the target: program, set, layouts
  Settings set;            // what `params` sets, in order
  Settings unknown;        // of the settings of both sides: names that this program does not have
  std::shared_ptr<const tile::Program> program;
  std::optional<Emitted> emitted;  // of a Python function

  // An error of this side's: says whose it is, and where in the side's own file.
  [[nodiscard]] Error located(Context& context, Error error) const;
};

// A side before its size is known. One thread.
class Side {
 public:
  static Result<Side> open(Context& context, const std::string& label, const ProgramSpec& spec);

  [[nodiscard]] const ProgramSource& source() const { return source_; }
  [[nodiscard]] const std::string& label() const { return label_; }
  // The program at a size, for a target (a Python function may ask for the target's facts). A name that the program has
  // not: of a Python function it becomes a Python setting, and the function is made into a program again; else it is
  // left in `unknown`. `seq` stands for the lengths of sequences: what the function says, of other programs S and SK.
  // Errors: of the file, of Python; program_invalid.
  Result<SideProgram> at(Context& context, const ComparePlan& plan, const Size& size, const std::string& target);

 private:
  Status read_program(Context& context, const FunctionArguments& python, SideProgram& side);

  std::string label_;
  ProgramSource source_;
};

// Both sides at `size` for a device. A common setting that neither program has stays a setting of A's, whose binding
// refuses it.
struct SidePair {
  SideProgram a, b;
};
struct SideSources {
  Side &a, &b;
};
Result<SidePair> sides_at(Context& context, SideSources sources, const ComparePlan& plan, const Size& size,
                          const std::string& device);

}  // namespace kiln::cli
