// A comparison as one Markdown file that reads like the description of a change that one would merge.
#pragma once

#include <string>

#include "api/protocol/json.hpp"

namespace kiln::cli {

struct ReportFacts {
  std::string title;                               // "": made of the two names
  std::string chart;                               // the picture's address: a file's name or a data URI; "": no chart
  protocol::Json cards = protocol::Json::array();  // {device, description, driver}: what ran it
  std::string system, kernel, python;              // of the machine; python "" where no side is a Python file
};

// The whole text. `document`: run_comparison's.
std::string report_text(const protocol::Json& document, const ReportFacts& facts);
std::string report_title(const protocol::Json& document);
// What the numbers say, in a few sentences.
std::string result_paragraph(const protocol::Json& document);

}  // namespace kiln::cli
