// Configurations of an autotuned Python kernel: one is chosen, by a tuning record or as the first, or all are
// candidates of a tune. Each is a program of its own; kernel.tune compares them.
#pragma once

#include <string>

#include "api/cli/python_source.hpp"

namespace kiln::cli {

protocol::Json set_json(const Settings& set);

// `program`, `set` and `candidates` of kernel.tune; without candidates where there is no configuration, or a single one
// of a program that has tunables.
protocol::Json candidates_of(const Emitted& emitted);

// What a kernel was read from, and where it is to run; device "": the target's.
struct RecordedFor {
  ProgramSource& source;
  FunctionArguments given;
  std::string target, device;
};
// Takes the configuration that a tuning record of these candidates, sizes and device has chosen, if there is one.
// Errors: of reading all configurations; cancelled, not_running.
Status choose_recorded(Context& context, const RecordedFor& where, Emitted& emitted);

// Says which configuration is used and how to choose another; nothing where the kernel has none to choose from.
void note_configuration(Context& context, const Emitted& emitted);

// kernel.tune with configurations as candidates. One that the service refuses is left out and noted, the others stay,
// as `tl.autotune` does it. Errors: the last one's; of the service.
Result<protocol::Json> tune_configurations(Context& context, protocol::Json request);

}  // namespace kiln::cli
