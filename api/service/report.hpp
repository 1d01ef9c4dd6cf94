// JSON of engine values: what `kernel.compile`, `kernel.explain`, stats and lists answer, and what the CLI prints with --json.
#pragma once

#include <string>
#include <vector>

#include "api/protocol/json.hpp"
#include "engine/jit/session.hpp"

namespace kiln::service {

// The short answer: key, cached, compile_ms, total_ms, origin, target, program, stored, resources, lds_conflict_cycles,
// lds_instructions, launches, tensors; key_parts when asked.
protocol::Json outcome_json(const jit::CompileOutcome& outcome);
// The whole report: the above (by `program`'s own names; null: by those of the first compiler) plus shared_tiles, bounds_left, decisions, kernel_program, source, log.
protocol::Json explain_json(const jit::Kernel& kernel, const bound::Program* program);
protocol::Json resources_json(const compile::Metadata& metadata);
protocol::Json tensors_json(const compile::Metadata& metadata, const bound::Program* program);
// The name of argument `index`: the program's, else the metadata's.
const std::string& tensor_name(const compile::Metadata& metadata, const bound::Program* program, std::size_t index);
protocol::Json store_stats_json(const jit::StoreStats& stats);
protocol::Json session_stats_json(const jit::SessionStats& stats);
protocol::Json comparison_json(const reference::Comparison& comparison);

// "set", "layouts" and "align" of a request's params.
Result<specialize::Bindings> read_bindings(const protocol::Json& params);

}  // namespace kiln::service
