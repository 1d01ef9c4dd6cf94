// Standard output and error of a command: what users' files and the daemon's answers quote cannot steer a terminal, and
// output that could not be written is no success.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/printable.hpp"

namespace kiln::cli {

// While it lives, std::cout and std::cerr write to descriptors 1 and 2, escaped as by `printable`. One at a time, in main.
class StandardStreams {
 public:
  // Standard descriptors that are closed are occupied first: no file or socket of this process may get their numbers, and
  // with them what is printed.
  StandardStreams();
  ~StandardStreams();
  StandardStreams(const StandardStreams&) = delete;
  StandardStreams& operator=(const StandardStreams&) = delete;
  // Writes what is left. The exit status: `status`, or 1 instead of 0 with a line on standard error when output was lost.
  // A pipe whose reader is gone ends the process as it does for other tools: by SIGPIPE.
  int finish(int status);

 private:
  class Buffer;
  std::unique_ptr<Buffer> out_, err_;
  std::streambuf *out_before_, *err_before_;
};

}  // namespace kiln::cli
