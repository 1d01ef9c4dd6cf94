// A folder that goes with its owner.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "engine/base/fd.hpp"

namespace kiln::cli {

// Removed at the end with what is in it.
struct TemporaryFolder {
  std::string path;
  TemporaryFolder() = default;
  TemporaryFolder(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
  // In the folder `parent`, with a name that begins with `name`.
  Status create(const std::string& parent, const std::string& name) {
    std::string made = parent + "/" + name + "XXXXXX";
    if (::mkdtemp(made.data()) == nullptr) return errno_error(errno, "make a folder in " + parent);
    path = made;
    return ok();
  }
};

}  // namespace kiln::cli
