#include "cache/trusted_folder.hpp"

#include <unistd.h>

#include <cerrno>
#include <deque>
#include <memory>
#include <utility>

#include "engine/base/os.hpp"

namespace kiln::cache {
namespace {

constexpr int links_max = 40;  // as the kernel's own limit

void push_front(std::deque<std::string>& names, const std::string& path) {
  std::deque<std::string> parts;
  for (std::size_t begin = 0; begin < path.size();) {
    const auto end = std::min(path.find('/', begin), path.size());
    if (end > begin) parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  names.insert(names.begin(), parts.begin(), parts.end());
}

Error refused(const std::string& path, const std::string& why) {
  return Error(ErrorCode::permission_denied, path + ": " + why);
}

Result<UniqueFd> open_step(int folder, const char* name) {
  UniqueFd fd(os::openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return errno_error(errno, std::string("cannot open ") + name);
  return fd;
}

Result<struct stat> stat_of(int fd) {
  struct stat status {};
  if (os::fstat(fd, &status) != 0) return errno_error(errno, "cannot stat a folder");
  return status;
}

// The target of the link `name`, if it may be followed from here.
Result<std::string> follow(const std::string& path, int folder, const std::string& name, int links) {
  KILN_TRY(const auto parent, stat_of(folder));
  if (parent.st_mode & S_IWOTH)
    return refused(path, "'" + name + "' is a symbolic link in a folder that everybody may write");
  if (links > links_max) return errno_error(ELOOP, path);
  char target[4096];
  const auto n = os::readlinkat(folder, name.c_str(), target, sizeof target);
  if (n < 0) return errno_error(errno, "cannot read the link " + name);
  return std::string(target, static_cast<std::size_t>(n));
}

// `at` is what the path names; any of it but its end is a folder.
struct Walked {
  UniqueFd parent, at;
  std::string name;
};
Result<Walked> walk(const std::string& path) {
  std::deque<std::string> names;
  push_front(names, path);
  Walked walked;
  auto& at = walked.at;
  KILN_TRY(at, open_step(AT_FDCWD, "/"));
  KILN_TRY(walked.parent, open_step(AT_FDCWD, "/"));
  walked.name = ".";
  for (int links = 0; !names.empty();) {
    const auto name = names.front();
    names.pop_front();
    KILN_TRY(auto next, open_step(at.get(), name.c_str()));
    KILN_TRY(const auto status, stat_of(next.get()));
    if (S_ISLNK(status.st_mode)) {
      KILN_TRY(const auto target, follow(path, at.get(), name, ++links));
      push_front(names, target);
      if (!target.starts_with('/')) continue;
      KILN_TRY(at, open_step(AT_FDCWD, "/"));
    } else if (!S_ISDIR(status.st_mode) && !names.empty()) {
      return refused(path, "'" + name + "' is no folder");
    } else {
      walked.parent = std::exchange(at, std::move(next));
      walked.name = name;
    }
  }
  return walked;
}

Error with_path(Error error, const std::string& path) {
  if (error.message.find(path) == std::string::npos) error.message = path + ": " + error.message;
  return error;
}

Status check_trust(const std::string& path, const struct stat& status, bool trust_other_owner) {
  if (owner_of(status) == Owner::other && !trust_other_owner)
    return refused(path, "belongs to user " + std::to_string(status.st_uid));
  if (!only_owner_writes(status)) return refused(path, "others may write there (chmod go-w)");
  return {};
}

}  // namespace

Owner owner_of(const struct stat& status) {
  if (status.st_uid == ::geteuid()) return Owner::us;
  return status.st_uid == 0 ? Owner::root : Owner::other;
}

bool only_owner_writes(const struct stat& status) { return (status.st_mode & 022) == 0; }

Result<TrustedFolder> open_trusted_folder(const std::string& path, bool trust_other_owner) {
  if (!path.starts_with('/')) return Error(ErrorCode::invalid_argument, "'" + path + "' is no absolute path");
  auto walked = walk(path);
  if (!walked) return with_path(std::move(walked).error(), path);
  KILN_TRY(const auto there, stat_of(walked->at.get()));
  if (!S_ISDIR(there.st_mode)) return refused(path, "'" + walked->name + "' is no folder");
  UniqueFd fd(os::openat(walked->at.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return errno_error(errno, "cannot open " + path);
  KILN_TRY(const auto status, stat_of(fd.get()));
  KILN_CHECK(check_trust(path, status, trust_other_owner));
  return TrustedFolder{std::move(fd), owner_of(status)};
}

Result<FoundPath> find_trusted(const std::string& path) {
  if (!path.starts_with('/')) return Error(ErrorCode::invalid_argument, "'" + path + "' is no absolute path");
  auto walked = walk(path);
  if (!walked) return with_path(std::move(walked).error(), path);
  FoundPath found{std::move(walked->parent), std::move(walked->name), {}};
  KILN_TRY(found.status, stat_of(walked->at.get()));
  return found;
}

Result<UniqueFd> open_found(const FoundPath& found, const std::string& path) {
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  UniqueFd fd(os::openat(found.parent.get(), found.name.c_str(), flags));
  if (!fd) return with_path(errno_error(errno, "cannot open"), path);
  KILN_TRY(const auto now, stat_of(fd.get()));
  if (now.st_ino != found.status.st_ino || now.st_dev != found.status.st_dev)
    return Error(ErrorCode::busy, path + ": replaced while it was opened", true);
  return fd;
}

Result<UniqueFd> open_below(int folder, const char* name, bool trust_other_owner) {
  UniqueFd fd(os::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return errno_error(errno, std::string("cannot open the folder ") + name);
  KILN_TRY(const auto status, stat_of(fd.get()));
  KILN_CHECK(check_trust(name, status, trust_other_owner));
  return fd;
}

Status for_each_name(int folder, const std::function<void(const char*)>& visit) {
  UniqueFd fd(os::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return errno_error(errno, "cannot list a folder");
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(os::fdopendir(fd.get()), ::closedir);
  if (!listing) return errno_error(errno, "cannot list a folder");
  (void)fd.release();
  for (;;) {
    errno = 0;
    const auto* entry = os::readdir(listing.get());
    if (!entry && errno != 0) return errno_error(errno, "cannot list a folder");
    if (!entry) return {};
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") visit(entry->d_name);
  }
}

}  // namespace kiln::cache
