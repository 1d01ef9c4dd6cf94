// AMD's code object manager, loaded at run time: own declarations. It compiles HIP as hipcc does, host code and standard
// headers included, where hipRTC takes device code only. Used in workers only, as hipRTC is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/compile/hiprtc.hpp"

namespace kiln::compile {

class Comgr {
 public:
  // Loads libamd_comgr.so.3 and finds HIP's headers and clang's own beside it, as ROCm and Debian lay them out. Errors:
  // no_compiler, with what is missing. Never unloaded.
  static Result<Comgr> load();
  // The device code of `text`, called `name` in messages and in the line table, for a target as "gfx942:sramecc+".
  // `options` are clang's. Errors: compile_failed, context: the log.
  [[nodiscard]] Result<Hiprtc::Output> compile(const std::string& text, const std::string& name,
                                               const std::string& target,
                                               const std::vector<std::string>& options) const;

 private:
  // amd_comgr.h: handles are structures of one word, enumerations and results are int, 0 is success.
  struct Handle { std::uint64_t word = 0; };
  struct Functions;
  class Set;
  class Action;

  const Functions* functions_ = nullptr;
  std::string clang_include_, hip_include_;
};

}  // namespace kiln::compile
