// A program of ours that may die or hang: what it wrote, and how it ended.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "api/cli/backend.hpp"

namespace kiln::cli {

struct WatchedOutput {
  std::string text;   // standard output and error
  std::string end;    // "it ended with signal 11 (Segmentation fault)", "it hung"; empty: with status 0
};
// Runs `command` in `directory`; its output goes through a file in `folder`. It is killed after `limit` and when the user
// interrupts. Errors: it could not be started; files.
Result<WatchedOutput> run_watched(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                                  const std::string& directory, const std::string& folder, std::optional<std::chrono::seconds> limit);

}  // namespace kiln::cli
