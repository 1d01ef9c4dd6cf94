// The interpreter in a process of its own: `kiln-reference`, which speaks frames (channel.hpp) on descriptor 3.
//
//   request   attach*: descriptors only, up to 16 a frame, numbered on from 0; then run: a RunRequest (messages.hpp)
//   reply     done: a status and, if good, a RunReply
//
// One request at a time. End of file ends the process, also in the middle of a request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/deadline.hpp"
#include "engine/base/fd.hpp"
#include "engine/base/process.hpp"
#include "engine/reference/interpreter.hpp"

namespace kiln::reference {

// Memory of an argument: `size` bytes from `offset` (any) of a memfd or file, or, with fd < 0, the bytes in `value`.
struct Memory {
  int fd = -1;                      // borrowed; needed only during the call
  std::uint64_t offset = 0, size = 0;
  Bytes value;
};

// Results of a device to be compared with the interpreter's.
struct Candidate {
  int tensor = 0;
  Memory memory;
};

struct RunRequest {
  Bytes program;                    // bound::encode(…, true)
  std::vector<Memory> arguments;    // one a parameter
  // Empty: the program runs on the arguments' memory; written ones must be descriptors and writable.
  // Else (verify): written parameters are private copies, made of the arguments (their contents before the launch); a
  // parameter that is only written may come without memory and then starts as a copy of its candidate. Arguments are
  // untouched. Parameters that share memory with a written one are `unsupported` here.
  std::vector<Candidate> candidates;
  std::optional<ToleranceSpec> tolerance;  // absent: tolerance_of(program)
  bool check_races = true;
  std::int64_t steps_max = 0;       // 0: no limit
};

struct TensorComparison {
  int tensor = 0;
  Comparison comparison;
  ToleranceSpec tolerance;
};
struct RunReply {
  std::vector<TensorComparison> comparisons;  // one a candidate, in order
  Bytes records;                              // of prints and asserts, as run gives them
};

struct ReferenceOptions {
  std::vector<std::string> command;      // argv; empty: kiln-reference beside this executable
  std::vector<std::string> environment;  // NAME=value, whole
  std::string log_path;                  // standard error; empty: inherited
  std::size_t address_space_bytes_max = 0;
};

// The client's side. Any thread, one call at a time. Destroying it kills the process.
class ReferenceProcess {
 public:
  // Spawns. no such program: the error of the exec.
  static Result<ReferenceProcess> start(ReferenceOptions options);
  // Sends a request and waits. program_invalid: findings, with diagnostics. deadline_exceeded, cancelled: the process
  // was killed. worker_died: it ended by itself; the message says by what. After any of those the next run starts a new
  // one.
  Result<RunReply> run(const RunRequest& request, Deadline deadline = {}, CancelToken cancel = {});
  [[nodiscard]] pid_t pid() const { return child_.pid(); }

 private:
  Status spawn();
  void stop();
  Result<RunReply> wait_for_reply(Deadline deadline, const CancelToken& cancel);
  Error death();

  ReferenceOptions options_;
  ChildProcess child_;
  UniqueFd socket_;
};

}  // namespace kiln::reference
