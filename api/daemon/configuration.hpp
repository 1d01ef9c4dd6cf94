// Settings: defaults, config.json, environment, flags, in this order; each value remembers where it came from. And the wiring
// of an engine session out of them, for kilnd and for `kiln` without a daemon.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/daemon/cache_tier.hpp"
#include "api/protocol/json.hpp"
#include "api/protocol/limits.hpp"
#include "cache/trust.hpp"
#include "engine/base/paths.hpp"
#include "engine/jit/session.hpp"

namespace kiln::daemon {

struct Configuration {
  LocatedPath socket, cache, log, config, toolchains;
  std::string programs_folder;                    // built-in tile programs
  std::string tuning_folder;                      // tuning results that came with Kiln
  std::string include_folder;                     // device headers
  std::string emulated_hip;                       // the emulated card's libamdhip64; empty: built without
  std::vector<std::string> worker_hip, worker_host, device_host, device_hip, reference;  // start commands; empty: none
  std::string no_hip;                             // why worker_hip is empty
  std::string own_worker_hip;                     // kiln-compile-hip, which worker_hip starts with the newest of `toolchains`;
                                                  // empty: worker_hip is set, whatever is installed
  std::vector<std::string> worker_hip_arguments;  // that follow it, of --worker-argument
  std::uint64_t cache_bytes_max = std::uint64_t(5) << 30, cache_entries_max = 100000;
  std::string trust_key_file;                     // "": none
  cache::TrustKey trust_key;                      // its content
  std::string group;                              // whose members may use the daemon; "": its own user and root alone
  std::optional<gid_t> group_id;
  std::int64_t idle_exit_s = 300;                 // of an auto-started daemon
  std::int64_t workers_max = 0;                   // 0: cores
  std::int64_t compile_deadline_ms = 120000;
  protocol::Limits limits;
  std::string temporary_folder = "/tmp";          // TMPDIR: workers' private folders, a cache of last resort
  std::vector<std::string> environment;           // this process's, whole; workers get an allow-list of it
  TierSetting cache_tier;
  std::map<std::string, std::string> sources;     // setting -> "default", "config.json", "environment KILN_…", "flag --…"
};

// What flags of kilnd and kiln override.
struct Overrides {
  std::string socket, cache;
  std::vector<std::string> workers;               // "hip=COMMAND…", "host=COMMAND…": words as a shell splits them
  std::vector<std::string> worker_arguments;      // "hip=ARGS…": appended to the start command
};

// Reads everything. A missing config.json is fine; a wrong one is an error with its place.
Result<Configuration> load_configuration(const Environment& environment, const Overrides& overrides);
// Words of a command as a POSIX shell would split them: blanks, '…', "…", \x. No expansion.
Result<std::vector<std::string>> split_command(const std::string& text);
// A session (cache, workers, devices) by the configuration. `warn` receives each of the cache's warnings once, from any thread.
// `children_log`: where the standard error of its processes goes; empty: to this one's.
Result<std::shared_ptr<jit::Session>> open_session(const Configuration& configuration,
                                                   std::function<void(const std::string&)> warn,
                                                   const std::string& children_log = {});
// `kiln config show`: every setting with its value and source.
protocol::Json configuration_json(const Configuration& configuration);

// The build: version and hash of the sources.
std::string build_id();

}  // namespace kiln::daemon
