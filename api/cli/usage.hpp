// Command lines that cannot be read: what is wrong with them, in words.
#pragma once

#include <CLI/CLI.hpp>

namespace kiln::cli {

// What `app.parse` threw: help and version are printed, a mistake is told with the wrong word and the nearest right one,
// on standard error or with `json` as {"error": …} on standard output. The exit status.
int report_parse(const CLI::App& app, const CLI::ParseError& thrown, bool json);

// Of an option's value: decimal digits and nothing else. CLI11 takes -1 for the largest unsigned number.
CLI::Validator whole_number();

}  // namespace kiln::cli
