// hipRTC, loaded at run time: own declarations, no HIP headers. hipRTC holds one lock for the whole of every call, so
// one process does one compile at a time; it ends its process on an architecture that it does not know, so it is used
// in workers only.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/result.hpp"
#include "engine/compile/compiler.hpp"

namespace kiln::compile {

// A header that texts include as <name>; nothing is read from disk by the compiler.
struct DeviceHeader { std::string name, text; };
// All kiln/*.hpp below `include_folder`, sorted by name. Errors: not_found, io_error.
Result<std::vector<DeviceHeader>> read_device_headers(const std::string& include_folder);

class Hiprtc {
 public:
  struct Output {
    Bytes object;
    std::string log;   // warnings
  };
  // Loads libhiprtc.so.7, .6, or libamdhip64.so.5 (which holds it), whichever is found first. Errors: no_compiler, with
  // what the loader said of each. Never unloaded.
  static Result<Hiprtc> load();
  // Compiles one text, called `name` in messages and in the line table. `options` whole, "--offload-arch=…" among them. Errors: compile_failed, context: the log; an
  // empty log means that hipRTC could not work at all (no writable temporary folder is the usual cause), and the
  // message says so.
  Result<Output> compile(const std::string& text, const std::vector<DeviceHeader>& headers,
                         const std::vector<std::string>& options, const std::string& name = "kernel.hip");
  // "hipRTC 6.4 (libhiprtc.so.6)": the version of the library's file name where it has one.
  [[nodiscard]] const std::string& description() const { return description_; }

 private:
  using Program = void*;
  int (*create_)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile_)(Program, int, const char* const*) = nullptr;
  int (*destroy_)(Program*) = nullptr;
  int (*log_size_)(Program, std::size_t*) = nullptr;
  int (*log_)(Program, char*) = nullptr;
  int (*code_size_)(Program, std::size_t*) = nullptr;
  int (*code_)(Program, char*) = nullptr;
  const char* (*error_)(int) = nullptr;
  std::string description_;
};

// The options with which every kernel is compiled, for one target.
std::vector<std::string> hip_options(const target::Target& target);

// The compiler of AMD targets: lower, emit, hipRTC, notes, disassembly; the next lowering candidate where registers
// spilled.
Result<std::unique_ptr<Compiler>> make_hip_compiler(const WorkerOptions& options);

}  // namespace kiln::compile
