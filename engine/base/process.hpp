// Child processes of ours: workers and device processes.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/base/fd.hpp"
#include "engine/base/result.hpp"

namespace kiln {

struct SpawnOptions {
  std::vector<std::string> command;      // argv; argv[0] is a path or found on PATH
  std::vector<std::string> environment;  // NAME=value, whole: nothing is inherited
  std::vector<std::pair<int, int>> descriptors;  // (ours, theirs): theirs from 3 up; all others are closed in the child
  std::string directory = "/";
  std::string log_path;                  // standard output and error are appended here; empty: inherited standard error
  std::size_t address_space_bytes_max = 0;  // RLIMIT_AS, 0 for none
  bool die_with_parent = true;           // PDEATHSIG SIGKILL: call from a thread that lives as long as the child may
  bool new_session = false;              // setsid
};

// A running child. Destroying it kills (SIGKILL) and reaps it.
class ChildProcess {
 public:
  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();
  static Result<ChildProcess> spawn(const SpawnOptions& options);  // an exec that fails is an error here, with errno's text
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool running() const { return pid_ > 0; }
  void kill(int signal);
  // Reaps it if it has ended: "exit status 3", "signal 11 (Segmentation fault)". Blocking when `wait`.
  std::optional<std::string> ended(bool wait);
  void detach() { pid_ = -1; }  // leave it running, not ours to reap

 private:
  pid_t pid_ = -1;
};

// Resident bytes of a process from /proc; 0 when it is gone.
std::size_t resident_bytes(pid_t pid);
// The folder of this executable (through /proc/self/exe).
std::string executable_folder();

}  // namespace kiln
