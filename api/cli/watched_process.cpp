#include "api/cli/watched_process.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "engine/base/process.hpp"

namespace kiln::cli {

Result<WatchedOutput> run_watched(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                                  const std::string& directory, const std::string& folder, std::optional<std::chrono::seconds> limit) {
  std::string path = folder + "/kiln-output-XXXXXX";
  const UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file) return errno_error(errno, "make a file in " + folder);
  SpawnOptions spawn;
  spawn.command = command;
  spawn.environment = environment;
  spawn.directory = directory;
  spawn.log_path = path;
  auto child = ChildProcess::spawn(spawn);
  WatchedOutput output;
  if (child) {
    const auto deadline = limit ? Deadline::after(*limit) : Deadline();
    std::optional<std::string> end;
    while (!(end = child->ended(false)) && !deadline.passed() && !interrupt_token().cancelled())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    output.end = !end ? "it hung" : *end == "exit status 0" ? "" : "it ended with " + *end;
  }
  const auto bytes = read_file(path);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  KILN_CHECK(child ? ok() : Status(child.error()));
  KILN_CHECK(bytes ? ok() : Status(bytes.error()));
  output.text = std::string(text(*bytes));
  return output;
}

}  // namespace kiln::cli
