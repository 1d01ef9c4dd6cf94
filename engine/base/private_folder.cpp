#include "engine/base/private_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "engine/base/os.hpp"

namespace kiln {
namespace {

constexpr std::string_view unlocked_prefix = "kiln-new-";     // made, and not locked yet
constexpr auto unlocked_age_max = std::chrono::seconds(60);   // older ones will never be
constexpr int names_tried = 16;

// Whether create can have given the name: six letters and digits behind the prefix.
bool is_made_name(std::string_view name, std::string_view prefix) {
  constexpr std::size_t digits = 6;
  return name.size() == prefix.size() + digits && name.starts_with(prefix) &&
         std::all_of(name.begin() + std::ptrdiff_t(prefix.size()), name.end(), [](unsigned char c) { return std::isalnum(c); });
}

// Removes `path` when it is a folder of ours that nobody holds, and was not changed for `age`.
void remove_if_left(const std::filesystem::path& path, std::chrono::seconds age) {
  UniqueFd lock(os::openat(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!lock || os::fstat(lock.get(), &status) != 0 || status.st_uid != ::geteuid() || (status.st_mode & 077)) return;
  const auto changed = std::chrono::system_clock::from_time_t(status.st_ctim.tv_sec);
  if (age.count() > 0 && std::chrono::system_clock::now() - changed < age) return;
  if (os::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

Result<PrivateFolder> PrivateFolder::create(const std::string& parent, std::string_view prefix) {
  const auto failed = [&] { return errno_error(errno, "cannot make a temporary folder in " + parent); };
  const auto begin = parent + "/" + std::string(unlocked_prefix);
  for (int i = 0; i < names_tried; ++i) {
    std::string made = begin + "XXXXXX";
    if (!::mkdtemp(made.data())) return failed();
    PrivateFolder folder;
    folder.path_ = made;
    folder.owner_ = ::getpid();
    folder.lock_.reset(os::openat(AT_FDCWD, made.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.lock_) (void)os::flock(folder.lock_.get(), LOCK_EX | LOCK_NB);  // without locks nobody removes what is left
    const auto path = parent + "/" + std::string(prefix) + made.substr(begin.size());
    if (os::renameat(AT_FDCWD, made.c_str(), AT_FDCWD, path.c_str()) == 0) {
      folder.path_ = path;
      return folder;
    }
    if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) return failed();
  }
  return Error(ErrorCode::io_error, "cannot make a temporary folder in " + parent + ": every name is taken");
}

void PrivateFolder::remove_left_overs(const std::string& parent, std::string_view prefix) {
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(parent, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const auto name = it->path().filename().string();
    if (is_made_name(name, unlocked_prefix)) remove_if_left(it->path(), unlocked_age_max);
    else if (is_made_name(name, prefix)) remove_if_left(it->path(), std::chrono::seconds(0));
  }
}

PrivateFolder& PrivateFolder::operator=(PrivateFolder&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
    owner_ = other.owner_;
    lock_ = std::move(other.lock_);
  }
  return *this;
}

void PrivateFolder::remove() {
  std::error_code ignored;
  if (!path_.empty() && owner_ == ::getpid()) std::filesystem::remove_all(path_, ignored);
  path_.clear();
}

}  // namespace kiln
