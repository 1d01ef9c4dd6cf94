#include "api/daemon/flags.hpp"

#include "api/daemon/configuration.hpp"

namespace kiln::daemon {

std::string worker_flag_mistake(const std::string& entry) {
  const auto equals = entry.find('=');
  if (equals == std::string::npos) return "\"" + entry + "\": expected FAMILY=COMMAND, as in hip=/path/worker";
  const auto family = entry.substr(0, equals);
  if (family != "hip" && family != "host") return "no worker family \"" + family + "\"; there are hip and host";
  const auto words = split_command(entry.substr(equals + 1));
  return words ? "" : words.error().message;
}

// An unset variable in a script: the default's place would be a surprise.
std::string path_flag_mistake(const std::string& path) { return path.empty() ? "expected a path, found nothing" : ""; }

}  // namespace kiln::daemon
