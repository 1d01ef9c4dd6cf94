#include "engine/base/paths.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "engine/base/os.hpp"

namespace kiln {
namespace {

Environment environment_of(const std::map<std::string, std::string>& variables) {
  return read_environment(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      1000, "/here");
}

TEST(Paths, socket_by_precedence) {
  std::map<std::string, std::string> variables;
  EXPECT_EQ(socket_path(environment_of(variables))->path, "/tmp/kiln-1000/kiln.sock");
  variables["XDG_RUNTIME_DIR"] = "/run/user/1000/";
  EXPECT_EQ(socket_path(environment_of(variables))->path, "/run/user/1000/kiln/kiln.sock");
  variables["KILN_SOCKET"] = "/x/y.sock";
  EXPECT_EQ(socket_path(environment_of(variables))->path, "/x/y.sock");
  EXPECT_EQ(socket_path(environment_of(variables))->source, "KILN_SOCKET");
  variables["KILN_SOCKET"] = "y.sock";
  EXPECT_EQ(socket_path(environment_of(variables))->path, "/here/y.sock");
}

TEST(Paths, socket_over_107_bytes_is_an_error_that_says_so) {
  EXPECT_TRUE(socket_path(environment_of({{"KILN_SOCKET", "/" + std::string(106, 'a')}})));
  const auto long_one = socket_path(environment_of({{"KILN_SOCKET", "/" + std::string(107, 'a')}}));
  ASSERT_FALSE(long_one);
  EXPECT_EQ(long_one.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(long_one.error().message.find("107"), std::string::npos);
}

TEST(Paths, folders_by_precedence) {
  const std::map<std::string, std::string> home = {{"HOME", "/home/u"}};
  EXPECT_EQ(cache_folder(environment_of(home))->path, "/home/u/.cache/kiln");
  EXPECT_EQ(log_file(environment_of(home))->path, "/home/u/.local/state/kiln/kilnd.log");
  EXPECT_EQ(config_file(environment_of(home))->path, "/home/u/.config/kiln/config.json");
  EXPECT_EQ(toolchains_folder(environment_of(home))->path, "/home/u/.local/share/kiln/toolchains");
  const auto all = environment_of({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "/c"}, {"XDG_STATE_HOME", "/s"},
                                   {"XDG_CONFIG_HOME", "/f"}, {"XDG_DATA_HOME", "/d"}});
  EXPECT_EQ(cache_folder(all)->path, "/c/kiln");
  EXPECT_EQ(log_file(all)->path, "/s/kiln/kilnd.log");
  EXPECT_EQ(config_file(all)->path, "/f/kiln/config.json");
  EXPECT_EQ(toolchains_folder(all)->path, "/d/kiln/toolchains");
  EXPECT_EQ(cache_folder(environment_of({{"KILN_CACHE_DIR", "k"}}))->path, "/here/k");
}

TEST(Paths, relative_standard_folders_are_ignored) {
  EXPECT_EQ(cache_folder(environment_of({{"HOME", "/h"}, {"XDG_CACHE_HOME", "c"}}))->source, "HOME");
  EXPECT_EQ(cache_folder(environment_of({})).error().code, ErrorCode::not_found);
  EXPECT_EQ(environment_of({{"TMPDIR", "t"}}).temporary, "/tmp");
  EXPECT_EQ(environment_of({{"TMPDIR", "/t"}}).temporary, "/t");
}

TEST(Paths, values_by_name) {
  Environment environment;
  environment.all = {"AB=1", "A=2=3", "EMPTY="};
  EXPECT_EQ(environment.get("A"), "2=3");
  EXPECT_EQ(environment.get("EMPTY"), "");
  EXPECT_EQ(environment.get("B"), "");
}

class Folders : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/kiln-paths-test-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root = name;
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  std::string root;
  const uid_t uid = ::geteuid();
};

TEST_F(Folders, private_ones_are_made_with_their_parents) {
  const auto old = ::umask(0);
  const auto made = make_private_folder(root + "/a/b", uid);
  ::umask(old);
  ASSERT_TRUE(made) << to_text(made.error());
  struct stat status {};
  ASSERT_EQ(::stat((root + "/a/b").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_TRUE(make_private_folder(root + "/a/b/", uid));
  EXPECT_TRUE(check_private_folder(root + "/a/b", uid));
}

TEST_F(Folders, wrong_ones_are_refused_with_the_reason) {
  const auto message = [&](const std::string& path, uid_t owner) {
    const auto status = make_private_folder(path, owner);
    return status ? std::string("accepted") : status.error().message;
  };
  ASSERT_EQ(::mkdir((root + "/open").c_str(), 0700), 0);
  ASSERT_EQ(::chmod((root + "/open").c_str(), 0755), 0);
  EXPECT_EQ(message(root + "/open", uid), root + "/open has mode 0755, it must be 0700");
  ASSERT_EQ(::mkdir((root + "/mine").c_str(), 0700), 0);
  EXPECT_EQ(message(root + "/mine", uid + 1), root + "/mine belongs to user " + std::to_string(uid));
  ASSERT_EQ(::symlink("mine", (root + "/link").c_str()), 0);
  EXPECT_EQ(message(root + "/link", uid), root + "/link is a symbolic link");
  EXPECT_EQ(message(root + "/link/", uid), root + "/link is a symbolic link");
  ASSERT_EQ(::symlink("nowhere", (root + "/dangling").c_str()), 0);
  EXPECT_EQ(message(root + "/dangling", uid), root + "/dangling is a symbolic link");
  std::fclose(std::fopen((root + "/file").c_str(), "w"));
  EXPECT_EQ(message(root + "/file", uid), root + "/file is no directory");
  EXPECT_EQ(check_private_folder(root + "/absent", uid).error().code, ErrorCode::not_found);
}

TEST_F(Folders, socket_folders) {
  EXPECT_TRUE(prepare_socket_folder({"/tmp/kiln-paths-test.sock", "KILN_SOCKET"}, uid)) << "sticky";
  EXPECT_TRUE(prepare_socket_folder({root + "/new/k.sock", "KILN_SOCKET"}, uid));
  ASSERT_EQ(::chmod((root + "/new").c_str(), 0755), 0);
  EXPECT_TRUE(prepare_socket_folder({root + "/new/k.sock", "KILN_SOCKET"}, uid));
  EXPECT_TRUE(prepare_socket_folder({root + "/new/k.sock", "flag --socket"}, uid));
  EXPECT_FALSE(prepare_socket_folder({root + "/new/k.sock", "XDG_RUNTIME_DIR"}, uid));
  EXPECT_FALSE(prepare_socket_folder({root + "/new/k.sock", "uid"}, uid));
  ASSERT_EQ(::chmod((root + "/new").c_str(), 0777), 0);
  EXPECT_EQ(prepare_socket_folder({root + "/new/k.sock", "KILN_SOCKET"}, uid).error().code, ErrorCode::permission_denied);
}

TEST_F(Folders, a_groups_socket_folder) {
  const auto group = ::getgid();
  EXPECT_EQ(prepare_group_folder({root + "/g/k.sock", "uid"}, uid, group).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(prepare_group_folder({root + "/g/k.sock", "XDG_RUNTIME_DIR"}, uid, group).error().code, ErrorCode::invalid_argument);
  ASSERT_TRUE(prepare_group_folder({root + "/g/k.sock", "KILN_SOCKET"}, uid, group));
  struct stat status {};
  ASSERT_EQ(::stat((root + "/g").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0750U);
  EXPECT_TRUE(prepare_group_folder({root + "/g/k.sock", "flag --socket"}, uid, group));
  for (const mode_t mode : {0700, 0755, 0770, 0751}) {
    ASSERT_EQ(::chmod((root + "/g").c_str(), mode), 0);
    EXPECT_EQ(prepare_group_folder({root + "/g/k.sock", "KILN_SOCKET"}, uid, group).error().code, ErrorCode::permission_denied) << mode;
  }
  ASSERT_EQ(::chmod((root + "/g").c_str(), 0750), 0);
  EXPECT_FALSE(prepare_group_folder({root + "/g/k.sock", "KILN_SOCKET"}, uid, group + 1));
}

TEST_F(Folders, failures_of_the_system_are_told) {
  os::Failpoint fail("mkdirat", 1, EROFS, true);
  EXPECT_EQ(make_private_folder(root + "/a", uid).error().code, ErrorCode::permission_denied);
}

}  // namespace
}  // namespace kiln
