// One answer of a Redis server, from bytes as they come (hiredis reads them). It takes what GET, SET, AUTH and SELECT
// are answered with, and refuses everything else before it is read: another kind of answer, a longer one, several.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <optional>
#include <string>

#include "engine/base/bytes.hpp"

namespace kiln::cache {

struct RedisReply {
  enum class Kind : std::uint8_t { value, absent, status, error };
  Kind kind = Kind::absent;
  Bytes bytes;  // of a value; the words of a status or an error
};

class RedisReplyReader {
 public:
  explicit RedisReplyReader(std::size_t value_bytes_max);
  // The answer when it is whole. Errors: corrupt; then nothing more can be read.
  Result<std::optional<RedisReply>> feed(ByteView bytes);

 private:
  Status check(ByteView bytes);
  const std::size_t value_bytes_max_;
  std::string head_;       // the first bytes
  std::size_t total_ = 0;  // so far
  std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
};

}  // namespace kiln::cache
