// A whole comparison: two sides, at all sizes, on a device and on further emulated cards, as one document.
#pragma once

#include "api/cli/compare_arguments.hpp"

namespace kiln::cli {

// {command, a, b (spec, kind, file, function, revision, commit, text, program), arguments, sizes, rows, also, notes,
// machine, date, wrong (whether a side's results are). A row is Trial::run's, with `size` (the text), `set` ({NAME:
// VALUE} of --over); those of `also` are counted on emulated cards, where `not_run` stands instead for a size that
// cannot be counted in time. Errors: usage_error; of a side; cancelled.
Result<protocol::Json> run_comparison(Context& context, const CompareArguments& words, const std::string& command);
// The command's exit status: a wrong result, a size that could not be measured, or all well.
int comparison_status(const protocol::Json& document);

}  // namespace kiln::cli
