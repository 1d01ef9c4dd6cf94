// Counters of a real card, through ROCm's own rocprofv3.
#pragma once

#include <string>

#include "api/cli/operands.hpp"

namespace kiln::cli {

// The path of rocprofv3 on PATH or in /opt/rocm/bin, "" without.
std::string find_rocprof();
// Runs `kiln run` with these options under rocprofv3, once for each group of counters that a card counts together, and adds
// up what it wrote for the kernels named `symbols`: {NAME: value}. Errors: launch_failed with the profiler's last words.
Result<protocol::Json> rocprof_counters(const std::string& rocprof, const RunOptions& options, const protocol::Json& symbols);

}  // namespace kiln::cli
