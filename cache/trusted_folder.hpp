// Opening the folders that kernels are loaded from: who can write there can run code as us.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <string_view>

#include "engine/base/fd.hpp"

namespace kiln::cache {

enum class Owner { us, root, other };
Owner owner_of(const struct stat& status);
// Neither group nor others may write.
bool only_owner_writes(const struct stat& status);

struct TrustedFolder {
  UniqueFd fd;
  Owner owner = Owner::us;
};
// Opens an absolute path component by component. Symbolic links are followed unless they stand in a folder that
// everybody may write. The folder itself must be ours or root's (with `trust_other_owner` anybody's) and writable by
// its owner only: else permission_denied with the reason.
Result<TrustedFolder> open_trusted_folder(const std::string& path, bool trust_other_owner);

// What an absolute path names, with symbolic links followed as above; not opened yet.
struct FoundPath {
  UniqueFd parent;        // O_PATH
  std::string name;       // in it; no link
  struct stat status {};
};
Result<FoundPath> find_trusted(const std::string& path);
// Opens it for reading, if it is still the same; never waits for a pipe's other end. Errors name `path`.
Result<UniqueFd> open_found(const FoundPath& found, const std::string& path);

// Opens the folder `name` of a trusted folder: no symbolic link, of the same trust.
Result<UniqueFd> open_below(int folder, const char* name, bool trust_other_owner);

// Calls `visit` with each name of the folder but "." and "..", in no order.
Status for_each_name(int folder, const std::function<void(const char*)>& visit);

}  // namespace kiln::cache
