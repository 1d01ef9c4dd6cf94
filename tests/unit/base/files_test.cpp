// write_file: whole or not at all.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "engine/base/fd.hpp"
#include "engine/base/os.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kiln {
namespace {

class Files : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  static std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path("."))) ++count;
    return count;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Files, EveryFailureLeavesTheFileAsItWas) {
  ASSERT_TRUE(write_file(path("out"), view("before")));
  ASSERT_EQ(chmod(path("out").c_str(), 0640), 0);
  for (const char* call : {"write", "renameat"}) {
    const os::Failpoint full(call, 1, ENOSPC);
    const auto written = write_file(path("out"), view("after"));
    ASSERT_FALSE(written) << call;
    EXPECT_NE(written.error().message.find(path("out")), std::string::npos) << written.error().message;
    EXPECT_EQ(content(path("out")), "before") << call;
    EXPECT_EQ(files(), 1u) << call;
  }
  {
    const os::Failpoint full("write", 1, ENOSPC);
    EXPECT_FALSE(write_file(path("new"), view("after")));
    EXPECT_EQ(files(), 1u);
  }
  ASSERT_TRUE(write_file(path("out"), view("after")));
  EXPECT_EQ(content(path("out")), "after");
  struct stat status {};
  ASSERT_EQ(stat(path("out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  EXPECT_EQ(files(), 1u);
}

TEST_F(Files, LinksAndPipesStay) {
  ASSERT_TRUE(write_file(path("target"), view("before")));
  ASSERT_EQ(symlink("target", path("link").c_str()), 0);
  ASSERT_TRUE(write_file(path("link"), view("after")));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(content(path("target")), "after");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = content(path("pipe")); });
  EXPECT_TRUE(write_file(path("pipe"), view("through")));
  reader.join();
  EXPECT_EQ(read, "through");
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
}

}  // namespace
}  // namespace kiln
