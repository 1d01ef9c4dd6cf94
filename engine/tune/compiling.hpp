// Candidates on their way to kernels.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/tune/trial.hpp"

namespace kiln::tune {

// Compiles the trials, some at once; those that do not compile have their verdict. `go_on` is told how many are done,
// from the caller's thread; when it says no, no more are begun. Errors: what ends a tune whatever the candidate
// (cancelled, deadline_exceeded, no_compiler, busy).
Status compile_trials(jit::Session& session, const std::vector<Trial*>& trials,
                      const std::function<bool(std::size_t done)>& go_on);

// The error as one printable line of some hundred bytes: what records keep and lists show.
std::string first_line(const Error& error);

}  // namespace kiln::tune
