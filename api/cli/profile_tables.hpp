// The tables that reports of launches have in common: of `kiln profile` and `kiln emulate`. All print to standard output.
#pragma once

#include <string>

#include "api/protocol/json.hpp"

namespace kiln::cli {

// Counters that are not 0; those that a model gave are marked, and the model is named.
void print_counters(const protocol::Json& report);
void print_resources(const protocol::Json& launch);
void print_roofline(const protocol::Json& launch);
// Shares of the executed instructions; `first`: the head of the column that says of what.
void print_shares(const protocol::Json& shares, const std::string& title, const std::string& first);
void print_lds(const protocol::Json& launch);
void print_instructions(const protocol::Json& launch);

}  // namespace kiln::cli
