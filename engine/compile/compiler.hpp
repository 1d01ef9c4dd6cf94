// The compiler interface and the workers' main. A worker is one process with one compiler; it takes bound programs and gives
// code objects with metadata. Lowering, emission and compilation all happen here, out of kilnd.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"
#include "engine/base/deadline.hpp"
#include "engine/base/hash.hpp"
#include "engine/base/result.hpp"
#include "engine/compile/metadata.hpp"
#include "engine/ir/bound/program.hpp"
#include "engine/ir/target/target.hpp"

namespace kiln::compile {

inline constexpr std::size_t log_bytes_max = std::size_t(64) << 10;  // of a compiler's log that are kept

struct Compiled {
  Metadata metadata;
  Bytes object;
};

// One file that a compiler consists of, with what tells whether it changed.
struct CompilerFile {
  std::string path, build_id;                       // build id in hex; "sha256:…" of the file where it has none
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t ctime_ns = 0;
  bool operator==(const CompilerFile&) const = default;
};
// Who compiles: every object that the worker has mapped after one trial compile.
struct Identity {
  std::string description;                          // "hipRTC 6.4, LLVM 21.1.8"
  std::vector<CompilerFile> files;                  // sorted by path
  [[nodiscard]] Digest digest() const;              // over the build ids only: equal builds in other places are equal
};
Bytes encode(const Identity& identity);
Result<Identity> decode_identity(ByteView bytes);
// The identity of this very process: walks its mappings (/proc/self/maps), reads build ids.
Result<Identity> mapped_identity(std::string description);

// Single-threaded use. Implementations: HipCompiler (hiprtc.hpp), HostCompiler (host_llvm).
class Compiler {
 public:
  virtual ~Compiler() = default;
  // Loads the compiler and compiles something small for `target`, so that everything is mapped; the identity's words.
  virtual Result<std::string> warm_up(const target::Target& target) = 0;
  // lower -> emit -> compile -> metadata, with further lowering attempts after spills. Errors: program_invalid, unsupported,
  // compile_failed (context: the log, the emitted text's head).
  virtual Result<Compiled> compile(const bound::Program& program, const target::Target& target, Budget& budget) = 0;
};

struct WorkerOptions {
  std::string include_folder;   // --include DIR: Kiln's device headers
  std::string compile_log;      // --compile-log FILE: one line "KEY PID\n" is appended per compile, with O_APPEND
  std::vector<std::string> rest;
};
using CompilerFactory = std::function<Result<std::unique_ptr<Compiler>>(const WorkerOptions&)>;

// The main of every kiln-compile-*: serves frames on descriptor 3 until its end of file (a watchdog thread exits the process on
// EOF also during a compile). Also `--version`, `--check TARGET` (a trial compile by hand, for doctor: prints one line, exit 0/1).
int worker_main(int argc, char** argv, const CompilerFactory& factory);

}  // namespace kiln::compile
