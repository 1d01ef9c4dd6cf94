#include "cache/tiers/redis_reply.hpp"

#include <algorithm>
#include <charconv>

namespace kiln::cache {
namespace {

constexpr std::size_t head_bytes_max = 24;    // "$67108864\r\n" is shorter
constexpr std::size_t words_bytes_max = 1024;  // of a status or an error

Error nonsense(const std::string& what) { return Error(ErrorCode::corrupt, "the answer " + what); }

RedisReply reply_of(const redisReply& reply) {
  const auto* const data = reinterpret_cast<const std::uint8_t*>(reply.str);
  const auto kind = reply.type == REDIS_REPLY_STRING  ? RedisReply::Kind::value
                    : reply.type == REDIS_REPLY_NIL   ? RedisReply::Kind::absent
                    : reply.type == REDIS_REPLY_ERROR ? RedisReply::Kind::error
                                                      : RedisReply::Kind::status;
  return {kind, data ? Bytes(data, data + reply.len) : Bytes()};
}

}  // namespace

RedisReplyReader::RedisReplyReader(std::size_t value_bytes_max)
    : value_bytes_max_(value_bytes_max), reader_(redisReaderCreate(), redisReaderFree) {}

// Whether what came so far, with these bytes, may become an answer that is taken.
Status RedisReplyReader::check(ByteView bytes) {
  head_.append(text(bytes.first(std::min(bytes.size(), head_bytes_max - head_.size()))));
  total_ += bytes.size();
  if (head_.empty()) return {};
  if (head_[0] == '+' || head_[0] == '-')
    return total_ <= words_bytes_max ? ok() : Status(nonsense("has no end"));
  if (head_[0] != '$') return nonsense("is of another kind than GET and SET have");
  const auto end = head_.find("\r\n");
  if (end == std::string::npos)
    return head_.size() < head_bytes_max ? ok() : Status(nonsense("does not say how long it is"));
  long long length = 0;
  const auto [last, failure] = std::from_chars(head_.data() + 1, head_.data() + end, length);
  if (failure != std::errc() || last != head_.data() + end || length < -1)
    return nonsense("does not say how long it is");
  if (length > static_cast<long long>(value_bytes_max_)) return nonsense("is longer than any entry");
  const auto whole = end + 2 + (length < 0 ? 0 : std::size_t(length) + 2);
  return total_ <= whole ? ok() : Status(nonsense("is followed by another that nobody asked for"));
}

Result<std::optional<RedisReply>> RedisReplyReader::feed(ByteView bytes) {
  KILN_CHECK(check(bytes));
  void* raw = nullptr;
  const auto* const data = reinterpret_cast<const char*>(bytes.data());
  if (!reader_ || redisReaderFeed(reader_.get(), data, bytes.size()) != REDIS_OK ||
      redisReaderGetReply(reader_.get(), &raw) != REDIS_OK)
    return nonsense(std::string("cannot be read: ") + (reader_ ? reader_->errstr : "no memory"));
  if (!raw) return std::optional<RedisReply>();
  const std::unique_ptr<redisReply, void (*)(void*)> reply(static_cast<redisReply*>(raw), freeReplyObject);
  if (reader_->pos != reader_->len) return nonsense("is followed by another that nobody asked for");
  return std::optional(reply_of(*reply));
}

}  // namespace kiln::cache
