// Temporary folders that end with whoever made them, also when that one is killed: a lock tells others that a folder is
// used, and what is unlocked is removed by the next one who makes such a folder.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>

#include "engine/base/fd.hpp"
#include "engine/base/result.hpp"

namespace kiln {

// A folder of this process alone, mode 0700, removed with everything in it when destroyed; a forked child's
// copy removes nothing.
class PrivateFolder {
 public:
  // PARENT/PREFIXxxxxxx; it has that name only once it is locked. Errors: of the file system, naming `parent`.
  static Result<PrivateFolder> create(const std::string& parent, std::string_view prefix);
  // Removes the folders of that prefix in `parent` that processes of this user left behind when they were killed.
  static void remove_left_overs(const std::string& parent, std::string_view prefix);
  PrivateFolder() = default;
  PrivateFolder(PrivateFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), owner_(other.owner_), lock_(std::move(other.lock_)) {}
  PrivateFolder& operator=(PrivateFolder&& other) noexcept;
  ~PrivateFolder() { remove(); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void remove();
  std::string path_;
  pid_t owner_ = 0;
  UniqueFd lock_;
};

}  // namespace kiln
