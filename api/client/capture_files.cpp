#include "api/client/capture_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>

namespace kiln::client {

using protocol::Json;

namespace {

constexpr std::string_view capture_magic = "KILNCAP\n";   // engine/capture/CAPTURE.md

// Private: a capture holds the program's data.
Result<std::string> write_beside(const std::string& path, int from) {
  struct stat state{};
  if (::fstat(from, &state) != 0) return errno_error(errno, "read a capture");
  auto temporary = path + ".XXXXXX";
  const UniqueFd file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return errno_error(errno, "create a file beside " + path);
  Status written = ok();
  if (state.st_size > 0) {
    auto mapping = Mapping::map(from, std::size_t(state.st_size), false);
    written = mapping ? write_all(file.get(), mapping->bytes()) : Status(std::move(mapping).error());
  }
  if (!written) {
    ::unlink(temporary.c_str());
    return std::move(written).error();
  }
  return temporary;
}

}  // namespace

// An earlier capture makes room; anything else stays.
Status may_replace(const std::string& path) {
  struct stat state{};
  if (::lstat(path.c_str(), &state) != 0) return errno == ENOENT ? ok() : Status(errno_error(errno, "look at " + path));
  std::string start(capture_magic.size(), '\0');
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  const bool capture = S_ISREG(state.st_mode) && file &&
                       (state.st_size == 0 || (::read(file.get(), start.data(), start.size()) == ssize_t(start.size()) && start == capture_magic));
  return capture ? ok() : Status(Error(ErrorCode::invalid_argument, path + " is there and no capture: it is not overwritten"));
}

Status make_room(const std::string& path) {
  KILN_CHECK(may_replace(path));
  return ::unlink(path.c_str()) == 0 || errno == ENOENT ? ok() : Status(errno_error(errno, "replace " + path));
}

Result<CaptureFiles> CaptureFiles::create(const std::string& path, const std::string& on) {
  CaptureFiles files;
  if (path.empty()) return files;
  files.path_ = path;
  if (on.empty() || on == "fault") {
    files.on_ = On::fault;
  } else if (on == "always") {
    files.on_ = On::always;
  } else {
    files.on_ = On::number;
    const auto [end, error] = std::from_chars(on.data(), on.data() + on.size(), files.number_);
    if (error != std::errc() || end != on.data() + on.size() || files.number_ == 0)
      return Error(ErrorCode::invalid_argument, "which launch to capture: expected fault, always or a number from 1, found " + on.substr(0, 40));
  }
  return files;
}

bool CaptureFiles::ask(const std::string& method, Json& params) {
  if (on_ == On::never || (method != "kernel.launch" && method != "kernel.verify" && method != "kernel.profile")) return false;
  ++launches_;
  if (!params.is_object() || params.contains("capture") || params.contains("event") || params.contains("wait")) return false;
  if (on_ == On::number && launches_ != number_) return false;
  if (on_ != On::always && ::access(path_.c_str(), F_OK) == 0) return false;  // another process was first
  params["capture"] = on_ == On::fault ? "fault" : "always";
  return true;
}

Status CaptureFiles::keep(Json& members, std::vector<UniqueFd>& fds) {
  if (!members.is_object() || !members.contains("capture")) return ok();
  const Json said = members["capture"];
  members.erase("capture");
  if (said.is_object() && said.contains("error")) return protocol::error_from_json(said["error"]);
  const auto index = said.is_object() ? said.value("fd", std::size_t(0)) : fds.size();
  if (index >= fds.size()) return Error(ErrorCode::protocol_error, "the daemon's capture came without its descriptor");
  const UniqueFd file = std::move(fds[index]);
  fds.erase(fds.begin() + std::ptrdiff_t(index));
  KILN_TRY(const auto temporary, write_beside(path_, file.get()));
  const bool replaces = on_ == On::always;
  if (replaces) KILN_CHECK(may_replace(path_));
  const bool done = (replaces ? ::rename(temporary.c_str(), path_.c_str()) : ::link(temporary.c_str(), path_.c_str())) == 0;
  const int error = errno;
  if (!replaces) ::unlink(temporary.c_str());
  if (!done && replaces) ::unlink(temporary.c_str());
  if (!done && (replaces || error != EEXIST)) return errno_error(error, "write " + path_);
  return ok();
}

}  // namespace kiln::client
