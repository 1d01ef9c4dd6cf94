#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>

#include "engine/compile/compiler.hpp"

namespace kiln::compile {
namespace {

TEST(Identity, OfThisProcess) {
  const auto identity = mapped_identity("a test");
  ASSERT_TRUE(identity) << to_text(identity.error());
  EXPECT_EQ(identity->description, "a test");
  const auto has = [&](const std::string& part) {
    return std::any_of(identity->files.begin(), identity->files.end(),
                       [&](const CompilerFile& file) { return file.path.find(part) != std::string::npos; });
  };
  EXPECT_TRUE(has("unit_compile"));
  EXPECT_TRUE(has("libc.so"));
  EXPECT_TRUE(std::is_sorted(identity->files.begin(), identity->files.end(),
                             [](const CompilerFile& a, const CompilerFile& b) { return a.path < b.path; }));
  for (const auto& file : identity->files) {
    struct stat status {};
    ASSERT_EQ(::stat(file.path.c_str(), &status), 0) << file.path;
    EXPECT_EQ(file.inode, status.st_ino);
    EXPECT_EQ(file.size, static_cast<std::uint64_t>(status.st_size));
    EXPECT_GE(file.build_id.size(), 32u) << file.path;
  }
}

TEST(Identity, TravelsAndRefusesDamage) {
  const auto identity = mapped_identity("a test");
  ASSERT_TRUE(identity);
  const auto bytes = encode(*identity);
  const auto back = decode_identity(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->files, identity->files);
  EXPECT_EQ(back->digest(), identity->digest());
  for (std::size_t n = 0; n < bytes.size(); n += 7) EXPECT_FALSE(decode_identity(ByteView(bytes).first(n)));
}

// Equal builds in other places, with other inodes and times, are equal; another build is not.
TEST(Identity, DigestIsOverBuildIdsOnly) {
  Identity a{"x", {{"/usr/lib/a.so", "aa", 1, 2, 3, 4}, {"/usr/lib/b.so", "bb", 1, 2, 3, 4}}};
  Identity b{"y", {{"/opt/b.so", "bb", 9, 9, 9, 9}, {"/opt/z/a.so", "aa", 9, 9, 9, 9}}};
  EXPECT_EQ(a.digest(), b.digest());
  b.files[0].build_id = "bc";
  EXPECT_NE(a.digest(), b.digest());
}

}  // namespace
}  // namespace kiln::compile
