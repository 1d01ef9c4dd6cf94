// A comparison as the tables that a pull request needs: text for a terminal, Markdown, and a file with a line a figure.
#pragma once

#include <string>
#include <vector>

#include "api/protocol/json.hpp"
#include "engine/base/result.hpp"

namespace kiln::cli {

using Table = std::vector<std::vector<std::string>>;  // the first row is the head

// "improved", "different" …: what the tables call A and B.
Table timed_table(const protocol::Json& rows);    // size, baseline, optimized, improvement, error, verdict
Table counted_table(const protocol::Json& rows);  // size, card, figure, A, B, change
Table verdict_table(const protocol::Json& rows);  // size, card, verdict, error: of counted rows

std::string markdown_table(const Table& table);
// Everything that is printed.
std::string comparison_text(const protocol::Json& document, bool markdown);
// Columns: size, device, side, figure, value.
Status write_comparison_csv(const std::string& path, const protocol::Json& document);

// "12 % of the tolerance (0.00024)", "-"; of one side's part of a row's check.
std::string error_text(const protocol::Json& check, const char* side);
// "1.27x [1.24, 1.30]"
std::string improvement_text(const protocol::Json& row);
std::string time_text(const protocol::Json& ms);  // "0.812 ms [0.80, 0.83]"

}  // namespace kiln::cli
