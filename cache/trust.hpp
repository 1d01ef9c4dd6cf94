// Whose code objects are run: an entry that comes from elsewhere (a bundle, a layer, a remote tier) is used only if its
// file can be written by root or us alone, or if it carries an HMAC-SHA-256 under the configured key.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "engine/base/hash.hpp"
#include "engine/base/result.hpp"

namespace kiln::cache {

// The key that vouches for code objects. Immutable; copies share nothing. Without a key it vouches for nothing.
class TrustKey {
 public:
  TrustKey() = default;
  // The whole content of a regular file of 16 to 4096 bytes, of root's or ours, that nobody else may read or write, in a
  // folder that open_trusted_folder opens. `path` is absolute. Errors: not_found, permission_denied, invalid_argument,
  // with the path.
  static Result<TrustKey> read(const std::string& path);
  [[nodiscard]] bool is_set() const { return !key_.empty(); }
  // Nothing without a key.
  [[nodiscard]] std::optional<Digest> sign(ByteView bytes) const;
  [[nodiscard]] bool vouches_for(ByteView bytes, const Digest& mac) const;

 private:
  Bytes key_;
};

// Whether only root and we can have written this regular file: permission_denied with the reason and `name` else.
Status check_owner(const struct stat& status, const std::string& name);

}  // namespace kiln::cache
