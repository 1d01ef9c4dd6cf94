// A comparison as a bar chart: an SVG picture that says in words and numbers what it shows, on light and dark grounds.
#pragma once

#include <string>

#include "api/protocol/json.hpp"

namespace kiln::cli {

// Of each row a pair of bars, A above B, each as long as its share of the larger one: medians with quartiles of timed
// rows; the busiest unit's estimated cycles and bank conflict cycles of counted ones.
std::string chart_svg(const protocol::Json& document, const std::string& title);

// The same in words: what `alt` and the chart's own description say.
std::string chart_words(const protocol::Json& document);

std::string base64(const std::string& bytes);

}  // namespace kiln::cli
