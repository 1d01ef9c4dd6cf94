// Where Kiln's files are, and the one place that reads the environment (page "Paths" of ARCHITECTURE.md).
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.hpp"

namespace kiln {

// The environment as it was at start. Tests fill it by hand or through the getter.
struct Environment {
  uid_t uid = 0;             // effective
  std::string folder = "/";  // working directory; relative KILN_* paths count from it
  std::string kiln_socket, kiln_cache_dir, kiln_failpoints;
  std::string runtime_home, cache_home, config_home, state_home, data_home;  // XDG_*; a relative one is ignored
  std::string home;          // $HOME, else of the password file
  std::string temporary = "/tmp";  // $TMPDIR when absolute
  std::vector<std::string> all;    // NAME=value, for allow-lists of child processes; empty when made from a getter

  // The value of NAME in `all`, "" when absent.
  [[nodiscard]] std::string get(std::string_view name) const;
};

// From `getter` (null: not set).
Environment read_environment(const std::function<const char*(const char*)>& getter, uid_t uid,
                             const std::string& folder);
// This process's. Called once, at the start of main (and by the library's first session); arms KILN_FAILPOINTS.
Result<Environment> process_environment();
// For processes that read nothing else of theirs: arms KILN_FAILPOINTS.
Status arm_failpoints_of_environment();

// A path and the variable or rule that decided it: {"/run/user/1/kiln/kiln.sock", "XDG_RUNTIME_DIR"}.
struct LocatedPath {
  std::string path;
  std::string source;
};

inline constexpr std::size_t socket_path_bytes_max = 107;

// $KILN_SOCKET, else $XDG_RUNTIME_DIR/kiln/kiln.sock, else /tmp/kiln-<uid>/kiln.sock. Longer than 107 bytes:
// invalid_argument that says so and which variable to change. Touches no file.
Result<LocatedPath> socket_path(const Environment& environment);
// $KILN_CACHE_DIR, else $XDG_CACHE_HOME/kiln, else ~/.cache/kiln; not_found when there is no home either.
Result<LocatedPath> cache_folder(const Environment& environment);
// $XDG_STATE_HOME/kiln/kilnd.log, else ~/.local/state/kiln/kilnd.log.
Result<LocatedPath> log_file(const Environment& environment);
// $XDG_CONFIG_HOME/kiln/config.json, else ~/.config/kiln/config.json.
Result<LocatedPath> config_file(const Environment& environment);
// $XDG_DATA_HOME/kiln/toolchains, else ~/.local/share/kiln/toolchains.
Result<LocatedPath> toolchains_folder(const Environment& environment);

// Makes sure that `folder` is a real directory (no symlink) that belongs to `uid` and that nobody else may enter
// (0700); it is created so, its missing parents too, when it is not there. Anything else: permission_denied, with what
// is wrong.
Status make_private_folder(const std::string& folder, uid_t uid);
// The checks alone, nothing created: not_found when it is absent.
Status check_private_folder(const std::string& folder, uid_t uid);
// Before binding a socket at `socket`. Kiln's own folder ($XDG_RUNTIME_DIR/kiln, /tmp/kiln-<uid>) is made private; one
// that the user names ($KILN_SOCKET, a flag) is created 0700 when it is missing and otherwise must be ours or root's and, unless sticky,
// writable by nobody else.
Status prepare_socket_folder(const LocatedPath& socket, uid_t uid);
// The same for a socket that members of `group` may use: its folder is created 0750 when it is missing, and must be ours
// or root's, the group's, and open to nobody else. Errors: permission_denied with what is wrong; invalid_argument for a
// default place, which others never reach.
Status prepare_group_folder(const LocatedPath& socket, uid_t uid, gid_t group);
// Creates `folder` and its missing parents, each with `mode`. Existing ones are left alone.
Status make_folders(const std::string& folder, mode_t mode = 0700);

}  // namespace kiln
