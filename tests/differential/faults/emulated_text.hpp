// HIP text, compiled by hipRTC, run on an emulated card with every check on, and compared with the definition.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/process.hpp"
#include "engine/base/result.hpp"
#include "engine/emulator/core/core.hpp"
#include "engine/emulator/machine/kernel_arguments.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kiln::test {

// A process that compiles one text after the other. One thread at a time.
class TextCompiler {
 public:
  // Errors: no_compiler (no hipRTC on this machine).
  static Result<std::unique_ptr<TextCompiler>> start();
  // The code object. Errors: compile_failed, internal (the process died).
  Result<Bytes> compile(const std::string& text, const std::string& target);

 private:
  TextCompiler() = default;
  ChildProcess child_;
  UniqueFd requests_, answers_;
  TemporaryFolder folder_;
};

// What one text is, beside its text: how it is launched, on what data, and what is right.
struct Subject {
  std::string name, target, text;
  struct Launch {
    std::string symbol;
    emulator::Geometry geometry;
  };
  std::vector<Launch> launches;
  std::vector<Bytes> arguments;             // in order; tensors as they are before
  std::vector<bool> by_value;
  // "" when the tensors are what they must be afterwards, else what is wrong.
  std::function<std::string(const std::vector<Bytes>& tensors)> wrong;
};

// A built-in of kernels/programs, or a program's own text (starting with '{'), lowered and emitted for the target, with
// random data. The reference is the interpreter.
Result<Subject> emitted_subject(const std::string& program, const std::map<std::string, std::string>& set,
                                const std::string& target, std::uint64_t seed);

struct Finding {
  std::string caught;   // "" nothing, "comparison", or a check's fault: "lds_race", "budget", …
  std::string detail;
};
// Runs the object with all checks and, if they find nothing, compares. Errors: the object does not load or launch.
Result<Finding> run_subject(const Subject& subject, const Bytes& object, std::uint64_t seed);

}  // namespace kiln::test
