// A program as the sides of a comparison name it: a built-in, a tile/1 file, a Python function, or one of the latter
// two as a git revision has it; and how a Python function becomes a program.
//
// Python runs as `PYTHON -m kiln.language emit FILE.py:FUNCTION`: PYTHON is $KILN_PYTHON, else python3; the package
// `kiln` is the one that came with this program: ../share/kiln/python, or the wheel's own. Such a file is code of the
// user's and runs with the user's rights, and so do its functions that make a kernel; kernels in it are read, never run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/cli/context.hpp"

namespace kiln::cli {

using Settings = std::vector<std::pair<std::string, std::string>>;  // NAME, VALUE; each name once

struct ProgramSpec {
  enum class Kind { builtin, json, python } kind = Kind::builtin;
  std::string text;      // as it was given
  std::string revision;  // of git; "": the working tree
  std::string file;      // "": a built-in
  std::string name;      // the built-in's; the function's, "" for the only one of the file
};
// "gemm", "FILE.json", "FILE.py", "FILE.py:FUNCTION", "REV:FILE.json", "REV:FILE.py", "REV:FILE.py:FUNCTION".
// Errors: usage_error for what is none of these.
Result<ProgramSpec> parse_program_spec(Context& context, const std::string& text);

// "FILE.py", "FILE.py:FUNCTION", with or without a revision in front.
bool names_python(const std::string& text);

// What a Python function is made into a program with.
struct FunctionArguments {
  std::vector<std::string> types;  // --arg
  std::string grid;                // --grid; "": the kernel's own
  Settings set;
  std::string target;
  bool every = false;              // all configurations of an autotuned kernel
};

// A Python function as it was read with one configuration.
struct EmittedProgram {
  std::string configuration;  // "BM=32, BN=64"; "" where there is none
  protocol::Json program;     // tile/1
  Settings set;               // default bindings
  std::map<std::string, std::pair<int, int>> locations;  // JSON pointer: line and column, from 1
};
// What a Python function was made into by `emit`: with the first configuration, where it is autotuned.
struct Emitted : EmittedProgram {
  std::vector<std::string> sequence;  // symbols that are the length of a sequence
  protocol::Json numbers = protocol::Json::object();  // of the program's scalars, as far as --arg told them
  std::string file, function;
  std::vector<EmittedProgram> every;   // all that can be read, where they were asked for
  std::size_t configurations = 0;      // of an autotuned kernel, that fit what is set
  std::vector<std::string> decided;    // names of the constants that they decide
};

// The text of a specification, and for Python the programs made of it. One thread.
class ProgramSource {
 public:
  // Reads the file, the working tree's or the revision's. Errors: not there; no repository; git's own words.
  static Result<ProgramSource> open(Context& context, const ProgramSpec& spec);

  [[nodiscard]] const ProgramSpec& spec() const { return spec_; }
  [[nodiscard]] const std::string& text() const { return text_; }      // of the file; of a built-in: its program
  [[nodiscard]] const std::string& commit() const { return commit_; }  // that the revision names; "" for none

  // Runs `emit` with these; the same again are answered from memory. What the author should know is noted. Errors: what
  // Python says on standard error, as it is; cancelled.
  Result<Emitted> emit(Context& context, const FunctionArguments& given);

 private:
  ProgramSpec spec_;
  std::string text_, commit_;
  std::map<std::string, Emitted> emitted_;  // by the words
};

// "3.11.2, python3": the interpreter that makes programs, and how it is started. Errors: it does not start.
Result<std::string> python_version(Context& context);

// The errors of a Python program's kernel, with places in the Python file instead of pointers into the program.
Error located_in_python(Error error, const EmittedProgram& emitted, const std::string& file);

}  // namespace kiln::cli
