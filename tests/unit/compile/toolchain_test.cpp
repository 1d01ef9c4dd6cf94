#include "engine/compile/toolchain.hpp"

#include <gtest/gtest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/base/paths.hpp"
#include "engine/compile/toolchain_manifest.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kiln::compile {
namespace {

class Toolchains : public testing::Test {
 protected:
  void make_prefix(const std::string& name, const std::string& manifest) {
    ASSERT_TRUE(make_folders(folder_ / (name + "/usr/lib/x86_64-linux-gnu")));
    std::ofstream(folder_ / (name + "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")) << "loader";
    if (!manifest.empty()) std::ofstream(folder_ / (name + "/" + manifest_name)) << manifest;
  }
  // A folder with commands that stand in for apt's, so that what is done with their answers can be seen.
  void make_command(const std::string& name, const std::string& script) {
    ASSERT_TRUE(make_folders(folder_ / "bin"));
    std::ofstream(folder_ / ("bin/" + name)) << "#!/bin/sh\n" << script;
    ASSERT_EQ(::chmod((folder_ / ("bin/" + name)).c_str(), 0755), 0);
  }
  ToolchainOptions options() {
    EXPECT_TRUE(make_folders(folder_ / "etc"));
    std::ofstream(folder_ / "etc/sources.list")
        << "deb [signed-by=" << folder_ / "etc/keyring" << "] http://mirror.example/debian bookworm main\n";
    std::ofstream(folder_ / "etc/keyring") << "keys";
    ToolchainOptions options;
    options.folder = folder_ / "toolchains";
    options.worker = "/bin/false";
    options.include_folder = folder_ / "include";
    options.apt_folder = folder_ / "etc";
    options.environment = {"PATH=" + (folder_ / "bin") + ":/usr/bin:/bin"};
    return options;
  }
  test::TemporaryFolder folder_;
};

TEST_F(Toolchains, ManifestsAreReadAsWritten) {
  Toolchain toolchain;
  toolchain.origin = "http://mirror.example/debian testing";
  toolchain.packages = {{"libhiprtc6", "6.4.3-5"}, {"zlib1g", "1:1.3"}};
  toolchain.targets = {"gfx90a", "gfx942"};
  make_prefix("hiprtc-6.4.3-5", manifest_text(toolchain));
  const auto read = read_toolchain(folder_ / "hiprtc-6.4.3-5");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(read->name, "hiprtc-6.4.3-5");
  EXPECT_EQ(read->origin, toolchain.origin);
  ASSERT_EQ(read->packages.size(), 2u);
  EXPECT_EQ(read->packages[1].version, "1:1.3");
  EXPECT_EQ(read->targets, toolchain.targets);
  EXPECT_EQ(through_toolchain(*read, "/opt/worker"),
            (std::vector<std::string>{read->library_folder + "/ld-linux-x86-64.so.2", "--library-path",
                                      read->library_folder, "/opt/worker"}));
}

TEST_F(Toolchains, ListsNewestFirstAndLeavesOutWhatIsIncomplete) {
  const std::string whole = "kiln-toolchain 1\norigin x y\ntarget gfx942\nend\n";
  make_prefix("hiprtc-6.9.0-1", whole);
  make_prefix("hiprtc-6.10.0-1", whole);
  make_prefix("no-manifest", "");
  make_prefix("cut-short", "kiln-toolchain 1\norigin x y\ntarget gfx");
  make_prefix("other-version", "kiln-toolchain 2\nend\n");
  make_prefix(".new-123456", whole);
  const auto list = list_toolchains(folder_.path());
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].name, "hiprtc-6.10.0-1");
  EXPECT_EQ(list[1].name, "hiprtc-6.9.0-1");
  EXPECT_TRUE(list_toolchains(folder_ / "absent").empty());
}

TEST_F(Toolchains, InstalledAndRemovedOnesAreSeen) {
  const std::string whole = "kiln-toolchain 1\norigin x y\ntarget gfx942\nend\n";
  ToolchainWatch watch(folder_ / "there");
  EXPECT_FALSE(watch.look().newest);
  EXPECT_EQ(watch.look().change, 0u);
  make_prefix("there/hiprtc-1", whole);
  const auto first = watch.look();
  ASSERT_TRUE(first.newest);
  EXPECT_EQ(first.newest->name, "hiprtc-1");
  EXPECT_EQ(watch.look().change, first.change);
  make_prefix("there/hiprtc-2", whole);
  const auto second = watch.look();
  EXPECT_EQ(second.newest->name, "hiprtc-2");
  EXPECT_GT(second.change, first.change);
  std::filesystem::remove_all(folder_ / "there/hiprtc-2");
  EXPECT_EQ(watch.look().newest->name, "hiprtc-1");
  std::filesystem::remove_all(folder_ / "there");
  EXPECT_FALSE(watch.look().newest);
}

TEST_F(Toolchains, WithoutAptTheErrorNamesRocm) {
  auto without = options();
  without.environment = {"PATH=" + (folder_ / "nothing")};
  const auto result = install_toolchain(without, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::no_compiler);
  EXPECT_NE(to_text(result.error()).find("apt is needed"), std::string::npos) << to_text(result.error());
  EXPECT_NE(to_text(result.error()).find("ROCm"), std::string::npos);
}

TEST_F(Toolchains, WithoutASourceOrAKeyringItSaysSo) {
  auto other = options();
  std::ofstream(folder_ / "etc/sources.list") << "deb http://archive.example/ubuntu noble main\n";
  auto result = install_toolchain(other, {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("--mirror"), std::string::npos) << to_text(result.error());
  other.mirror = "http://mirror.example/debian";
  other.keyring = folder_ / "etc/absent";
  result = install_toolchain(other, {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("keyring"), std::string::npos) << to_text(result.error());
}

TEST_F(Toolchains, AnUnreachableArchiveIsAnErrorWithAptsWordsAndLeavesNothing) {
  make_command("apt-config", "exit 0\n");
  make_command("apt-get",
               "echo \"Err:1 http://mirror.example/debian testing InRelease\"; echo \"E: no such host\"; exit 100\n");
  const auto result = install_toolchain(options(), {});
  ASSERT_FALSE(result);
  EXPECT_NE(to_text(result.error()).find("E: no such host"), std::string::npos) << to_text(result.error());
  EXPECT_NE(to_text(result.error()).find("unstable"), std::string::npos) << "the second suite is tried too";
  EXPECT_TRUE(list_toolchains(folder_ / "toolchains").empty());
  EXPECT_EQ(::rmdir((folder_ / "toolchains").c_str()), 0) << "something was left behind";
}

TEST_F(Toolchains, AptIsKeptAwayFromTheMachinesState) {
  make_command(
      "apt-config",
      "echo 'Acquire::http::Proxy \"http://proxy.example:3128\";'; echo 'DPkg::Post-Invoke \"touch /nowhere\";'\n");
  make_command("apt-get", "cat \"$APT_CONFIG\" >> " + (folder_ / "seen") + "; exit 100\n");
  ASSERT_FALSE(install_toolchain(options(), {}));
  std::ifstream file(folder_ / "seen");
  const std::string seen((std::istreambuf_iterator<char>(file)), {});
  for (const char* wanted : {"Dir::State::status", "Dir::Cache", "Dir::Etc::parts \"/dev/null\"",
                             "Dir::Etc::sourceparts \"/dev/null\"", "proxy.example"}) {
    EXPECT_NE(seen.find(wanted), std::string::npos) << wanted;
  }
  EXPECT_EQ(seen.find("Post-Invoke"), std::string::npos);
  EXPECT_NE(seen.find("AllowUnauthenticated \"false\""), std::string::npos);
}

TEST_F(Toolchains, OneInstallationAtATimeAndLeftOversGo) {
  ASSERT_TRUE(make_folders(folder_ / "toolchains/.new-killed/prefix"));
  const int other = ::open((folder_ / "toolchains").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  const auto busy = install_toolchain(options(), {});
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, ErrorCode::busy);
  ::close(other);
  make_command("apt-config", "exit 0\n");
  make_command("apt-get", "exit 100\n");
  ASSERT_FALSE(install_toolchain(options(), {}));
  EXPECT_EQ(::rmdir((folder_ / "toolchains").c_str()), 0) << "something was left behind";
}

TEST_F(Toolchains, APrefixThatCompilesNothingIsNotInstalled) {
  make_command("apt-config", "exit 0\n");
  make_command("apt-cache", "[ \"$2\" = libhiprtc ] && echo libhiprtc6; exit 0\n");
  make_command("apt-get",
               "case \"$1\" in install) touch \"$(dirname \"$APT_CONFIG\")/archives/libhiprtc6.deb\";; esac; exit 0\n");
  make_command("dpkg-deb",
               "case \"$1\" in -W) echo 'libhiprtc6 6.4';; -x) mkdir -p \"$3/usr/lib/x86_64-linux-gnu\"; cp /bin/false "
               "\"$3/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2\";; esac\n");
  const auto result = install_toolchain(options(), {});
  ASSERT_FALSE(result);
  EXPECT_NE(to_text(result.error()).find("does not compile for gfx942"), std::string::npos) << to_text(result.error());
  EXPECT_TRUE(list_toolchains(folder_ / "toolchains").empty());
}

TEST_F(Toolchains, AWorkingPrefixIsRenamedIntoPlaceAndFoundAgain) {
  make_command("apt-config", "exit 0\n");
  make_command("apt-cache", "[ \"$2\" = libhiprtc ] && printf 'libhiprtc6\\nlibhiprtc10\\nlibhiprtc-dev\\n'; exit 0\n");
  make_command("apt-get", "case \"$1\" in install) echo \"$@\" >> " + (folder_ / "asked") +
                              "; touch \"$(dirname \"$APT_CONFIG\")/archives/libhiprtc10.deb\";; esac; exit 0\n");
  make_command("dpkg-deb",
               "case \"$1\" in -W) echo 'libhiprtc10 10.1-2';; -x) mkdir -p \"$3/usr/lib/x86_64-linux-gnu\"; cp "
               "/bin/true \"$3/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2\";; esac\n");
  std::vector<double> progress;
  const auto first = install_toolchain(options(), [&](const std::string&, double done) { progress.push_back(done); });
  ASSERT_TRUE(first) << to_text(first.error());
  EXPECT_EQ(first->name, "hiprtc-10.1-2");
  EXPECT_EQ(first->targets, (std::vector<std::string>{"gfx90a", "gfx942", "gfx950", "gfx1100"}));
  EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
  EXPECT_EQ(progress.back(), 1.0);
  std::ifstream file(folder_ / "asked");
  std::string asked;
  std::getline(file, asked);
  EXPECT_NE(asked.find("libhiprtc10"), std::string::npos) << "the newest is by number: " << asked;
  const auto again = install_toolchain(options(), {});
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(again->path, first->path);
  EXPECT_EQ(list_toolchains(folder_ / "toolchains").size(), 1u);
}

TEST_F(Toolchains, APrefixWithoutHeadersIsMadeAgainOnceThereAreSome) {
  make_command("apt-config", "exit 0\n");
  make_command("apt-cache", "[ \"$2\" = libhiprtc ] && echo libhiprtc6; exit 0\n");
  const std::string install = "install) touch \"$(dirname \"$APT_CONFIG\")/archives/libhiprtc6.deb\";; ";
  make_command("dpkg-deb",
               "case \"$1 $2\" in *dev.deb) h=1;; esac; case \"$1\" in -W) echo \"libhiprtc${h:-6} 6.4\";; "
               "-x) f=usr/lib/x86_64-linux-gnu; mkdir -p \"$3/$f\" \"$3/usr/include/hip\"; "
               "cp /bin/true \"$3/$f/ld-linux-x86-64.so.2\"; [ -z \"$h\" ] || touch \"$3/usr/include/hip/hip_runtime.h\";; esac\n");
  make_command("apt-get", "case \"$1\" in " + install + "download) exit 100;; esac; exit 0\n");
  const auto without = install_toolchain(options(), {});
  ASSERT_TRUE(without) << to_text(without.error());
  EXPECT_FALSE(without->headers);
  make_command("apt-get", "case \"$1\" in " + install + "download) touch libamdhip64-dev.deb;; esac; exit 0\n");
  for (int i = 0; i < 2; ++i) {
    const auto with = install_toolchain(options(), {});
    ASSERT_TRUE(with) << to_text(with.error());
    EXPECT_TRUE(with->headers);
    EXPECT_EQ(with->path, without->path);
  }
  ASSERT_EQ(list_toolchains(folder_ / "toolchains").size(), 1u);
  EXPECT_TRUE(list_toolchains(folder_ / "toolchains")[0].headers);
}

}  // namespace
}  // namespace kiln::compile
