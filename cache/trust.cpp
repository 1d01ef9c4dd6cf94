#include "cache/trust.hpp"

#include <cerrno>

#include "cache/trusted_folder.hpp"
#include "engine/base/os.hpp"

namespace kiln::cache {
namespace {

constexpr std::size_t key_bytes_min = 16, key_bytes_max = 4096;

Error refused(const std::string& path, const std::string& why) {
  return Error(ErrorCode::permission_denied, "the key file " + path + " " + why);
}

}  // namespace

Status check_owner(const struct stat& status, const std::string& name) {
  const auto refuse = [&](const std::string& why) { return Error(ErrorCode::permission_denied, name + ": " + why); };
  if (!S_ISREG(status.st_mode)) return refuse("no regular file");
  if (owner_of(status) == Owner::other) return refuse("belongs to user " + std::to_string(status.st_uid));
  if (!only_owner_writes(status)) return refuse("others may write it (chmod go-w)");
  return {};
}

Result<TrustKey> TrustKey::read(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos || path[0] != '/')
    return Error(ErrorCode::invalid_argument, "the key file '" + path + "' is no absolute path");
  // Who can write the folder can put another file in the key's place.
  KILN_TRY(const auto folder, open_trusted_folder(slash == 0 ? "/" : path.substr(0, slash), false));
  UniqueFd fd(os::openat(folder.fd.get(), path.c_str() + slash + 1, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return errno_error(errno, "cannot open the key file " + path);
  struct stat status {};
  if (os::fstat(fd.get(), &status) != 0) return errno_error(errno, "cannot stat the key file " + path);
  if (!S_ISREG(status.st_mode)) return refused(path, "is no regular file");
  if (owner_of(status) == Owner::other) return refused(path, "belongs to user " + std::to_string(status.st_uid));
  if ((status.st_mode & 077) != 0) return refused(path, "may be read or written by others (chmod go-rwx)");
  KILN_TRY(auto bytes, read_all(fd.get(), key_bytes_max + 1));
  if (bytes.size() < key_bytes_min || bytes.size() > key_bytes_max)
    return Error(ErrorCode::invalid_argument, "the key file " + path + " has to hold 16 to 4096 bytes");
  TrustKey key;
  key.key_ = std::move(bytes);
  return key;
}

std::optional<Digest> TrustKey::sign(ByteView bytes) const {
  if (!is_set()) return std::nullopt;
  return hmac_sha256(key_, bytes);
}

bool TrustKey::vouches_for(ByteView bytes, const Digest& mac) const {
  return is_set() && equal_in_constant_time(hmac_sha256(key_, bytes), mac);
}

}  // namespace kiln::cache
