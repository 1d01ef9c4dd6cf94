#include "engine/base/paths.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "engine/base/fd.hpp"
#include "engine/base/os.hpp"

namespace kiln {
namespace {

bool absolute(const std::string& path) { return path.starts_with('/'); }

std::string home_of_user(uid_t uid) {
  char buffer[16384];
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) != 0 || !found || !found->pw_dir) return "";
  return found->pw_dir;
}

// The folder of an XDG variable, else `fallback` below the home folder.
Result<LocatedPath> below(const std::string& base, const char* name, const Environment& environment,
                          const std::string& fallback, const std::string& rest) {
  if (!base.empty()) return LocatedPath{base + rest, name};
  if (!environment.home.empty()) return LocatedPath{environment.home + fallback + rest, "HOME"};
  return Error(ErrorCode::not_found, std::string("no home folder: set HOME or ") + name);
}

Error refused(const std::string& folder, const std::string& why) {
  return Error(ErrorCode::permission_denied, folder + " " + why);
}

std::string octal(mode_t mode) {
  char digits[8];
  std::snprintf(digits, sizeof digits, "%04o", static_cast<unsigned>(mode & 07777));
  return digits;
}

// Opens the folder itself, never what a link at its place points to.
Result<UniqueFd> open_folder(const std::string& folder) {
  UniqueFd fd(os::openat(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd) return fd;
  const int error_number = errno;
  struct stat status {};
  const bool there = os::fstatat(AT_FDCWD, folder.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && S_ISLNK(status.st_mode)) return refused(folder, "is a symbolic link");
  if (there && !S_ISDIR(status.st_mode)) return refused(folder, "is no directory");
  return errno_error(error_number, "cannot open " + folder);
}

Result<struct stat> stat_folder(const std::string& folder) {
  KILN_TRY(auto fd, open_folder(folder));
  struct stat status {};
  if (os::fstat(fd.get(), &status) != 0) return errno_error(errno, "cannot stat " + folder);
  return status;
}

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

std::string Environment::get(std::string_view name) const {
  const auto prefix = std::string(name) + "=";
  for (const auto& entry : all)
    if (entry.starts_with(prefix)) return entry.substr(prefix.size());
  return "";
}

Environment read_environment(const std::function<const char*(const char*)>& getter, uid_t uid,
                             const std::string& folder) {
  const auto value = [&](const char* name) {
    const char* text = getter(name);
    return std::string(text ? text : "");
  };
  const auto standard = [&](const char* name) {
    auto path = value(name);
    return absolute(path) ? without_trailing_slashes(path) : std::string();
  };
  const auto from_here = [&](const char* name) {
    auto path = value(name);
    return path.empty() || absolute(path) ? path : folder + "/" + path;
  };
  Environment environment;
  environment.uid = uid;
  environment.folder = folder;
  environment.kiln_socket = from_here("KILN_SOCKET");
  environment.kiln_cache_dir = from_here("KILN_CACHE_DIR");
  environment.kiln_failpoints = value("KILN_FAILPOINTS");
  environment.runtime_home = standard("XDG_RUNTIME_DIR");
  environment.cache_home = standard("XDG_CACHE_HOME");
  environment.config_home = standard("XDG_CONFIG_HOME");
  environment.state_home = standard("XDG_STATE_HOME");
  environment.data_home = standard("XDG_DATA_HOME");
  environment.home = standard("HOME");
  if (auto temporary = standard("TMPDIR"); !temporary.empty()) environment.temporary = temporary;
  return environment;
}

Result<Environment> process_environment() {
  char folder[4096];
  if (!::getcwd(folder, sizeof folder)) std::strcpy(folder, "/");
  auto environment = read_environment([](const char* name) { return ::getenv(name); }, ::geteuid(), folder);
  if (environment.home.empty()) environment.home = home_of_user(environment.uid);
  for (char** entry = ::environ; entry && *entry; ++entry) environment.all.emplace_back(*entry);
  KILN_CHECK(os::arm_failpoints(environment.kiln_failpoints));
  return environment;
}

Status arm_failpoints_of_environment() {
  const char* text = ::getenv("KILN_FAILPOINTS");
  return os::arm_failpoints(text ? text : "");
}

Result<LocatedPath> socket_path(const Environment& environment) {
  LocatedPath socket{"/tmp/kiln-" + std::to_string(environment.uid) + "/kiln.sock", "uid"};
  if (!environment.kiln_socket.empty()) socket = {environment.kiln_socket, "KILN_SOCKET"};
  else if (!environment.runtime_home.empty())
    socket = {environment.runtime_home + "/kiln/kiln.sock", "XDG_RUNTIME_DIR"};
  if (socket.path.size() <= socket_path_bytes_max) return socket;
  return Error(ErrorCode::invalid_argument,
               "socket path " + socket.path + " has " + std::to_string(socket.path.size()) +
                   " bytes, the system allows 107: set KILN_SOCKET to a shorter one");
}

Result<LocatedPath> cache_folder(const Environment& environment) {
  if (!environment.kiln_cache_dir.empty()) return LocatedPath{environment.kiln_cache_dir, "KILN_CACHE_DIR"};
  return below(environment.cache_home, "XDG_CACHE_HOME", environment, "/.cache", "/kiln");
}

Result<LocatedPath> log_file(const Environment& environment) {
  return below(environment.state_home, "XDG_STATE_HOME", environment, "/.local/state", "/kiln/kilnd.log");
}

Result<LocatedPath> config_file(const Environment& environment) {
  return below(environment.config_home, "XDG_CONFIG_HOME", environment, "/.config", "/kiln/config.json");
}

Result<LocatedPath> toolchains_folder(const Environment& environment) {
  return below(environment.data_home, "XDG_DATA_HOME", environment, "/.local/share", "/kiln/toolchains");
}

Status make_folders(const std::string& folder, mode_t mode) {
  if (folder.empty()) return Error(ErrorCode::invalid_argument, "an empty path");
  const auto path = without_trailing_slashes(folder);
  if (os::mkdirat(AT_FDCWD, path.c_str(), mode) == 0 || errno == EEXIST) return {};
  const int error_number = errno;
  if (error_number != ENOENT || path == "/" || parent_of(path) == path)
    return errno_error(error_number, "cannot create " + path);
  KILN_CHECK(make_folders(parent_of(path), mode));
  if (os::mkdirat(AT_FDCWD, path.c_str(), mode) == 0 || errno == EEXIST) return {};
  return errno_error(errno, "cannot create " + path);
}

Status check_private_folder(const std::string& folder, uid_t uid) {
  KILN_TRY(const auto status, stat_folder(without_trailing_slashes(folder)));
  if (status.st_uid != uid) return refused(folder, "belongs to user " + std::to_string(status.st_uid));
  if (status.st_mode & 077) return refused(folder, "has mode " + octal(status.st_mode) + ", it must be 0700");
  return {};
}

Status make_private_folder(const std::string& folder, uid_t uid) {
  KILN_CHECK(make_folders(folder, 0700));
  return check_private_folder(folder, uid);
}

Status prepare_socket_folder(const LocatedPath& socket, uid_t uid) {
  const auto folder = parent_of(socket.path);
  if (socket.source == "uid" || socket.source == "XDG_RUNTIME_DIR") return make_private_folder(folder, uid);
  KILN_CHECK(make_folders(folder, 0700));
  KILN_TRY(const auto status, stat_folder(folder));
  if (status.st_uid != uid && status.st_uid != 0)
    return refused(folder, "belongs to user " + std::to_string(status.st_uid));
  if ((status.st_mode & 022) && !(status.st_mode & S_ISVTX))
    return refused(folder, "has mode " + octal(status.st_mode) + ": others may write there");
  return {};
}

Status prepare_group_folder(const LocatedPath& socket, uid_t uid, gid_t group) {
  if (socket.source == "uid" || socket.source == "XDG_RUNTIME_DIR")
    return Error(ErrorCode::invalid_argument,
                 "a daemon for a group needs a folder that its members reach, as --socket /run/kiln/kiln.sock or "
                 "KILN_SOCKET name it; " + socket.path + " is this user's own");
  const auto folder = parent_of(socket.path);
  if (os::mkdirat(AT_FDCWD, folder.c_str(), 0700) == 0) {
    if (::lchown(folder.c_str(), uid_t(-1), group) != 0 || ::chmod(folder.c_str(), 0750) != 0)
      return errno_error(errno, "give " + folder + " to group " + std::to_string(group));
  } else if (errno != EEXIST) {
    return errno_error(errno, "cannot create " + folder);
  }
  KILN_TRY(const auto status, stat_folder(folder));
  if (status.st_uid != uid && status.st_uid != 0)
    return refused(folder, "belongs to user " + std::to_string(status.st_uid));
  if (status.st_gid != group || (status.st_mode & 037) != 010)
    return refused(folder, "has group " + std::to_string(status.st_gid) + " and mode " + octal(status.st_mode) +
                               ", it must have group " + std::to_string(group) + " and 0750");
  return {};
}

}  // namespace kiln
