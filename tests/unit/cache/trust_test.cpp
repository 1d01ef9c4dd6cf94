#include "cache/trust.hpp"

#include "tests/unit/cache/cache_test.hpp"

namespace kiln::cache {
namespace {

class TrustTest : public CacheTest {
 protected:
  std::string key_file(const std::string& content, mode_t mode = 0600) {
    const auto path = base + "/key";
    EXPECT_TRUE(write_file(path, view(content)));
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  void expect_refused(const std::string& path, ErrorCode code, const std::string& why) {
    const auto key = TrustKey::read(path);
    ASSERT_FALSE(key) << path;
    EXPECT_EQ(key.error().code, code) << to_text(key.error());
    EXPECT_NE(key.error().message.find(why), std::string::npos) << to_text(key.error());
    EXPECT_NE(key.error().message.find(path), std::string::npos) << to_text(key.error());
  }
};

TEST_F(TrustTest, a_key_vouches_for_what_it_signed_and_nothing_else) {
  const auto key = TrustKey::read(key_file("0123456789abcdef"));
  ASSERT_TRUE(key) << to_text(key.error());
  const auto mac = key->sign(view("object"));
  ASSERT_TRUE(mac);
  EXPECT_EQ(*mac, hmac_sha256(view("0123456789abcdef"), view("object")));
  EXPECT_TRUE(key->vouches_for(view("object"), *mac));
  EXPECT_FALSE(key->vouches_for(view("objekt"), *mac));
  EXPECT_FALSE(key->vouches_for(view("object"), Digest{}));
}

TEST_F(TrustTest, without_a_key_nothing_is_vouched_for) {
  const TrustKey none;
  EXPECT_FALSE(none.is_set());
  EXPECT_FALSE(none.sign(view("object")));
  EXPECT_FALSE(none.vouches_for(view("object"), hmac_sha256({}, view("object"))));
}

TEST_F(TrustTest, key_files_that_others_know_are_refused) {
  expect_refused(base + "/absent", ErrorCode::not_found, "cannot open");
  expect_refused(key_file("fifteen bytes.."), ErrorCode::invalid_argument, "16 to 4096 bytes");
  expect_refused(key_file(std::string(4097, 'k')), ErrorCode::invalid_argument, "16 to 4096 bytes");
  for (const mode_t mode : {0640, 0604, 0620, 0602})
    expect_refused(key_file(std::string(32, 'k'), mode), ErrorCode::permission_denied, "read or written by others");
  ASSERT_EQ(::symlink("key", (base + "/link").c_str()), 0);
  key_file(std::string(32, 'k'));
  expect_refused(base + "/link", ErrorCode::io_error, "cannot open");
  ASSERT_EQ(::mkfifo((base + "/pipe").c_str(), 0600), 0);
  expect_refused(base + "/pipe", ErrorCode::permission_denied, "no regular file");
  EXPECT_EQ(TrustKey::read("key").error().code, ErrorCode::invalid_argument);
  ASSERT_EQ(::chmod(base.c_str(), 0770), 0);
  const auto key = TrustKey::read(base + "/key");
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().code, ErrorCode::permission_denied) << to_text(key.error());
}

TEST_F(TrustTest, files_that_others_may_have_written_are_refused) {
  const auto path = key_file("content", 0644);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_TRUE(check_owner(status, "bundle"));
  status.st_mode |= S_IWGRP;
  EXPECT_EQ(check_owner(status, "bundle").error().message, "bundle: others may write it (chmod go-w)");
  status.st_mode &= ~mode_t(S_IWGRP);
  status.st_uid = 12345;
  EXPECT_EQ(check_owner(status, "bundle").error().message, "bundle: belongs to user 12345");
}

}  // namespace
}  // namespace kiln::cache
