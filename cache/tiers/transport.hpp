// How a remote tier's server is asked. One thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cache/tiers/url.hpp"
#include "engine/base/bytes.hpp"
#include "engine/base/deadline.hpp"

namespace kiln::cache {

// What a tier takes and gives at most: an entry and its HMAC.
inline constexpr std::size_t tier_value_bytes_max = std::size_t(64) << 20;

// Errors, of both operations: deadline_exceeded; cancelled; corrupt: what came is no answer, or too much of one;
// permission_denied: the server answered that it will not; io_error and others: it could not be asked, or failed.
// No answer that comes after an error is ever taken for that of a later request.
class Transport {
 public:
  virtual ~Transport() = default;
  // The value of `name`, or nothing where there is none. `interrupt`: a descriptor that is readable when the caller no
  // longer wants it; -1 for none.
  virtual Result<std::optional<Bytes>> get(const std::string& name, Deadline deadline, int interrupt) = 0;
  virtual Status put(const std::string& name, ByteView value, Deadline deadline) = 0;
};

// Loads what it needs. Errors: not_found, with the package that lacks.
Result<std::unique_ptr<Transport>> open_http(const TierUrl& url);
Result<std::unique_ptr<Transport>> open_redis(const TierUrl& url);

}  // namespace kiln::cache
