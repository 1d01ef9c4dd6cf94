// kiln-doctor-hip, watched: a driver may end it, or hang.
#include <chrono>
#include <sstream>

#include "api/cli/verdicts.hpp"
#include "api/cli/watched_process.hpp"
#include "engine/base/process.hpp"

namespace kiln::cli {

constexpr auto probe_limit = std::chrono::seconds(180);

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
  const auto output = run_watched(command, environment, "/", configuration.temporary_folder, probe_limit);
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
