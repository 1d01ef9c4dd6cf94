// Session::verify: a device's results against the interpreter's, in a reference process that lives as long as the call.
#pragma once

#include <string>
#include <vector>

#include "engine/jit/session.hpp"

namespace kiln::jit {

// Thread-safe: each call has a process of its own.
class Verification {
 public:
  explicit Verification(const SessionOptions& options);
  // `after`: the tensors as each of several launches left them. One result a launch.
  Result<std::vector<Session::VerifyResult>> verify(const bound::Program& program,
                                                    const std::vector<Session::VerifyArgument>& before,
                                                    const std::vector<std::vector<Session::VerifyArgument>>& after,
                                                    Deadline deadline, CancelToken cancel) const;

 private:
  std::vector<std::string> command_, environment_;
  std::string log_path_;
};

}  // namespace kiln::jit
