// The interpreter process's side of process.hpp.
#pragma once

#include "engine/reference/process.hpp"

namespace kiln::reference {

// Carries out one request in this process. Memory::fd are open descriptors.
Result<RunReply> carry_out(const RunRequest& request, Deadline deadline);

// Answers requests on a socket until its end. The process's exit status.
int serve(int socket);

}  // namespace kiln::reference
