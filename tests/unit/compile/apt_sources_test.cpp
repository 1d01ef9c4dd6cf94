#include "engine/compile/apt_sources.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "engine/base/paths.hpp"
#include "tests/support/temporary_folder.hpp"

namespace kiln::compile {
namespace {

TEST(AptSources, ReadsOneLineForms) {
  const auto sources = parse_sources_list(
      "# deb http://commented.example/debian sid main\n"
      "deb http://deb.example/debian bookworm main contrib # and more\n"
      "deb-src http://deb.example/debian bookworm main\n"
      "deb [arch=amd64 signed-by=/usr/share/keyrings/x.gpg] https://deb.example/debian trixie main\n"
      "deb [broken http://deb.example/debian trixie main\n");
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].uris, std::vector<std::string>{"http://deb.example/debian"});
  EXPECT_EQ(sources[0].suites, std::vector<std::string>{"bookworm"});
  EXPECT_EQ(sources[0].components, (std::vector<std::string>{"main", "contrib"}));
  EXPECT_EQ(sources[1].signed_by, "/usr/share/keyrings/x.gpg");
}

TEST(AptSources, ReadsStanzas) {
  const auto sources = parse_deb822(
      "Types: deb deb-src\n# a comment inside\nURIs: http://deb.example/debian\n http://other.example/debian\nSuites: "
      "bookworm bookworm-updates\n"
      "Components: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n"
      "Types: deb\nEnabled: no\nURIs: http://off.example/\nSuites: sid\nComponents: main\n\n\n"
      "Types: deb-src\nURIs: http://sources.example/\nSuites: sid\nComponents: main\n\n"
      "Types: deb\nURIs: http://inline.example/debian\nSuites: sid\nComponents: main\nSigned-By:\n -----BEGIN PGP "
      "PUBLIC KEY BLOCK-----\n abc\n");
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].uris, (std::vector<std::string>{"http://deb.example/debian", "http://other.example/debian"}));
  EXPECT_EQ(sources[0].signed_by, "/usr/share/keyrings/debian-archive-keyring.gpg");
  EXPECT_EQ(sources[1].signed_by, "");
}

TEST(AptSources, FindsDebiansMirrorAmongOthers) {
  const auto mirror = debian_mirror(parse_sources_list(
      "deb https://vendor.example/apt stable-tools main\n"
      "deb http://deb.example/debian-security bookworm-security main\n"
      "deb http://deb.example/debian bookworm-updates main\n"
      "deb http://deb.example/debian bookworm contrib\n"
      "deb [signed-by=/k.gpg] http://mirror.example/debian bookworm main\n"));
  ASSERT_TRUE(mirror);
  EXPECT_EQ(mirror->uri, "http://mirror.example/debian");
  EXPECT_EQ(mirror->keyring, "/k.gpg");
  EXPECT_FALSE(debian_mirror(parse_sources_list("deb http://archive.example/ubuntu noble main\n")));
  EXPECT_FALSE(debian_mirror({}));
}

TEST(AptSources, ReadsAFolderInOrder) {
  test::TemporaryFolder folder;
  ASSERT_TRUE(make_folders(folder / "apt/sources.list.d"));
  std::ofstream(folder / "apt/sources.list.d/b.sources")
      << "Types: deb\nURIs: http://second.example/debian\nSuites: sid\nComponents: main\n";
  std::ofstream(folder / "apt/sources.list.d/a.list") << "deb http://first.example/debian sid main\n";
  std::ofstream(folder / "apt/sources.list.d/c.disabled") << "deb http://never.example/debian sid main\n";
  const auto sources = read_apt_sources(folder / "apt");
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].uris[0], "http://first.example/debian");
  EXPECT_EQ(sources[1].uris[0], "http://second.example/debian");
  EXPECT_TRUE(read_apt_sources(folder / "absent").empty());
}

}  // namespace
}  // namespace kiln::compile
