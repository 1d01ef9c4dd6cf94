// JSON of engine values: what `kernel.compile`, `kernel.explain`, stats and lists answer, and what the CLI prints with --json.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/protocol/json.hpp"
#include "engine/jit/session.hpp"

namespace kiln::service {

// The short answer as JSON text, in two parts. The head, `{"cached":…,"origin":…,"total_ms":…,`, is this request's. The rest is
// the kernel's, without the brace that closes the object: key, program, target, compile_ms, resources, lds_conflict_cycles,
// lds_instructions, launches, symbols, tensors, stored; why_not_stored; key_parts when asked. Sizes are those at the
// values of `set` where it has one for every dynamic symbol, else expressions.
std::string outcome_head(bool cached, std::string_view origin, double total_ms);
using SetValues = std::map<std::string, std::string>;
std::string outcome_rest(const jit::CompileOutcome& outcome, const SetValues& set);
// The whole report as JSON text: the kernel's part of the above (by `program`'s own names; null: by those of the first compiler)
// plus compiler, attempt, elf_flags, shared_tiles, bounds_left, decisions, kernel_program, source, log.
std::string explain_text(const jit::Kernel& kernel, const bound::Program* program, const SetValues& set);
// The name of argument `index`: the program's, else the metadata's.
const std::string& tensor_name(const compile::Metadata& metadata, const bound::Program* program, std::size_t index);
// The dynamic symbols by those names.
const std::vector<bound::Symbol>& symbols_of(const compile::Metadata& metadata, const bound::Program* program);
protocol::Json store_stats_json(const jit::StoreStats& stats);
protocol::Json tier_stats_json(const jit::TierStats& stats);
protocol::Json session_stats_json(const jit::SessionStats& stats);
// By family: {command, description (once a worker was asked), error (why none answers)}.
protocol::Json compilers_json(const std::vector<jit::FamilyCompiler>& families);
protocol::Json comparison_json(const reference::Comparison& comparison);

// "set", "layouts" and "align" of a request's params.
Result<specialize::Bindings> read_bindings(const protocol::Json& params);

}  // namespace kiln::service
