// A profile as files for other tools. `report`: what kernel.profile answered.
#pragma once

#include <string>

#include "api/protocol/json.hpp"
#include "engine/base/result.hpp"

namespace kiln::cli {

// The columns of rocprofv3's counter_collection.csv, a row for each counter and launch. Source of the columns: ROCm's
// documentation, "Using rocprofv3", "Kernel counter collection". Timestamps are 0: nothing was timed.
Status write_counter_csv(const std::string& path, const protocol::Json& report);
// Trace events as chrome://tracing and Perfetto read them: a slice a launch, below it one for each statement. One microsecond
// stands for a thousand instructions: an emulated card has no time.
Status write_trace(const std::string& path, const protocol::Json& report);

}  // namespace kiln::cli
