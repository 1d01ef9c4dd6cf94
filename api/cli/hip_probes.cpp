// kiln-doctor-hip, watched: a driver may end it, or hang.
#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "api/cli/verdicts.hpp"
#include "engine/base/process.hpp"

namespace kiln::cli {

namespace {

constexpr auto probe_limit = std::chrono::seconds(180);

// What it wrote, and how it ended: empty when with status 0.
struct Output {
  std::string text, end;
};

Result<Output> run_watched(const std::vector<std::string>& command, const std::vector<std::string>& environment, const std::string& folder) {
  std::string path = folder + "/kiln-doctor-XXXXXX";
  const UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file) return errno_error(errno, "make a file in " + folder);
  SpawnOptions spawn;
  spawn.command = command;
  spawn.environment = environment;
  spawn.log_path = path;
  auto child = ChildProcess::spawn(spawn);
  Output output;
  if (child) {
    const auto deadline = Deadline::after(probe_limit);
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

}  // namespace

void probe_hip(const daemon::Configuration& configuration, const std::string& device, const std::string& object, const std::string& symbol,
               Verdicts& verdicts) {
  std::vector<std::string> command{executable_folder() + "/kiln-doctor-hip"};
  auto environment = configuration.environment;
  if (device.rfind("emu:", 0) == 0) {
    if (configuration.emulated_hip.empty()) return verdicts.add({"HIP library", false, "built without the emulated card", true});
    command.insert(command.end(), {configuration.emulated_hip, "0"});
    std::erase_if(environment, [](const std::string& entry) { return entry.rfind("KILN_EMULATOR_TARGETS=", 0) == 0; });
    environment.push_back("KILN_EMULATOR_TARGETS=" + device.substr(4));
  } else {
    command.insert(command.end(), {"", device.rfind("hip:", 0) == 0 ? device.substr(4) : "-1"});
  }
  if (!object.empty()) command.insert(command.end(), {object, symbol});
  const auto output = run_watched(command, environment, configuration.temporary_folder);
  if (!output) return verdicts.add({"HIP trials", false, to_text(output.error()), true});
  std::istringstream lines(output->text);
  std::string last, noise;
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find('\t'), second = line.find('\t', first + 1);
    const auto word = line.substr(0, first);
    if (second == std::string::npos || (word != "ok" && word != "bad" && word != "absent")) {
      noise = line;   // what a driver or the emulated card says by itself
      continue;
    }
    last = line.substr(first + 1, second - first - 1);
    // A card that was named is needed; that there is none at all is no failure.
    verdicts.add({last, word == "ok", line.substr(second + 1), word != "absent" || (!device.empty() && last == "HIP library")});
  }
  if (!output->end.empty())
    verdicts.add({"HIP trials", false, output->end + (last.empty() ? "" : ", after \"" + last + "\"") + (noise.empty() ? "" : ": " + noise), true});
}

}  // namespace kiln::cli
