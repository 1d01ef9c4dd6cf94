// What a remote tier is told by: URLs, the bytes of entries, a Redis server's answers; and when it is left alone.
#include "cache/tiers/breaker.hpp"
#include "cache/tiers/redis_reply.hpp"
#include "cache/tiers/sealed_entry.hpp"
#include "cache/tiers/tier.hpp"
#include "cache/tiers/url.hpp"
#include "tests/unit/cache/cache_test.hpp"

namespace kiln::cache {
namespace {

using std::chrono::milliseconds;

TEST(TierUrl, says_where_and_how) {
  const auto http = parse_tier_url("http://cache.example/kernels/");
  ASSERT_TRUE(http) << to_text(http.error());
  EXPECT_EQ(std::tuple(http->host, http->port, http->path), std::tuple("cache.example", 80, "/kernels"));
  EXPECT_EQ(parse_tier_url("https://[::1]:8443")->shown(), "https://[::1]:8443");
  const auto redis = parse_tier_url("redis://me:p%40ss@10.0.0.7:7000/3?prefix=team%3a");
  ASSERT_TRUE(redis) << to_text(redis.error());
  EXPECT_EQ(std::tuple(redis->user, redis->password, redis->host), std::tuple("me", "p@ss", "10.0.0.7"));
  EXPECT_EQ(std::tuple(redis->port, redis->database, redis->prefix), std::tuple(7000, 3u, "team:"));
  EXPECT_EQ(parse_tier_url("redis://:secret@h")->password, "secret");
  const auto local = parse_tier_url("redis+unix:///run/redis.sock?db=2");
  ASSERT_TRUE(local) << to_text(local.error());
  EXPECT_EQ(std::tuple(local->path, local->database), std::tuple("/run/redis.sock", 2u));
}

TEST(TierUrl, shows_no_password) {
  for (const auto* text : {"redis://me:hush@h:1", "http://me:hush@h/x", "redis://:hush@h", "redis+unix://me:hush@/s",
                           "https://hush@h/x"})
    EXPECT_EQ(parse_tier_url(text)->shown().find("hush"), std::string::npos) << text;
  for (const auto* text : {"redis://me:hush@h:0", "http://me:hush@", "redis://me:hush@h/x", "http://me:hu%zzsh@h"})
    EXPECT_EQ(to_text(parse_tier_url(text).error()).find("hush"), std::string::npos) << text;
}

TEST(TierUrl, refuses_others) {
  for (const auto* text : {"", "cache.example", "ftp://h/x", "file:///etc/passwd", "http://", "http:///x", "http://h:0",
                           "http://h:65536", "http://h:1x", "http://h/x?y", "http://h/x#y", "http://h /x",
                           "http://[::1", "http://[::1]x", "redis://h/a", "redis://h/1/2", "redis://h?x=1",
                           "redis://h?db=-1",
                           "redis+unix://", "redis+unix:///", "redis+unix://h/s", "redis+unix:///s%00",
                           "http://h\n/x"}) {
    const auto url = parse_tier_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, ErrorCode::invalid_argument) << text;
  }
  EXPECT_FALSE(parse_tier_url("http://h/" + std::string(2048, 'x')));
}

TEST(TierUrl, a_tier_without_key_or_trust_is_refused) {
  TierOptions options;
  options.url = "http://me:hush@h/x";
  const auto refused = open_tier(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().message.find("trust_key"), std::string::npos) << refused.error().message;
  EXPECT_EQ(refused.error().message.find("hush"), std::string::npos);
  options.trusted = true;
  EXPECT_TRUE(open_tier(options));
}

TEST(TierBreaker, is_off_for_longer_and_longer_until_it_succeeds) {
  Breaker breaker;
  Breaker::Clock::time_point now{};
  EXPECT_FALSE(breaker.failed(now));
  EXPECT_FALSE(breaker.failed(now));
  EXPECT_FALSE(breaker.succeeded()) << "it was not off";
  for (int i = 0; i < Breaker::failures_max - 1; ++i) EXPECT_FALSE(breaker.failed(now));
  EXPECT_TRUE(breaker.allows(now));
  EXPECT_TRUE(breaker.failed(now)) << "this one turned it off";
  for (const auto off : {1000, 2000, 4000, 8000, 16000, 30000, 30000}) {
    EXPECT_TRUE(breaker.off());
    EXPECT_FALSE(breaker.allows(now + milliseconds(off - 1))) << off;
    now += milliseconds(off);
    EXPECT_TRUE(breaker.allows(now)) << off;
    EXPECT_FALSE(breaker.failed(now)) << "it was off";
  }
  EXPECT_TRUE(breaker.succeeded());
  EXPECT_TRUE(breaker.allows(now));
}

class SealedEntryTest : public CacheTest {
 protected:
  TrustKey key(const std::string& content) {
    const auto path = base + "/key";
    EXPECT_TRUE(write_file(path, view(content)));
    EXPECT_EQ(::chmod(path.c_str(), 0600), 0);
    return *TrustKey::read(path);
  }
  const jit::StoredObject stored{key_of(1), content_of(1, 10), content_of(2, 20)};
};

TEST_F(SealedEntryTest, comes_back_as_it_was) {
  EXPECT_EQ(tier_name(stored.key), "kiln/1/" + stored.key.hex());
  for (const auto& trust : {TrustKey(), key("0123456789abcdef")}) {
    const auto bytes = seal_entry(stored, trust);
    EXPECT_EQ(bytes.size(), entry_bytes(10, 20) + (trust.is_set() ? 32 : 0));
    const auto entry = open_entry(stored.key, bytes, trust);
    ASSERT_TRUE(entry) << to_text(entry.error());
    EXPECT_EQ(entry->key, stored.key);
    EXPECT_EQ(std::pair(entry->metadata, entry->object), std::pair(stored.metadata, stored.object));
  }
}

TEST_F(SealedEntryTest, no_other_bytes_are_taken) {
  for (const auto& trust : {TrustKey(), key("0123456789abcdef")}) {
    auto bytes = seal_entry(stored, trust);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      EXPECT_FALSE(open_entry(stored.key, ByteView(bytes).first(at), trust)) << at;
      for (int bit = 0; bit < 8; ++bit) {
        bytes[at] ^= std::uint8_t(1 << bit);
        EXPECT_FALSE(open_entry(stored.key, bytes, trust)) << at << " " << bit;
        bytes[at] ^= std::uint8_t(1 << bit);
      }
    }
    EXPECT_FALSE(open_entry(key_of(2), bytes, trust)) << "another key's";
    bytes.push_back(0);
    EXPECT_FALSE(open_entry(stored.key, bytes, trust));
  }
}

TEST_F(SealedEntryTest, only_the_key_vouches) {
  const auto trust = key("0123456789abcdef"), other = key("fedcba9876543210");
  EXPECT_EQ(open_entry(stored.key, seal_entry(stored, TrustKey()), trust).error().code, ErrorCode::permission_denied);
  EXPECT_EQ(open_entry(stored.key, seal_entry(stored, other), trust).error().code, ErrorCode::permission_denied);
  EXPECT_EQ(open_entry(stored.key, seal_entry(stored, trust), TrustKey()).error().code, ErrorCode::corrupt);
}

// The answer, fed in pieces of this many bytes.
Result<std::optional<RedisReply>> read_reply(const std::string& bytes, std::size_t piece) {
  RedisReplyReader reader(100);
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    KILN_TRY(auto reply, reader.feed(view(std::string_view(bytes).substr(at, piece))));
    if (reply) return std::optional(std::move(*reply));
  }
  return std::optional<RedisReply>();
}

TEST(RedisReplies, are_read_however_they_are_cut) {
  using Kind = RedisReply::Kind;
  const std::tuple<std::string, Kind, std::string> cases[] = {{"$5\r\nhello\r\n", Kind::value, "hello"},
                                                              {"$0\r\n\r\n", Kind::value, ""},
                                                              {"$4\r\n\r\n\r\n\r\n", Kind::value, "\r\n\r\n"},
                                                              {"$-1\r\n", Kind::absent, ""},
                                                              {"+OK\r\n", Kind::status, "OK"},
                                                              {"-ERR no\r\n", Kind::error, "ERR no"}};
  for (const auto& [bytes, kind, content] : cases)
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
      const auto reply = read_reply(bytes, piece);
      ASSERT_TRUE(reply && *reply) << bytes << piece;
      EXPECT_EQ((*reply)->kind, kind) << bytes;
      EXPECT_EQ(text((*reply)->bytes), content) << bytes;
      EXPECT_FALSE(*read_reply(bytes.substr(0, bytes.size() - 1), piece)) << "not whole";
    }
}

TEST(RedisReplies, others_are_refused) {
  for (const std::string bytes :
       {"*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*1000000000\r\n", ":5\r\n", "HTTP/1.1 200 OK\r\n", "$101\r\n", "$-2\r\n",
        "$5x\r\n", "$\r\n", "$99999999999999999999999\r\n", "$000000000000000000000000005\r\n",
        "$5\r\nhello\r\n+OK\r\n", "$-1\r\n$-1\r\n", "+OK\r\n+OK\r\n"}) {
    const auto reply = read_reply(bytes, bytes.size());
    ASSERT_FALSE(reply) << bytes;
    EXPECT_EQ(reply.error().code, ErrorCode::corrupt) << bytes;
  }
  EXPECT_FALSE(read_reply("+" + std::string(2000, 'x'), 100));
}

}  // namespace
}  // namespace kiln::cache
