#include "engine/base/private_folder.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace kiln {
namespace {

namespace fs = std::filesystem;

class PrivateFolders : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(parent_.data()), nullptr); }
  void TearDown() override { fs::remove_all(parent_); }
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(parent_), fs::directory_iterator()));
  }
  std::string parent_ = "/tmp/kiln-folders-test-XXXXXX";
};

TEST_F(PrivateFolders, EndWithTheirMaker) {
  {
    auto folder = PrivateFolder::create(parent_, "a-");
    ASSERT_TRUE(folder);
    EXPECT_TRUE(fs::path(folder->path()).filename().string().starts_with("a-"));
    struct stat status {};
    ASSERT_EQ(::stat(folder->path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700U);
    fs::create_directories(folder->path() + "/deep/er");
    PrivateFolder::remove_left_overs(parent_, "a-");
    EXPECT_EQ(count(), 1U) << "it is held";
    PrivateFolder moved = std::move(*folder);
    EXPECT_EQ(count(), 1U);
  }
  EXPECT_EQ(count(), 0U);
  EXPECT_EQ(PrivateFolder::create(parent_ + "/absent", "a-").error().code, ErrorCode::not_found);
}

TEST_F(PrivateFolders, OfTheKilledAreRemovedAtOnceAndNobodyElses) {
  const auto child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto folder = PrivateFolder::create(parent_, "a-");
    ::kill(::getpid(), SIGKILL);
    ::_exit(folder ? 1 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(count(), 1U);
  const auto held = PrivateFolder::create(parent_, "a-");
  ASSERT_TRUE(held);
  for (const char* name : {"a-notes", "a-123456789", "b-123456", "a-12 456"}) fs::create_directory(parent_ + "/" + name);
  for (const char* name : {"a-notes", "a-123456789", "b-123456", "a-12 456"}) ::chmod((parent_ + "/" + name).c_str(), 0700);
  fs::create_directory(parent_ + "/a-shared");
  fs::create_directory(parent_ + "/a-open00");
  ::chmod((parent_ + "/a-open00").c_str(), 0755);
  fs::create_directory_symlink(parent_ + "/b-123456", parent_ + "/a-link00");
  fs::create_directory(parent_ + "/kiln-new-000000");  // made a moment ago, by one who is about to lock it
  ::chmod((parent_ + "/kiln-new-000000").c_str(), 0700);
  const auto before = count();
  PrivateFolder::remove_left_overs(parent_, "a-");
  EXPECT_EQ(count(), before - 1) << "only that of the killed goes";
  EXPECT_TRUE(fs::exists(held->path()));
}

TEST_F(PrivateFolders, AForkedChildRemovesNothing) {
  auto folder = PrivateFolder::create(parent_, "a-");
  ASSERT_TRUE(folder);
  const auto child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    { const auto taken = std::move(*folder); }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(fs::exists(folder->path()));
}

}  // namespace
}  // namespace kiln
