// The compilers of the random functions: hipRTC and clang 22 for cards, gcc for the host, which shares no code with
// them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"
#include "tests/differential/emulator/random_function.hpp"

namespace kiln::test {

// Who made an object and how: "hipRTC -O2".
struct Production {
  enum class Producer : std::uint8_t { hiprtc, clang };
  Producer producer = Producer::hiprtc;
  int level = 3;                     // of optimization
  [[nodiscard]] std::string name() const;
};

// A shared library of this process, never unloaded: its functions are run after the file is gone.
class HostLibrary {
 public:
  static Result<HostLibrary> open(const std::string& path);
  using Function = void (*)(void**);
  [[nodiscard]] Function function(const std::string& name) const;   // aborts where there is none

 private:
  void* handle_ = nullptr;
};

class Compilers {
 public:
  // `folder` takes all files, `source_folder` is the tree's root, `helper` the path of hiprtc_files. Errors:
  // no_compiler (hipRTC, gcc or clang 22 is missing).
  static Result<std::unique_ptr<Compilers>> create(std::string folder, std::string source_folder, std::string helper);

  // One text in all the given ways: code objects, in that order. Errors: compile_failed, with the compiler's words.
  Result<std::vector<Bytes>> objects(const std::vector<RandomFunction>& functions, const FunctionTarget& target,
                                     const std::vector<Production>& productions);
  Result<HostLibrary> host(const std::vector<RandomFunction>& functions, const FunctionTarget& target);
  // What the compiler prints of one function's machine code before and after each run of its pass `pass`.
  Result<std::string> around_pass(const RandomFunction& function, const FunctionTarget& target,
                                  const Production& production, const std::string& pass);

 private:
  Compilers() = default;
  // Objects of the text at `path`.c, as files.
  Result<std::vector<std::string>> compile(const std::string& path, const FunctionTarget& target,
                                           const std::vector<Production>& productions,
                                           const std::vector<std::string>& options);
  Result<std::string> write_source(const std::vector<RandomFunction>& functions, const FunctionTarget& target);
  Status run(const std::vector<std::string>& command, const std::string& what);

  std::string folder_, source_folder_;
  std::vector<std::string> hiprtc_;  // the command that starts the helper
  std::vector<std::string> environment_;
  int files_ = 0;
};

}  // namespace kiln::test
