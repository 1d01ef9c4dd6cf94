// Two texts as a unified diff, and the lines of one Python function.
#pragma once

#include <string>

namespace kiln::cli {

// With three lines of context; "" when the texts are the same. Texts of more than 4000 lines are shown as replaced
// whole.
std::string unified_diff(const std::string& before, const std::string& after, const std::string& name_before,
                         const std::string& name_after);

// The function's definition with its decorators, from the first column; "" when there is none.
std::string python_function(const std::string& text, const std::string& name);

}  // namespace kiln::cli
